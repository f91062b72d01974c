"""A sweep, a load or a fit in shards, by any concurrent.futures executor. A task is a shard; its answer is the shard's folder, or its settings."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from ._commands import merge
from ._errors import Interrupt, UsageError, WirecostError, of_exit
from ._files import argument, make_folder, read_text
from ._measure import concluded, measure
from ._program import flags, interrupt_children, new_folder, remove_if_empty, run_child
from ._progress import Bar, Progress
from ._run import Run

# A task of less work is not worth sending away, and more tasks than this per CPU even nothing out.
LEAST_CPU_S = 2.0
TASKS_PER_CPU = 16
# A fit has some tens of settings, each of which takes a minute or more.
TASKS_PER_FIT_CPU = 4
# Below this much work in all, one machine is done before a cluster has begun.
WORTH_CPU_S = 60.0
# How often a shard is sent again if its node is lost.
RETRIES = 3
# The work of a sweep is told from that of a few cells. They take this much, or are the first part of this many.
SAMPLE_CPU_S = 0.5
SAMPLES = (4096, 512, 64, 8, 1)
# Options that are of the results folder, which is another one in a shard.
_OF_THE_FOLDER = ("out", "progress", "json", "junit")


def run_shards(file: Path, executor: Any, shards: int | None, force: bool, options: Mapping[str, Any]) -> Run:
    """Runs a scenario in shards and merges them. Without `force`, little work stays on this machine."""
    _check_number(shards)
    try:
        scenario = read_text(file, "name a scenario file")
    except FileNotFoundError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", "name a scenario file", code=2) from None
    # An executor has a worker for each CPU, so that a task has one.
    of_a_task = {"jobs": 1, **{name: value for name, value in options.items() if name not in _OF_THE_FOLDER}}
    words = flags(of_a_task)
    if executor is None:
        with ThreadPoolExecutor(os.cpu_count()) as local:
            return _sent(local, (shard, scenario, file.name), shards or os.cpu_count() or 1, words, options)
    work = WORTH_CPU_S if force and shards is not None else _work_of(file, words)
    if work < WORTH_CPU_S and not force:
        text = f"{work:.0f} CPU s in all: this machine is faster than a cluster, and runs it (force=True sends it away)"
        warnings.warn(text, stacklevel=3)
        return measure("run", [argument(file)], options)
    return _sent(executor, (shard, scenario, file.name), shards or tasks_for(work, executor), words, options)


def load_in_shards(targets: list[str], executor: Any, shards: int | None, options: Mapping[str, Any]) -> Run:
    """Runs a load in shards of its devices, one for each worker unless `shards` says how many, and adds them up."""
    _check_number(shards)
    # An executor has a worker for each CPU, so that a task has one.
    words = flags({"threads": 1, **{name: value for name, value in options.items() if name not in _OF_THE_FOLDER}})
    if executor is None:
        with ThreadPoolExecutor(os.cpu_count()) as local:
            return _sent(local, (load_shard, targets, ""), shards or os.cpu_count() or 1, words, options)
    return _sent(executor, (load_shard, targets, ""), shards or _cpus(executor), words, options)


def _check_number(shards: int | None) -> None:
    if shards is not None and shards < 1:
        raise UsageError(f"{shards} shards are none", "write shards=1 or more", code=2)


def tasks_for(work: float, executor: Any) -> int:
    """Number of shards of a sweep of `work` CPU s: at most 16 for each CPU, each of at least 2 CPU s."""
    return max(1, min(TASKS_PER_CPU * _cpus(executor), int(work / LEAST_CPU_S)))


def _cpus(executor: Any) -> int:
    # Of pools, of Dask's Client.get_executor(), and of wirecost.ray.executor().
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "ncores"):
        cores: int = sum(client.ncores().values())
        return max(1, cores)
    workers: int | None = getattr(executor, "_max_workers", None)
    return workers or os.cpu_count() or 1


def _work_of(file: Path, words: list[str]) -> float:
    """CPU seconds of the whole sweep on this machine, from some of its cells."""
    for shards in SAMPLES:
        for index in range(1, min(shards, 4) + 1):
            cpu, cells, whole = _measured_shard(file, words, index, shards)
            if cells and (cpu >= SAMPLE_CPU_S or shards <= 64):
                return cpu / cells * whole
    return 0.0


def _measured_shard(file: Path, words: list[str], index: int, count: int) -> tuple[float, int, int]:
    """CPU seconds of a shard on this machine, its cells, and those of all shards. The shard ends early where its cells are large
    enough to be tasks of their own in a sweep that is worth sending away: then these are the least seconds."""
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        folder = Path(place, "run")

        def planned() -> tuple[int, int]:
            with Progress(folder, shown=False) as seen:
                seen.update()
            return seen.planned or 0, seen.whole or 0

        is_enough = False

        def enough(cpu: float) -> bool:
            nonlocal is_enough
            cells, whole = planned() if cpu >= LEAST_CPU_S else (0, 0)
            # A child that has ended has no CPU time to read any more.
            is_enough = is_enough or (bool(cells) and cpu / cells >= max(LEAST_CPU_S, WORTH_CPU_S / whole))
            return is_enough

        began = os.times()
        command = ["run", argument(file), *words, "--shard", f"{index}/{count}", f"--out={folder}", "--quiet"]
        ended = run_child(command, enough=enough)
        used = os.times()
        if ended.code == 0 and not folder.exists():
            return 0.0, 0, 0
        if not is_enough:
            concluded(ended, folder)
        cells, whole = planned()
    return used.children_user + used.children_system - began.children_user - began.children_system, cells, whole


def _sent(executor: Any, task: tuple[Any, Any, str], count: int, words: list[str], options: Mapping[str, Any]) -> Run:
    out = new_folder({"out": options.get("out")})
    remove_if_empty(out)
    if out.exists():
        raise UsageError(f"{out} is not empty", "name a new folder: out='FOLDER'", code=2)
    kept = {name: options[name] for name in ("per", "rows") if name in options}
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        try:
            _collect(executor, task, count, words, _unpack(Path(place)), options.get("progress"))
        except KeyboardInterrupt:
            parts = _whole(Path(place))
            raise Interrupt(_merged(parts, out, kept) if parts else None) from None
        return _merged(_whole(Path(place)), out, kept)


def fit_in_shards(
    file: Path, executor: Any, shards: int | None, words: list[str], known: Sequence[str], place: Path, shown: bool | None
) -> None:
    """Measures the settings of a fit in shards, each into a file in `place`, without those of the texts in `known`."""
    _check_number(shards)
    hint = "name a file of free parameters"
    try:
        files = {file.name: read_text(file, hint)}
    except FileNotFoundError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", hint, code=2) from None
    files |= {f"known-{number}.json": text for number, text in enumerate(known)}

    def take(index: int, data: bytes) -> None:
        # A file appears at once, so that an interrupt leaves none that is cut off.
        part = place / f"part-{index}"
        part.write_bytes(data)
        part.rename(place / f"{index}")

    # An executor has a worker for each CPU, so that a task has one. A setting takes a minute or more: no task is too small.
    words = [*words, *([] if any(word.startswith("--engine-threads") for word in words) else ["--engine-threads=1"])]
    if executor is None:
        with ThreadPoolExecutor(os.cpu_count()) as local:
            _collect(local, (fit_shard, files, file.name), shards or os.cpu_count() or 1, words, take, shown)
    else:
        _collect(executor, (fit_shard, files, file.name), shards or TASKS_PER_FIT_CPU * _cpus(executor), words, take, shown)


def _unpack(place: Path) -> Callable[[int, bytes], None]:
    """What puts the folder of a shard below `place`."""

    def take(index: int, data: bytes) -> None:
        unpacked(data, place / f"part-{index}").rename(place / f"{index}")

    return take


def _whole(place: Path) -> list[Path]:
    """The shards that came back, in order. They are read from the disk, where each appears at once: an interrupt between two
    statements of `_collect` loses none of them."""
    return sorted((path for path in place.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))


def _merged(parts: Sequence[Path], out: Path, options: Mapping[str, Any]) -> Run:
    if len(parts) == 1:
        # The program merges two or more.
        make_folder(out.parent)
        return Run(shutil.move(parts[0], out))
    return merge(*parts, out=out, **options)


def _collect(
    executor: Any,
    task: tuple[Any, Any, str],
    count: int,
    words: list[str],
    take: Callable[[int, bytes], None],
    shown: bool | None,
) -> None:
    """Sends every shard of a task, a function with two arguments of its own, again where its node is lost. `take` gets what
    comes back."""
    wanted = version()
    # A worker without the program, or of another version, is told before any work is sent.
    try:
        _answer(_submit(executor, ready, wanted))
    except _Lost as lost:
        raise lost.as_error("the first task") from lost
    waiting: dict[Future[bytes], int] = {}
    left = dict.fromkeys(range(1, count + 1), RETRIES)
    bar = Bar("shards", shown)
    try:
        for index in left:
            waiting[_submit(executor, *task, index, count, words, wanted)] = index
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                index = waiting.pop(future)
                try:
                    data = _answer(future)
                except _Lost as lost:
                    left[index] -= 1
                    if left[index] < 0:
                        raise lost.as_error(f"shard {index}/{count}") from lost
                    time.sleep(0.2)
                    waiting[_submit(executor, *task, index, count, words, wanted)] = index
                    continue
                if data:
                    take(index, data)
            bar.draw(count - len(waiting), count)
    except BaseException:
        for future in waiting:
            future.cancel()
        interrupt_children()
        raise
    finally:
        bar.close()


def _submit(executor: Any, function: Any, *arguments: object) -> Future[Any]:
    try:
        future: Future[Any] = executor.submit(function, *arguments)
    except BrokenExecutor as error:
        raise _broken(error) from error
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        hint = "use an executor with submit() that pickles functions"
        raise UsageError(f"the executor cannot send a task: {error}", hint, code=2) from error
    return future


def _answer(future: Future[Any]) -> Any:
    """The answer of a task."""
    try:
        return future.result()
    except BrokenExecutor as error:
        raise _broken(error) from error
    except Exception as error:
        # Ray wraps the error of a task.
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, WirecostError):
            raise cause from None
        why = (str(cause).strip() or type(cause).__name__).splitlines()[-1]
        if isinstance(cause, (pickle.PicklingError, AttributeError, ImportError)) or "No module named" in why:
            text = f"the executor cannot run a task: {why}"
            raise UsageError(text, "install wirecost on every worker, with pip", code=2) from error
        raise _Lost(why) from error


class _Lost(Exception):
    """The node of a task was lost, and the task may be sent again."""

    def as_error(self, task: str) -> WirecostError:
        return WirecostError(f"{task} came to no end: {self}", "look at the logs of the executor's workers")


def _broken(error: Exception) -> WirecostError:
    return WirecostError(f"the executor is broken: {error}", "a process of its pool was killed: make a new executor")


def version() -> str:
    """The version of the program of this machine."""
    ended = run_child(["--version"])
    if ended.code != 0:
        raise of_exit(ended.code, ended.stderr)
    return ended.stdout.split()[-1]


def ready(wanted: str) -> None:
    """Raises where the machine that calls it lacks the program, or has another version of it."""
    here = version()
    if here != wanted:
        text = f"a worker has wirecost {here}, and this machine has {wanted}"
        raise WirecostError(text, "install the same version on every worker")


def shard(scenario: str, name: str, index: int, count: int, words: list[str], wanted: str) -> bytes:
    """Runs one shard on the machine that calls it, and returns its folder, zipped; nothing if the shard is empty."""
    ready(wanted)
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        file = Path(place, name)
        file.write_text(scenario, encoding="utf-8")
        return _ran(["run", argument(file), *words, "--shard", f"{index}/{count}"], Path(place, "run"))


def load_shard(targets: list[str], _: str, index: int, count: int, words: list[str], wanted: str) -> bytes:
    """Runs the devices of one shard of a load on the machine that calls it, and returns its folder, zipped."""
    ready(wanted)
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        return _ran(["load", *targets, *words, "--shard", f"{index}/{count}"], Path(place, "run"))


def _ran(command: list[str], folder: Path) -> bytes:
    """The folder that a command writes, zipped; nothing if it had nothing to do."""
    ended = run_child([*command, f"--out={folder}", "--quiet"])
    if ended.code == 0 and not folder.exists():
        return b""
    concluded(ended, folder)
    return packed(folder)


def fit_shard(files: Mapping[str, str], free: str, index: int, count: int, words: list[str], wanted: str) -> bytes:
    """Measures the settings of one shard of a fit on the machine that calls it, and returns them as the program's --json has them."""
    ready(wanted)
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        for name, text in files.items():
            Path(place, name).write_text(text, encoding="utf-8")
        known = [f"--known={argument(Path(place, name))}" for name in files if name != free]
        named = [f"--free={argument(Path(place, free))}", *known, "--shard", f"{index}/{count}"]
        ended = run_child(["nbiot", *named, *words, "--quiet", "--json=-"])
        if ended.code != 0:
            raise of_exit(ended.code, ended.stderr)
        return ended.stdout.encode()


def packed(folder: Path) -> bytes:
    """The files of a folder as a ZIP file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


def unpacked(data: bytes, folder: Path) -> Path:
    """The folder of a ZIP file, whose capture stays readable by its owner alone."""
    folder.mkdir(parents=True)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        raise WirecostError("a worker sent a folder that is cut off", "run it again") from None
    with archive:
        for member in archive.infolist():
            path = (folder / member.filename).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise WirecostError(f"a worker sent the file {member.filename}, which is outside of its folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600 if path.parent.name == "capture" else 0o644)
            path.write_bytes(archive.read(member))
    return folder
