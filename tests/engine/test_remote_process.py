"""The engine's process loads a remote model by the same orders as any other."""

import threading
from contextlib import closing
from pathlib import Path

import pytest

from headstart import keys, remotes
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Finish, FinishReason, Message, Remote, Request, Step
from headstart.engine.opening import LocalModels
from headstart.engine.process.client import EngineClient
from headstart.engine.protocol import Facts, Loading, Phase
from headstart.engine.supervision import Journal
from headstart.errors import ModelNotFoundError, RemoteError
from tests.model_server import Script, serving

ASKED = Request((Message("user", "Hi"),))


def test_it_answers_stops_and_says_what_is_wrong(tmp_path: Path) -> None:
    script = Script(key="secret", models=({"id": "small", "max_model_len": 512},))
    keys.keep("office", "secret")
    client, told = EngineClient(journal=Journal(tmp_path / "engine.log")), list[Loading]()
    with serving(script) as url:
        server = Remote("office", url)
        assert client.load(remotes.load_options(server), told.append) == Facts("small", None, "", "fast", 512, "office")
        assert told == [Loading(Phase.SERVER)]
        events = list(client.generate(ASKED))
        assert "".join(event.text for event in events if isinstance(event, Step)) == "Hello there!"
        opened = LocalModels().open(remotes.load_options(server), told.append)
        with closing(opened.engine), pytest.raises(RemoteError, match="office does not count tokens beforehand"):
            opened.count((), "Hi")
        script.pause = 60.0
        cancel = CancelEvent()
        threading.Timer(0.2, cancel.set).start()
        *_, last = client.generate(ASKED, cancel)
        assert isinstance(last, Finish)
        assert last.reason is FinishReason.CANCELLED
        assert script.gone.wait(10)
        with pytest.raises(ModelNotFoundError, match="office has no model 'large'; it has small"):
            client.load(remotes.load_options(Remote("office", url, "large")))
    client.close()
