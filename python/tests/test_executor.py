"""A sweep by every executor gives the same bytes as the program alone."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import wirecost as wc
from wirecost import _executor
from wirecost._program import Ended, run_child

DERIVED = ["samples.csv", "summary.csv", "ladder.json"]


def derived(run: wc.Run) -> dict[str, bytes]:
    return {name: (run.folder / name).read_bytes() for name in DERIVED}


@pytest.mark.parametrize("shards", [1, 3, 40])
def test_executor_of_threads_gives_the_same_bytes(scenario: Path, tmp_path: Path, shards: int) -> None:
    whole = wc.run(scenario, out=tmp_path / "whole")
    with ThreadPoolExecutor(2) as executor:
        parts = wc.run(scenario, executor=executor, shards=shards, force=True, out=tmp_path / "parts")
    assert derived(parts) == derived(whole)


def test_executor_of_processes_gives_the_same_bytes(scenario: Path, tmp_path: Path) -> None:
    whole = wc.run(scenario, out=tmp_path / "whole")
    with ProcessPoolExecutor(2) as executor:
        parts = wc.run(scenario, executor=executor, shards=4, force=True, out=tmp_path / "parts")
    assert derived(parts) == derived(whole)


def test_executor_equals_shards_by_hand(scenario: Path, tmp_path: Path) -> None:
    whole = wc.run(scenario, out=tmp_path / "whole")
    for index in range(1, 9):
        run_child(["run", str(scenario), "--shard", f"{index}/8", "--out", str(tmp_path / f"s{index}"), "-q"])
    folders = [path for path in sorted(tmp_path.glob("s[1-8]")) if path.is_dir()]
    parts = wc.merge(*folders, out=tmp_path / "merged")
    assert derived(parts) == derived(whole)


def test_executor_is_not_used_for_little_work(scenario: Path, tmp_path: Path) -> None:
    class Never:
        def submit(self, *_: object) -> None:
            raise AssertionError("sent")

    with pytest.warns(UserWarning, match="this machine is faster"):
        run = wc.run(scenario, executor=Never(), out=tmp_path / "run")
    assert run.valid


def test_executor_knows_a_sweep_from_the_first_seconds_of_large_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def concluded(*_: object) -> None:
        raise AssertionError("the cell ran to its end")

    file = tmp_path / "sweep.yaml"
    file.write_text("wirecost: 1\nnbiot: {profile: study}\nstack: coap-con\nsize: 48B\nload: 2/s\nseeds: 1\nduration: 2000s\n")
    monkeypatch.setattr(_executor, "LEAST_CPU_S", 0.2)
    monkeypatch.setattr(_executor, "WORTH_CPU_S", 0.2)
    monkeypatch.setattr(_executor, "concluded", concluded)
    cpu, cells, whole = _executor._measured_shard(file, ["--jobs=1"], 1, 1)
    assert cpu >= 0.2 and (cells, whole) == (1, 1)


def test_executor_names_a_sample_that_is_killed(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = Ended(-signal.SIGKILL, "", "")
    monkeypatch.setattr(_executor, "run_child", lambda *_, **__: killed)
    with pytest.raises(wc.WirecostError, match="signal 9 ended the program"):
        _executor._measured_shard(scenario, [], 1, 1)


def test_executor_gives_a_task_one_thread(scenario: Path, tmp_path: Path) -> None:
    class Notes(ThreadPoolExecutor):
        words: list[object] = []

        def submit(self, function, /, *args, **keywords):  # type: ignore[no-untyped-def]
            self.words += [word for arg in args if isinstance(arg, list) for word in arg]
            return super().submit(function, *args, **keywords)

    with Notes(2) as executor:
        wc.run(scenario, executor=executor, shards=2, force=True, out=tmp_path / "one")
        assert executor.words.count("--jobs=1") == 2
        wc.run(scenario, executor=executor, shards=1, force=True, jobs=3, out=tmp_path / "three")
        assert executor.words.count("--jobs=3") == 1


def test_executor_that_cannot_pickle_is_a_usage_error(scenario: Path, tmp_path: Path) -> None:
    class Cannot:
        def submit(self, *_: object) -> None:
            raise TypeError("cannot pickle '_thread.lock' object")

    with pytest.raises(wc.UsageError, match="cannot pickle"):
        wc.run(scenario, executor=Cannot(), shards=2, force=True, out=tmp_path / "run")


@pytest.mark.parametrize("when", ["before", "after"])
def test_executor_keeps_a_shard_that_came_back_just_before_an_interrupt(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    rename, cells = Path.rename, []

    def interrupted(path: Path, target: Path) -> Path:
        if len(cells) == 1 and when == "before":
            raise KeyboardInterrupt
        cells.append(len(json.loads((path / "summary.json").read_text())["cells"]))
        renamed = rename(path, target)
        if len(cells) == 2:
            raise KeyboardInterrupt
        return renamed

    monkeypatch.setattr(Path, "rename", interrupted)
    with ThreadPoolExecutor(1) as executor, pytest.raises(wc.Interrupt) as caught:
        wc.run(scenario, executor=executor, shards=3, force=True, out=tmp_path / "run")
    assert len(cells) == {"before": 1, "after": 2}[when]
    assert caught.value.run is not None
    assert len(caught.value.run.summary["cells"]) == sum(cells)


def test_executor_sends_a_lost_shard_again(scenario: Path, tmp_path: Path) -> None:
    class Loses(ThreadPoolExecutor):
        lost = 0

        def submit(self, function, /, *args):  # type: ignore[no-untyped-def]
            if len(args) > 2 and args[2] == 2 and self.lost < 2:
                self.lost += 1
                return super().submit(lost_node)
            return super().submit(function, *args)

    def lost_node() -> bytes:
        raise ConnectionResetError("node lost")

    whole = wc.run(scenario, out=tmp_path / "whole")
    with Loses(2) as executor:
        parts = wc.run(scenario, executor=executor, shards=3, force=True, out=tmp_path / "parts")
        assert executor.lost == 2
    assert derived(parts) == derived(whole)


def test_executor_names_a_worker_of_another_version_before_the_first_task(scenario: Path, tmp_path: Path) -> None:
    class OfAnotherVersion(ThreadPoolExecutor):
        sent: list[object] = []

        def submit(self, function, /, *args):  # type: ignore[no-untyped-def]
            self.sent.append(function)
            return super().submit(function, "9.9.9")

    with OfAnotherVersion(1) as executor, pytest.raises(wc.WirecostError, match="a worker has wirecost .* has 9.9.9") as caught:
        wc.run(scenario, executor=executor, shards=2, force=True, out=tmp_path / "run")
    assert caught.value.hint == "install the same version on every worker"
    assert executor.sent == [_executor.ready]
    assert os.listdir(tmp_path) == ["sweep.yaml"]


def without_the_program(*_: object) -> None:
    os.environ["WIRECOST_PROGRAM"] = "/nonexistent/wirecost"


def test_executor_names_a_worker_without_the_program(scenario: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, initializer=without_the_program) as executor:
        with pytest.raises(wc.WirecostError, match="/nonexistent/wirecost cannot be run: No such file") as caught:
            wc.run(scenario, executor=executor, shards=2, force=True, out=tmp_path / "run")
    assert "pip install" in str(caught.value.hint)
    assert os.listdir(tmp_path) == ["sweep.yaml"]


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_executor_whose_process_is_killed_is_named(scenario: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as executor:
        executor.submit(killed)
        with pytest.raises(wc.WirecostError, match="the executor is broken") as caught:
            wc.run(scenario, executor=executor, shards=2, force=True, out=tmp_path / "run")
    assert caught.value.hint == "a process of its pool was killed: make a new executor"


def test_executor_whose_nodes_are_always_lost_is_named(scenario: Path, tmp_path: Path) -> None:
    class Loses(ThreadPoolExecutor):
        def submit(self, function, /, *args):  # type: ignore[no-untyped-def]
            return super().submit(function if function is _executor.ready else lost_node, *args)

    def lost_node(*_: object) -> bytes:
        raise ConnectionResetError("node lost")

    with Loses(2) as executor, pytest.raises(wc.WirecostError, match="shard 1/1 came to no end: node lost"):
        wc.run(scenario, executor=executor, shards=1, force=True, out=tmp_path / "run")


@pytest.mark.parametrize("error", [ModuleNotFoundError("No module named 'wirecost'"), RuntimeError("x\nNo module named 'wirecost'")])
def test_executor_names_a_worker_without_the_package(error: Exception, scenario: Path, tmp_path: Path) -> None:
    class Lacks(ThreadPoolExecutor):
        def submit(self, function, /, *args):  # type: ignore[no-untyped-def]
            return super().submit(self.lacks)

        def lacks(self) -> None:
            raise error

    with Lacks(1) as executor, pytest.raises(wc.UsageError, match="cannot run a task: No module named") as caught:
        wc.run(scenario, executor=executor, shards=1, force=True, out=tmp_path / "run")
    assert caught.value.hint == "install wirecost on every worker, with pip"


@pytest.mark.parametrize(("work", "cpus", "tasks"), [(200, 2, 32), (200, 64, 100), (40, 64, 20), (1, 2, 1)])
def test_executor_gets_large_tasks(work: float, cpus: int, tasks: int) -> None:
    with ThreadPoolExecutor(cpus) as executor:
        assert _executor.tasks_for(work, executor) == tasks


def test_executor_of_dask_gives_the_same_bytes(scenario: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    whole = wc.run(scenario, out=tmp_path / "whole")
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**workers, local_directory=str(tmp_path)) as cluster, distributed.Client(cluster) as client:
        parts = wc.run(scenario, executor=client.get_executor(), shards=4, force=True, out=tmp_path / "parts")
    assert derived(parts) == derived(whole)


def test_executor_needs_an_empty_folder(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(wc.UsageError, match="is not empty"):
        wc.run(scenario, shards=2, out=tmp_path)


def test_executor_needs_at_least_one_shard_and_a_file(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(wc.UsageError, match="0 shards are none"):
        wc.run(scenario, shards=0)
    with pytest.raises(wc.UsageError, match="none.yaml cannot be read: No such file"):
        wc.run(tmp_path / "none.yaml", shards=2)


def test_parts_of_a_fleet_on_tasks_add_up(tmp_path: Path) -> None:
    def part(number: int) -> wc.Run:
        named = {"client_id": f"part{number}-%d", "out": tmp_path / f"part{number}"}
        return wc.load("mqtt-qos1", engine="sim", clients=25, rate="1/s", per_client=True, duration="4s", **named)

    with ThreadPoolExecutor(2) as executor:
        parts = list(executor.map(part, range(4)))
    whole = wc.merge(*(run.folder for run in parts), out=tmp_path / "whole")
    [load] = whole.summary["loads"]
    assert load["clients"] == 100
    assert sum(phase["outcomes"]["offered"] for phase in load["phases"] if phase["outcomes"]) == 400
    assert whole.valid


def test_executor_adds_the_shards_of_a_load(tmp_path: Path) -> None:
    options = {"clients": 30, "rate": "60/s", "duration": "3s", "rtt": "50ms", "engine": "sim"}
    whole = wc.load("coap-con", out=tmp_path / "whole", **options)
    with ThreadPoolExecutor(2) as executor:
        parts = wc.load("coap-con", executor=executor, shards=3, out=tmp_path / "parts", **options)
    assert (parts.folder / "intervals.csv").read_bytes() == (whole.folder / "intervals.csv").read_bytes()
    assert parts.summary["loads"][0]["clients"] == 30


def test_executor_does_not_divide_a_live_load(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor, pytest.raises(wc.UsageError, match="use the engine sim"):
        wc.load("udp", clients=10, executor=executor, shards=2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
