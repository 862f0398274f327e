"""The program in a folder, as it is installed on Windows.

headstart.exe .com headstart-engine.exe headstart-export.exe    launchers, and Microsoft's C++ libraries beside them
runtime lib app                                                 Python, the packages, Headstart itself
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from headstart.ui.help.licences import Component, components
from installer import bill, contents, environment, kernels, order
from installer.windows import launchers, runtime, tools, wheels

_PROGRAMS = order.ROOT / "installer" / "programs"


def stage(folder: Path, work: Path) -> None:
    """Put everything but models and the bill of materials into `folder`, which is replaced. Raises HeadstartError."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    downloads = work / "downloads"
    runtime.unpack(runtime.fetch(downloads), folder / "runtime", work / "runtime")
    fetched = wheels.fetch(order.ROOT, downloads)
    wheels.unpack(fetched, folder / "lib")
    wheels.unpack_some(fetched, wheels.RUNTIME_FROM, wheels.RUNTIME, folder)
    environment.build_wheel(Path(sys.executable), order.ROOT, work, kernels.WINDOWS.triple)
    wheels.unpack([environment.wheel(work)], folder / "app")
    shutil.copyfile(_PROGRAMS / "start.py", folder / "app" / "start.py")
    for described in Path(sysconfig.get_path("purelib")).glob(f"{bill.COMPILER}-*.dist-info"):  # with its licences
        shutil.copytree(described, folder / "lib" / described.name, ignore=shutil.ignore_patterns("RECORD"))
    compile_modules(folder)
    launchers.make(folder, work / "launchers")
    tools.require_libraries(folder)


def parts(folder: Path) -> tuple[Component, ...]:
    """Return the components of the program in `folder`."""
    excluded = {module.replace("_", "-") for module in contents.EXCLUDED_MODULES}
    installed = components(places=[folder / "app", folder / "lib"])
    included = [part for part in installed if part.name.lower() not in excluded]
    licence = folder / "runtime" / "LICENSE.txt"
    python = Component("Python", runtime.VERSION, "PSF-2.0", "https://www.python.org", (licence,))
    return (*(python if part.name == "Python" else part for part in included), *bill.compiler())


def compile_modules(folder: Path) -> None:
    """Compile the modules to bytecode with the same Python. Without one, Windows compiles them at the first start."""
    name = f"python{wheels.PYTHON}"
    python = sys.executable if _runs(sys.executable) else name
    if not _runs(python):
        print(f"There is no {name} here, so the first start on Windows will take longer: it compiles all modules.")
        return
    command = [python, "-m", "compileall", "-q", "-q", "--invalidation-mode", "unchecked-hash", "-s", str(folder)]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    subprocess.run([*command, str(folder / "lib"), str(folder / "app")], env=environ, check=True)


def _runs(python: str) -> bool:
    """Tell whether `python` has the version of the program's Python."""
    if not shutil.which(python):
        return False
    process = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    return process.stdout.startswith(f"Python {wheels.PYTHON}.")
