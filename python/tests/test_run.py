"""Runs, their errors, and their histograms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wirecost as wc
from wirecost._program import flags


def test_cells_have_the_values_of_the_summary(comparison: wc.Run) -> None:
    rows = [row for row in comparison.cells.to_pylist() if row["phase"] == "message"]
    cells = json.loads((comparison.folder / "summary.json").read_text())["cells"]
    assert len(rows) == len(cells) == 4
    for row, cell in zip(rows, cells):
        assert row["key"] == cell["key"]
        assert row["up_wire_bytes"] == cell["message"]["up"]["wire"]["mean"]
        assert row["response_time_p50_ns"] == cell["message"]["response_time_ns"]["p50"]
        assert row["invalid"] is None


def test_a_load_has_phases_seconds_and_a_histogram(load: wc.Run) -> None:
    phase = load.phases.to_pylist()[1]
    assert phase["phase"] == "publish"
    times = load.hist("response", phase="publish")
    assert len(times) == phase["response_time_n"] == 1500
    assert times.percentile(99) == phase["response_time_p99_ns"]
    assert sum(load.intervals.column("offered").to_pylist()) == phase["offered"]


def test_counts_of_an_invalid_load_stay_counts(load: wc.Run, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(load.folder, folder)
    summary = json.loads((folder / "summary.json").read_text())
    late = summary["loads"][0]
    phase = late["phases"][1]
    late["valid"] = phase["valid"] = False
    phase["limited"] = {"response_time": "at_most", "service_time": "refused", "carried_rate": "at_least"}
    phase["warnings"].append({"kind": "schedule-lag", "text": "the generator was late", "invalidates": True})
    (folder / "summary.json").write_text(json.dumps(summary))
    run = wc.read(folder)
    connect, publish = run.phases.to_pylist()[:2]
    assert connect["invalid"] is None and publish["invalid"] == "the generator was late"
    assert publish["offered"] == load.phases.to_pylist()[1]["offered"] and publish["schedule_lag_p99_ns"] is not None
    assert publish["response_time_p99_ns"] is None and publish["carried_rate"] is None
    seconds = [row for row in run.intervals.to_pylist() if row["phase"] == 1]
    assert all(row["offered"] is not None and row["response_p99_ns"] is None for row in seconds)
    assert len(run.hist("lag")) > 0
    with pytest.raises(wc.Invalid, match="the generator was late"):
        run.hist("response")
    with pytest.raises(wc.Invalid, match="the generator was late"):
        run.check()


SITES = """
wirecost: 1
engine: sim
stack: mqtt-qos1
clients: 5
sites: {field: {}, fog: {servers: builtin}}
links: {field-fog: {rtt: 2ms}}
at: {senders: field}
phases: [{do: publish, count: 10, rate: 10/s}]
"""


def test_a_load_with_sites_has_the_bytes_of_each_hop(tmp_path: Path, load: wc.Run) -> None:
    (tmp_path / "sites.yaml").write_text(SITES)
    run = wc.run(str(tmp_path / "sites.yaml"), out=str(tmp_path / "run"))
    phases = json.loads((run.folder / "summary.json").read_text())["loads"][0]["phases"]
    for row, phase in zip(run.hops.to_pylist(), phases, strict=True):
        hop = phase["hops"][0]
        assert (row["hop"], row["up_bytes"], row["down_bytes"]) == (hop["hop"], hop["up"]["bytes"], hop["down"]["bytes"])
    assert load.hops.num_rows == 0


def test_histograms_decode_as_another_reader_does(load: wc.Run) -> None:
    hdrh = pytest.importorskip("hdrh.histogram")
    path = next((load.folder / "latency").glob("*-response.hlog"))
    ours, theirs = wc.Histogram(), 0
    for line in path.read_text().splitlines():
        if "HISTF" in line:
            text = line.rsplit(",", 1)[1]
            other = hdrh.HdrHistogram.decode(text)
            one = wc.Histogram.decode(text)
            assert len(one) == other.get_total_count()
            for percent in (50, 90, 99):
                if one.percentile(percent) is not None:
                    assert one.percentile(percent) == other.get_value_at_percentile(percent)
            ours, theirs = ours + one, theirs + other.get_total_count()
    assert len(ours) == theirs > 0


def test_sums_of_histograms_are_those_of_all_samples(load: wc.Run) -> None:
    total = load.hist("response")
    assert sum([total, total]) == total + total
    assert len(total + total) == 2 * len(total)
    assert (total + total).percentile(50) == total.percentile(50)


def test_samples_fall_into_the_programs_buckets() -> None:
    for value in (0, 1, 1023, 1024, 2047, 2048, 4095, 123_456_789):
        (low, high, count), = wc.Histogram({wc.Histogram.index_of(value): 1}).buckets()
        assert low <= value <= high and count == 1


def test_keywords_become_flags() -> None:
    assert flags({"rtt": "5ms", "size": ["16B", "1kB"], "quiet": True, "json": None, "count": 5}) == [
        "--rtt=5ms",
        "--size=16B,1kB",
        "--quiet",
        "--count=5",
    ]
    assert flags({"vary": {"size": ["1B", "2B"]}, "threshold": ["a: [x]"]}) == ["--vary=size=1B,2B", "--threshold=a: [x]"]


def test_a_failed_threshold_raises_only_by_check(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(scenario.read_text() + 'thresholds: {response_time: ["p(50)<1ms"]}\n')
    run = wc.run(scenario, out=tmp_path / "run")
    with pytest.raises(wc.ThresholdError, match="response_time"):
        run.check()
    assert run.cells.num_rows > 0


def test_figures_of_an_invalid_cell_are_null_with_a_reason(comparison: wc.Run, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(comparison.folder, folder)
    summary = json.loads((folder / "summary.json").read_text())
    first = summary["cells"][0]
    first["valid"] = False
    first["warnings"].append({"kind": "unattributed-bytes", "text": "3 bytes of no device", "invalidates": True})
    (folder / "summary.json").write_text(json.dumps(summary))
    run = wc.read(folder)
    row = run.cells.to_pylist()[0]
    assert row["invalid"] == "3 bytes of no device" and row["up_wire_bytes"] is None and row["stack"] == "mqtt-qos1"
    assert run.samples.to_pylist()[0]["message_up_bytes"] is None
    with pytest.raises(wc.Invalid, match="3 bytes of no device"):
        run.check()
    with pytest.raises(wc.Invalid, match="3 bytes of no device"):
        run.hist()
    assert len(run.hist(stack="coap-con")) == 80
    assert "3 bytes of no device" in run._repr_html_()
    assert not run.valid


def test_a_histogram_of_a_comparison_has_every_message_that_the_figures_count(tmp_path: Path) -> None:
    options = {"messages_per_connection": 4, "loss": "20%", "engine": "sim", "count": 10}
    run = wc.compare("mqtt-qos1", "coap-con", "udp", out=tmp_path / "run", **options)
    cells = {cell["stack"]: cell for cell in run.summary["cells"]}
    for stack, cell in cells.items():
        figures = {
            "response": cell["message"]["response_time_ns"],
            "service": cell["message"]["service_time_ns"],
            "delay": cell["message"]["one_way_delay_ns"],
            "connect": (cell["connect"] or {}).get("response_time_ns"),
        }
        for kind, figure in figures.items():
            times = run.hist(kind, stack=stack)
            assert len(times) == (figure["n"] if figure else 0), (stack, kind)
            if figure and figure["p50"]:
                assert times.percentile(50) == pytest.approx(figure["p50"], rel=1e-3), (stack, kind)
    # The first messages alone would be one for each connection.
    assert len(run.hist(stack="mqtt-qos1")) > 10
    assert len(run.hist()) == sum(cell["message"]["response_time_ns"]["n"] for cell in cells.values())


def test_a_histogram_that_is_gone_is_missed(comparison: wc.Run, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(comparison.folder, folder)
    next((folder / "latency").glob("*-coap-con-48B-service.hlog")).unlink()
    run = wc.read(folder)
    with pytest.raises(wc.UsageError, match="coap-con-48B-service.hlog is not there"):
        run.hist("service", stack="coap-con")
    assert len(run.hist("response", stack="coap-con")) == 80


def test_a_run_shows_itself_in_a_notebook(comparison: wc.Run) -> None:
    html = comparison._repr_html_()
    assert "<script" not in html and "http" not in html.replace("http1", "")
    assert "mqtt-qos1" in html and "report.html" in html


def test_parquet_keeps_units(comparison: wc.Run, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    paths = comparison.to_parquet(tmp_path)
    table = pq.read_table(paths[0])
    assert table.schema.field("response_time_p50_ns").metadata[b"unit"] == b"ns"


def test_a_run_differs_from_itself_in_nothing(comparison: wc.Run) -> None:
    assert not [line for line in comparison.diff(comparison) if "changed" in line and not line.startswith(("0", "no"))]
