"""Whether all that Headstart loads of OpenVINO has come along with it. Knows no model and no package."""

from headstart.engine import runtime

_READER = "ir"  # of the format that models are kept in


def missing_parts() -> tuple[str, ...]:
    """A sentence for each part that is not there or does not load; loads OpenVINO."""
    try:
        runtime.openvino_genai()
        import openvino_tokenizers as tokenizers  # noqa: PLC0415

        extension = str(tokenizers._ext_path)  # noqa: SLF001 - it has no other name
        runtime.core().add_extension(extension)
    except (ImportError, OSError, RuntimeError) as error:
        return (f"OpenVINO does not load: {' '.join(str(error).split())}",)
    readers = runtime.openvino().frontend.FrontEndManager().get_available_front_ends()
    parts = {"its plugin for the CPU": "CPU" in runtime.core().available_devices, "its reader": _READER in readers}
    return tuple(f"OpenVINO lacks {part}." for part, is_there in parts.items() if not is_there)
