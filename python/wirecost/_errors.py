"""Errors, one class for each exit code of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._run import Run


class WirecostError(Exception):
    """The program failed: one sentence, and a hint about what to do now.

    `code` is the program's exit code, `run` what was measured before it ended, or None.
    """

    def __init__(self, message: str, hint: str | None = None, *, code: int = 1, run: Run | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        self.run = run

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), self.message, self.hint, self.code))


class UsageError(WirecostError, ValueError):
    """An option, a value or a file is wrong (exit code 2)."""


class Unavailable(WirecostError):
    """A privilege, a limit or a port is not available (exit code 10)."""


class Unreachable(WirecostError):
    """The target cannot be reached (exit code 11)."""


class Refused(WirecostError):
    """The server refused security, authentication or the protocol (exit code 12)."""


class Incomplete(WirecostError):
    """Some cells have no figures (exit code 13)."""


class Invalid(WirecostError):
    """Some figures must not be used (exit code 14)."""


class Changed(WirecostError):
    """Figures changed, and the gate allows no change (exit code 98)."""


class ThresholdError(WirecostError):
    """A threshold, or an expected verdict, does not hold (exit code 99)."""


class Interrupt(KeyboardInterrupt):
    """The interrupt of a run; `run` has what was measured before it, or is None."""

    def __init__(self, run: Run | None) -> None:
        super().__init__("interrupted" if run is None else f"interrupted; what was measured is in {run.folder}")
        self.run = run


BY_CODE: dict[int, type[WirecostError]] = {
    2: UsageError,
    10: Unavailable,
    11: Unreachable,
    12: Refused,
    13: Incomplete,
    14: Invalid,
    98: Changed,
    99: ThresholdError,
}


def _again(kind: type[WirecostError], message: str, hint: str | None, code: int) -> WirecostError:
    return kind(message, hint, code=code)


def of_exit(code: int, stderr: str, run: Run | None = None) -> WirecostError:
    """The error of an exit code, from what the program wrote."""
    message, hint = sentence_and_hint(stderr)
    if code < 0:
        hint = hint or "run it again; the kernel's log says whether memory was short"
        return WirecostError(message or f"signal {-code} ended the program", hint, code=code, run=run)
    kind = BY_CODE.get(code, WirecostError)
    return kind(message or f"the program ended with exit code {code}", hint, code=code, run=run)


def sentence_and_hint(stderr: str) -> tuple[str, str | None]:
    """The sentence behind `error:` and the one behind `hint:`; warnings are left out."""
    found: dict[str, list[str]] = {"error": [], "hint": []}
    section: str | None = None
    for line in stderr.splitlines():
        for name in found:
            if line.startswith(f"{name}: "):
                section, line = name, line[len(name) + 2 :]
        if line.startswith(("warning: ", "note: ")) or not line.strip():
            section = None
        if section is not None:
            found[section].append(line.strip())
    return " ".join(found["error"]), " ".join(found["hint"]) or None
