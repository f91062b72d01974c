"""What goes wrong is one sentence and one hint, of the program or of the package."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import wirecost as wc
from wirecost import _program

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def one_sentence_and_one_hint(error: wc.WirecostError) -> None:
    assert error.message and error.hint, repr(error)
    assert "\n" not in error.message + error.hint


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rtts": "100ms"}, "--rtts"),
        ({"rtt": "100"}, "100"),
        ({"rtt": 100}, "100"),
        ({"size": "12"}, "12"),
        ({"size": []}, "size has no values"),
        ({"rtt": True, "loss": True}, "--loss"),
        ({"engine": "warp"}, "warp"),
        ({"target": "mqtt://user:hunter2@127.0.0.1/"}, "a URL with a password would be in the process list"),
        ({"password": "hunter2"}, "a password in a keyword would be in the process list"),
    ],
)
def test_wrong_keywords_are_usage_errors(options: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(wc.UsageError, match=sentence) as caught:
        wc.compare("mqtt-qos1", **{"out": tmp_path / "run", "progress": False, **options})
    one_sentence_and_one_hint(caught.value)
    assert caught.value.code == 2 and "hunter2" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_refused_keywords_leave_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for options in ({"rtts": "100ms"}, {"size": []}):
        with pytest.raises(wc.UsageError):
            wc.compare("mqtt-qos1", **options)
    assert list(tmp_path.glob("runs/*")) == []


def test_a_password_in_a_probed_url_is_refused() -> None:
    with pytest.raises(wc.UsageError, match="a URL with a password") as caught:
        wc.probe("mqtts://user:hunter2@127.0.0.1/test")
    one_sentence_and_one_hint(caught.value)


def test_a_server_that_does_not_answer_is_unreachable() -> None:
    with pytest.raises(wc.Unreachable) as caught:
        wc.probe("mqtt://127.0.0.1:9", timeout="2s")
    one_sentence_and_one_hint(caught.value)


def test_a_folder_of_another_schema_version_is_refused(comparison: wc.Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(comparison.folder, folder)
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "schema": 2}))
    with pytest.raises(wc.UsageError, match="version 2") as caught:
        wc.read(folder)
    one_sentence_and_one_hint(caught.value)


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wc.UsageError, match="is no results folder") as caught:
        wc.read(tmp_path)
    one_sentence_and_one_hint(caught.value)


def test_a_folder_that_vanishes_is_named(comparison: wc.Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(comparison.folder, folder)
    run = wc.read(folder)
    shutil.rmtree(folder)
    for read in (lambda: run.cells, lambda: run.samples, lambda: run.hist()):
        with pytest.raises(wc.UsageError, match="is gone") as caught:
            read()
        one_sentence_and_one_hint(caught.value)


def test_tables_of_another_kind_are_refused(comparison: wc.Run) -> None:
    for name in ("phases", "intervals", "usage", "claims", "runs"):
        with pytest.raises(wc.UsageError, match=f"the results of a comparison have no {name}"):
            getattr(comparison, name)


def test_unknown_times_and_columns_are_refused(comparison: wc.Run, load: wc.Run) -> None:
    for ask in (lambda: load.hist("latency"), lambda: load.hist(stack="tcp"), lambda: comparison.hist("lag"), lambda: comparison.hist(stack="x")):
        with pytest.raises(wc.UsageError) as caught:
            ask()
        one_sentence_and_one_hint(caught.value)


def test_merging_nothing_is_refused() -> None:
    with pytest.raises(wc.UsageError, match="there is no run to merge"):
        wc.merge()


def test_a_child_that_is_killed_is_named(tmp_path: Path) -> None:
    def kill() -> None:
        until = time.monotonic() + 30
        while not ((tmp_path / "run/journal.jsonl").is_file() and _program._children) and time.monotonic() < until:
            time.sleep(0.01)
        for child in list(_program._children):
            child.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(wc.WirecostError, match="signal 9 ended the program") as caught:
        wc.compare("mqtt-qos1", engine="sim", count=500_000, out=tmp_path / "run")
    killer.join()
    one_sentence_and_one_hint(caught.value)
    assert caught.value.code == -9


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIRECOST_PROGRAM", "/nonexistent/wirecost")
    with pytest.raises(wc.WirecostError, match="/nonexistent/wirecost cannot be run: No such file") as caught:
        wc.compare("mqtt-qos1", engine="sim")
    one_sentence_and_one_hint(caught.value)


@as_root
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        with pytest.raises(wc.WirecostError, match="No space left on device|disk is full") as caught:
            wc.compare("mqtt-qos1", engine="sim", count=2000, out=disk / "run")
        assert caught.value.code == 1
    finally:
        subprocess.run(["umount", disk], check=True)


@as_root
def test_without_namespaces_the_run_is_simulated_and_says_so(tmp_path: Path) -> None:
    program = """
        import sys, warnings, wirecost as wc
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            run = wc.compare("mqtt-qos1", rtt="100ms", count=5, out=sys.argv[1] + "/run")
        print(set(run.cells.column("engine").to_pylist()), any("simulated only: " in str(one.message) for one in said))
        try:
            wc.link(rtt="10ms", out=sys.argv[1] + "/link").__enter__()
        except wc.Unavailable as error:
            print(error.code, error.hint is not None)
    """
    # In its own user namespace, a process may forbid itself further ones, as an administrator may forbid them to all.
    forbid = (
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        'exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"'
    )
    words = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh", sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout.splitlines() == ["{'sim'} True", "10 True"], ended.stderr
