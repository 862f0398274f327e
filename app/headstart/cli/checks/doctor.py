"""`headstart doctor`: checks of this computer and this installation, with a remedy for each problem."""

import contextlib
import getpass
import json
import os
import platform
import re
import shutil
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

import psutil

from headstart import __version__, paths
from headstart.cli.command import Load, flag
from headstart.cli.render import Screen, count, harmless
from headstart.engine.hardware import devices, machine, runtime
from headstart.engine.hardware.machine import package_version, package_versions
from headstart.engine.kernels import selftest
from headstart.engine.kernels.library import Isa, use_isa
from headstart.engine.loading import memory
from headstart.engine.loading.memory import amount, free_memory
from headstart.engine.process.client import EngineClient
from headstart.errors import HeadstartError
from headstart.library import export_leftovers, library
from headstart.library.library import Broken, Model, Pair
from headstart.library.manifest import Manifest


class Level(StrEnum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"  # worth knowing; Headstart works
    PROBLEM = "problem"  # something does not work


@dataclass(frozen=True)
class Finding:
    """The result of one check. `text` and `remedy` are sentences; a problem always has a remedy."""

    section: str
    level: Level
    text: str
    remedy: str = ""

    def __post_init__(self) -> None:
        assert self.remedy or self.level is not Level.PROBLEM


_MARGIN = 9  # columns before a sentence


@dataclass(frozen=True, kw_only=True)
class DoctorFlags:
    json: bool = flag(default=False, help="print one object instead of sentences")
    clean: bool = flag(default=False, help="remove what killed exports have left among the models")
    isa: Isa | None = flag(None, "check the kernels with this instruction set, not with the processor's best")


def run(arguments: DoctorFlags, _load: Load) -> int:
    """Run the checks, and print each result at once, for loading OpenVINO takes time. Return 1 if a check fails."""
    if arguments.isa:
        use_isa(arguments.isa)
    findings: list[Finding] = []
    for leftover in _leftovers() if arguments.clean else ():
        leftover.remove()
        Screen().remark(f"{leftover.root} is removed.")
    for finding in map(impersonal, examine()):
        if not arguments.json:
            if not findings or findings[-1].section != finding.section:
                print(finding.section)
            print(harmless(f"  {finding.level:<{_MARGIN - 2}}{_one_line(finding.text)}"))
            if finding.remedy:
                print(harmless(f"{'':<{_MARGIN}}-> {_one_line(finding.remedy)}"), flush=True)
        findings.append(finding)
    counts = Counter(finding.level for finding in findings)
    problems, notes = counts[Level.PROBLEM], counts[Level.NOTE]
    if arguments.json:
        print(json.dumps({"problems": problems, "notes": notes, "findings": list(map(asdict, findings))}, indent=2))
    else:
        print(f"{count(problems, 'problem')}, {count(notes, 'note')}.")
    return int(problems > 0)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def examine() -> Iterator[Finding]:
    """Yield the findings of all checks in the order of the report."""
    fault = runtime_fault()
    yield from check_software(fault)
    yield from check_computer()
    if not fault:
        yield from check_devices()
    yield from check_folders()
    yield from check_models()
    yield from check_engine()
    yield from check_window()


def impersonal(finding: Finding) -> Finding:
    """Return a finding without the home folder and the user's name in its paths, so that it can be shared."""
    home, user = str(Path.home()), _user_name()

    def anonymise(text: str) -> str:
        if len(home) > 1:  # a container's home may be the root folder
            text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
        return re.sub(rf"(?<=[/\\]){re.escape(user)}(?=[/\\]|\b)", "USER", text) if user else text

    return replace(finding, text=anonymise(finding.text), remedy=anonymise(finding.remedy))


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in containers
        return ""


@dataclass(frozen=True)
class _Section:
    """Maker of the findings of one section."""

    name: str

    def ok(self, text: str) -> Finding:
        return Finding(self.name, Level.OK, text)

    def note(self, text: str, remedy: str = "") -> Finding:
        return Finding(self.name, Level.NOTE, text, remedy)

    def problem(self, text: str, remedy: str) -> Finding:
        return Finding(self.name, Level.PROBLEM, text, remedy)


_SOFTWARE, _COMPUTER, _DEVICES, _FOLDERS = map(_Section, ("software", "computer", "devices", "folders"))
_MODELS, _ENGINE, _WINDOW = map(_Section, ("models", "engine", "window"))


def runtime_fault() -> str:
    """Return why OpenVINO cannot be loaded; empty if it can."""
    try:
        runtime.openvino()
        runtime.openvino_genai()
    except (ImportError, OSError) as error:
        return " ".join(str(error).split())
    return ""


def check_software(fault: str) -> Iterator[Finding]:
    """Check the versions, that OpenVINO loads, and that its telemetry does not. `fault` comes from `runtime_fault`."""
    versions = package_versions()
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield _SOFTWARE.ok(
        f"Headstart {__version__}, Python {platform.python_version()}, {packages or 'no package metadata'}."
    )
    if package := paths.newer_package():
        yield _SOFTWARE.note(f"A newer Headstart is in {package}.", "Close Headstart, then install that file.")
    if fault:
        yield _SOFTWARE.problem(f"OpenVINO does not load ({fault}).", "Install Headstart again.")
        return
    yield _SOFTWARE.ok("OpenVINO and OpenVINO GenAI load.")
    family = ("openvino", "openvino-genai", "openvino-tokenizers")
    releases = {".".join(versions[name].split(".")[:3]) for name in family if name in versions}
    if len(releases) > 1:
        yield _SOFTWARE.problem(
            f"OpenVINO's packages are of different releases ({', '.join(sorted(releases))}).",
            "Install openvino, openvino-genai and openvino-tokenizers of one release.",
        )
    telemetry = runtime.telemetry_loaded()
    if telemetry:
        yield _SOFTWARE.problem(
            f"OpenVINO's telemetry is loaded ({', '.join(telemetry)}) and may report to its makers.",
            "Uninstall the package openvino-telemetry, and please report this.",
        )
    else:
        state = "is installed but shut out" if package_version("openvino-telemetry") else "is not installed"
        yield _SOFTWARE.ok(f"Telemetry: OpenVINO's {state}; after loading OpenVINO none of it is in this process.")


_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def check_computer() -> Iterator[Finding]:
    """Check the system, the processor and the memory, which decide the speed."""
    yield _COMPUTER.ok(f"{platform.platform()}, {platform.machine()}.")
    yield _processor()
    yield _threads()
    memory = psutil.virtual_memory()
    yield _COMPUTER.ok(f"Memory: {amount(memory.total)}, {amount(free_memory())} of it free.")
    try:
        swapped = int(psutil.swap_memory().used)
    except (OSError, RuntimeError):  # Windows can be set not to count
        swapped = 0
    if swapped > memory.total // 10:
        yield _COMPUTER.note(
            f"{amount(swapped)} of memory is swapped to disk, which slows models down when theirs is.",
            "Close programs that you do not need.",
        )
    try:
        state = _HUGE_PAGES.read_text(encoding="ascii")
    except OSError:  # not Linux, or a sandbox hides it
        return
    yield _COMPUTER.ok(f"Transparent huge pages: {state.partition('[')[2].partition(']')[0] or 'unknown'}.")


def _processor() -> Finding:
    sets = machine.instruction_sets()
    cores, threads = psutil.cpu_count(logical=False), psutil.cpu_count(logical=True)
    text = f"{machine.processor()}, {cores or 'unknown'} cores, {threads or 'unknown'} threads"
    if sets is None:
        return _COMPUTER.ok(f"{text}; this system does not report the instruction sets.")
    text = f"{text}; instruction sets: {', '.join(sets) or 'none of those that speed models up'}."
    if not {"AVX2", "NEON"}.intersection(sets):
        return _COMPUTER.note(f"{text} Without AVX2 or NEON models are slow.", "Choose a small model.")
    return _COMPUTER.ok(text)


def _threads() -> Finding:
    """Report how many threads are used, and which limit keeps others idle."""
    limits = machine.threads()
    present = psutil.cpu_count(logical=True) or limits.affinity
    reason = "the processor has no more"
    if limits.affinity < present:
        reason = f"this process may run on {limits.affinity} of {present} (its affinity)"
    if limits.quota is not None and limits.quota < limits.affinity:
        reason = f"a control group, as of a container, has a quota of {limits.quota:g}"
    return _COMPUTER.ok(f"At most {count(limits.count, 'thread')} at the same time: {reason}.")


_TESTED_MACHINES = dict.fromkeys(("x86_64", "amd64"), "yes")
_DEVICE_NODES = {"GPU": "/dev/dri/renderD*", "NPU": "/dev/accel/accel*"}  # their places on Linux
_DRIVERS = {
    "GPU": "If it is an Intel GPU, install its compute runtime (OpenCL and Level Zero) and, beside Headstart's package "
    "for Debian, headstart-accelerators; Headstart works without.",
    "NPU": "If it is an Intel NPU, install its driver (Level Zero and firmware); Headstart works without.",
}


def check_devices() -> Iterator[Finding]:
    """Check each device that OpenVINO sees, and why other kinds are missing."""
    try:
        present = devices.available()
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        yield _DEVICES.problem(f"OpenVINO cannot list the devices ({reason}).", "Install Headstart again.")
        return
    for name in present:
        yield _DEVICES.ok(_device_facts(name))
        yield _device_support(name)
    kinds = {devices.kind(name) for name in present}
    yield from (_missing_device(kind) for kind in ("CPU", "GPU", "NPU") if kind not in kinds)


def _device_facts(device: str) -> str:
    kind, memory, versions, words = devices.kind(device), devices.memory(device), "", ""
    with contextlib.suppress(RuntimeError):
        versions = ", ".join(str(version.build_number) for version in runtime.core().get_versions(kind).values())
    with contextlib.suppress(RuntimeError):  # the plugin does not know the property
        words = ", ".join(map(str, runtime.core().get_property(device, "OPTIMIZATION_CAPABILITIES")))
    facts = [f"plugin {versions or 'of unknown version'}"]
    if kind != "CPU":
        facts.append(f"driver {devices.driver(device) or 'of unknown version'}")
    facts.append(f"{amount(memory)} of its own memory" if memory else "shares the computer's memory")
    facts.append(f"OpenVINO's capabilities: {words or 'none told'}")
    return f"{device}: {devices.full_name(device)}; {'; '.join(facts)}."


def _device_support(device: str) -> Finding:
    match devices.kind(device):
        case "CPU":
            on_hardware = _TESTED_MACHINES.get(platform.machine().lower(), "not yet on this kind of processor")
            return _DEVICES.ok(
                f"{device} runs everything: plain decoding, draft models, guesses from the text, the confidence "
                f"threshold, INT8 and INT4 weights. Run on real hardware: {on_hardware}."
            )
        case "GPU":
            return _DEVICES.note(
                f"{device} can be tried: Headstart's own engine takes a model only if a check at its first load shows "
                "that wrong guesses leave no trace in its memory, and leaves it to OpenVINO GenAI otherwise. "
                "Run on real hardware: not yet.",
                f"Try --device {device}; if it refuses or answers oddly, use --device CPU and report it.",
            )
        case "NPU":
            return _DEVICES.note(
                f"{device} can be tried: OpenVINO GenAI runs models on it, plain or with a draft model, if their "
                "weights are symmetric; Headstart's own engine cannot. The longest prompt is compiled in, and there "
                "are no confidence threshold and no guesses from the text. Run on real hardware: not yet.",
                f"Export a model with --weights int4-sym and try --device {device}; if it refuses or answers oddly, "
                "use --device CPU and report it.",
            )
    return _DEVICES.note(f"{device} is a kind of device that Headstart does not know.", "Use --device CPU.")


def _missing_device(kind: str) -> Finding:
    reason = _missing_device_reason(kind)
    if kind not in _DEVICE_NODES:
        return _DEVICES.problem(f"OpenVINO has no {kind} device ({reason}).", "Install Headstart again.")
    folder, _, pattern = _DEVICE_NODES[kind].rpartition("/")
    nodes = sorted(Path(folder).glob(pattern))
    if not nodes:
        return _DEVICES.ok(f"No {kind} ({reason}). Run on real hardware: not yet.")
    closed = [str(node) for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        return _DEVICES.note(
            f"No {kind}, though the system has one: this user may not open {', '.join(closed)}.",
            "Add yourself to the group that owns it (mostly `render`) and log in again.",
        )
    return _DEVICES.note(f"No {kind} for OpenVINO, though the system has one: {reason}.", _DRIVERS[kind])


def _missing_device_reason(kind: str) -> str:
    """Return why a device is missing: the last line of its plugin's error that names no place in the source."""
    try:
        versions = runtime.core().get_versions(kind)
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Exception from")]
        return lines[-1].rpartition('": ')[2].strip().rstrip(".") if lines else "its plugin does not load"
    return "its plugin loads but finds no device" if versions else "its plugin is not installed"


_FOLDER_PATHS: Mapping[str, Callable[[], Path]] = {
    "models": paths.models_folder,
    "chats": paths.history_folder,
    "measurements": paths.measurements_folder,
    "settings": paths.config_folder,
    "cache": paths.cache_folder,
    "logs": paths.logs_folder,
}
_MIN_FREE_FOR_MODELS, _MIN_FREE = 2_000_000_000, 50_000_000  # bytes: a small model and its export; a chat history


def check_folders() -> Iterator[Finding]:
    """Check the rights and the free space of Headstart's folders, and whether others can list the chats."""
    for name, folder in _FOLDER_PATHS.items():
        yield _folder(name, folder())
    chats = paths.history_folder()
    # Windows stores rights in another way.
    if sys.platform != "win32" and paths.exists(chats) and chats.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        yield _FOLDERS.note("Other users of this computer may list the folder of your chats.", f"chmod 700 {chats}")
    for leftover in _leftovers():
        size = sum(path.stat().st_size for path in leftover.root.rglob("*") if path.is_file())
        yield _FOLDERS.note(
            f"A killed export of {leftover.output.name} has left {amount(size)} in {leftover.root}.",
            "Run `headstart doctor --clean` to remove that.",
        )


def _leftovers() -> list[export_leftovers.Unfinished]:
    try:
        found = export_leftovers.found(paths.models_folder())
    except OSError:  # the folder has its own finding
        return []
    return [leftover for leftover in found if leftover.is_abandoned]


def _folder(name: str, folder: Path) -> Finding:
    # The folder itself, or the first existing folder above it.
    present = next((path for path in (folder, *folder.parents) if paths.exists(path)), folder)
    where = f"{name}: {folder}"
    if not present.is_dir():
        return _FOLDERS.problem(f"{where} cannot be made: {present} is a file.", "Move that file away.")
    if not os.access(present, os.R_OK | os.W_OK | os.X_OK):
        return _FOLDERS.problem(
            f"{where} cannot be written: {present} does not let you.",
            "Give yourself the right to write there, or set HEADSTART_HOME to a folder of yours.",
        )
    free = shutil.disk_usage(present).free
    text = f"{where}, {'writable' if present == folder else 'not made yet'}, {amount(free)} free"
    if free < _MIN_FREE:
        return _FOLDERS.problem(f"{text}: nothing can be saved soon.", "Free some room on this disk.")
    if free < _MIN_FREE_FOR_MODELS and name == "models":
        return _FOLDERS.note(f"{text}: little for a model.", "Free some room, or set HEADSTART_HOME to another disk.")
    return _FOLDERS.ok(f"{text}.")


def check_models() -> Iterator[Finding]:
    """Check the sizes of the models' files, and which models fit. `headstart models check` hashes the files."""
    from headstart.engine.loading import validation

    entries = library.installed()
    if not entries:
        try:
            library.require_readable()
        except HeadstartError as error:
            yield _MODELS.problem("The models cannot be listed.", str(error))
            return
        yield _MODELS.note("No model is installed yet.", f"Run `{library.FIRST_EXPORT}` to get a small one.")
    free, fitting = free_memory(), []
    for entry in entries:
        finding = _model(entry, free)
        yield finding
        if finding.level is Level.OK and not isinstance(entry, Broken):
            fitting.append((isinstance(entry, Pair), memory.need(_manifests(entry)).total, entry.name))
    for subject, setting, reason in validation.refusals(paths.measurements_folder()):
        yield _MODELS.note(
            f"{subject.get('model')} does not run in {setting} on {subject.get('device')}, as {reason}.",
            "Another precision is used in its place.",
        )
    yield from _invariances()
    if fitting:
        is_pair, _, name = max(fitting)
        yield _MODELS.ok(f"The largest {'pair' if is_pair else 'model'} that fits into free memory is {name}.")


def _invariances() -> Iterator[Finding]:
    """Tell for each loaded model if guesses can change its text here."""
    from headstart.engine.loading import validation

    for subject, setting, agrees in validation.invariances(paths.measurements_folder()):
        which = f"{subject.get('model')} in {setting} on {subject.get('device')}"
        if agrees:
            yield _MODELS.ok(f"{which}: the same text with guesses and without, to the bit.")
        else:
            yield _MODELS.note(
                f"{which}: where two words are almost equally likely, guesses may change which one you get."
            )


def _model(entry: Model | Pair | Broken, free: int) -> Finding:
    if isinstance(entry, Broken):
        return _MODELS.problem(
            f"{entry.name} cannot be used ({entry.reason.rstrip('.')}).",
            f"If you do not need it, `headstart models remove {entry.name}` deletes it.",
        )
    try:
        if isinstance(entry, Pair):
            library.require_same_vocabulary(entry.target, entry.draft)
    except HeadstartError as error:
        return _MODELS.problem(f"{entry.name} is no pair: {str(error).rstrip('.')}.", "Export it again as a pair.")
    models = _manifests(entry)
    weights = " + ".join(model.precision.weights for model in models)
    context, needed = memory.context_of(models[0], None), memory.need(models).total
    text = f"{entry.name} ({weights}): all files have their sizes; takes about {amount(needed)} with {context} tokens"
    if any(model.precision.weights == "gguf" and not model.precision.keeps_blocks for model in models):
        return _MODELS.note(
            f"{text}. Its blocks were converted by an older version of Headstart, which rounded them.",
            "Import its GGUF file again: it becomes smaller, faster and exact.",
        )
    if needed <= free:
        return _MODELS.ok(f"{text}, and fits.")
    fitting = memory.largest_context(models, free)
    shorter = f"--context {fitting} would fit" if fitting else "no context is short enough"
    return _MODELS.note(
        f"{text}, but {amount(free)} is free.", f"Close other programs or choose a smaller model; {shorter}."
    )


def _manifests(entry: Model | Pair) -> tuple[Manifest, ...]:
    return tuple(part.manifest for part in library.loaded_models(entry))


def check_engine(command: Sequence[str] | None = None) -> Iterator[Finding]:
    """Check that the engine's process starts, takes an order and ends. `command` replaces the program in tests."""
    remedy = "Install Headstart again; where a virus scanner holds its programs, allow them."
    started = time.perf_counter()
    try:
        with closing(EngineClient(command)) as engine:
            engine.describe()
    except HeadstartError as error:
        yield _ENGINE.problem(str(error), remedy)
        return
    yield _ENGINE.ok(f"Its process starts, takes an order and ends ({time.perf_counter() - started:.1f} s).")
    yield _kernels()


def _kernels() -> Finding:
    kernels = selftest.proven()
    if kernels:
        return _ENGINE.ok(f"Its own kernels for matrix products work here ({kernels.isa}).")
    remedy = selftest.remedy()
    return _ENGINE.note(
        f"Its own kernels are not used, so answers are about half as fast: {selftest.unsupported_reason()}.",
        f"{remedy[0].upper()}{remedy[1:]}.",
    )


def check_window() -> Iterator[Finding]:
    """Check that the window can open. Missing libraries are a problem only if there is a display."""
    on_linux = sys.platform.startswith("linux")
    has_display = not on_linux or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    try:
        from headstart.ui import display
    except ImportError as error:
        fault = str(error)
    else:
        yield _WINDOW.ok(f"{display.versions()} loads.")
        fault = display.x11_fault() if on_linux else ""
    if fault:
        text, remedy = _missing_library(fault)
        yield _WINDOW.problem(text, remedy) if has_display else _WINDOW.note(text, remedy)
    if has_display:
        yield _WINDOW.ok("There is a display.")
    else:
        yield _WINDOW.note("There is no display to open the window on.", "Use `headstart chat`, which needs none.")


def _missing_library(reason: str) -> tuple[str, str]:
    library = machine.missing_library(reason)
    if not library:
        return f"The window cannot open ({reason}).", "Install Headstart again, or use `headstart chat`."
    packages = machine.window_packages(reason)
    how = f" ({packages})" if packages else ""
    return (
        f"The window cannot open: the system has no {library}.",
        f"Install {library}{how}, or use `headstart chat`.",
    )
