"""A fit by every executor gives the table of the program alone."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import wirecost as wc
from wirecost import _fit

# One cell, 10 s of reports.
CELL: dict[str, Any] = {"set": ["scenario.n_sites=1", "scenario.sectors_per_site=1"], "seeds": 1, "duration": "10s", "fits": 4}
POINT = "delay_p50(coap-con,25B,2/s)<20s"


@pytest.fixture
def free(tmp_path: Path) -> Path:
    path = tmp_path / "free.yaml"
    path.write_text("wirecost: 1\nfree: {levels.ce0.npdcch_g: [4, 8]}\n")
    return path


def test_fit_in_shards_is_the_fit_of_the_program_alone(free: Path, tmp_path: Path) -> None:
    options = {**CELL, "statement": ["served(coap-con,25B,2/s)>1%", "served(coap-con,25B,1/s)>1%"]}
    whole = wc.fit(free, POINT, **options)
    assert len(whole["settings"]) == 4 and whole["ablations"] and whole["statements"][1]["of"] == 4
    with ThreadPoolExecutor(2) as executor:
        assert wc.fit(free, POINT, executor=executor, shards=3, json=tmp_path / "fit.json", **options) == whole
    with ProcessPoolExecutor(2) as executor:
        assert wc.fit(free, POINT, executor=executor, **options) == whole
    assert json.loads((tmp_path / "fit.json").read_text()) == whole
    # Of a fit that is known nothing is left to measure, in its shards neither.
    assert wc.fit(free, POINT, shards=2, known=tmp_path / "fit.json", **options) == whole


def test_fit_that_is_interrupted_keeps_the_shards_that_came_back(free: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, came = Path.rename, []

    def interrupted(path: Path, target: Path) -> Path:
        renamed = rename(path, target)
        came.append(target)
        if len(came) == 2:
            raise KeyboardInterrupt
        return renamed

    kept = tmp_path / "kept.json"
    with monkeypatch.context() as patched, ThreadPoolExecutor(1) as executor, pytest.raises(wc.Interrupt):
        patched.setattr(Path, "rename", interrupted)
        wc.fit(free, POINT, executor=executor, shards=4, json=kept, **CELL)
    table = json.loads(kept.read_text())
    assert table["interrupted"] and len(table["settings"]) < 4
    assert wc.fit(free, POINT, known=kept, **CELL) == wc.fit(free, POINT, **CELL)


def test_fit_whose_points_no_setting_meets_has_the_nearest(free: Path) -> None:
    table = wc.fit(free, "served(coap-con,25B,1/s)<1%", **CELL)
    assert table["best"].startswith("wirecost nbiot coap-con ") and all(setting["miss"] > 1 for setting in table["settings"])


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(1)])
def test_fit_of_free_parameters_without_bounds_is_a_usage_error(free: Path, executor: Any) -> None:
    free.write_text("wirecost: 1\nfree:\n  scenario.isd_m: 2000\n")
    with pytest.raises(wc.UsageError, match=r"free\.yaml:3: free\.scenario\.isd_m: a free parameter has bounds"):
        wc.fit(free, POINT, executor=executor, **CELL)
    with pytest.raises(wc.UsageError, match="0 shards are none"):
        wc.fit(free, POINT, executor=executor, shards=0, **CELL)
    with pytest.raises(wc.UsageError, match="none.yaml"):
        wc.fit(free.with_name("none.yaml"), POINT, executor=executor, **CELL)


def test_the_parts_of_a_fit_are_in_their_order(tmp_path: Path) -> None:
    for name in ("10", "2", "part-3"):
        (tmp_path / name).touch()
    assert [path.name for path in _fit.whole(tmp_path)] == ["2", "10"]
