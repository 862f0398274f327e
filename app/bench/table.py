"""The figures as Markdown for the README. Knows their names, measures nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

Found = Mapping[str, Any]


def table(found: Found) -> str:
    """What was measured of this, against what was asked for."""
    lines = ["| measured | asked for | found |", "| :-- | --: | --: |"]
    for words, goal, value in _rows(found):
        lines.append(f"| {words} | {goal} | {value} |")
    return "\n".join(lines)


def _rows(found: Found) -> Iterator[tuple[str, str, str]]:
    for count, figures in found.get("messages", {}).items():
        yield f"update while streaming into {count} messages, 99 of 100", "16 ms", f"{figures['p99_ms']:.1f} ms"
    for count, figures in found.get("messages", {}).items():
        goal = "300 ms" if str(count) == "1000" else ""
        yield f"opening a chat of {count} messages", goal, f"{figures['first_paint_ms']:.0f} ms"
    if search := found.get("search"):
        slowest = max(search, key=lambda kind: search[kind]["median_ms"])
        worst = max(figures["worst_ms"] for figures in search.values())
        words = f"search in {found['history']:,} messages, slowest kind of query ({slowest})"
        yield words, "100 ms", f"{search[slowest]['median_ms']:.0f} ms, worst {worst:.0f} ms"
    if listing := found.get("list"):
        slowest = max(listing, key=lambda kind: listing[kind]["median_ms"])
        yield f"list of {found['chats']:,} chats ({slowest})", "", f"{listing[slowest]['median_ms']:.0f} ms"
    if start := found.get("start"):
        yield "start to a window one can type in", "1.5 s", f"{start['median_ms'] / 1000:.2f} s"
        yield "memory of the window's process after the start", "250 MB", f"{start['rss_mb']} MB"
    yield from _live_rows(found)


def _live_rows(found: Found) -> Iterator[tuple[str, str, str]]:
    if messages := found.get("messages"):
        yield (
            "memory with the longest of these chats open",
            "250 MB",
            f"{max(f['rss_mb'] for f in messages.values())} MB",
        )
    if late := found.get("heartbeat"):
        value = f"{late['late_max_ms']:.0f} ms, 99 of 100 under {late['late_p99_ms']:.1f} ms"
        yield f"lateness of the window's thread while {late['model']} streams", "50 ms", value
