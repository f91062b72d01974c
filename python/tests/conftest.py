"""One simulated comparison and one load for all tests; they take no privilege."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import wirecost as wc

os.environ.setdefault("PYTHONFAULTHANDLER", "1")


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> wc.Run:
    out = tmp_path_factory.mktemp("comparison") / "run"
    return wc.compare("mqtt-qos1", "coap-con", size=["48B", "1kB"], rtt="100ms", engine="sim", count=40, out=out)


@pytest.fixture(scope="session")
def load(tmp_path_factory: pytest.TempPathFactory) -> wc.Run:
    out = tmp_path_factory.mktemp("load") / "run"
    options = {"clients": 5, "rate": "500/s", "duration": "3s", "rtt": "20ms", "link_rate": "500kbit"}
    return wc.load("mqtt-qos1", engine="sim", out=out, **options)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "wirecost: 1\nstack: [mqtt-qos1, coap-con, http1]\nsize: [16B, 1kB]\nlink: {rtt: [20ms, 50ms]}\n"
        "engine: sim\ncount: 40\n"
    )
    return path
