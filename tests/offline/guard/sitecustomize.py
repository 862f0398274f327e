"""Writes each attempt of a Python process to reach another computer into the file that OFFLINE_WISHES names."""

import os
import sys
from pathlib import Path

_WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg")


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event in _WATCHED:
        with Path(os.environ["OFFLINE_WISHES"]).open("a", encoding="utf-8") as file:
            file.write(f"{event} {arguments[1:]}\n")


if "OFFLINE_WISHES" in os.environ:
    sys.addaudithook(_note)
