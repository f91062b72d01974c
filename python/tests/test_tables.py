"""Columns have names, units and meanings, and other libraries read them in place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import wirecost as wc
from wirecost import _tables

PAGE = Path(__file__).resolve().parents[2] / "docs/results-format.md"
FOLDERS = {"comparison": ["cells", "samples"], "load": ["phases", "intervals", "usage"]}


def test_tables_describe_every_column_of_a_file(comparison: wc.Run, load: wc.Run) -> None:
    for run in (comparison, load):
        for name in FOLDERS[run.kind]:
            header = (run.folder / _tables.described()[name]["file"]).read_text().split("\n", 1)[0]
            assert sorted(header.split(",")) == sorted(_tables.schema(name).names), name


def test_tables_have_the_units_of_the_page() -> None:
    text = PAGE.read_text()
    for name, table in _tables.described().items():
        for column in table["columns"]:
            assert column["meaning"], (name, column["name"])
            parts = column["name"].split("_")
            names = {column["name"]} | {"_".join([*parts[:at], "X", *parts[at + width :]]) for width in range(1, 6) for at in range(len(parts))}
            assert any(f"`{one}`" in text for one in names), column["name"]
            suffix = re.search(r"_(ns|bytes|bps)$", column["name"])
            if suffix:
                assert column["unit"] == {"ns": "ns", "bytes": "B", "bps": "bit/s"}[suffix[1]], column["name"]


def numbers(table: pa.Table) -> Iterator[tuple[str, int]]:
    """Each column of numbers, with the address of its values."""
    for field in table.schema:
        if pa.types.is_floating(field.type) or pa.types.is_integer(field.type):
            chunk = table.column(field.name).chunk(0)
            yield field.name, address(chunk)


def address(array: pa.Array) -> int:
    return array.buffers()[1].address + array.offset * 8


def test_tables_reach_polars_without_a_copy(comparison: wc.Run, load: wc.Run) -> None:
    polars = pytest.importorskip("polars")
    for table in (comparison.cells, comparison.samples, load.phases, load.intervals):
        frame = polars.from_arrow(table, rechunk=False)
        assert frame.shape == (table.num_rows, table.num_columns)
        for name, place in numbers(table):
            assert address(frame[name].to_arrow()) == place, name


def test_tables_reach_pandas_without_a_copy(comparison: wc.Run, load: wc.Run) -> None:
    pandas = pytest.importorskip("pandas")
    for table in (comparison.cells, comparison.samples, load.phases, load.intervals):
        frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
        assert list(frame.columns) == table.column_names
        for name, place in numbers(table):
            assert address(pa.array(frame[name].array)) == place, name


def test_tables_are_read_by_their_names_in_sql(comparison: wc.Run) -> None:
    duckdb = pytest.importorskip("duckdb")
    cells = comparison.cells
    answer = duckdb.sql("select key, up_wire_bytes from cells where stack = 'mqtt-qos1' and phase = 'message' order by key").fetchall()
    rows = [row for row in cells.to_pylist() if row["stack"] == "mqtt-qos1" and row["phase"] == "message"]
    assert answer == sorted((row["key"], row["up_wire_bytes"]) for row in rows) and len(answer) == 2
