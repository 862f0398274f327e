"""The D-Bus of the desktop session, where there is one. Knows no service on it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtDBus import QDBusConnection


def session_bus() -> QDBusConnection | None:
    """The connection; None on other systems, without a session, or without the library."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    # Without an address the library would start a bus of its own.
    has_bus = os.environ.get("DBUS_SESSION_BUS_ADDRESS") or (folder and (Path(folder) / "bus").exists())
    if not sys.platform.startswith("linux") or not has_bus:
        return None
    try:
        from PySide6.QtDBus import QDBusConnection  # noqa: PLC0415  its library may be missing
    except ImportError:
        return None
    bus = QDBusConnection.sessionBus()
    return bus if bus.isConnected() else None
