"""scripts/test runs a failed test once more, and counts it by the second result."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

# A program as libtest writes: `steady` and `broken` always end the same way, `flaky` fails the first time.
LIBTEST = """#!/bin/sh
flaky=ok
[ -e seen ] || { touch seen; flaky=FAILED; }
case $* in
"--include-ignored")
    printf 'test steady ... ok\\ntest rooms::flaky ... %s\\ntest broken ... FAILED\\n' $flaky
    printf '\\nfailures:\\n\\n---- broken stdout ----\\nfailures:\\n    no name\\n\\n'
    printf '\\nfailures:\\n    broken\\n    rooms::flaky\\n\\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\\n'
    exit 101 ;;
"rooms::flaky --exact --include-ignored")
    printf 'test rooms::flaky ... %s\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored\\n' $flaky ;;
*)
    printf '\\ntest result: ok. 0 passed; 0 failed; 0 ignored\\n' ;;
esac
"""
# A program with a main of its own.
OWN_MAIN = """#!/bin/sh
echo 'case steady ... ok'
[ -e seen ] && { echo 'case flaky ... ok'; exit 0; }
touch seen
echo 'case flaky ... FAILED'
exit 1
"""
# As pytest writes; `test_y[a]` fails the first time only.
PYTEST = """#!/bin/sh
case "$*" in
*--last-failed*)
    echo 'FAILED tests/test_x.py::test_z - assert 0 < 0'
    echo '1 failed, 1 passed in 0.20s' ;;
*)
    echo 'FAILED tests/test_x.py::test_y[a] - assert 0'
    echo 'FAILED tests/test_x.py::test_z - assert 0 < 0'
    echo '2 failed, 5 passed in 3.21s' ;;
esac
exit 1
"""
# It waits for ever the first time.
HANGS = """#!/bin/sh
[ -e seen ] && exit 0
touch seen
echo 'test steady ... ok'
sleep 600
"""
# It ends, and a server that it started does not.
LEAVES_A_SERVER = """#!/bin/sh
setsid sleep 20 &
echo 'case steady ... ok'
"""
CRASH = """#!/bin/sh
[ -e seen ] && exit 0
touch seen
echo 'test steady ... ok'
kill -9 $$
"""


def loaded() -> Any:
    loader = importlib.machinery.SourceFileLoader("test_programs", str(SCRIPTS / "test-programs"))
    spec = importlib.util.spec_from_loader("test_programs", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def second_time_of(folder: Path, text: str, most: int = 10, seconds: float = 60) -> tuple[list[str], list[str]]:
    """The labels of what passed the second time, and of what failed again."""
    program = folder / "program"
    program.write_text(text)
    program.chmod(0o755)
    module = loaded()
    module.LONGEST_SECONDS = seconds
    runner = module.Runner()
    runner.run(module.Program([str(program)], "name", str(folder), ["--include-ignored"]), [])
    passed = [failure.label for failure in runner.run_failed_again(most)]
    return passed, [failure.label for failure in runner.failed]


def counted(log: str, folder: Path) -> list[int]:
    """Passed and failed tests, as scripts/test counts them in a log."""
    (folder / "log").write_text(log)
    return [int(word) for word in of_scripts_test(["tests_of"], "tests_of log", folder).split()]


def of_scripts_test(functions: list[str], script: str, folder: Path) -> str:
    """What a shell script in a folder prints that has functions of scripts/test."""
    text = (SCRIPTS / "test").read_text()
    found = [re.search(rf"^{name}\(\) {{$.*?^}}$", text, re.MULTILINE | re.DOTALL) for name in functions]
    lines = ["set -euo pipefail", *(match[0] for match in found if match), script]
    return subprocess.run(["bash", "-c", "\n".join(lines)], cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_a_failed_test_runs_again_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    passed, failed = second_time_of(tmp_path, LIBTEST)
    assert passed == [f"{tmp_path.name} name rooms::flaky"]
    # The second run of `broken` found no test, which libtest calls a success.
    assert failed == [f"{tmp_path.name} name broken"]
    # Nothing of the second runs is counted yet.
    assert counted(capsys.readouterr().out, tmp_path) == [1, 2]


@pytest.mark.parametrize(("text", "case"), [(OWN_MAIN, "flaky"), (CRASH, "exit code -9")])
def test_a_program_without_names_of_tests_runs_again_as_a_whole(tmp_path: Path, text: str, case: str) -> None:
    assert second_time_of(tmp_path, text) == ([f"{tmp_path.name} name {case}"], [])


def test_a_program_that_does_not_end_fails_and_runs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert second_time_of(tmp_path, HANGS, seconds=1) == ([f"{tmp_path.name} name exit code -9"], [])
    said = capsys.readouterr().out
    assert "test steady ... ok\nended after 1 s, while these ran:\n" in said
    assert re.search(r" sleep 600$", said, re.MULTILINE), said


def test_a_server_that_is_left_running_keeps_nobody_waiting(tmp_path: Path) -> None:
    began = time.monotonic()
    assert second_time_of(tmp_path, LEAVES_A_SERVER) == ([], [])
    assert time.monotonic() - began < 15


def test_more_failures_than_an_accident_are_not_run_again(tmp_path: Path) -> None:
    passed, failed = second_time_of(tmp_path, LIBTEST, most=1)
    assert (len(passed), len(failed)) == (0, 2)


def test_the_second_result_corrects_the_first(tmp_path: Path) -> None:
    first = "test result: FAILED. 1 passed; 2 failed; 0 ignored\ncase steady ... ok\ncase flaky ... FAILED\n"
    second = "    test result: ok. 1 passed; 0 failed\n    case flaky ... ok\n"
    last = "passed the second time: wirecost-x name rooms::flaky\npassed the second time: wirecost-live driver flaky\n"
    assert counted(first + second + last, tmp_path) == [4, 1]
    pytest_log = "FAILED python/tests/test_x.py::test_y - assert 0 < 0\n1 failed, 7 passed in 3.21s\n    1 passed in 0.10s\n"
    assert counted(pytest_log, tmp_path) == [7, 1]
    assert counted(pytest_log + "passed the second time: python/tests/test_x.py::test_y\n", tmp_path) == [8, 0]


def test_a_failed_test_of_the_python_package_runs_again(tmp_path: Path) -> None:
    program = tmp_path / "venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(PYTEST)
    program.chmod(0o755)
    functions = ["run_pytest", "check_python", "again_python", "failed_of"]
    script = """
        logs=. venv=$PWD/venv second_times=10
        declare -A pids=()
        (check_python >python.log || echo $? >python.status) & pids[python]=$!
        again_python
        cat python.log
    """
    log = of_scripts_test(functions, script, tmp_path)
    assert log.splitlines()[-1] == "passed the second time: tests/test_x.py::test_y[a]"
    assert counted(log, tmp_path) == [6, 1]
    assert (tmp_path / "python.status").read_text() == "1\n"
