"""Commands that answer a question, the lists of files with names, and the names that go in and come out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wirecost as wc
from wirecost import _program

DEVICE = {"device": "nrf9160-lte-m", "battery": "2400mAh@3.6V", "tariff": "soracom"}


def test_cost_is_what_the_program_prints(comparison: wc.Run) -> None:
    priced = wc.cost(comparison, interval="15min", **DEVICE)
    words = ["cost", str(comparison.folder), "--interval=15min", *(f"--{key}={value}" for key, value in DEVICE.items()), "--json=-"]
    assert priced == json.loads(_program.output_of(words))
    assert all(row["battery_years"]["years"] > 0 for row in priced["rows"])
    with pytest.raises(wc.UsageError, match="unknown device"):
        wc.cost(comparison, device="nordic")


def test_a_bill_has_its_causes_and_the_examples_of_its_page_agree(comparison: wc.Run) -> None:
    for row in wc.cost(comparison, interval="15min", tariff="soracom")["rows"]:
        bill = row["bill"]
        assert abs(sum(bill["by_cause"].values()) - bill["amount"]) < 1e-9
        assert bill["next_step"] is None or bill["next_step"]["saves_a_month"] > 0
    examples = wc.tariffs("azure-iot-hub", examples=True)
    assert examples["agree"] and len(examples["figures"]) == 7


def test_choose_ranks_and_keeps_its_evidence(tmp_path: Path) -> None:
    asked = {"size": "48B", "every": "15min", "rtt": "40ms", "count": 2}
    choice = wc.choose("coap-con+oscore", "mqtt-qos1+tls1.3", out=tmp_path / "run", **asked)
    assert choice["best"] == "coap-con+oscore"
    assert wc.read(choice["folder"]).kind == "comparison"
    none = wc.choose("udp", out=tmp_path / "none", **asked)
    assert none["best"] is None
    assert any("delivery" in why for row in none["rows"] for why in row["fails"])


def test_what_if_reads_the_readings_of_a_capture(comparison: wc.Run, tmp_path: Path) -> None:
    capture = comparison.folder / "capture/sim.pcapng"
    answer = wc.what_if(capture, "coap-con+oscore", every="10min", out=tmp_path / "run")
    assert answer["folder"] == str(tmp_path / "run")
    assert [row["stack"] for row in answer["rows"]][-1] == "coap-con+oscore"


@pytest.mark.parametrize("listed", [wc.links, wc.devices, wc.tariffs])
def test_files_with_names_have_figures_with_sources(listed, tmp_path: Path) -> None:
    names = [one["name"] for one in listed()]
    assert len(names) >= 5
    one = listed(names[0].upper())
    assert one["name"] == names[0]
    assert any(figure["source"] for figure in one["values"])
    again = listed(names[0], out=tmp_path / "mine.yaml")
    assert again == one
    assert listed(tmp_path / "mine.yaml")["values"] == one["values"]


def test_the_version_is_that_of_the_program() -> None:
    assert wc.__version__ == _program.output_of(["--version"]).split()[-1]


def test_every_dimension_of_a_link_is_a_number(tmp_path: Path) -> None:
    run = wc.compare("udp", rtt=["20ms", "90ms"], loss="1%", up="rate=100kbit", mtu="576B", engine="sim", count=2, out=tmp_path / "run")
    rows = [row for row in run.cells.to_pylist() if row["phase"] == "message"]
    assert [row["rtt_ms"] for row in rows] == [20.0, 90.0]
    for row in rows:
        assert (row["loss_up"], row["loss_down"], row["mtu_bytes"]) == (0.01, 0.01, 576)
        assert (row["rate_up_bps"], row["rate_down_bps"]) == (100_000, None)


def test_what_goes_in_comes_out_and_goes_in_again(comparison: wc.Run, load: wc.Run, tmp_path: Path) -> None:
    row = comparison.cells.to_pylist()[0]
    again = wc.compare(row["stack"], payload_bytes=row["payload_bytes"], rtt_ms=row["rtt_ms"], engine="sim", count=40, out=tmp_path / "run")
    assert again.cells.to_pylist()[0]["key"] == row["key"]
    by_option = comparison.hist(stack="coap-con", size="1kB", rtt="100ms")
    assert by_option.percentile(50) == comparison.hist(stack="coap-con", payload_bytes=1000).percentile(50)
    assert len(load.hist(size="128B", rtt="20ms")) == len(load.hist())
    with pytest.raises(wc.UsageError, match="no cell has"):
        comparison.hist(size="2kB")
    with pytest.raises(wc.UsageError, match="no quantity with a unit"):
        comparison.hist(size="48")
