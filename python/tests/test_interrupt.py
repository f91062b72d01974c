"""An interrupt keeps what was measured, and a dead interpreter leaves no run behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import wirecost as wc

SWEEP = "wirecost: 1\nstack: [mqtt-qos1]\nsize: [{sizes}]\nlink: {{rtt: 20ms}}\nengine: sim\ncount: 60\n"


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
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP.format(sizes=", ".join(f"{size}B" for size in range(100, 130))))
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
    assert 3 <= int(cells) < 30 and interrupted == "True"
    finished = wc.resume(folder)
    whole = wc.run(scenario, out=tmp_path / "whole")
    assert (finished.folder / "samples.csv").read_bytes() == (whole.folder / "samples.csv").read_bytes()
    assert finished.valid == whole.valid


def test_interrupt_by_death_of_the_interpreter_ends_the_child(tmp_path: Path) -> None:
    scenario, folder = sweep(tmp_path), tmp_path / "run"
    child = started(scenario, folder, "import sys, wirecost as wc; wc.run(sys.argv[1], out=sys.argv[2])")
    runs = [pid for pid in os.listdir("/proc") if pid.isdigit() and str(folder) in command_of(pid) and int(pid) != child.pid]
    assert runs
    child.kill()
    child.wait()
    until = time.monotonic() + 10
    while time.monotonic() < until and any(Path("/proc", pid).is_dir() and str(folder) in command_of(pid) for pid in runs):
        time.sleep(0.02)
    assert not [pid for pid in runs if str(folder) in command_of(pid)]


def command_of(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_progress_counts_the_planned_cells(comparison: wc.Run) -> None:
    events = [json.loads(line) for line in (comparison.folder / "journal.jsonl").read_text().splitlines()]
    planned = [event for event in events if event["event"] == "planned"]
    assert planned == [{"event": "planned", "cells": 4, "of_all": 4}]
