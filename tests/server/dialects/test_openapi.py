"""The description of the API names what the API has."""

import re
from contextlib import closing

import msgspec
from starlette.routing import Route

from headstart.server.app import Api, application
from headstart.server.auth import Access
from headstart.server.errors import Notices
from headstart.server.metrics import Metrics
from headstart.server.models import OneModel, Served
from headstart.server.openapi import description
from headstart.server.requests.translation import Defaults
from headstart.server.worker import Limits, Worker
from tests.server.serving import MODEL
from tests.stand_ins.fakes import ScriptedEngine


def test_openapi_describes_every_route() -> None:
    worker = Worker(OneModel(Served(MODEL), ScriptedEngine()), Limits())
    with closing(worker):
        app = application(Api(worker, Defaults(), Metrics(), Notices(), "", {}), Access(()))
    described = {
        (path, method.upper()) for path, methods in description([MODEL])["paths"].items() for method in methods
    }
    routes = [route for route in app.routes if isinstance(route, Route)]
    answered = {
        (route.path.replace(":path}", "}"), method)
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
        if route.path == "/" or not route.path.endswith("/")
    }
    assert described == answered


def test_openapi_document_refers_to_schemas_that_it_has() -> None:
    document = description([MODEL])
    names = re.findall(r'"\$ref":"#/components/schemas/([^"]+)"', msgspec.json.encode(document).decode())
    assert set(names) <= set(document["components"]["schemas"])
    ids = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(ids) == len(set(ids))
