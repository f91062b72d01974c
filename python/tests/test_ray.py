"""A Ray cluster is an executor, asks for a token, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import wirecost as wc

ray = pytest.importorskip("ray")
DERIVED = ["samples.csv", "summary.csv", "ladder.json"]


def python(program: str, *arguments: object, **environment: str) -> str:
    """Runs a program of its own: Ray reads its settings once in a process."""
    words = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    ended = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_executor_of_ray_gives_the_same_bytes(scenario: Path, tmp_path: Path) -> None:
    whole = wc.run(scenario, out=tmp_path / "whole")
    program = """
        import os, sys, wirecost as wc
        with wc.ray.executor(cpus=2) as executor:
            wc.run(sys.argv[1], executor=executor, shards=4, force=True, out=sys.argv[2])
            import ray
            print(ray._private.worker._global_node.webui_url or "no dashboard", os.environ["RAY_AUTH_MODE"], os.environ["RAY_USAGE_STATS_ENABLED"])
            folder = executor._folder.name
        print(os.path.exists(folder))
    """
    said = python(program, scenario, tmp_path / "parts", HOME=str(tmp_path))
    assert said.splitlines() == ["no dashboard token 0", "False"]
    for name in DERIVED:
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert whole.valid


def test_executor_of_ray_gives_the_same_fit(tmp_path: Path) -> None:
    free = tmp_path / "free.yaml"
    free.write_text("wirecost: 1\nfree: {levels.ce0.npdcch_g: [4, 8]}\n")
    program = """
        import json, sys, wirecost as wc
        cell = {"set": ["scenario.n_sites=1", "scenario.sectors_per_site=1"], "seeds": 1, "duration": "10s", "fits": 4}
        whole = wc.fit(sys.argv[1], "delay_p50(coap-con,25B,2/s)<20s", **cell)
        with wc.ray.executor(cpus=2) as executor:
            parts = wc.fit(sys.argv[1], "delay_p50(coap-con,25B,2/s)<20s", executor=executor, shards=3, **cell)
        print(len(parts["settings"]), parts == whole)
    """
    assert python(program, free, HOME=str(tmp_path)).splitlines() == ["4 True"]


@pytest.mark.parametrize(("address", "word"), [("cluster", "no address"), ("host:", "no address"), (":1", "no address")])
def test_an_address_without_a_port_is_a_usage_error(address: str, word: str) -> None:
    with pytest.raises(wc.UsageError, match=word) as caught:
        wc.ray.executor(address)
    assert caught.value.hint == "write HOST:PORT, such as 10.0.0.1:6379"


def test_a_token_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(wc.UsageError, match="none cannot be read"):
        wc.ray.executor("127.0.0.1:6379", token_file=tmp_path / "none")


def test_a_cluster_that_does_not_answer_is_unreachable() -> None:
    program = """
        import wirecost as wc
        try:
            wc.ray.executor("127.0.0.1:9")
        except wc.Unreachable as error:
            print(error)
    """
    said = python(program, RAY_AUTH_TOKEN="a-token-of-thirty-two-characters")
    assert said.startswith("no Ray cluster answers at 127.0.0.1:9: ") and "\nhint: is its head running" in said
