"""How many bytes of weights a model reads for every token, told from its graph. Compiles nothing."""

from pathlib import Path
from typing import Any

from headstart.engine.runtime import core

# What stands between a compressed constant and the one who uses it.
_UNPACKING = {"Convert", "Multiply", "Subtract", "Reshape", "Transpose", "Unsqueeze"}


def bytes_each_step(folder: Path) -> int:
    """All weights but tables of which a step takes a row: an embedding counts only where it is the output head, too."""
    model = core().read_model(folder / "openvino_model.xml")
    return sum(_size(node) for node in model.get_ops() if node.get_type_name() == "Constant" and _is_read(node))


def _is_read(constant: Any) -> bool:
    return any(not _takes_a_row(port) for output in constant.outputs() for port in _uses(output))


def _uses(output: Any) -> list[Any]:
    """The inputs that a constant feeds once it is unpacked."""
    found = []
    for port in output.get_target_inputs():
        node = port.get_node()
        if node.get_type_name() in _UNPACKING:
            found += [use for each in node.outputs() for use in _uses(each)]
        else:
            found.append(port)
    return found


def _takes_a_row(port: Any) -> bool:
    return bool(port.get_node().get_type_name() == "Gather" and port.get_index() == 0)


def _size(constant: Any) -> int:
    return int(constant.get_byte_size())
