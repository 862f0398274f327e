"""Fixtures shared by all tests: isolation from the user's data, tiny models, real models. Imports no OpenVINO."""

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from headstart import manifest, paths, vocabulary
from tests import tiny

ROOT = Path(__file__).resolve().parent.parent
SMOLLM2 = "smollm2-135m-instruct"
PAIR = "qwen2.5-coder"
MODELS_VARIABLE = "HEADSTART_TEST_MODELS"  # a folder with exported models, to be used instead of exporting

# Noted before a test is isolated from them.
USER_ENVIRONMENT = dict(os.environ)
USER_MODELS = paths.models_folder()
USER_CACHE = paths.cache_folder()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the real models they use, so that `-m "not real"` always tells the truth.

    What builds and installs packages takes minutes and runs only where -m names it.
    """
    asked = "installer" in config.getoption("markexpr")
    left_out = [item for item in items if item.get_closest_marker("installer") and not asked]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "real_smollm2" in names:
            item.add_marker("real")
        if "real_pair" in names:
            item.add_marker("pair")


@pytest.fixture(autouse=True)
def headstart_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own (not yet created); nothing of the user's is read or written."""
    home = tmp_path / "headstart-home"
    monkeypatch.setenv("HEADSTART_HOME", str(home))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return home


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `target`, `draft`, `other` (model folders) and `*-hf` (their sources), free to be altered."""
    cache = USER_CACHE / "tests" / _tiny_key()
    if not _is_sound(cache):
        _build_tiny_models(cache)
    return Path(shutil.copytree(cache, tmp_path_factory.mktemp("tiny") / "models"))


@pytest.fixture(scope="session")
def tiny_target(tiny_models: Path) -> Path:
    """A Qwen2-like model folder: 600 tokens, 640 logit rows, context of 1024."""
    return tiny_models / "target"


@pytest.fixture(scope="session")
def tiny_draft(tiny_models: Path) -> Path:
    """A draft for `tiny_target` (same vocabulary, 624 logit rows) that guesses right about four times in five."""
    return tiny_models / "draft"


@pytest.fixture(scope="session")
def tiny_other(tiny_models: Path) -> Path:
    """A Llama-like model folder whose vocabulary (500 tokens) does not fit the target's."""
    return tiny_models / "other"


@pytest.fixture(scope="session")
def tiny_source(tiny_models: Path) -> Path:
    """The Hugging Face folder `tiny_target` was exported from."""
    return tiny_models / "target-hf"


@pytest.fixture(scope="session")
def tiny_pair(tiny_target: Path, tiny_draft: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair folder named `tiny-pair`: `tiny_target` with `tiny_draft`."""
    folder = tmp_path_factory.mktemp("pair") / "tiny-pair"
    shutil.copytree(tiny_target, folder / manifest.TARGET_FOLDER)
    shutil.copytree(tiny_draft, folder / manifest.DRAFT_FOLDER)
    shared = len(vocabulary.read(tiny_target))
    manifest.write(folder, manifest.PairManifest("tiny-pair", shared, "2026-01-01T00:00:00+00:00"))
    return folder


@pytest.fixture(scope="session")
def real_smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model folder of SmolLM2-135M-Instruct, exported once per run unless HEADSTART_TEST_MODELS has it."""
    present = _exported(SMOLLM2, _named_folders())
    if present:
        return present
    output = tmp_path_factory.mktemp("real") / SMOLLM2
    export = Path(sysconfig.get_path("scripts")) / "headstart-export"
    _run([str(export), SMOLLM2, "--output", str(output)])
    return output


@pytest.fixture(scope="session")
def real_pair() -> Path:
    """The pair folder of Qwen2.5-Coder from HEADSTART_TEST_MODELS or the user's library."""
    present = _exported(PAIR, [*_named_folders(), USER_MODELS])
    if not present:
        pytest.skip(f"{PAIR} is not exported: run `headstart-export {PAIR}`, or name its parent in {MODELS_VARIABLE}")
    return present


def _named_folders() -> list[Path]:
    named = USER_ENVIRONMENT.get(MODELS_VARIABLE)
    return [Path(named).expanduser().absolute()] if named else []


def _exported(name: str, folders: list[Path]) -> Path | None:
    return next((folder / name for folder in folders if (folder / name / manifest.FILE_NAME).is_file()), None)


def _tiny_key() -> str:
    """Changes with whatever the tiny models are made of."""
    digest = hashlib.sha256()
    for path in (Path(tiny.__file__), tiny.LICENCE_TEXT, Path(manifest.__file__), Path(vocabulary.__file__)):
        digest.update(path.read_bytes())
    for name in ("torch", "transformers", "optimum-intel", "openvino", "openvino-tokenizers"):
        digest.update(importlib.metadata.version(name).encode())
    return digest.hexdigest()[:16]


def _is_sound(folder: Path) -> bool:
    models = [folder / name for name in tiny.MODELS]
    return folder.is_dir() and not any(
        manifest.damaged_files(model, manifest.read_model(model), hashes=True) for model in models
    )


def _build_tiny_models(folder: Path) -> None:
    """Built beside `folder` and moved into place, in a process of its own: no test shares one with torch."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as building:
        built = Path(building) / "models"
        _run([sys.executable, "-m", "tests.tiny", str(built)])
        if folder.exists():
            folder.replace(Path(building) / "replaced")
        built.replace(folder)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, env=USER_ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}", pytrace=False)
