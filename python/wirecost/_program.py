"""The program as a child of this process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ._errors import UsageError, WirecostError, of_exit

# Options of which each value is written out: their values contain commas.
REPEATED = frozenset({"set", "vary", "threshold", "signer", "to", "psk", "oscore", "user"})

_PASSWORD = re.compile(r"^[a-z0-9+.-]+://[^/@:]*:[^/@]+@", re.IGNORECASE)


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
            "pip install . in a clone installs it; WIRECOST_PROGRAM names one that is elsewhere",
        )
    return found


def text_of(value: object) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        raise UsageError(f"{value} is no value of an option", "write a quantity with its unit: rtt='100ms'", code=2)
    if isinstance(value, str) and _PASSWORD.search(value):
        raise UsageError(
            "a URL with a password would be in the process list and in the results",
            "leave the password out of the URL: password_file='FILE', or WIRECOST_PASSWORD",
            code=2,
        )
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def flags(options: Mapping[str, object]) -> list[str]:
    """Keywords as flags: `rtt="100ms"` is `--rtt 100ms`, `quiet=True` is `--quiet`, a list joins its values by commas."""
    words: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple, set, frozenset)) and not value:
            raise UsageError(f"{name} has no values", f"name at least one, or leave {name} out", code=2)
        elif isinstance(value, Mapping):
            for key, one in value.items():
                words += [flag, f"{key}={joined(one)}"]
        elif name in REPEATED and not isinstance(value, str) and isinstance(value, Iterable):
            for one in value:
                words += [flag, text_of(one)]
        else:
            words.append(f"{flag}={joined(value)}")
    return words


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
    stdin: str | None = None,
) -> Ended:
    """Runs the program to its end. `watch` is called about every `every` seconds while it runs.

    An interrupt of this process reaches the child as SIGINT, and is raised again when the child has written its
    results. If this process dies, the kernel ends the child.
    """
    child = subprocess.Popen(
        [program(), *words],
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        env={**os.environ, "WIRECOST_PARENT": str(os.getpid())},
    )
    outputs: dict[str, str] = {}

    def drain(name: str, stream: object) -> None:
        outputs[name] = stream.read()  # type: ignore[attr-defined]

    readers = [
        threading.Thread(target=drain, args=("stdout", child.stdout), daemon=True),
        threading.Thread(target=drain, args=("stderr", child.stderr), daemon=True),
    ]
    for reader in readers:
        reader.start()
    if stdin is not None and child.stdin is not None:
        try:
            child.stdin.write(stdin)
            child.stdin.close()
        except BrokenPipeError:
            pass
    interrupted = False
    while True:
        try:
            child.wait(timeout=every)
            break
        except subprocess.TimeoutExpired:
            pass
        except KeyboardInterrupt:
            # A second interrupt does not wait for results.
            child.send_signal(signal.SIGKILL if interrupted else signal.SIGINT)
            interrupted = True
        if watch is not None:
            try:
                watch()
            except KeyboardInterrupt:
                child.send_signal(signal.SIGKILL if interrupted else signal.SIGINT)
                interrupted = True
    for reader in readers:
        reader.join()
    return Ended(130 if interrupted else child.returncode, outputs["stdout"], outputs["stderr"])


def output_of(words: list[str], *, accepted: tuple[int, ...] = (0,)) -> str:
    """What the program prints; its error as an exception."""
    ended = run_child(words)
    if ended.code not in accepted:
        raise of_exit(ended.code, ended.stderr)
    return ended.stdout
