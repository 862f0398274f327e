"""The boxes of text lines in the map of a DBNet detector."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

_THRESHOLD = 0.3  # of a pixel's probability; this and the next two are those that the weights are published with
_MIN_SCORE = 0.5  # mean probability of a box's pixels
_UNCLIP = 1.6  # growth of a box: the detector marks the core of a line
_MIN_SIDE = 3  # pixels of the map


class Box(NamedTuple):
    """A rectangle around a line of text, in pixels. `angle`: of its long side in radians, clockwise from the x axis."""

    x: float  # of the centre
    y: float
    width: float  # along the text
    height: float
    angle: float

    def scaled(self, factor: float) -> "Box":
        """Return the box in a picture that is `factor` times as large."""
        return Box(self.x * factor, self.y * factor, self.width * factor, self.height * factor, self.angle)


def text_boxes(probabilities: Any) -> Iterator[Box]:
    """Yield the boxes of lines. `probabilities`: f32 [height, width], of each pixel to be text."""
    mask = probabilities > _THRESHOLD
    mask[1:] |= mask[:-1]  # joins what a gap of one pixel divides
    mask[:, 1:] |= mask[:, :-1]
    starts, ends, labels = _runs(mask)
    sums = np.concatenate([[0.0], np.cumsum(probabilities, dtype=np.float64)])
    width = probabilities.shape[1]
    rows = starts // (width + 1)
    starts, ends = starts - rows, ends - rows  # places in `probabilities`; those of the runs have a column more
    order = np.argsort(labels, kind="stable")
    for runs in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        lengths = ends[runs] - starts[runs]
        if not lengths.size or (sums[ends[runs]] - sums[starts[runs]]).sum() < _MIN_SCORE * lengths.sum():
            continue
        left, top = starts[runs] - rows[runs] * width, rows[runs]
        corners = np.concatenate([np.stack([x, y], 1) for x in (left, left + lengths) for y in (top, top + 1)])
        box = _smallest_rectangle(_hull(corners))
        if box.height >= _MIN_SIDE:
            growth = 2 * _UNCLIP * box.width * box.height / (2 * (box.width + box.height))
            yield box._replace(width=box.width + growth, height=box.height + growth)


def _runs(mask: Any) -> tuple[Any, Any, Any]:
    """Return starts, ends and component of each horizontal run of a mask; pixels that share a corner are connected.

    Starts and ends count through the rows, each of which has an empty pixel more at its end.
    """
    flat = np.pad(mask, ((0, 0), (0, 1))).ravel().astype(np.int8)
    steps = np.diff(flat, prepend=0)
    starts, ends = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)
    stride = mask.shape[1] + 1
    first = np.searchsorted(ends, starts + stride)  # of the runs below that touch a run
    last = np.searchsorted(starts, ends + stride, side="right")
    counts = np.maximum(last - first, 0)
    above = np.repeat(np.arange(len(starts)), counts)
    below = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    labels = np.arange(len(starts))
    while True:
        lowest = labels.copy()
        np.minimum.at(lowest, above, labels[below])
        np.minimum.at(lowest, below, labels[above])
        lowest = lowest[lowest]
        if np.array_equal(lowest, labels):
            return starts, ends, labels
        labels = lowest


def _hull(points: Any) -> Any:
    """Return the convex hull of points, counter-clockwise (monotone chain)."""
    ordered = sorted(set(map(tuple, points.tolist())))

    def half(line: list[tuple[int, int]]) -> list[tuple[int, int]]:
        chain: list[tuple[int, int]] = []
        for x, y in line:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]), np.float64)


def _smallest_rectangle(hull: Any) -> Box:
    """Return the rectangle of the least area around a hull: one of its sides lies on one of the hull's."""
    edges = np.roll(hull, -1, axis=0) - hull
    angles = np.unique(np.arctan2(edges[:, 1], edges[:, 0]) % (math.pi / 2))
    cosines, sines = np.cos(angles), np.sin(angles)
    along = np.outer(cosines, hull[:, 0]) + np.outer(sines, hull[:, 1])  # [angles, points]
    across = np.outer(cosines, hull[:, 1]) - np.outer(sines, hull[:, 0])
    sizes = np.ptp(along, axis=1), np.ptp(across, axis=1)
    best = int(np.argmin(sizes[0] * sizes[1]))
    u, v = (float(values[best].min() + values[best].max()) / 2 for values in (along, across))
    width, height, angle = float(sizes[0][best]), float(sizes[1][best]), float(angles[best])
    x, y = u * math.cos(angle) - v * math.sin(angle), u * math.sin(angle) + v * math.cos(angle)
    if angle > math.pi / 4:  # the nearer axis is the vertical one
        width, height, angle = height, width, angle - math.pi / 2
    return Box(x, y, width, height, angle)
