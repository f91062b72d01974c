"""Packages: what is in them, that tools of others read them, and that equal contents make equal bytes."""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import archive
import container
import deb
import image
import program as programs
import pytest
import wheel
from container import said
from conftest import ABOUT, ROOT, TIME, elf

UNITS = ["wirecost-agent.service", "wirecost-serve@.service", "wirecost-store@.service"]


def labels():
    return {"org.opencontainers.image.version": "1.2.3"}


def test_equal_contents_make_equal_bytes_at_any_hour(either, texts, documents, licences, monkeypatch):
    def made():
        yield archive.build(either, texts, documents, "1.2.3", TIME)
        yield deb.build(either, texts, documents, ABOUT, TIME)
        yield wheel.build(ROOT, either, licences, "1.2.3", TIME)
        yield image.build(either, licences, labels(), TIME)

    first = dict(made())
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    previous = os.umask(0o077)
    try:
        second = dict(made())
    finally:
        os.umask(previous)
    assert len(first) == 4
    assert [name for name in first if first[name] != second.get(name)] == []


def test_a_program_says_its_machine_and_the_oldest_glibc(real, static, tmp_path):
    read = programs.read(real)
    versions = [word.removeprefix("GLIBC_") for word in said("readelf", "-W", "-V", real).split() if word.startswith("GLIBC_2")]
    assert read.glibc == max(tuple(map(int, version.split(".")[:2])) for version in versions)
    assert read.target.endswith("-linux-gnu")
    assert static.glibc is None and static.target.endswith("-linux-musl")
    for text in (b"#!/bin/sh\n", elf(40)):
        (tmp_path / "strange").write_bytes(text)
        with pytest.raises(SystemExit, match="^error: .*strange is "):
            programs.read(tmp_path / "strange")


def test_the_archive_has_program_texts_and_licences_in_one_folder(either, texts, documents):
    name, data = archive.build(either, texts, documents, "1.2.3", TIME)
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        paths = opened.getnames()
        assert {member.mtime for member in opened} == {TIME}
        assert opened.getmember(f"{paths[0]}/wirecost").mode == 0o755
    assert name == f"wirecost-1.2.3-{either.machine}-unknown-linux-musl.tar.gz"
    assert {path.split("/")[0] for path in paths} == {name.removesuffix(".tar.gz")}
    for inside in ("man/wirecost-compare.1", "completions/zsh", "LICENSE-MIT", "install.md"):
        assert f"{paths[0]}/{inside}" in paths


def test_binstall_finds_the_archive_and_the_program_in_it(either, texts, documents):
    package = tomllib.loads((ROOT / "crates/wirecost/Cargo.toml").read_text())["package"]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    told = package["metadata"]["binstall"]
    name, data = archive.build(either, texts, documents, workspace["version"], TIME)
    values = {"repo": workspace["repository"], "version": workspace["version"], "name": "wirecost", "bin": "wirecost"}
    values |= {"target": either.target, "binary-ext": ""}

    def expanded(text):
        for key, value in values.items():
            text = text.replace("{ %s }" % key, value)
        assert "{" not in text
        return text

    assert expanded(told["pkg-url"]) == f"{workspace['repository']}/releases/download/v{workspace['version']}/{name}"
    assert told["pkg-fmt"] == "tgz"
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as opened:
        assert opened.extractfile(expanded(told["bin-dir"])).read() == either.data


def test_dpkg_reads_the_package(either, texts, documents, tmp_path):
    name, data = deb.build(either, texts, documents, ABOUT, TIME)
    package = tmp_path / name
    package.write_bytes(data)
    assert name == f"wirecost_1.2.3_{either.debian}.deb"
    rows = [line.split(maxsplit=5) for line in said("dpkg-deb", "--contents", package).splitlines()]
    assert {row[1] for row in rows} == {"root/root"}
    modes = {row[5]: row[0] for row in rows}
    assert modes["./usr/bin/wirecost"] == "-rwxr-xr-x"
    assert modes["./usr/share/man/man1/wirecost-serve.1.gz"] == "-rw-r--r--"
    for unit in UNITS:
        assert f"./usr/lib/systemd/system/{unit}" in modes
    for place in deb.COMPLETIONS.values():
        assert f"./{place}" in modes
    said("dpkg-deb", "--raw-extract", package, tmp_path / "root")
    said("md5sum", "--check", "--strict", "DEBIAN/md5sums", cwd=tmp_path / "root")
    page = tmp_path / "root/usr/share/man/man1/wirecost-serve.1.gz"
    assert gzip.decompress(page.read_bytes()) == texts["man/wirecost-serve.1"].data


def test_a_package_needs_the_glibc_that_its_program_calls(static, texts, documents):
    assert "Depends" not in control(static, texts, documents)
    old = programs.Program(static.data, "x86_64", "amd64", "amd64", (2, 35))
    assert "\nDepends: libc6 (>= 2.35), libgcc-s1\n" in control(old, texts, documents)


def control(one, texts, documents):
    inside = deb.contents(one, texts, documents, ABOUT, TIME)
    return deb.control(inside, one, ABOUT)["DEBIAN/control"].data.decode()


def test_lintian_finds_nothing(static, texts, documents, tmp_path):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    name, data = deb.build(static, texts, documents, ABOUT, TIME)
    (tmp_path / name).write_bytes(data)
    # The package database is what the stand-in's own C library has in it.
    command = ["lintian", "--allow-root", "--no-cfg", "--suppress-tags", "uses-dpkg-database-directly", tmp_path / name]
    assert said(*command) == ""


def test_live_runs_are_explained_at_the_first_install(tmp_path):
    for words, heard in ((["configure", ""], True), (["configure", "1.2.2"], False), (["abort-upgrade"], False)):
        assert ("wirecost doctor" in said("sh", ROOT / "release/deb/postinst", *words)) == heard, words


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_reads_the_units(unit, real, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    text = (ROOT / "release/units" / unit).read_text()
    assert "DynamicUser=yes" in text and "ExecStart=/usr/bin/wirecost " in text
    # It looks for the program and for the folder of an instance.
    copy = tmp_path / unit.replace("@", "@readings")
    copy.write_text(text.replace("/usr/bin/wirecost", str(real)))
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    assert [line for line in ended.stderr.splitlines() if copy.name in line] == []
    copy.write_text(text.replace("ProtectSystem=strict", "ProtectSystem=strongly"))
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    assert any("strongly" in line for line in ended.stderr.splitlines())


def test_pip_installs_the_wheel(static, licences, tmp_path):
    name, data = wheel.build(ROOT, static, licences, "1.2.3", TIME)
    (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    said(*command, "--target", tmp_path / "installed", tmp_path / name)
    assert said(tmp_path / "installed/bin/wirecost", "hello", cwd=tmp_path) == f"hello in {tmp_path}\n"
    assert (tmp_path / "installed/wirecost/py.typed").is_file()
    about = "import importlib.metadata as m; print(m.version('wirecost'), *m.requires('wirecost'), m.metadata('wirecost')['License-File'])"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    assert said(sys.executable, "-c", about, env=environment).startswith("1.2.3 pyarrow>=15 ray>=2.40")


def test_the_name_of_a_wheel_says_which_machines_take_it(either, licences):
    def platforms(one):
        name, data = wheel.build(ROOT, one, licences, "1.2.3", TIME)
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            tags = opened.read("wirecost-1.2.3.dist-info/WHEEL").decode()
        named = name.removesuffix(".whl").split("-")[-1].split(".")
        assert [line.removeprefix("Tag: py3-none-") for line in tags.splitlines() if line.startswith("Tag")] == named
        return [platform.removesuffix(f"_{one.machine}") for platform in named]

    assert platforms(either) == ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
    new = programs.Program(either.data, either.machine, either.debian, either.image, (2, 35))
    assert platforms(new) == ["manylinux_2_35"]


def test_the_image_is_a_layer_a_configuration_and_their_digests(either, licences):
    name, data = image.build(either, licences, labels(), TIME)
    assert name == f"wirecost-1.2.3-linux-{either.image}.oci.tar"
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        blobs = {member.name: opened.extractfile(member).read() for member in opened if member.isfile()}
    for path, blob in blobs.items():
        if path.startswith("blobs/"):
            assert path == f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}"
    assert len(blobs) == 5
    (layer,) = [blob for blob in blobs.values() if blob[:2] == b"\x1f\x8b"]
    with tarfile.open(fileobj=io.BytesIO(layer), mode="r:gz") as opened:
        members = opened.getmembers()
    paths = [member.name for member in members]
    assert paths == sorted(paths)
    assert {(member.mtime, member.uid, member.gid) for member in members} == {(TIME, 0, 0)}
    assert [member.name for member in members if member.mode == 0o1777] == ["tmp", "work"]


def test_umoci_unpacks_the_image_and_runc_runs_it(static, licences, tmp_path):
    if not (shutil.which("umoci") and shutil.which("runc")) or os.geteuid() != 0:
        pytest.skip("needs umoci, runc and root")
    name, data = image.build(static, licences, labels(), TIME)
    (tmp_path / name).write_bytes(data)
    assert container.run(tmp_path / name, "1.2.3", tmp_path, ["hello"]) == "hello in /work\n"


def test_a_program_with_a_loader_makes_no_image(real, licences):
    with pytest.raises(SystemExit, match="must be static"):
        image.build(programs.read(real), licences, labels(), TIME)
