"""Paths, arguments and damaged files: what is wrong is an error of this package, whatever reads it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import wirecost as wc

Damage = Callable[[Path], object]


def one_sentence_and_one_hint(error: wc.WirecostError) -> None:
    assert error.message and error.hint, repr(error)
    assert "\n" not in error.message + error.hint and "\0" not in error.message


@pytest.fixture
def copied(comparison: wc.Run, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    shutil.copytree(comparison.folder, folder)
    return folder


def test_a_folder_whose_name_begins_with_a_dash_is_no_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-sweep.yaml").write_text("wirecost: 1\nstack: [udp]\nengine: sim\ncount: 2\n")
    one = wc.compare("udp", engine="sim", count=2, out="-dash")
    assert one.folder == Path("-dash") and (tmp_path / "-dash" / "summary.json").is_file()
    two = wc.run("-sweep.yaml", out="-other")
    assert one.diff(two) is not None and wc.read("-dash").report().is_file()
    assert wc.resume("-other").folder == Path("-other")
    assert wc.pcap("-dash/capture/sim.pcapng")
    with pytest.raises(wc.WirecostError, match="-none.pcapng"):
        wc.pcap("-none.pcapng")


@pytest.mark.parametrize("begin", [wc.compare, wc.load, wc.nbiot, wc.probe])
def test_a_name_that_begins_with_a_dash_is_refused(begin: Callable[..., object], tmp_path: Path) -> None:
    keywords = {} if begin is wc.probe else {"out": tmp_path / "run"}
    with pytest.raises(wc.UsageError, match="begins with a dash") as caught:
        begin("--help", **keywords)
    one_sentence_and_one_hint(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_a_text_that_no_argument_can_be_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for ask in (
        lambda: wc.compare(text),
        lambda: wc.compare("udp", engine=text),
        lambda: wc.compare("udp", out=text),
        lambda: wc.compare("udp", set={text: 1}),
        lambda: wc.load("udp", psk=[text]),
        lambda: wc.run(text),
        lambda: wc.run(text, shards=2),
        lambda: wc.resume(text),
        lambda: wc.study(text),
        lambda: wc.claims(text),
        lambda: wc.probe(text),
        lambda: wc.pcap(text),
        lambda: wc.merge(text),
        lambda: wc.read(text),
        lambda: wc.link(rtt=text).__enter__(),
        lambda: wc.Histogram.read(text),
    ):
        with pytest.raises(wc.UsageError) as caught:
            ask()
        one_sentence_and_one_hint(caught.value)
    assert list(tmp_path.glob("runs/*")) == []


def cut(name: str) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


def written(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


def a_folder(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


DAMAGES = [cut, a_folder, lambda name: written(name, b"\xff\xfe{}"), lambda name: written(name, b"7"), lambda name: written(name, b"[" * 100_000)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_json_is_an_error_of_this_package(damage: Callable[[str], Damage], copied: Path) -> None:
    damage("ladder.json")(copied)
    damage("env.json")(copied)
    run = wc.read(copied)
    for ask in (lambda: run.ladder, lambda: run.env):
        with pytest.raises(wc.UsageError, match=r"ladder\.json|env\.json") as caught:
            ask()
        one_sentence_and_one_hint(caught.value)
    damage("summary.json")(copied)
    with pytest.raises(wc.UsageError, match=r"summary\.json") as caught:
        wc.read(copied)
    one_sentence_and_one_hint(caught.value)


@pytest.mark.parametrize("damage", [a_folder("summary.csv"), written("summary.csv", b"key,stack\n\"a,b\n"), written("summary.csv", b"\xff\xfe\0\0")])
def test_a_damaged_table_is_an_error_of_this_package(damage: Damage, copied: Path) -> None:
    damage(copied)
    with pytest.raises(wc.UsageError, match=r"summary\.csv") as caught:
        wc.read(copied).cells  # noqa: B018
    one_sentence_and_one_hint(caught.value)


@pytest.mark.parametrize("content", [b"Tag=a,0,1,2,HISTFAAAA", b"0,1,2,HISTF!!!", b"0,1,2,HISTFHISTF===", b"\xff\xfe", None])
def test_a_damaged_histogram_is_an_error_of_this_package(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "0.hlog"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(wc.UsageError) as caught:
        wc.Histogram.read(path)
    one_sentence_and_one_hint(caught.value)


def test_folders_that_cannot_be_made_are_named(comparison: wc.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").write_text("a file")
    for ask in (lambda: wc.compare("udp", engine="sim", count=2), lambda: comparison.to_parquet("runs/tables"), lambda: wc.study("tcp-vs-mqtt")):
        with pytest.raises(wc.UsageError, match="cannot be made") as caught:
            ask()
        one_sentence_and_one_hint(caught.value)
