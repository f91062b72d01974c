"""The type stubs and the reference are those of the program's help."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wirecost as wc
from wirecost import _program

ROOT = Path(__file__).resolve().parents[2]
STUBS = ast.parse((ROOT / "python/wirecost/_commands.pyi").read_text())
FUNCTIONS = {node.name: node for node in STUBS.body if isinstance(node, ast.FunctionDef)}
# Options that the package sets itself, or that print instead of returning.
OWN = {"help", "help_all", "quiet", "resume", "json", "print_resolved", "password", "no_color", "write"}
OF_THE_PACKAGE = {"executor", "shards", "force", "progress"}


def test_stubs_and_reference_are_those_of_the_program() -> None:
    command = [sys.executable, ROOT / "scripts/python-stubs", _program.program(), "--check"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_keyword_of_a_fit_is_a_flag_of_the_program() -> None:
    flags = {one.arg for one in FUNCTIONS["nbiot"].args.kwonlyargs}
    keywords = {one.arg for one in FUNCTIONS["fit"].args.kwonlyargs} - OF_THE_PACKAGE - {"json"}
    assert keywords < flags and {"profile", "set", "statement", "fits", "known", "seeds", "duration"} <= keywords


@pytest.mark.parametrize("command", sorted(set(FUNCTIONS) - {"resume", "fit"}))
def test_stubs_have_every_flag_of_the_help(command: str) -> None:
    text = _program.run_child([command.replace("_", "-"), "--help-all"]).stdout
    # An option begins a paragraph of its own, or a row of a table; its text is further to the right.
    flags = {name.replace("-", "_") for name in re.findall(r"^ {2}(?:-\w, | {4})--([a-z0-9-]+)", text, re.M)}
    flags |= {name.replace("-", "_") for name in re.findall(r"^ {2,6}(?:-\w, )?--([a-z0-9-]+)", text, re.M)}
    keywords = {one.arg.rstrip("_") for one in FUNCTIONS[command].args.kwonlyargs}
    assert flags - OWN == keywords - OF_THE_PACKAGE


def test_stubs_name_every_function() -> None:
    names = {name for name in wc.__all__ if callable(getattr(wc, name)) and not isinstance(getattr(wc, name), type)}
    assert names == set(FUNCTIONS) | {"program", "read"}


def test_the_package_is_typed() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", ROOT / "python/wirecost"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
