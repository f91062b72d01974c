"""The jobs of examples/clusters: the commands in them are executed with the variables that the schedulers set."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import wirecost as wc

yaml = pytest.importorskip("yaml")
CLUSTERS = Path(__file__).resolve().parents[2] / "examples/clusters"
SHARDS = 8
DERIVED = ["samples.csv", "summary.csv", "ladder.json"]


def of_slurm(home: Path, index: int) -> tuple[list[str], dict[str, str]]:
    variables = {"SLURM_ARRAY_TASK_ID": str(index + 1), "SLURM_ARRAY_TASK_COUNT": str(SHARDS), "SLURM_CPUS_PER_TASK": "2"}
    return ["bash", str(CLUSTERS / "shards.sbatch"), str(home / "sweep.yaml")], variables


def of_kubernetes(home: Path, index: int) -> tuple[list[str], dict[str, str]]:
    job = yaml.safe_load((CLUSTERS / "shards.k8s.yaml").read_text())
    assert (job["apiVersion"], job["kind"], job["spec"]["completionMode"]) == ("batch/v1", "Job", "Indexed")
    container = job["spec"]["template"]["spec"]["containers"][0]
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert int(variables["SHARDS"]) == job["spec"]["completions"] == SHARDS
    volumes = {one["name"] for one in job["spec"]["template"]["spec"]["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    script = container["args"][0].replace("/scenario/", f"{home}/")
    return [*container["command"], script], {**variables, "JOB_COMPLETION_INDEX": str(index)}


def of_nomad(home: Path, index: int) -> tuple[list[str], dict[str, str]]:
    text = (CLUSTERS / "shards.nomad.hcl").read_text()
    assert text.count("{") == text.count("}") and int(re.search(r"count = (\d+)", text)[1]) == SHARDS
    script = re.search(r"<<SHARD\n(.*?)\nSHARD\n", text, re.S)[1]
    variables = dict(re.findall(r'^ +([A-Z]+) += "(.*)"$', text, re.M))
    assert int(variables["SHARDS"]) == SHARDS
    return ["/bin/sh", "-ec", script], {**variables, "RESULTS": str(home), "NOMAD_ALLOC_INDEX": str(index)}


@pytest.mark.parametrize("command", [of_slurm, of_kubernetes, of_nomad])
def test_job_arrays_give_the_same_bytes(command: Callable, scenario: Path, tmp_path: Path) -> None:
    whole = wc.run(scenario, out=tmp_path / "whole")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "wirecost").symlink_to(Path(wc.program()).resolve())
    for index in range(SHARDS):
        words, variables = command(tmp_path, index)
        environment = {**os.environ, **variables, "PATH": f"{programs}:{os.environ['PATH']}"}
        subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True)
    merged = wc.merge(*sorted((tmp_path / "shards").iterdir()), out=tmp_path / "merged")
    for name in DERIVED:
        assert (merged.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name


def agent_of_kubernetes(join: Path, index: int) -> tuple[list[str], dict[str, str]]:
    job = yaml.safe_load((CLUSTERS / "agents.k8s.yaml").read_text())
    assert (job["apiVersion"], job["kind"], job["spec"]["completionMode"]) == ("batch/v1", "Job", "Indexed")
    pod = job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    script = container["args"][0].replace("/join/join.token", str(join))
    return [*container["command"], script], {"JOB_COMPLETION_INDEX": str(index)}


def agent_of_nomad(join: Path, index: int) -> tuple[list[str], dict[str, str]]:
    text = (CLUSTERS / "agents.nomad.hcl").read_text()
    assert text.count("{") == text.count("}")
    script = re.search(r"<<AGENT\n(.*?)\nAGENT\n", text, re.S)[1]
    return ["/bin/sh", "-ec", script], {"NOMAD_SECRETS_DIR": str(join.parent), "NOMAD_ALLOC_INDEX": str(index)}


@pytest.fixture
def broker() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen([wc.program(), "serve", "mqtt", "--listen", address, "--quiet"], stdin=subprocess.DEVNULL)
    try:
        yield f"mqtt://{address}"
    finally:
        server.kill()
        server.wait()


def with_programs(home: Path) -> dict[str, str]:
    programs = home / "bin"
    programs.mkdir()
    (programs / "wirecost").symlink_to(Path(wc.program()).resolve())
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}


def shared(folder: Path) -> None:
    load = json.loads((folder / "summary.json").read_text())["loads"][0]
    assert (load["agents"]["asked"], load["agents"]["to_the_end"]) == (2, 2)
    assert sum(phase["outcomes"]["acknowledged"] for phase in load["phases"]) == 100


@pytest.mark.parametrize("command", [agent_of_kubernetes, agent_of_nomad])
def test_agents_of_a_cluster_share_a_load(command: Callable, broker: str, tmp_path: Path) -> None:
    environment = with_programs(tmp_path)
    words = ["wirecost", "load", broker, "-c", "4", "-r", "100/s", "-d", "1s", "--agents", "2", "--listen", "127.0.0.1:0", "-q", "-o", "load"]
    # How late a busy machine is belongs into no test.
    load = subprocess.Popen([*words, "--clock-error-max", "1s"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    join = tmp_path / "join.token"
    while not (join.exists() and join.stat().st_size) and load.poll() is None:
        time.sleep(0.05)
    agents = []
    for index in range(2):
        line, variables = command(join, index)
        agents.append(subprocess.Popen(line, cwd=tmp_path, env={**environment, **variables}))
    assert [agent.wait() for agent in agents] == [0, 0]
    assert load.wait() in (0, 14)
    shared(tmp_path / "load")


# `srun` here starts its command once for each node of the job, on this machine.
SRUN = """#!/bin/sh
for node in $(seq "$SLURM_JOB_NUM_NODES"); do "$@" & done
wait
"""


def test_a_job_of_slurm_runs_coordinator_and_agents(broker: str, tmp_path: Path) -> None:
    environment = {**with_programs(tmp_path), "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2", "PORT": "0"}
    for name, text in (("srun", SRUN), ("hostname", "#!/bin/sh\necho 127.0.0.1\n")):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    words = ["bash", CLUSTERS / "agents.sbatch", broker, "-c", "4", "-r", "100/s", "-d", "1s", "--clock-error-max", "1s", "-q"]
    ended = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode in (0, 14), ended.stderr
    shared(tmp_path / "load-7")
