"""A sweep by every executor gives the same bytes as the program alone."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import wirecost as wc
from wirecost._program import output_of

DERIVED = ["samples.csv", "summary.csv", "ladder.json"]


def derived(run: wc.Run) -> dict[str, bytes]:
    return {name: (run.folder / name).read_bytes() for name in DERIVED}


@pytest.mark.parametrize("shards", [3, 40])
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
        output_of(["run", str(scenario), "--shard", f"{index}/8", "--out", str(tmp_path / f"s{index}"), "-q"])
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


def test_executor_that_cannot_pickle_is_a_usage_error(scenario: Path, tmp_path: Path) -> None:
    class Cannot:
        def submit(self, *_: object) -> None:
            raise TypeError("cannot pickle '_thread.lock' object")

    with pytest.raises(wc.UsageError, match="cannot pickle"):
        wc.run(scenario, executor=Cannot(), shards=2, force=True, out=tmp_path / "run")


def test_executor_sends_a_lost_shard_again(scenario: Path, tmp_path: Path) -> None:
    class Loses(ThreadPoolExecutor):
        lost = 0

        def submit(self, function, /, *args):  # type: ignore[no-untyped-def]
            if args[2] == 2 and self.lost < 2:
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


def test_executor_names_a_worker_of_another_version(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wirecost import _executor

    with pytest.raises(wc.WirecostError, match="a worker has wirecost"):
        _executor.shard(scenario.read_text(), "sweep.yaml", 1, 1, [], "9.9.9")
    assert os.listdir(tmp_path) == ["sweep.yaml"]
