"""A program that is built: for which machine it is, what it needs there, and the texts that it writes about itself."""

import re
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from files import File, Files

# The number of a machine in the header of an ELF file: its name in Rust, in Debian, and in images.
MACHINES = {62: ("x86_64", "amd64", "amd64"), 183: ("aarch64", "arm64", "arm64")}
SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Program:
    """A program and what its headers say."""

    data: bytes
    machine: str
    debian: str
    image: str
    # The oldest glibc that has all the functions that it calls, as (2, 35); None: it is static and needs none.
    glibc: tuple[int, int] | None

    @property
    def target(self) -> str:
        """The target of Rust."""
        return f"{self.machine}-unknown-linux-{'gnu' if self.glibc else 'musl'}"


def read(path: Path) -> Program:
    """The program in a file."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"error: {path} is no program of 64 bit")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine not in MACHINES:
        sys.exit(f"error: {path} is for machine {machine} of ELF; packages are made for {', '.join(names[0] for names in MACHINES.values())}")
    return Program(data, *MACHINES[machine], glibc_of(data))


def glibc_of(data: bytes) -> tuple[int, int] | None:
    """The newest version of glibc among the versions of symbols, where the program has a loader."""
    if not has_loader(data):
        return None
    versions = re.findall(rb"\x00GLIBC_(\d+)\.(\d+)(?=[.\x00])", data)
    if not versions:
        sys.exit("error: the program has a loader that is not glibc's: give a static one, or one for glibc")
    return max((int(major), int(minor)) for major, minor in versions)


def has_loader(data: bytes) -> bool:
    """Whether one of the program's headers names a loader (PT_INTERP)."""
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return any(struct.unpack_from("<I", data, start + size * i) == (3,) for i in range(count))


def texts(path: Path) -> Files:
    """Man pages and completions, as the program writes them: `man/NAME.1`, `completions/SHELL`."""
    said = {f"completions/{shell}": File(output(path, "completions", shell)) for shell in SHELLS}
    with tempfile.TemporaryDirectory() as folder:
        output(path, "man", "--out", folder)
        pages = sorted(Path(folder).iterdir())
        return said | {f"man/{page.name}": File(page.read_bytes()) for page in pages}


def output(path: Path, *arguments: str) -> bytes:
    """What the program prints."""
    return subprocess.run([path, *arguments], check=True, capture_output=True).stdout


def runs(path: Path) -> bool:
    """Whether this machine can run it."""
    try:
        return subprocess.run([path, "--version"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False
