"""The description tells the truth: what it allows is answered as it says, what it forbids is refused, as it says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, MODEL, PATIENCE, serving

_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
_STRICT = "negative_data_rejection,positive_data_acceptance,ignored_auth"
PHASES = "fuzzing"  # "coverage" beside it asks for every bound of every field, and takes five times as long


@pytest.mark.slow
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    with serving(ScriptedEngine()) as running:
        address = f"http://127.0.0.1:{running.port}"
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", "--url", address),
            *("--header", f"Authorization: Bearer {KEY}", "--checks", _CHECKS + _STRICT),
            *("--phases", PHASES, "--max-examples", "5", "--seed", "1", "--no-color"),
            *("--request-timeout", f"{PATIENCE:.0f}", "--max-failures", "5", "--suppress-health-check", "all"),
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_the_served_model_is_the_only_one_described() -> None:
    with serving(ScriptedEngine()) as running:
        status, _, body = running.ask("GET", "/openapi.json")
    document = json.loads(body)
    assert (status, document["openapi"][:3]) == (200, "3.1")
    assert document["components"]["schemas"]["ChatRequest"]["properties"]["model"]["enum"] == [MODEL]
