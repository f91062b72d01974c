"""The job arrays of examples/clusters: the commands in them are executed with the variables that the schedulers set."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
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
