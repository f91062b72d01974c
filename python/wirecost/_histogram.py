"""Histograms of times: HdrHistogram's buckets, added up, never averaged."""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ._errors import UsageError
from ._files import path_of, read_text

# The cookies of HdrHistogram's V2 encodings, without the size of a word.
_COMPRESSED = 0x1C849304
_ENCODED = 0x1C849303


class Histogram:
    """Counts of times in nanoseconds, in buckets of 3 significant digits.

    `a + b` has the counts of both. A percentile is computed from the sums, as the program does.
    """

    def __init__(self, counts: Mapping[int, int] | None = None, *, digits: int = 3, lowest: int = 1) -> None:
        self._digits = digits
        self._lowest = lowest
        self._counts = {index: count for index, count in sorted((counts or {}).items()) if count}

    @classmethod
    def decode(cls, text: str) -> Histogram:
        """One histogram in the base64 text of HdrHistogram's compressed V2 encoding."""
        try:
            return cls._decoded(text)
        except (binascii.Error, struct.error, zlib.error, IndexError, UnicodeError):
            raise UsageError("this histogram is cut off or damaged", "read a .hlog file of wirecost", code=2) from None

    @classmethod
    def _decoded(cls, text: str) -> Histogram:
        raw = base64.b64decode(text)
        cookie, length = struct.unpack_from(">II", raw)
        if cookie & ~0xF0 != _COMPRESSED & ~0xF0:
            raise UsageError("this is no compressed histogram of version 2", "read a .hlog file of wirecost", code=2)
        body = zlib.decompress(raw[8 : 8 + length])
        cookie, payload, _offset, digits, lowest, _highest, _ratio = struct.unpack_from(">IIIIqqd", body)
        if cookie & ~0xF0 != _ENCODED & ~0xF0:
            raise UsageError("this is no histogram of version 2", "read a .hlog file of wirecost", code=2)
        counts: dict[int, int] = {}
        index = 0
        for value in _zig_zag(body[40 : 40 + payload]):
            if value < 0:
                index -= value
            else:
                if value:
                    counts[index] = value
                index += 1
        return cls(counts, digits=digits, lowest=lowest)

    @classmethod
    def read(cls, path: str | Path) -> Histogram:
        """The sum of all intervals of an HdrHistogram log (.hlog)."""
        total, place = cls(), path_of(path)
        try:
            lines = read_text(place).splitlines()
        except FileNotFoundError:
            raise UsageError(f"{place} is not there", "read a .hlog file of wirecost", code=2) from None
        for line in lines:
            fields = line.rsplit(",", 1)
            if len(fields) == 2 and fields[1].startswith("HISTF"):
                total = total + cls.decode(fields[1])
        return total

    @classmethod
    def of(cls, values: Iterable[int]) -> Histogram:
        """The histogram of times in nanoseconds."""
        counts: dict[int, int] = {}
        for value in values:
            index = cls.index_of(value)
            counts[index] = counts.get(index, 0) + 1
        return cls(counts)

    @staticmethod
    def index_of(value: int) -> int:
        """The bucket of a time in nanoseconds, of 3 significant digits."""
        half = 1024
        bucket = max(0, value.bit_length() - 11)
        return ((bucket + 1) * half) + (value >> bucket) - half

    def __add__(self, other: Histogram) -> Histogram:
        if not isinstance(other, Histogram):
            return NotImplemented
        if self._counts and other._counts and (self._digits, self._lowest) != (other._digits, other._lowest):
            raise UsageError("histograms of different buckets do not add up", "add histograms of wirecost", code=2)
        model = self if self._counts else other
        counts = dict(self._counts)
        for index, count in other._counts.items():
            counts[index] = counts.get(index, 0) + count
        return Histogram(counts, digits=model._digits, lowest=model._lowest)

    def __radd__(self, other: object) -> Histogram:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return sum(self._counts.values())

    def buckets(self) -> Iterator[tuple[int, int, int]]:
        """Lowest and highest value of each bucket that has counts, in nanoseconds, and its count."""
        for index, count in self._counts.items():
            low, size = self._range(index)
            yield low, low + size - 1, count

    def percentile(self, percent: float) -> int | None:
        """The least bucket's highest value below which `percent` of the times are, in ns; None if there are too few.

        A percentile pX needs 1/(1 - X) times, as everywhere in wirecost.
        """
        if not 0 <= percent <= 100:
            raise UsageError(f"{percent} is no percentile", "percentiles are from 0 to 100", code=2)
        total = len(self)
        if total == 0 or (percent < 100 and total * (100 - percent) < 100):
            return None
        wanted = max(1, math.ceil(total * percent / 100))
        seen = 0
        for _low, high, count in self.buckets():
            seen += count
            if seen >= wanted:
                return high
        return None

    def mean(self) -> float | None:
        """Mean of the buckets' middles, in nanoseconds."""
        total = len(self)
        if total == 0:
            return None
        return sum((low + high) / 2 * count for low, high, count in self.buckets()) / total

    def _range(self, index: int) -> tuple[int, int]:
        magnitude = max(0, (2 * 10**self._digits - 1).bit_length() - 1)
        half = 1 << magnitude
        unit = max(0, self._lowest.bit_length() - 1)
        bucket, sub = (index >> magnitude) - 1, (index & (half - 1)) + half
        if bucket < 0:
            bucket, sub = 0, sub - half
        return sub << (bucket + unit), 1 << (bucket + unit)

    def __repr__(self) -> str:
        median = self.percentile(50)
        shown = "" if median is None else f", p50 {median / 1e6:.3f} ms"
        return f"<Histogram of {len(self)} times{shown}>"


def _zig_zag(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value = shift = 0
        for place in range(9):
            byte = data[at]
            at += 1
            if place == 8:
                value |= byte << shift
                break
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        yield (value >> 1) ^ -(value & 1)
