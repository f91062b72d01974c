"""Paths and files that a user names: what is wrong with one is a sentence of this package."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ._errors import UsageError

_ANOTHER = "run it again, or read another folder"


def path_of(value: str | os.PathLike[str]) -> Path:
    """A path that the system can take."""
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise UsageError(f"{value!r} is no path", "name a file or a folder", code=2) from None
    check_text(text)
    return Path(text)


def check_text(text: str) -> None:
    """Raises where the system cannot take a text as an argument or a path."""
    if "\0" in text:
        raise UsageError(f"{text!r} has a NUL character, which no path and no option can have", "leave it out", code=2)
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise UsageError(f"{text!r} has a lone surrogate, which no path and no option can have", "leave it out", code=2) from None


def argument(path: str | os.PathLike[str]) -> str:
    """A path as an argument of the program, which is no flag whatever it begins with."""
    text = str(path_of(path))
    return f"./{text}" if text.startswith("-") else text


def read_text(path: Path, hint: str = _ANOTHER) -> str:
    """The text of a file. One that is not there is left to the caller, as FileNotFoundError."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint, code=2) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is damaged: byte {error.start} is no text in UTF-8", hint, code=2) from None


def read_json(path: Path, kind: type) -> Any:
    """The value of a JSON file, a dict or a list. One that is not there is left to the caller, as FileNotFoundError."""
    text = read_text(path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is cut off or damaged: it is no JSON", _ANOTHER, code=2) from None
    if not isinstance(value, kind):
        raise UsageError(f"{path} is damaged: it has a {type(value).__name__} in place of a {kind.__name__}", _ANOTHER, code=2)
    return value


def make_folder(path: Path) -> None:
    """Makes a folder with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}", "name another folder", code=2) from None
