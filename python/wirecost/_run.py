"""A results folder as an object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _html, _tables
from ._errors import Incomplete, Invalid, ThresholdError, UsageError, of_exit
from ._files import argument, make_folder, path_of, read_json
from ._histogram import Histogram
from ._program import COLUMNS, run_child

# Versions of summary.json that this package reads.
_SCHEMAS = frozenset({1})

_TABLES = {
    "comparison": ("cells", "samples", "ladder"),
    "load": ("phases", "intervals", "usage", "hops"),
    "nbiot": ("cells",),
    "study": ("claims",),
}
# The metric of each kind of time.
_KINDS = {
    "response": "response_time",
    "service": "service_time",
    "lag": "schedule_lag",
    "connect": "connect_time",
    "delay": "one_way_delay",
}
# The section of a cell, and its figure of the same times.
_OF_A_CELL = {
    "response": ("message", "response_time_ns"),
    "service": ("message", "service_time_ns"),
    "connect": ("connect", "response_time_ns"),
    "delay": ("message", "one_way_delay_ns"),
}


class Run:
    """What one run measured: tables, histograms, warnings, and the report.

    Figures of an INVALID cell, and figures of an INVALID load that its reason can have falsified, are null, and the column `invalid` has the reason.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = path_of(folder)
        if not self.is_in(self.folder):
            raise UsageError(f"{folder} is no results folder", "name a folder that wirecost has written", code=2)
        schema = self.summary.get("schema", 1)
        if schema not in _SCHEMAS:
            raise UsageError(
                f"{folder} has version {schema} of the results' format, and this package reads version 1",
                "install the package of the wirecost that wrote it",
                code=2,
            )

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a folder has results: of a run, or of a study."""
        return any((folder / name).is_file() for name in ("journal.jsonl", "claims.json"))

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """`summary.json`, empty where the run ended before its first figure."""
        try:
            summary: Mapping[str, Any] = read_json(self.folder / "summary.json", dict)
            return summary
        except FileNotFoundError:
            self._must_be_there()
            return {}

    def _must_be_there(self) -> None:
        if not self.folder.is_dir():
            raise UsageError(f"{self.folder} is gone", "run it again, or read another folder", code=2)

    @property
    def kind(self) -> str:
        """`comparison`, `load`, `nbiot` or `study`."""
        if (self.folder / "claims.json").is_file():
            return "study"
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
        try:
            machine: Mapping[str, Any] = read_json(self.folder / "env.json", dict)
            return machine
        except FileNotFoundError:
            raise UsageError(f"{self.folder} has no env.json", "read a folder whose run came to its end", code=2) from None

    @cached_property
    def cells(self) -> pa.Table:
        """One row for each phase of a cell; for each phase of a load; for each point of an NB-IoT run."""
        if self.kind == "load":
            return self.phases
        if self.kind == "nbiot":
            return self._read("points")
        return _tables.without_invalid(self._of("comparison", "cells"), self._reasons("cells"), "key")

    @cached_property
    def samples(self) -> pa.Table:
        """One row for each device of a comparison."""
        return _tables.without_invalid(self._of("comparison", "samples"), self._places("cells"), "cell")

    @cached_property
    def phases(self) -> pa.Table:
        """One row for each phase of a load."""
        each = [(load, phase) for load in self.summary.get("loads", []) for phase in (load.get("phases") or [{}])]
        return _tables.without_limited(self._of("load", "phases"), [_limits(*one) for one in each])

    @cached_property
    def intervals(self) -> pa.Table:
        """One row for each second of a phase of a load."""
        table = self._of("load", "intervals")
        loads = self.summary.get("loads", [])
        limits = [[_limits(load, phase) for phase in load.get("phases") or []] for load in loads]
        rows = zip(table.column("load").to_pylist(), table.column("phase").to_pylist())
        return _tables.without_limited(table, [limits[load][phase] for load, phase in rows])

    @cached_property
    def usage(self) -> pa.Table:
        """CPU and memory of generator and target of a load, second by second."""
        return self._of("load", "usage")

    @cached_property
    def hops(self) -> pa.Table:
        """Packets and bytes on each hop between the sites of a load, one row for each phase; empty without sites."""
        return self._of("load", "hops")

    @cached_property
    def ladder(self) -> pa.Table:
        """The packets of one connect and first message of each cell."""
        return _tables.ladder(self.folder)

    @cached_property
    def claims(self) -> pa.Table:
        """The judged claims of a study, one row for each point of a claim."""
        self._must_be("study", "claims")
        return _tables.claims(read_json(self.folder / "claims.json", list))

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        """The runs of a study, by their names."""
        self._must_be("study", "runs")
        return {path.name: Run(path) for path in sorted(self.folder.iterdir()) if path.is_dir() and self.is_in(path)}

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
        return [reason(item) for item in self.summary.get(name, [])]

    def _reasons(self, name: str) -> dict[str, str]:
        items = self.summary.get(name, [])
        return {item["key"]: why for item, why in zip(items, self._why(name)) if why and "key" in item}

    def _places(self, name: str) -> dict[int, str]:
        return {index: why for index, why in enumerate(self._why(name)) if why}

    def _of(self, kind: str, table: str) -> pa.Table:
        self._must_be(kind, table)
        return self._read(table)

    def _must_be(self, kind: str, table: str) -> None:
        if self.kind != kind:
            raise UsageError(f"the results of a {self.kind} have no {table}", f"{table} are those of a {kind}", code=2)

    def _read(self, table: str) -> pa.Table:
        try:
            return _tables.read(table, self.folder)
        except FileNotFoundError:
            self._must_be_there()
            return _tables.schema(table).empty_table()

    def check(self) -> Run:
        """Returns the run if everything ran, is valid and holds its thresholds; raises otherwise."""
        if self.summary.get("interrupted"):
            raise Incomplete(f"{self.folder} was interrupted", f"wirecost.resume({str(self.folder)!r}) finishes it", run=self)
        for item in self.summary.get(self._list, []):
            why = reason(item)
            if why:
                kind = Incomplete if item.get("not_run") else Invalid
                raise kind(f"{item.get('stack')}: {why}", "read run.warnings, and the report", run=self)
        for threshold in self.summary.get("thresholds") or []:
            if threshold.get("pass") is False:
                text = f"{threshold['metric']} {threshold['expression']}"
                raise ThresholdError(f"the threshold {text} does not hold", "run.summary['thresholds'] has its figure", run=self)
        return self

    def hist(self, kind: str = "response", *, phase: str | None = None, **where: object) -> Histogram:
        """The histogram of one kind of time, summed over the cells, or the loads and phases, that `where` fits.

        `kind` is response, service, lag, connect or delay; a comparison has no lag. `where` names columns of `cells` or `phases`, or
        options: stack="coap-con", size="48B". It has all messages and connects that the figures count. Raises Invalid where these must not be used.
        """
        if kind not in _KINDS:
            raise UsageError(f"{kind!r} is no kind of time", f"write one of {', '.join(sorted(_KINDS))}", code=2)
        if self.kind == "comparison":
            return self._of_cells(kind, where)
        self._must_be("load", "histograms")
        chosen = [one for one in enumerate(self.summary.get("loads", [])) if _fits(one[1], where, one[1].get("link") or (one[1].get("asked") or {}).get("link"))]
        if not chosen:
            raise UsageError(f"no load has {_text(where)}", "run.phases has the values of every column", code=2)
        total = Histogram()
        for number, load in chosen:
            for index, one in enumerate(load.get("phases") or []):
                path = self.folder / "latency" / f"{number:03}-{index}-{kind}.hlog"
                if path.is_file() and phase in (None, one["name"]):
                    why, limited = _limits(load, one)
                    if limited is None or _KINDS[kind] in limited:
                        raise Invalid(f"{load.get('stack')}: {why}", "choose others by stack=, phase= and other columns", run=self)
                    total = total + Histogram.read(path)
        return total

    def _of_cells(self, kind: str, where: Mapping[str, object]) -> Histogram:
        section = _OF_A_CELL.get(kind)
        if section is None:
            raise UsageError(f"a comparison has no {kind}", f"write one of {', '.join(sorted(_OF_A_CELL))}", code=2)
        links = {cell["key"]: cell.get("link") for cell in self.summary.get("cells", [])}
        keys = {row["key"] for row in self.cells.to_pylist() if _fits(row, where, links.get(row["key"]))}
        chosen = [one for one in enumerate(self.summary.get("cells", [])) if one[1]["key"] in keys]
        if not chosen:
            raise UsageError(f"no cell has {_text(where)}", "run.cells has the values of every column", code=2)
        total = Histogram()
        for number, cell in chosen:
            self._must_be_valid(cell)
            path = self.folder / "latency" / f"{number:03}-{cell['stack']}-{cell['payload_bytes']}B-{kind}.hlog"
            # A cell without times of the kind has no file, and no figure.
            if path.is_file() or (cell.get(section[0]) or {}).get(section[1]):
                total = total + Histogram.read(path)
        return total

    def _must_be_valid(self, item: Mapping[str, Any]) -> None:
        why = reason(item)
        if why:
            raise Invalid(f"{item.get('stack')}: {why}", "choose others by stack=, phase= and other columns", run=self)

    def report(self) -> Path:
        """The report, one HTML file without external requests."""
        path = self.folder / "report.html"
        if not path.is_file():
            ended = run_child(["report", argument(self.folder)])
            if ended.code != 0:
                raise of_exit(ended.code, ended.stderr)
        return path

    def diff(self, other: Run) -> list[str]:
        """What changed from this run to the other one beyond its interval, a line each."""
        ended = run_child(["diff", argument(self.folder), argument(other.folder)])
        if ended.code not in (0, 98):
            raise of_exit(ended.code, ended.stderr)
        return [line for line in ended.stdout.splitlines() if line.strip()]

    def to_parquet(self, directory: str | Path) -> list[Path]:
        """Writes every table of the run to a Parquet file, with units and meanings; returns the files."""
        import pyarrow.parquet

        folder = path_of(directory)
        make_folder(folder)
        written = []
        for name in _TABLES[self.kind]:
            path = folder / f"{name}.parquet"
            try:
                pyarrow.parquet.write_table(getattr(self, name), path)
            except OSError as error:
                raise UsageError(f"{path} cannot be written: {error}", "name another folder", code=2) from None
            written.append(path)
        return written

    def _repr_html_(self) -> str:
        return _html.page(self)

    def __repr__(self) -> str:
        if self.kind == "study":
            return f"<wirecost.Run {self.folder}: {len(set(self.claims.column('id').to_pylist()))} claims, {len(self.runs)} runs>"
        items = self.summary.get(self._list, [])
        noun = {"load": "load", "nbiot": "point"}.get(self.kind, "cell") + "s" * (len(items) != 1)
        state = "valid" if self.valid else "not all valid"
        return f"<wirecost.Run {self.folder}: {len(items)} {noun}, {state}>"


def _fits(row: Mapping[str, Any], where: Mapping[str, object], link: Mapping[str, Any] | None) -> bool:
    """Whether a cell or a load has these values, by the names of columns or of options: payload_bytes=48, or size="48B"."""
    return all(_value(row, name, link) == _wanted(name, value) for name, value in where.items())


# Names of options, and the columns that have their values.
_OF_OPTIONS = {option: column for column, (option, _) in COLUMNS.items()}
_UNITS: Mapping[str, Mapping[str, float]] = {
    "payload_bytes": {"B": 1, "kB": 1000, "KB": 1000, "MB": 1e6, "KiB": 1024, "MiB": 1 << 20},
    "mtu_bytes": {"B": 1, "kB": 1000},
    "rtt_ms": {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3, "min": 60e3},
    "interval_ns": {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86400e9},
}


def _value(row: Mapping[str, Any], name: str, link: Mapping[str, Any] | None) -> object:
    column = _OF_OPTIONS.get(name, name)
    ways = [way for way in ((link or {}).get(key) for key in ("up", "down")) if way]
    if column == "rtt_ms" and ways:
        return sum(float(way["delay_ns"]) for way in ways) / 1e6
    if column == "mtu_bytes" and ways:
        return min(way["mtu_bytes"] for way in ways)
    return row.get(column)


def _wanted(name: str, value: object) -> object:
    """The value of a column; that of an option is a quantity with its unit."""
    column = _OF_OPTIONS.get(name)
    if column is None or not isinstance(value, str):
        return value
    match = re.fullmatch(r"([0-9.]+) ?([a-zA-Z]+)", value.strip())
    factor = _UNITS[column].get(match[2]) if match else None
    if match is None or factor is None:
        raise UsageError(f"{name}={value!r} is no quantity with a unit", f"write it as the option: {name}='48{COLUMNS[column][1]}'", code=2)
    return round(float(match[1]) * factor, 9)


def _text(where: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in where.items()) or "any times"


def reason(item: Mapping[str, Any]) -> str | None:
    """Why the figures of a cell or a load must not be used; None if they may."""
    if item.get("not_run"):
        return f"not run: {item['not_run']}"
    if item.get("valid", True):
        return None
    phases = item.get("phases") or []
    warnings = [*item.get("warnings", []), *(one for phase in phases for one in phase.get("warnings", []))]
    texts = [warning["text"] for warning in warnings if warning.get("invalidates")]
    return "; ".join(texts) or "INVALID"


def _limits(load: Mapping[str, Any], phase: Mapping[str, Any]) -> tuple[str | None, frozenset[str] | None]:
    """Why figures of a phase must not be used as they are, and the metrics of these; no metrics where it holds for all figures."""
    if load.get("not_run") or not phase:
        return reason(load), None
    if phase.get("valid", True):
        return None, frozenset()
    warnings = [*load.get("warnings", []), *phase.get("warnings", [])]
    texts = [warning["text"] for warning in warnings if warning.get("invalidates")]
    # An older program did not say which figures.
    limited = frozenset(phase["limited"]) if "limited" in phase else None
    return "; ".join(texts) or "INVALID", limited


def read(folder: str | Path) -> Run:
    """The run of a results folder."""
    return Run(folder)
