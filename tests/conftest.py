"""Fixtures shared by all tests: isolation from the user's data, tiny models, real models."""

import dataclasses
import gc
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

import pytest
from filelock import FileLock

from headstart import paths, private_files
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.store import open_store
from headstart.engine.hardware import machine
from headstart.library import manifest, vocabulary
from tests import source_state
from tests.stand_ins import tiny
from tests.support import junk

ROOT = Path(__file__).resolve().parent.parent
SMOLLM2 = "smollm2-135m-instruct"
GEMMA = "gemma-3-270m"
MINILM = "all-minilm-l6-v2"
E5 = "multilingual-e5-small"
PP_OCR = "pp-ocrv6"
WHISPER = "whisper-tiny-en"
PAIR = "qwen2.5-coder"
# Fixtures with the markers of the tests that use them: models, and exports in processes of their own.
MARKED = {
    "tiny_models": ("model",),
    "tokenizer_folders": ("model",),
    "real_smollm2": ("real", "slow"),
    "real_gemma": ("real", "slow"),
    "real_minilm": ("real", "slow"),
    "real_e5": ("real", "slow"),
    "real_pp_ocr": ("real", "slow"),
    "real_whisper": ("real", "slow"),
    "real_pair": ("pair", "slow"),
    "offline": ("slow",),
}
MEASURED_ONCE = {"real_smollm2", "real_pair"}
ON_REQUEST = ("installer", "slow")  # markers of tests that take long; the first that a test has must be asked for
MODELS_VARIABLE = "HEADSTART_TEST_MODELS"  # a folder with exported models, to be used instead of exporting
AGAIN_VARIABLE = "HEADSTART_TEST_AGAIN"  # if set, what passed for the same sources runs again

# What an exported model follows from, as in `.ci/run`.
EXPORTER = ("export", "models", "app/headstart/library/manifest.py", "app/headstart/library/vocabulary.py")
KERNEL_SOURCES = sorted((ROOT / "app/headstart/engine/kernels/source").rglob("*.[ch]"))  # in C
PACKAGES = ("torch", "transformers", "optimum-intel", "nncf", "openvino", "openvino-genai", "openvino-tokenizers")
UNUSED_SECONDS = 86_400
# Files whose slow tests take longest, the longest first.
LONGEST = (
    "tests/engine/test_histories.py",
    "tests/export/test_end_to_end.py",
    "tests/export/gguf/test_decoder.py",
    "tests/engine/kernels/test_sanitized.py",
    "tests/engine/test_real_models.py",
    "tests/engine/test_exactness.py",
    "tests/engine/runners/test_windows.py",
    "tests/export/test_failures.py",
    "tests/bench/test_programs.py",
    "tests/server/test_real.py",
)

# Noted before a test is isolated from them.
USER_ENVIRONMENT = dict(os.environ)
USER_MODELS = paths.models_folder()
USER_CACHE = paths.cache_folder()
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # before pytest-qt makes the application
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # before a test imports OpenVINO by itself


def pytest_configure() -> None:
    """Bind each worker, and what it starts, to a processor, before OpenVINO counts them. Let Ctrl+C interrupt.

    Threads of workers that share processors wait for each other in spins. A shell has what it starts in the background
    ignore Ctrl+C.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[int(worker.removeprefix("gw")) % len(processors)]})


def pytest_collection() -> None:
    """Pause the garbage collector: modules and tests stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Resume the garbage collector, and keep it from visiting again and again what stays."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have one worker compile a module, and what it imports, while the others wait; they find it compiled."""
    if "PYTEST_XDIST_WORKER" not in os.environ or not isinstance(collector, pytest.Module):
        return (yield)
    locks = Path(collector.config.getoption("basetemp")).parent / "collecting"
    locks.mkdir(exist_ok=True)
    with FileLock(locks / collector.nodeid.replace("/", ".")):
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they use, and leave out those that -m has to name."""
    for item in items:
        for fixture, markers in MARKED.items():
            if fixture in getattr(item, "fixturenames", ()):
                for marker in markers:
                    item.add_marker(marker)
    asked = config.getoption("markexpr")
    unasked = [marker for marker in ON_REQUEST if not re.search(rf"\b{marker}\b", asked)]
    left_out = {item for item in items if next(filter(item.get_closest_marker, ON_REQUEST), None) in unasked}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    if "slow" not in unasked:  # what takes longest does not begin last
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    return next((place for place, file in enumerate(LONGEST) if item.nodeid.startswith(file)), len(LONGEST))


@pytest.fixture(scope="session", autouse=True)
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of fixtures that several tests share; all workers have the same."""
    folder = tmp_path_factory.getbasetemp()
    home = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "shared-home"
    os.environ["HEADSTART_HOME"] = str(home)
    (home / "measured").mkdir(parents=True, exist_ok=True)
    return home


@pytest.fixture(autouse=True)
def headstart_home(
    request: pytest.FixtureRequest, tmp_path: Path, shared_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A data folder of the test's own (not yet created); nothing of the user's is read or written.

    Real models are measured once: it takes longer than most of their tests.
    """
    home = tmp_path / "headstart-home"
    monkeypatch.setenv("HEADSTART_HOME", str(home))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    if MEASURED_ONCE.intersection(request.fixturenames):
        home.mkdir()
        (home / "measured").symlink_to(shared_home / "measured")
    return home


@pytest.fixture(scope="session")
def new_history(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """A function that puts an empty history into a folder: a copy, as making one takes longer than many tests."""
    made = tmp_path_factory.mktemp("history") / "new"
    open_store(made).close()

    def put(folder: Path) -> None:
        private_files.make(folder)
        shutil.copy(made / FILE_NAME, folder)

    return put


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `target`, `draft`, `other` (model folders) and `*-hf` (their sources); tests may alter them."""
    built = built_once("tests.stand_ins.tiny", manifest.__file__, vocabulary.__file__)
    return Path(shutil.copytree(built, tmp_path_factory.mktemp("tiny") / "models"))


@pytest.fixture(scope="session")
def tiny_target(tiny_models: Path) -> Path:
    """A Qwen2-like model folder: 600 tokens, 640 logit rows, context of 1024."""
    return tiny_models / "target"


@pytest.fixture(scope="session")
def tiny_draft(tiny_models: Path) -> Path:
    """A draft for `tiny_target` (same vocabulary, 624 logit rows) that guesses right about four times in five."""
    return tiny_models / "draft"


@pytest.fixture(scope="session")
def tiny_quantized(tiny_models: Path) -> Path:
    """A Qwen2-like model folder in INT8, whose products and attention are of sizes that our own kernels take."""
    return tiny_models / "quantized"


@pytest.fixture(scope="session", params=["quantized", "normed", "windowed"])
def tiny_family(request: pytest.FixtureRequest, tiny_models: Path) -> Path:
    """`tiny_quantized`, and model folders like it of Qwen3 and Gemma 3, with norms of heads and windows."""
    return tiny_models / str(request.param)


@pytest.fixture(scope="session")
def tiny_other(tiny_models: Path) -> Path:
    """A Llama-like model folder whose vocabulary (500 tokens) does not fit the target's."""
    return tiny_models / "other"


@pytest.fixture(scope="session")
def tiny_thinking(tiny_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make model folders with a chat template and the tokens around thinking of Qwen3, Gemma 4 and gpt-oss."""

    def make(template: str) -> Path:
        folder = tmp_path_factory.mktemp("thinking") / "thinker"
        shutil.copytree(tiny_models / "thinking", folder)
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
        files = manifest.hash_files(folder)
        manifest.write(folder, dataclasses.replace(manifest.read_model(folder), files=files))
        return folder

    return make


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
def real_smollm2() -> Path:
    """The model folder of SmolLM2-135M-Instruct, from HEADSTART_TEST_MODELS, or kept from an export."""
    return _real(SMOLLM2)


@pytest.fixture(scope="session")
def real_gemma() -> Path:
    """The model folder of Gemma 3 270M, a base model; its tests are skipped where its packages cannot be reached."""
    return _real(GEMMA, may_skip=True)


@pytest.fixture(scope="session")
def real_minilm() -> Path:
    """The model folder of all-MiniLM-L6-v2, which makes vectors; skips as `real_gemma` does."""
    return _real(MINILM, may_skip=True)


@pytest.fixture(scope="session")
def real_e5() -> Path:
    """The model folder of multilingual-e5-small; skips as `real_gemma` does."""
    return _real(E5, may_skip=True)


@pytest.fixture(scope="session")
def real_pp_ocr() -> Path:
    """The model folder of PP-OCRv6, which reads text in pictures; skips as `real_gemma` does."""
    return _real(PP_OCR, may_skip=True)


@pytest.fixture(scope="session")
def real_whisper() -> Path:
    """The model Whisper tiny.en, which writes down speech."""
    return _real(WHISPER, may_skip=True)


def _real(name: str, *, may_skip: bool = False) -> Path:
    def export(folder: Path) -> None:
        program = Path(sysconfig.get_path("scripts")) / "headstart-export"
        _run([str(program), name, "--output", str(folder / name)], may_skip=may_skip)

    return _exported(name, _named_folders()) or kept(f"real-{name}", sources_of(*EXPORTER), export) / name


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


def built_once(module: str, *sources: str) -> Path:
    """Build with `python -m MODULE FOLDER`, once per machine for each state of the module, `sources` and packages.

    In a process of its own: no test shares one with torch.
    """
    own = ROOT / f"{module.replace('.', '/')}.py"
    files = [Path(tiny.__file__), own, tiny.LICENCE_TEXT, *map(Path, sources)]
    return kept(module, files, lambda folder: _run([sys.executable, "-m", module, str(folder)]))


def kept(name: str, sources: Iterable[Path], make: Callable[[Path], None]) -> Path:
    """Return a folder that `make` fills, once per machine for each state of `sources` and packages.

    Whatever has altered its files since has them made anew. Folders of other states go when they were not used for a
    day.
    """
    digest = hashlib.sha256()
    for path in sources:
        digest.update(source_state.digest(path))
    for package in PACKAGES:
        digest.update(importlib.metadata.version(package).encode())
    folder = USER_CACHE / "tests" / f"{name}-{digest.hexdigest()[:16]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not _is_sound(folder):
            _sums(folder).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            _sums(folder).write_text(json.dumps(_hashes(folder)), encoding="utf-8")
            _remove_unused(folder.parent, name)
        _sums(folder).touch()
    return folder


def proven_once(name: str, sources: Iterable[Path], prove: Callable[[], object]) -> None:
    """Call `prove`, which raises if it fails, unless it passed for this state of `sources`, packages and processor.

    HEADSTART_TEST_AGAIN calls it anyway, and so does a wish for more inputs.
    """
    if {AGAIN_VARIABLE, junk.TIMES} & USER_ENVIRONMENT.keys():
        prove()
        return

    def make(folder: Path) -> None:
        prove()
        folder.mkdir()
        (folder / "passed").write_text(time.strftime("%Y-%m-%d %H:%M:%S"), encoding="utf-8")

    sets = " ".join(machine.instruction_sets() or ())
    processor = hashlib.sha256(f"{machine.cpu_signature()} {sets}".encode()).hexdigest()[:8]
    kept(f"proof-{name}-{processor}", sources, make)


def sources_of(*places: str) -> list[Path]:
    """Return the source files in these files and folders of the checkout."""
    return source_state.sources_of(ROOT, places)


def _remove_unused(parent: Path, name: str) -> None:
    for sums in parent.glob(f"{name}-{'?' * 16}.json"):
        if time.time() - sums.stat().st_mtime > UNUSED_SECONDS:
            sums.unlink()
            shutil.rmtree(sums.with_suffix(""), ignore_errors=True)


def _is_sound(folder: Path) -> bool:
    """Return whether a folder was built completely and has not changed since."""
    try:
        return bool(json.loads(_sums(folder).read_text(encoding="utf-8")) == _hashes(folder))
    except (OSError, ValueError):
        return False


def _sums(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _run(command: list[str], *, may_skip: bool = False) -> None:
    done = subprocess.run(command, cwd=ROOT, env=USER_ENVIRONMENT, capture_output=True, text=True, check=False)
    if may_skip and "cannot be fetched (" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}", pytrace=False)
