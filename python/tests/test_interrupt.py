"""An interrupt keeps what was measured, and a dead interpreter leaves no run behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import wirecost as wc
from wirecost._progress import Progress

SWEEP = "wirecost: 1\nstack: [mqtt-qos1]\nsize: [{sizes}]\nlink: {{rtt: 20ms}}\nengine: sim\ncount: {count}\n"


def started(scenario: Path, folder: Path, program: str) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), str(scenario), str(folder)], stdout=subprocess.PIPE, text=True)
    journal = folder / "journal.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if journal.is_file() and journal.read_text().count('"event":"cell"') >= 3:
            return child
        time.sleep(0.005)
    raise AssertionError("the run wrote no third cell")


def sweep(tmp_path: Path) -> Path:
    """A sweep of 12 cells, each of a quarter of a CPU second: a release build is many times as fast as a debug build."""
    began = os.times().children_user
    wc.compare("mqtt-qos1", rtt="20ms", engine="sim", count=300, out=tmp_path / "calibration")
    seconds = max(os.times().children_user - began, 0.01)
    path = tmp_path / "sweep.yaml"
    sizes = ", ".join(f"{size}B" for size in range(100, 112))
    path.write_text(SWEEP.format(sizes=sizes, count=round(300 * 0.25 / seconds)))
    return path


def test_interrupt_leaves_a_run_that_can_be_finished(tmp_path: Path) -> None:
    scenario, folder = sweep(tmp_path), tmp_path / "run"
    program = """
        import sys, wirecost as wc
        try:
            wc.run(sys.argv[1], out=sys.argv[2], jobs=1)
        except wc.Interrupt as error:
            print(len(error.run.summary["cells"]), error.run.summary["interrupted"])
    """
    child = started(scenario, folder, program)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    cells, interrupted = out.split()
    assert 3 <= int(cells) < 12 and interrupted == "True"
    finished = wc.resume(folder)
    whole = wc.run(scenario, out=tmp_path / "whole")
    assert (finished.folder / "samples.csv").read_bytes() == (whole.folder / "samples.csv").read_bytes()
    assert finished.valid == whole.valid


def test_interrupt_by_death_of_the_interpreter_ends_the_child(tmp_path: Path) -> None:
    scenario, folder = sweep(tmp_path), tmp_path / "run"
    child = started(scenario, folder, "import sys, wirecost as wc; wc.run(sys.argv[1], out=sys.argv[2])")
    runs = [pid for pid in pids_of(folder) if int(pid) != child.pid]
    assert runs
    child.kill()
    child.wait()
    assert until(lambda: not set(runs) & set(pids_of(folder)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupt_of_a_live_run_leaves_no_namespace(number: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    program = "import sys, wirecost as wc; wc.compare('mqtt-qos1', engine='live', rtt='20ms', count=500, settle='10s', out=sys.argv[1])"
    command = [sys.executable, "-c", program, str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with contextlib.ExitStack() as open_files:
        made: set[str] = set()

        def has_made() -> bool:
            made.update(held_open(pids_of(folder), open_files))
            return bool(made)

        assert until(has_made)
        child.send_signal(number)
        assert child.wait(timeout=60) != 0
        assert until(lambda: not pids_of(folder))
        everybody = (pid for pid in os.listdir("/proc") if pid.isdigit())
        assert not made & namespaces(everybody)


def test_interrupt_of_shards_ends_their_children(tmp_path: Path) -> None:
    scenario, folder = sweep(tmp_path), tmp_path / "run"
    program = """
        import sys, wirecost as wc
        try:
            wc.run(sys.argv[1], shards=12, out=sys.argv[2])
        except wc.Interrupt as error:
            print(len(error.run.summary["cells"]) if error.run else 0)
    """
    shards = tmp_path / "shards"
    shards.mkdir()
    command = [sys.executable, "-c", textwrap.dedent(program), str(scenario), str(folder)]
    environment = {**os.environ, "TMPDIR": str(shards)}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert until(lambda: came_back(shards))
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert 0 < int(out) < 12
    assert not pids_of(shards)


def until(holds: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


def came_back(shards: Path) -> bool:
    """Whether the folder of a shard came back. The shards under way remove folders of theirs beside it, also while one is read."""
    with contextlib.suppress(FileNotFoundError):
        return any(shards.glob("wirecost-*/[0-9]*/summary.md"))
    return False


def pids_of(path: Path) -> list[str]:
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and str(path) in command_of(pid)]


def namespaces(pids: Iterable[str]) -> set[str]:
    found = set()
    for pid in pids:
        for link in links_of(pid):
            with contextlib.suppress(OSError):
                found.add(os.readlink(link))
    return found


def held_open(pids: Iterable[str], open_files: contextlib.ExitStack) -> set[str]:
    """The namespaces of `pids` that are not ours. Each stays open: the kernel gives the number of a namespace that ended to the
    next one, which may be that of another test's run."""
    ours, found = os.stat("/proc/self/ns/net").st_ino, set()
    for pid in pids:
        for link in links_of(pid):
            with contextlib.suppress(OSError):
                if link.stat().st_ino != ours:
                    file = open_files.enter_context(link.open("rb"))
                    found.add(f"net:[{os.fstat(file.fileno()).st_ino}]")
    return found


def links_of(pid: str) -> list[Path]:
    """The network namespaces of a process's threads; none once it has ended."""
    with contextlib.suppress(OSError):
        return list(Path("/proc", pid, "task").glob("*/ns/net"))
    return []


def command_of(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_progress_counts_the_planned_cells(comparison: wc.Run) -> None:
    events = [json.loads(line) for line in (comparison.folder / "journal.jsonl").read_text().splitlines()]
    planned = [event for event in events if event["event"] == "planned"]
    assert planned == [{"event": "planned", "cells": 4, "of_all": 4}]
    seen = Progress(comparison.folder, shown=False)
    seen.update()
    assert (seen.done, seen.planned, seen.whole) == (4, 4, 4)


def test_progress_is_a_bar_on_the_last_line_of_a_terminal(comparison: wc.Run, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(comparison.folder, shown=True) as seen:
        seen.update()
    line = capsys.readouterr().err
    assert line.startswith("\r" + "#" * 30 + " 4 of 4 cells, ") and line.endswith("s\n")
