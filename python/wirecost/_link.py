"""Programs of your own behind an emulated, recorded link."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ._errors import UsageError, WirecostError, of_exit
from ._files import argument, check_text, read_json
from ._program import flags, new_folder, program, remove_if_empty, start

# The shell inside the link reads one command after another, so that all of them share the link and its capture.
_INSIDE = "echo {server} {device} {authority}; exec sh"


@dataclass(frozen=True)
class LinkResult:
    """What `link.json` says of the link, and where its files are."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def packets(self) -> Mapping[str, Any]:
        """Bytes by layer, phase and cause, as `wirecost pcap --json -` prints them."""
        report: Mapping[str, Any] = self.record["report"]
        return report

    @property
    def capture(self) -> Path:
        """Every packet of the link, with its secrets."""
        return self.folder / "capture" / "all.pcapng"

    @property
    def report(self) -> Path:
        """The report, one HTML file."""
        return self.folder / "report.html"

    @property
    def warnings(self) -> list[str]:
        """Reasons to look before trusting the figures."""
        return list(self.record.get("warnings", []))


class Link:
    """An open link: `run` starts programs behind it, `result` has the figures once it is closed."""

    _open: Link | None = None

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._child: subprocess.Popen[str] | None = None
        self._result: LinkResult | None = None
        self._errors = tempfile.TemporaryFile("w+")
        self.addresses: dict[str, str] = {}

    def __enter__(self) -> Link:
        if Link._open is not None:
            raise UsageError("a link is open already", "close it before you open another one", code=2)
        options = dict(self._options)
        given = flags({name: value for name, value in options.items() if name != "out"})
        self.folder = new_folder(options)
        command = [program(), "link", *given, f"--out={argument(self.folder)}", "--quiet", "--", "sh", "-c", _INSIDE]
        child = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        assert child.stdin is not None and child.stdout is not None
        self._child, self._commands, self._answers = child, child.stdin, child.stdout
        line = self._answers.readline().split()
        if len(line) < 2:
            code = self._end()
            remove_if_empty(self.folder)
            raise of_exit(code, self._written())
        self.addresses = dict(zip(("server", "device", "authority"), line))
        Link._open = self
        return self

    def run(self, command: str | Sequence[str | os.PathLike[str]], *, check: bool = True, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command behind the link. {server}, {device}, {authority} and {folder} are filled in.

        With `check` a command that fails raises subprocess.CalledProcessError, as subprocess.run does.
        """
        if self._child is None or self._child.poll() is not None:
            raise WirecostError("the link is closed", "run programs inside the with block")
        words = _split(command)
        filled = {**self.addresses, "folder": str(self.folder)}
        for name, value in filled.items():
            words = [word.replace("{" + name + "}", value) for word in words]
        with tempfile.TemporaryDirectory() as place:
            mark = uuid.uuid4().hex
            out, err = Path(place, "out"), Path(place, "err")
            timed = ["timeout", str(timeout)] if timeout is not None else []
            line = shlex.join([*timed, *words])
            try:
                self._commands.write(f"{line} >{shlex.quote(str(out))} 2>{shlex.quote(str(err))} </dev/null; echo {mark} $?\n")
                self._commands.flush()
            except BrokenPipeError:
                # The link has ended, and the next line that it does not write says so.
                pass
            said = self._answers.readline().split()
            if len(said) != 2 or said[0] != mark:
                raise of_exit(self._end(), self._written())
            texts = [path.read_text(errors="replace") for path in (out, err)]
            done = subprocess.CompletedProcess(words, int(said[1]), *texts)
        if check:
            done.check_returncode()
        return done

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        Link._open = None
        if self._child is None:
            return
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self._child.send_signal(signal.SIGINT)
        code = self._end()
        path = self.folder / "link.json"
        if path.is_file():
            self._result = LinkResult(self.folder, read_json(path, dict))
        elif kind is None:
            raise of_exit(code, self._written())

    @property
    def result(self) -> LinkResult:
        """The figures of everything that ran behind the link; there once the with block has ended."""
        if self._result is None:
            raise WirecostError("the link has no result yet", "read it after the with block")
        return self._result

    def _end(self) -> int:
        assert self._child is not None
        try:
            self._commands.close()
        except BrokenPipeError:
            # The shell has ended before it read its last command.
            pass
        code = self._child.wait()
        self._answers.close()
        return code

    def _written(self) -> str:
        self._errors.seek(0)
        return self._errors.read()


def _split(command: str | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The words of a command."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]
    except ValueError as error:
        raise UsageError(f"{command!r} is no command: {error}", "close the quotation, or give a list of words", code=2) from None
    except TypeError:
        raise UsageError(f"{command!r} is no command", "give a text, or a list of texts and paths", code=2) from None
    if not words:
        raise UsageError("there is no command to run", "name a program", code=2)
    for word in words:
        check_text(word)
    return words
