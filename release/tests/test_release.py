"""`scripts/release` with a program that is built already."""

import hashlib
import subprocess
import tomllib

import pytest
from conftest import ROOT


def release(*words):
    return subprocess.run([ROOT / "scripts/release", *words], capture_output=True, text=True, check=False)


def test_a_program_is_packed_as_it_was_built(static, tmp_path):
    path, out = tmp_path / "static", tmp_path / "out"
    path.write_bytes(static.data)
    path.chmod(0o755)
    ended = release("--program", path, "--out", out)
    assert ended.returncode == 0, ended.stderr
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    names = sorted(path.name for path in out.iterdir() if path.name != "SHA256SUMS")
    assert {name.replace(version, "V").replace(static.machine, "M").replace(static.debian, "D") for name in names} == {
        "wirecost-V-M-unknown-linux-musl.tar.gz",
        "wirecost-V-linux-D.oci.tar",
        "wirecost-V-py3-none-manylinux_2_17_M.manylinux2014_M.musllinux_1_1_M.whl",
        "wirecost-V.cdx.json",
        "wirecost_V_D.deb",
    }
    assert (out / "SHA256SUMS").read_text().splitlines() == [
        f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}" for name in names
    ]
    (out / "notes").write_text("kept")
    (out / names[0]).write_text("old")
    assert release("--program", path, "--out", out).returncode == 0
    assert (out / "notes").read_text() == "kept"
    assert subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=out, check=False).returncode == 0


def test_a_file_that_is_no_program_is_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    ended = release("--program", tmp_path / "text", "--out", tmp_path / "out")
    assert ended.returncode == 1
    assert ended.stderr == f"error: {tmp_path}/text is no program of 64 bit\n"


@pytest.mark.parametrize("sums", ["", f"{'0' * 64}  file\n", f"{'0' * 64}  wirecost/../file\n"])
def test_a_folder_of_something_else_stays_as_it_is(sums, tmp_path):
    (tmp_path / "file").write_text("hello")
    (tmp_path / "SHA256SUMS").write_text(sums)
    ended = release("--program", tmp_path / "file", "--out", tmp_path)
    assert ended.returncode == 2 and "not of an earlier release" in ended.stderr
    assert (tmp_path / "file").read_text() == "hello"
