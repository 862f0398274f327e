"""Makes the packages for Windows, step by step. Nothing of it can be started here: what it would lack is looked for."""

from pathlib import Path

from installer import bill, environment, models, stamps
from installer.order import Order
from installer.parts import parts, table
from installer.windows import msi, payload, setup, tools

_MODELS = "models"  # beside the programs; `headstart.paths.bundled_models_folder` looks there
_SYSTEM = "Windows AMD64"


def make(order: Order, epoch: int) -> tuple[Path, list[Path]]:
    """The folder of the program, and its setup and MSI. What it prints is for people. Raises HeadstartError."""
    tools.require()
    work = order.work / "windows"
    program = work / "program"
    payload.stage(program, work)
    environment.put_wheel(order.work, program)
    packed = models.put(order.model, program / _MODELS) if order.model else []
    found = payload.parts(program)
    (program / bill.NAME).write_text(bill.bill(found, packed, epoch, _SYSTEM), encoding="utf-8")
    stamps.settle(program, epoch)
    print(table(parts(program)), flush=True)
    launchers = work / "launchers"
    return program, [pack(program, launchers, order.output) for pack in (setup.pack, msi.pack)]
