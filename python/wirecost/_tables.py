"""The tables of a results folder, read by pyarrow with the columns that the program names."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from ._errors import UsageError
from ._files import read_json
from ._program import output_of

_TYPES = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}

# What identifies a row stays where the row's figures must not be used.
_KEPT = frozenset(
    "stack start payload_bytes readings encoding compression engine target link rtt_ms loss_up loss_down rate_up_bps rate_down_bps mtu_bytes key messages_per_connection interval_ns valid not_run phase cell "
    "sample started_ns load clients subscribers inflight loop_kind arrivals shared_socket ipv6 processes loops "
    "size_bytes what_if varied response_kind".split()
)


@functools.lru_cache(maxsize=None)
def described() -> dict[str, dict[str, Any]]:
    """Every table of the program, by its name: file, kind of run, columns with type, unit and meaning."""
    tables = json.loads(output_of(["schema", "--tables"]))["tables"]
    return {table["table"]: table for table in tables}


def schema(name: str) -> pa.Schema:
    """The columns of a table; unit and meaning are in the metadata of each field."""
    columns = described()[name]["columns"]
    fields = [
        pa.field(
            column["name"],
            _TYPES[column["type"]],
            metadata={"unit": column["unit"], "meaning": column["meaning"]},
        )
        for column in columns
    ]
    return pa.schema(fields)


def read(name: str, folder: Path) -> pa.Table:
    """A table of a results folder. Columns that an older program did not write are null."""
    wanted = schema(name)
    path = folder / described()[name]["file"]
    options = pyarrow.csv.ConvertOptions(
        column_types=wanted,
        include_columns=wanted.names,
        include_missing_columns=True,
        null_values=[""],
        strings_can_be_null=True,
    )
    try:
        return pyarrow.csv.read_csv(path, convert_options=options).cast(wanted)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowInvalid) as error:
        why = str(error).strip().splitlines()[0]
        raise UsageError(f"{path} is cut off or damaged: {why}", "run it again, or read another folder", code=2) from None


def without_invalid(table: pa.Table, reasons: dict[Any, str], key: str) -> pa.Table:
    """The table with null in place of every figure of an invalid row, and a column `invalid` that says why."""
    keys = table.column(key).to_pylist()
    why = [reasons.get(one) for one in keys]
    bad = pa.array([reason is not None for reason in why])
    columns = []
    for field, column in zip(table.schema, table.columns):
        if field.name in _KEPT or not reasons:
            columns.append(column)
            continue
        columns.append(pa.compute.if_else(bad, pa.scalar(None, field.type), column))
    schema = table.schema.append(
        pa.field("invalid", pa.string(), metadata={"unit": "", "meaning": "why the figures of the row must not be used"})
    )
    return pa.Table.from_arrays([*columns, pa.array(why, pa.string())], schema=schema)


def without_limited(table: pa.Table, limits: list[tuple[str | None, frozenset[str] | None]]) -> pa.Table:
    """The table of a load with null in place of every figure that is not what was measured, and a column `invalid` that says why.

    `limits` has the reason and the metrics of each row. Counts stay: no reason falsifies them.
    """
    columns = []
    for field, column in zip(table.schema, table.columns):
        bad = [why is not None and (metrics is None or _metric(field.name) in metrics) for why, metrics in limits]
        if field.name in _KEPT or not any(bad):
            columns.append(column)
            continue
        columns.append(pa.compute.if_else(pa.array(bad), pa.scalar(None, field.type), column))
    meaning = "why figures of the row must not be used: those are null"
    schema = table.schema.append(pa.field("invalid", pa.string(), metadata={"unit": "", "meaning": meaning}))
    return pa.Table.from_arrays([*columns, pa.array([why for why, _ in limits], pa.string())], schema=schema)


# The first word of the columns of `intervals.csv`, and the metric.
_OF_A_SECOND = {"response": "response_time", "service": "service_time", "connect": "connect_time", "delay": "one_way_delay"}


def _metric(column: str) -> str:
    """The metric that a column of a load is of; the name of the column where it is no time."""
    if not column.endswith("_ns"):
        return column
    for metric in ("response_time", "service_time", "schedule_lag", "connect_time", "one_way_delay"):
        if column.startswith(metric):
            return metric
    return _OF_A_SECOND.get(column.split("_")[0], column)


_LADDER = [
    ("cell", pa.int64(), "", "index in cells of summary.json, from 0"),
    ("stack", pa.string(), "", "of the cell"),
    ("start", pa.string(), "", "of the cell"),
    ("payload_bytes", pa.int64(), "B", "of the cell"),
    ("direction", pa.string(), "", "up or down"),
    ("sent_ns", pa.float64(), "ns", "entered the link, since the first packet"),
    ("delivered_ns", pa.float64(), "ns", "left the link"),
    ("phase", pa.string(), "", "connect or message"),
    ("cause", pa.string(), "", "as in by_cause"),
    ("fate", pa.string(), "", "what became of it"),
    ("label", pa.string(), "", "its content"),
    ("flight", pa.int64(), "", "flight that it belongs to, from 1"),
    ("ip", pa.int64(), "B", "IP headers"),
    ("transport", pa.int64(), "B", "headers of TCP, UDP or QUIC"),
    ("security", pa.int64(), "B", "security"),
    ("application", pa.int64(), "B", "the protocol's own bytes"),
    ("payload", pa.int64(), "B", "payload"),
]


def _named(columns: list[tuple[str, pa.DataType, str, str]]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, metadata={"unit": unit, "meaning": why}) for name, kind, unit, why in columns])


def ladder(folder: Path) -> pa.Table:
    """The packets of `ladder.json`, one row each."""
    wanted = _named(_LADDER)
    path = folder / "ladder.json"
    cells = read_json(path, list) if path.exists() else []
    rows = []
    for cell in cells:
        head = {name: cell.get(name) for name in ("cell", "stack", "start", "payload_bytes")}
        rows += [{**head, **packet} for packet in cell["packets"]]
    return pa.Table.from_pylist([{name: row.get(name) for name in wanted.names} for row in rows], schema=wanted)


_CLAIMS = [
    ("id", pa.string(), "", "of the claim"),
    ("says", pa.string(), "", "what the publication says"),
    ("where", pa.string(), "", "place in the publication"),
    ("kind", pa.string(), "", "absolute, ratio, ordering, trend, bound or checks"),
    ("verdict", pa.string(), "", "of the claim: the gravest one of its points"),
    ("why", pa.string(), "", "the reason in a sentence"),
    ("at", pa.string(), "", "the point: KEY=VALUE, joined by commas"),
    ("published", pa.string(), "", "the published figure with its unit"),
    ("bound", pa.string(), "", "the physical bound with its unit"),
    ("ours", pa.string(), "", "our figure with its unit"),
    ("point_verdict", pa.string(), "", "of the point"),
    ("number", pa.string(), "", "verdict of the published number by all rows that judge it; none where another row counts, or nobody claims it"),
]


def claims(records: list[dict[str, Any]]) -> pa.Table:
    """Judged claims, one row for each point; one without figures where a claim has none."""
    wanted = _named(_CLAIMS)
    rows = []
    for claim in records:
        for point in claim.get("points") or [{}]:
            at = ",".join(f"{key}={value}" for key, value in (point.get("at") or {}).items())
            figures = {name: point.get(name) for name in ("published", "bound", "ours", "number")}
            rows.append({**claim, **figures, "at": at, "point_verdict": point.get("verdict")})
    return pa.Table.from_pylist([{name: row.get(name) for name in wanted.names} for row in rows], schema=wanted)
