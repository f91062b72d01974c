"""The program as a child of this process."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from ._errors import UsageError, WirecostError, of_exit
from ._files import check_text, make_folder, path_of

# Columns of tables that are an option in another unit: the option, and the unit that follows the number.
COLUMNS = {"payload_bytes": ("size", "B"), "rtt_ms": ("rtt", "ms"), "interval_ns": ("interval", "ns"), "mtu_bytes": ("mtu", "B")}

# Options of which each value is written out: their values contain commas.
REPEATED = frozenset({"set", "vary", "threshold", "signer", "to", "psk", "oscore", "user", "fit", "statement", "known"})

_PASSWORD = re.compile(r"^[a-z0-9+.-]+://[^/@:]*:[^/@]+@", re.IGNORECASE)
_INSTALL = "pip install . in a clone installs it; WIRECOST_PROGRAM names one that is elsewhere"
_ELSEWHERE = "name a file, password_file='FILE', or set the environment variable WIRECOST_PASSWORD"

# The children that run now, whichever thread waits for them.
_children: set[subprocess.Popen[str]] = set()
_one_at_a_time = threading.Lock()


def program() -> str:
    """The path of the program: WIRECOST_PROGRAM, the one of this installation, or the first on PATH."""
    named = os.environ.get("WIRECOST_PROGRAM")
    if named:
        return named
    installed = Path(sysconfig.get_path("scripts"), "wirecost")
    if installed.is_file():
        return str(installed)
    found = shutil.which("wirecost")
    if found is None:
        raise WirecostError(
            "the program wirecost is not installed here",
            _INSTALL,
        )
    return found


@functools.lru_cache(maxsize=None)
def _version_of(path: str) -> str:
    return output_of(["--version"]).split()[-1]


def version() -> str:
    """The version of the program."""
    return _version_of(program())


def text_of(value: object) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        raise UsageError(f"{value} is no value of an option", "write a quantity with its unit: rtt='100ms'", code=2)
    if isinstance(value, str) and _PASSWORD.search(value):
        raise UsageError(
            "a URL with a password would be in the process list and in the results",
            f"leave the password out of the URL: {_ELSEWHERE}",
            code=2,
        )
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    check_text(text)
    return text


def word(value: object) -> str:
    """A value that is no option, and that the program must not take for one."""
    text = text_of(value)
    if text.startswith("-"):
        raise UsageError(f"{text!r} begins with a dash", "write an option as a keyword: rtt='100ms'", code=2)
    return text


def flags(options: Mapping[str, object]) -> list[str]:
    """Keywords as flags: `rtt="100ms"` is `--rtt 100ms`, `quiet=True` is `--quiet`, a list joins its values by commas.

    A column of the tables is an option too, with its number: `rtt_ms=100`.
    """
    words: list[str] = []
    for name, value in map(_with_unit, options.items()):
        if value is None or value is False:
            continue
        flag = "--" + name.rstrip("_").replace("_", "-")
        if name == "password":
            raise UsageError("a password in a keyword would be in the process list", _ELSEWHERE, code=2)
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple, set, frozenset)) and not value:
            raise UsageError(f"{name} has no values", f"name at least one, or leave {name} out", code=2)
        elif isinstance(value, Mapping):
            words += [f"{flag}={text_of(key)}={joined(one)}" for key, one in value.items()]
        elif name in REPEATED and not isinstance(value, str) and isinstance(value, Iterable):
            words += [f"{flag}={text_of(one)}" for one in value]
        else:
            words.append(f"{flag}={joined(value)}")
    return words


def _with_unit(option: tuple[str, object]) -> tuple[str, object]:
    name, value = option
    if name not in COLUMNS or value is None:
        return option
    flag, unit = COLUMNS[name]
    values = value if isinstance(value, (list, tuple)) else [value]
    return flag, [f"{text_of(one)}{unit}" for one in values]


def joined(value: object) -> str:
    """One value, or several joined by commas."""
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(one) for one in value)
    return text_of(value)


@dataclass(frozen=True)
class Ended:
    """What a child left: its exit code and what it wrote."""

    code: int
    stdout: str
    stderr: str


def run_child(
    words: list[str],
    *,
    watch: Callable[[], None] | None = None,
    every: float = 0.25,
    enough: Callable[[float], bool] | None = None,
) -> Ended:
    """Runs the program to its end. `watch` is called about every `every` seconds while it runs; so is `enough`, with the CPU seconds
    of the child, which is killed where it returns True.

    An interrupt of this process reaches the child as SIGINT, a second one as SIGKILL; the exit code is then 130. If
    this process dies, the kernel ends the child; a thread that ends does not.
    """
    child = start([program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _children.add(child)
    outputs = ["", ""]

    def drain(place: int, stream: IO[str]) -> None:
        with stream:
            outputs[place] = stream.read()

    streams = [stream for stream in (child.stdout, child.stderr) if stream is not None]
    readers = [threading.Thread(target=drain, args=pair, daemon=True) for pair in enumerate(streams)]
    for reader in readers:
        reader.start()
    interrupts = 0
    while child.poll() is None:
        try:
            _wait(child, every)
            if watch is not None:
                watch()
            if enough is not None and enough(_cpu_s(child)):
                child.kill()
        except KeyboardInterrupt:
            interrupts += 1
            child.send_signal(signal.SIGINT if interrupts == 1 else signal.SIGKILL)
    _children.discard(child)
    for reader in readers:
        reader.join()
    return Ended(130 if interrupts else child.returncode, *outputs)


def _cpu_s(child: subprocess.Popen[str]) -> float:
    """CPU seconds of a child that has not been waited for (proc_pid_stat(5), fields 14 and 15)."""
    try:
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _wait(child: subprocess.Popen[str], seconds: float) -> None:
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass


def start(words: list[str], **streams: Any) -> subprocess.Popen[str]:
    """Starts a child that ends when this process does. Only this process sends it the interrupts of a terminal."""
    for one in words:
        check_text(one)
    # The kernel kills the child when the pipe's other end is closed, which this process alone holds (fcntl(2), F_SETSIG). A
    # parent-death signal would come when the thread ends that called this function.
    theirs, ours = os.pipe()
    environment = {**os.environ, "WIRECOST_PARENT_PIPE": f"{theirs}:{os.fstat(theirs).st_ino}"}
    try:
        child = subprocess.Popen(
            words, text=True, errors="replace", start_new_session=True, env=environment, pass_fds=(theirs,), **streams
        )
    except OSError as error:
        os.close(ours)
        raise WirecostError(f"{words[0]} cannot be run: {error.strerror}", _INSTALL) from None
    finally:
        os.close(theirs)
    weakref.finalize(child, os.close, ours)
    return child


def interrupt_children() -> None:
    """Sends SIGINT to every child that another thread waits for."""
    for child in list(_children):
        child.send_signal(signal.SIGINT)


def new_folder(options: dict[str, Any]) -> Path:
    """The results folder: `out`, which is taken from the options, or a new one in runs/."""
    asked = options.pop("out", None)
    if asked is not None:
        return path_of(asked)
    base = Path("runs")
    with _one_at_a_time:
        make_folder(base)
        stamp = datetime.now().strftime("%Y-%m-%dT%H%M%S")
        return Path(tempfile.mkdtemp(prefix=f"{stamp}-", dir=base))


def remove_if_empty(folder: Path) -> None:
    """Removes a folder into which nothing was written."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def output_of(words: list[str], *, accepted: tuple[int, ...] = (0,)) -> str:
    """What the program prints; its error as an exception."""
    ended = run_child(words)
    if ended.code not in accepted:
        raise of_exit(ended.code, ended.stderr)
    return ended.stdout
