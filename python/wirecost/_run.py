"""A results folder as an object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _html, _tables
from ._errors import Incomplete, Invalid, ThresholdError, UsageError, WirecostError, of_exit
from ._histogram import Histogram
from ._program import run_child

# Versions of summary.json that this package reads.
_SCHEMAS = frozenset({1})

_KINDS = {"response", "service", "lag", "connect", "delay"}


class Run:
    """What one run measured: tables, histograms, warnings, and the report.

    Figures of an INVALID cell are null, and the column `invalid` has the reason.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / "journal.jsonl").is_file():
            raise UsageError(f"{folder} is no results folder", "name a folder that wirecost has written", code=2)
        schema = self.summary.get("schema", 1)
        if schema not in _SCHEMAS:
            raise UsageError(
                f"{folder} has version {schema} of the results' format, and this package reads version 1",
                "install the package of the wirecost that wrote it",
                code=2,
            )

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """`summary.json`, empty where the run ended before its first figure."""
        try:
            return json.loads((self.folder / "summary.json").read_text())
        except FileNotFoundError:
            if not self.folder.is_dir():
                raise UsageError(f"{self.folder} is gone", "run it again, or read another folder", code=2) from None
            return {}

    @property
    def kind(self) -> str:
        """`comparison`, `load` or `nbiot`."""
        if self.summary.get("kind") == "nbiot":
            return "nbiot"
        return "load" if "loads" in self.summary else "comparison"

    @property
    def command(self) -> str:
        """The command that repeats the run."""
        return str(self.summary.get("command", ""))

    @property
    def env(self) -> Mapping[str, Any]:
        """The machine: `env.json`."""
        return json.loads((self.folder / "env.json").read_text())

    @cached_property
    def cells(self) -> pa.Table:
        """One row for each phase of a cell; for each phase of a load; for each point of an NB-IoT run."""
        if self.kind == "load":
            return self.phases
        if self.kind == "nbiot":
            return self._read("points")
        return _tables.without_invalid(self._read("cells"), self._reasons("cells"), "key")

    @cached_property
    def samples(self) -> pa.Table:
        """One row for each device of a comparison."""
        indices = {index: why for index, why in enumerate(self._why("cells")) if why}
        return _tables.without_invalid(self._of("comparison", "samples"), indices, "cell")

    @cached_property
    def phases(self) -> pa.Table:
        """One row for each phase of a load."""
        return _tables.without_invalid(self._of("load", "phases"), self._reasons("loads"), "key")

    @cached_property
    def intervals(self) -> pa.Table:
        """One row for each second of a phase of a load."""
        return self._of("load", "intervals")

    @cached_property
    def usage(self) -> pa.Table:
        """CPU and memory of generator and target of a load, second by second."""
        return self._of("load", "usage")

    @cached_property
    def ladder(self) -> pa.Table:
        """The packets of one connect and first message of each cell."""
        return _tables.ladder(self.folder)

    @cached_property
    def claims(self) -> pa.Table:
        """The judged claims of a study."""
        return _tables.claims(self.folder)

    @property
    def valid(self) -> bool:
        """Whether every cell ran and may be used."""
        return not self.summary.get("interrupted") and not any(self._why(self._list))

    @property
    def warnings(self) -> list[str]:
        """The warnings of all cells, each once."""
        found: dict[str, None] = {}
        for item in self.summary.get(self._list, []):
            phases = item.get("phases") or []
            for warning in [*item.get("warnings", []), *(one for phase in phases for one in phase.get("warnings", []))]:
                found.setdefault(warning["text"])
        return list(found)

    @property
    def _list(self) -> str:
        return {"load": "loads", "nbiot": "points"}.get(self.kind, "cells")

    def _why(self, name: str) -> list[str | None]:
        return [_reason(item) for item in self.summary.get(name, [])]

    def _reasons(self, name: str) -> dict[str, str]:
        items = self.summary.get(name, [])
        return {item["key"]: why for item, why in zip(items, self._why(name)) if why and "key" in item}

    def _of(self, kind: str, table: str) -> pa.Table:
        if self.kind == kind:
            return self._read(table)
        raise UsageError(f"a {self.kind} run has no {table}", f"{table} are of a {kind} run", code=2)

    def _read(self, table: str) -> pa.Table:
        try:
            return _tables.read(table, self.folder)
        except FileNotFoundError:
            return _tables.schema(table).empty_table()

    def check(self) -> Run:
        """Returns the run if everything ran, is valid and holds its thresholds; raises otherwise."""
        if self.summary.get("interrupted"):
            raise Incomplete(f"{self.folder} was interrupted", f"wirecost.resume({str(self.folder)!r}) finishes it", run=self)
        for item in self.summary.get(self._list, []):
            why = _reason(item)
            if why:
                kind = Incomplete if item.get("not_run") else Invalid
                raise kind(f"{item.get('stack')}: {why}", "read run.warnings, and the report", run=self)
        for threshold in self.summary.get("thresholds") or []:
            if threshold.get("pass") is False:
                text = f"{threshold['metric']} {threshold['expression']}"
                raise ThresholdError(f"the threshold {text} does not hold", "run.summary['thresholds'] has its figure", run=self)
        return self

    def hist(self, kind: str = "response", *, phase: str | None = None, **where: object) -> Histogram:
        """The histogram of one kind of time, summed over the loads and phases that `where` fits.

        `kind` is response, service, lag, connect or delay; `where` names columns of `phases`: stack="coap-con".
        Of a comparison it is that of the samples.
        """
        if kind not in _KINDS:
            raise UsageError(f"{kind!r} is no kind of time", f"write one of {', '.join(sorted(_KINDS))}", code=2)
        if self.kind == "comparison":
            return self._sample_histogram(kind, where)
        total, fits = Histogram(), 0
        for number, load in enumerate(self.summary.get("loads", [])):
            if any(load.get(name) != value for name, value in where.items()):
                continue
            fits += 1
            for index, one in enumerate(load.get("phases") or []):
                path = self.folder / "latency" / f"{number:03}-{index}-{kind}.hlog"
                if path.is_file() and phase in (None, one["name"]):
                    total = total + Histogram.read(path)
        if not fits:
            raise UsageError(f"no load has {where}", "run.phases has the values of every column", code=2)
        return total

    def _sample_histogram(self, kind: str, where: Mapping[str, object]) -> Histogram:
        names = {"response": "response_time_ns", "service": "service_time_ns", "connect": "connect_ns", "delay": "one_way_delay_ns"}
        if kind not in names:
            raise UsageError(f"a comparison has no {kind}", f"write one of {', '.join(sorted(names))}", code=2)
        counts: dict[int, int] = {}
        fits = 0
        for row in self.samples.to_pylist():
            if any(row.get(name) != value for name, value in where.items()):
                continue
            fits += 1
            value = row[names[kind]]
            if value is not None:
                index = Histogram.index_of(int(value))
                counts[index] = counts.get(index, 0) + 1
        if not fits:
            raise UsageError(f"no sample has {dict(where)}", "run.samples has the values of every column", code=2)
        return Histogram(counts)

    def report(self) -> Path:
        """The report, one HTML file without external requests."""
        path = self.folder / "report.html"
        if not path.is_file():
            _command(["report", str(self.folder)])
        return path

    def diff(self, other: Run) -> list[str]:
        """What changed from this run to the other one beyond its interval, a line each."""
        ended = run_child(["diff", str(self.folder), str(other.folder)])
        if ended.code not in (0, 98):
            raise of_exit(ended.code, ended.stderr)
        return [line for line in ended.stdout.splitlines() if line.strip()]

    def to_parquet(self, directory: str | Path) -> list[Path]:
        """Writes every table of the run to a Parquet file, with units and meanings; returns the files."""
        import pyarrow.parquet

        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        names = {"comparison": ["cells", "samples", "ladder"], "load": ["phases", "intervals", "usage"], "nbiot": ["cells"]}
        written = []
        for name in names[self.kind]:
            path = folder / f"{name}.parquet"
            pyarrow.parquet.write_table(getattr(self, name), path)
            written.append(path)
        return written

    def _repr_html_(self) -> str:
        return _html.page(self)

    def __repr__(self) -> str:
        items = self.summary.get(self._list, [])
        noun = {"load": "loads", "nbiot": "points"}.get(self.kind, "cells")
        state = "valid" if self.valid else "not all valid"
        return f"<wirecost.Run {self.folder}: {len(items)} {noun}, {state}>"


def _reason(item: Mapping[str, Any]) -> str | None:
    """Why the figures of a cell or a load must not be used; None if they may."""
    if item.get("not_run"):
        return f"not run: {item['not_run']}"
    if item.get("valid", True):
        return None
    phases = item.get("phases") or []
    warnings = [*item.get("warnings", []), *(one for phase in phases for one in phase.get("warnings", []))]
    texts = [warning["text"] for warning in warnings if warning.get("invalidates")]
    return "; ".join(texts) or "INVALID"


def _command(words: list[str]) -> None:
    ended = run_child(words)
    if ended.code != 0:
        raise of_exit(ended.code, ended.stderr)


def read(folder: str | Path) -> Run:
    """The run of a results folder."""
    return Run(folder)


__all__ = ["Run", "WirecostError", "read"]
