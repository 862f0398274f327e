"""The words of a recording with their times, and their forms: plain text, text with times, SubRip and WebVTT."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """A sentence or two. Times are in seconds from the beginning of the recording."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class SpeechTranscript:
    segments: tuple[Segment, ...]
    language: str  # by its code, such as "en"
    seconds: float  # of the recording

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments)


def clock(seconds: float) -> str:
    """Return a time as minutes and seconds, with hours if there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def text_with_times(segments: Sequence[Segment]) -> str:
    """Return a line for each segment, with its start in front."""
    return "\n".join(f"[{clock(segment.start)}] {segment.text}" for segment in segments)


def subrip(segments: Sequence[Segment]) -> str:
    """Return subtitles in the SubRip format (.srt)."""
    parts = (
        f"{number}\n{_time(segment.start, ',')} --> {_time(segment.end, ',')}\n{segment.text}\n"
        for number, segment in enumerate(segments, start=1)
    )
    return "\n".join(parts)


def web_vtt(segments: Sequence[Segment]) -> str:
    """Return subtitles in the WebVTT format (.vtt)."""
    parts = (f"{_time(segment.start, '.')} --> {_time(segment.end, '.')}\n{segment.text}\n" for segment in segments)
    return "\n".join(["WEBVTT\n", *parts])


def _time(seconds: float, point: str) -> str:
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{point}{milliseconds:03}"
