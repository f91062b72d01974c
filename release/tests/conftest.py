"""What the tests of packages share: stand-ins for programs, and the texts that the real program writes."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "release"))

import program as programs  # noqa: E402
from files import File  # noqa: E402

TIME = 1_700_000_000
ABOUT = {
    "version": "1.2.3",
    "repository": "https://git.example/wirecost",
    "licence": "MIT OR Apache-2.0",
    "description": "What one IoT message costs",
    "maintainer": "Somebody <somebody@example.org>",
}
# Prints its arguments and its folder.
SOURCE = '#include <stdio.h>\n#include <unistd.h>\nint main(int n, char **word) {\n  char at[99];\n  printf("%s in %s\\n", word[1], getcwd(at, 99));\n}\n'


def elf(machine, tail=b""):
    """The header of a program without loader, and what follows it."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, 0) + bytes(6) + tail


@pytest.fixture(scope="session")
def real():
    """The program of this tree."""
    path = Path(os.environ.get("WIRECOST_PROGRAM", ROOT / "target/debug/wirecost"))
    if not path.is_file():
        pytest.fail(f"there is no {path}: cargo build --package wirecost, or WIRECOST_PROGRAM")
    return path


@pytest.fixture(scope="session")
def texts(real):
    return programs.texts(real)


@pytest.fixture(scope="session")
def static(tmp_path_factory):
    """A static program of this machine that is small."""
    folder = tmp_path_factory.mktemp("static")
    (folder / "main.c").write_text(SOURCE)
    subprocess.run(["cc", "-static", "-s", "-o", folder / "program", folder / "main.c"], check=True)
    return programs.read(folder / "program")


@pytest.fixture(params=[62, 183], ids=["x86_64", "aarch64"])
def either(request, tmp_path):
    """A stand-in for a static program of each kind of machine."""
    path = tmp_path / "program"
    path.write_bytes(elf(request.param, b"program"))
    return programs.read(path)


@pytest.fixture
def documents():
    names = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"]
    return {name: File((ROOT / name).read_bytes()) for name in names} | {"install.md": File((ROOT / "docs/install.md").read_bytes())}


@pytest.fixture
def licences(documents):
    return {path: file for path, file in documents.items() if path.startswith("LICENSE")}
