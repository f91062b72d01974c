"""Programs behind an emulated link."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

import wirecost as wc


def test_programs_share_a_link_that_is_recorded(tmp_path: Path) -> None:
    with wc.link(rtt="20ms", serve="http1", settle="200ms", out=tmp_path / "run") as behind:
        first = behind.run("curl -s -S -X PUT --data 21.5 http://{server}/test")
        assert first.returncode == 0
        said = behind.run(["curl", "-s", "-S", "http://{server}/test"]).stdout
        with pytest.raises(subprocess.CalledProcessError):
            behind.run("false")
        assert behind.run("false", check=False).returncode == 1
        assert behind.run("sleep 30", check=False, timeout=0.2).returncode == 124
    result = behind.result
    assert said == "21.5"
    assert result.capture.is_file() and result.report.is_file()
    assert result.packets and result.folder == tmp_path / "run"


def test_links_at_the_same_time_are_refused(tmp_path: Path) -> None:
    with wc.link(rtt="20ms", settle="100ms", out=tmp_path / "one") as first:
        with pytest.raises(wc.UsageError, match="a link is open already") as caught:
            with wc.link(rtt="20ms", out=tmp_path / "two"):
                pass
        assert caught.value.hint == "close it before you open another one"
        assert first.run("true").returncode == 0
    assert not (tmp_path / "two").exists()
    with pytest.raises(wc.WirecostError, match="the link is closed"):
        first.run("true")


def test_a_wrong_link_is_a_usage_error_and_leaves_no_link_open(tmp_path: Path) -> None:
    for options in ({"rtt": "20"}, {"rtts": "20ms"}, {"server": "true", "serve": "mqtt"}):
        with pytest.raises(wc.UsageError) as caught:
            with wc.link(**options, out=tmp_path / "run"):
                pass
        assert caught.value.hint
    assert not (tmp_path / "run").exists()


def test_a_link_has_no_result_before_it_is_closed() -> None:
    with pytest.raises(wc.WirecostError, match="the link has no result yet"):
        wc.link(rtt="20ms").result


def test_a_link_that_a_thread_opened_outlives_the_thread(tmp_path: Path) -> None:
    behind = wc.link(rtt="20ms", settle="100ms", out=tmp_path / "run")
    opener = threading.Thread(target=behind.__enter__)
    opener.start()
    opener.join()
    # The kernel would kill at once what is tied to a thread that has ended.
    for _ in range(3):
        assert behind.run("sleep 0.1").returncode == 0
    behind.__exit__(None, None, None)
    assert behind.result.capture.is_file()


def test_wirecost_runs_behind_a_link(tmp_path: Path) -> None:
    with wc.link(rtt="20ms", serve="mqtt", settle="100ms", out=tmp_path / "run") as behind:
        said = behind.run([wc._program.program(), "probe", "mqtt://{server}/t"])
    assert "message" in said.stdout


@pytest.mark.parametrize("command", ["echo 'x", [], [b"x", 3], "a\0b", ["a\0b"]])
def test_what_is_no_command_is_refused_and_the_link_stays_open(command: object, tmp_path: Path) -> None:
    with wc.link(rtt="20ms", settle="100ms", out=tmp_path / "run") as behind:
        with pytest.raises(wc.UsageError):
            behind.run(command)  # type: ignore[arg-type]
        assert behind.run(["true"]).returncode == 0


def test_a_program_that_prints_bytes_is_read(tmp_path: Path) -> None:
    with wc.link(rtt="20ms", settle="100ms", out=tmp_path / "run") as behind:
        assert behind.run(["printf", r"\377ok"]).stdout == "\ufffdok"
