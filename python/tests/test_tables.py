"""Columns have names, units and meanings, and other libraries read them in place."""

from __future__ import annotations

import re
from pathlib import Path

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


def test_tables_reach_polars_without_a_copy(comparison: wc.Run) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(comparison.samples, rechunk=False)
    assert frame.shape == (comparison.samples.num_rows, comparison.samples.num_columns)
    column = comparison.samples.column("started_ns").chunk(0)
    address = column.buffers()[1].address + column.offset * 8
    assert frame["started_ns"].to_arrow().buffers()[1].address == address


def test_tables_reach_pandas_and_duckdb(comparison: wc.Run) -> None:
    pytest.importorskip("pandas")
    duckdb = pytest.importorskip("duckdb")
    cells = comparison.cells
    assert list(cells.to_pandas().columns) == cells.column_names
    answer = duckdb.sql("select count(*) from cells where stack = 'mqtt-qos1'").fetchall()
    assert answer == [(cells.to_pandas().query("stack == 'mqtt-qos1'").shape[0],)]
