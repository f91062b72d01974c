"""A sweep in shards, by any concurrent.futures executor. A task is a shard, and its answer is the shard's folder."""

from __future__ import annotations

import io
import math
import os
import pickle
import tempfile
import time
import warnings
import zipfile
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from ._commands import _folder, _measure, concluded, merge
from ._errors import UsageError, WirecostError
from ._program import flags, output_of, run_child
from ._progress import Progress
from ._run import Run

# A task of less work is not worth sending away, and more tasks than this per CPU even nothing out.
LEAST_CPU_S = 2.0
TASKS_PER_CPU = 16
# Below this much work in all, one machine is done before a cluster has begun.
WORTH_CPU_S = 60.0
# How often a shard is sent again if its node is lost.
RETRIES = 3


def version() -> str:
    """The version of the program of this machine."""
    return output_of(["--version"]).split()[-1]


def shard(scenario: str, name: str, index: int, count: int, words: list[str], wanted: str) -> bytes:
    """Runs one shard on the machine that calls it, and returns its folder, zipped; nothing if the shard is empty."""
    here = version()
    if here != wanted:
        raise WirecostError(
            f"a worker has wirecost {here}, and this machine has {wanted}", "install the same version on every worker"
        )
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        file = Path(place, name)
        file.write_text(scenario)
        folder = Path(place, "run")
        command = ["run", str(file), *words, "--shard", f"{index}/{count}", "--out", str(folder), "--quiet"]
        ended = run_child(command)
        if ended.code == 0 and not folder.exists():
            return b""
        concluded(ended.code, ended.stderr, folder)
        return packed(folder)


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
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            path = (folder / member.filename).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise WirecostError(f"a worker sent the file {member.filename}, which is outside of its folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
            if path.parent.name == "capture":
                path.chmod(0o600)
    return folder


def run_shards(file: Path, executor: Any, shards: int | None, force: bool, options: Mapping[str, Any]) -> Run:
    """Runs a scenario in shards and merges them. Without `force`, little work stays on this machine."""
    options = dict(options)
    if shards is not None and shards < 1:
        raise UsageError(f"{shards} shards are none", "write shards=1 or more", code=2)
    try:
        scenario = file.read_text()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", "name a scenario file", code=2) from None
    if executor is None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(os.cpu_count()) as local:
            return run_shards(file, local, shards, True, options)
    work = None if force and shards is not None else _work_of(file, options)
    if work is not None and work < WORTH_CPU_S and not force:
        warnings.warn(
            f"the sweep takes about {work:.0f} s of CPU: this machine is faster than a cluster, and runs it "
            "(force=True sends it away)",
            stacklevel=3,
        )
        return _measure("run", [str(file)], options)
    count = shards if shards is not None else _shards_for(work or WORTH_CPU_S, executor)
    out = _folder(options)
    options.pop("progress", None)
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        parts = _collect(executor, (scenario, file.name), count, flags(options), Path(place))
        if out.is_dir() and not any(out.iterdir()):
            out.rmdir()
        return merge(*parts, out=out)


def _work_of(file: Path, options: Mapping[str, Any]) -> float | None:
    """CPU seconds of the whole sweep, from one of its smallest shards; None where nothing can be told."""
    for shards in (64, 8, 1):
        for index in range(1, min(shards, 4) + 1):
            cpu, cells, whole = _measured_shard(file, options, index, shards)
            if cells:
                return cpu / cells * whole
    return None


def _measured_shard(file: Path, options: Mapping[str, Any], index: int, count: int) -> tuple[float, int, int]:
    """CPU seconds of a shard on this machine, its cells, and those of all shards."""
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        folder = Path(place, "run")
        began = os.times()
        ended = run_child(["run", str(file), *flags(dict(options)), "--shard", f"{index}/{count}", "--out", str(folder), "--quiet"])
        used = os.times()
        if ended.code == 0 and not folder.exists():
            return 0.0, 0, 0
        concluded(ended.code, ended.stderr, folder)
        seen = Progress(folder, shown=False)
        seen.update()
    cpu = used.children_user + used.children_system - began.children_user - began.children_system
    return cpu, seen.planned or 0, seen.whole or 0


def _shards_for(work: float, executor: Any) -> int:
    cpus = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    return max(1, min(TASKS_PER_CPU * cpus, math.floor(work / LEAST_CPU_S)))


def _collect(executor: Any, scenario: tuple[str, str], count: int, words: list[str], place: Path) -> list[Path]:
    wanted = version()

    def send(index: int) -> Future[bytes]:
        try:
            return executor.submit(shard, *scenario, index, count, words, wanted)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise UsageError(
                f"the executor cannot send a task: {error}", "use an executor with submit() that pickles functions", code=2
            ) from error

    # The first shard tells whether the workers have the program at all, before the others are sent.
    waiting: dict[Future[bytes], int] = {send(1): 1}
    left = list(range(2, count + 1))
    tries = dict.fromkeys(range(1, count + 1), 0)
    parts: dict[int, Path] = {}
    try:
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                index = waiting.pop(future)
                data = _answer(future, tries, index)
                if data is None:
                    waiting[send(index)] = index
                    continue
                if data:
                    parts[index] = unpacked(data, place / f"{index}")
                waiting |= {send(index): index for index in left}
                left = []
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
    return [parts[index] for index in sorted(parts)]


def _answer(future: Future[bytes], tries: dict[int, int], index: int) -> bytes | None:
    """The answer of a task; None if its node was lost and the shard may be sent again."""
    try:
        return future.result()
    except WirecostError:
        raise
    except (pickle.PicklingError, AttributeError, ImportError) as error:
        raise UsageError(
            f"the executor cannot run a task: {error}", "install wirecost on every worker", code=2
        ) from error
    except Exception:
        tries[index] += 1
        if tries[index] > RETRIES:
            raise
        time.sleep(0.2)
        return None

