"""The commands as functions. Their keywords are the flags' names; the program refuses what it does not know."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ._errors import BY_CODE, UsageError, of_exit
from ._program import flags, run_child, text_of
from ._progress import Progress
from ._run import Run

# With these exit codes the folder has figures, and Run.check() says what is wrong with them.
_WITH_FIGURES = frozenset({0, 13, 14, 99})

_counter = threading.Lock()


def _folder(options: dict[str, Any]) -> Path:
    """The results folder: `out`, or a new one in runs/."""
    asked = options.pop("out", None)
    if asked is not None:
        return Path(asked)
    base = Path("runs")
    base.mkdir(exist_ok=True)
    with _counter:
        stamp = datetime.now().strftime("%Y-%m-%dT%H%M%S")
        return Path(tempfile.mkdtemp(prefix=f"{stamp}-", dir=base))


def _measure(command: str, words: list[str], options: dict[str, Any]) -> Run:
    """Runs a command that writes a results folder."""
    progress = options.pop("progress", None)
    folder = Path(options["resume"]) if options.get("resume") else _folder(options)
    place = [] if options.get("resume") else ["--out", str(folder)]
    shown = Progress(folder, shown=progress)
    ended = run_child([command, *words, *flags(options), *place, "--quiet"], watch=shown.update)
    shown.close()
    return concluded(ended.code, ended.stderr, folder)


def concluded(code: int, stderr: str, folder: Path) -> Run:
    """The run of a folder, or the error of the exit code with what was measured."""
    run = Run(folder) if (folder / "journal.jsonl").is_file() else None
    if run is not None and code in _WITH_FIGURES and (code not in BY_CODE or run.summary):
        return run
    if run is None and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    if code == 130:
        raise _interrupt(run)
    raise of_exit(code, stderr, run)


class _Interrupt(KeyboardInterrupt):
    """The interrupt, with what was measured before it in `run`."""

    run: Run | None = None


def _interrupt(run: Run | None) -> KeyboardInterrupt:
    error = _Interrupt("interrupted" if run is None else f"interrupted; e.run has what was measured: {run.folder}")
    error.run = run
    return error


def compare(*stacks: str, **options: Any) -> Run:
    """Compares stacks: `compare("mqtt-qos1", "coap-con", size=["48B", "1kB"], rtt="100ms", engine="sim")`."""
    return _measure("compare", [text_of(stack) for stack in stacks], options)


def load(*targets: str, **options: Any) -> Run:
    """Loads one target: `load("mqtt-qos1", clients=20, rate="1000/s", duration="10s")`."""
    return _measure("load", [text_of(target) for target in targets], options)


def nbiot(*stacks: str, **options: Any) -> Run:
    """Sends reports from devices in NB-IoT cells, in virtual time."""
    return _measure("nbiot", [text_of(stack) for stack in stacks], options)


def run(file: str | Path, *, executor: Any = None, shards: int | None = None, force: bool = False, **options: Any) -> Run:
    """Runs a scenario file; with `executor`, in shards by any concurrent.futures executor."""
    if executor is not None or shards is not None:
        from ._executor import run_shards

        return run_shards(Path(file), executor, shards, force, options)
    return _measure("run", [str(file)], options)


def resume(folder: str | Path, **options: Any) -> Run:
    """Finishes a run that was interrupted, with the command of its folder."""
    return _measure("run", [str(Path(folder) / "scenario.resolved.yaml")], {**options, "resume": str(folder)})


def study(name: str, **options: Any) -> Run | list[dict[str, Any]]:
    """Makes the runs of a published study and judges its claims; returns the judged claims as records."""
    return _judged(["study", name], options)


def claims(file: str | Path, runs: Mapping[str, Run | str | Path] | None = None, **options: Any) -> list[dict[str, Any]]:
    """Judges the claims of a file on runs: `claims("mine.yaml", {"publish": run})`."""
    words = [f"{name}={_place(one)}" for name, one in (runs or {}).items()]
    return _judged(["claims", str(file), *words], options)


def _judged(words: list[str], options: dict[str, Any]) -> list[dict[str, Any]]:
    ended = run_child([*words, *flags(options), "--json=-"])
    if ended.code not in _WITH_FIGURES:
        raise of_exit(ended.code, ended.stderr)
    return json.loads(ended.stdout)


def probe(url: str, **options: Any) -> dict[str, Any]:
    """Sends one message to a real server; times and bytes of each step."""
    return _printed(["probe", url], options)


def pcap(file: str | Path, **options: Any) -> dict[str, Any]:
    """Attributes the bytes of a capture to layers, phases and causes."""
    return _printed(["pcap", str(file)], options)


def _printed(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    ended = run_child([*words, *flags(options), "--json=-"])
    if ended.code != 0 and not (ended.code == 14 and ended.stdout):
        raise of_exit(ended.code, ended.stderr)
    return json.loads(ended.stdout)


def merge(*runs: Run | str | Path, out: str | Path | None = None, **options: Any) -> Run:
    """Combines shards, or loads of several machines. Histograms add up; percentiles are computed again."""
    if not runs:
        raise UsageError("there is no run to merge", "name at least one: merge(a, b)", code=2)
    folder = _folder({"out": out} if out is not None else {})
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    ended = run_child(["merge", *(str(_place(one)) for one in runs), "--out", str(folder), *flags(options)])
    return concluded(ended.code, ended.stderr, folder)


def _place(one: Run | str | Path) -> Path:
    return one.folder if isinstance(one, Run) else Path(one)
