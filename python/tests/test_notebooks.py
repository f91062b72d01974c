"""Notebooks execute from a clean checkout, and their pages need nothing from outside.

UPDATE_NOTEBOOKS=1 keeps the outputs of this execution in the files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PACKAGE = Path(__file__).resolve().parents[1]
NAMES = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))


def executed(name: str, home: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(home)}})
    client.execute(env={**os.environ, "PYTHONPATH": str(PACKAGE), "IPYTHONDIR": str(home / "ipython")})
    return notebook


@pytest.mark.parametrize("name", NAMES)
def test_notebook_executes_and_its_pages_ask_for_nothing(name: str, tmp_path: Path) -> None:
    notebook = executed(name, tmp_path)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("text/html" in output.get("data", {}) for output in outputs)
    page = tmp_path / "notebook.html"
    page.write_text(page_of(outputs))
    for path in [page, *sorted(tmp_path.glob("runs/**/report.html"))[:2]]:
        assert_needs_nothing(path, tmp_path / "chromium")
    if os.environ.get("UPDATE_NOTEBOOKS"):
        nbformat.write(kept(notebook), EXAMPLES / name)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_keeps_outputs_and_names_no_machine(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert sum(bool(cell["outputs"]) for cell in cells) >= len(cells) // 2
    assert not re.search(r"/(tmp|home|root|work)/", text)


def kept(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without bars and times of the execution."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if "<progress" not in one.get("data", {}).get("text/html", "")]
            cell.outputs = [one for one in cell.outputs if one.output_type != "stream" or one.name != "stderr"]
    return notebook


def page_of(outputs: list[nbformat.NotebookNode]) -> str:
    parts = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    return "<!doctype html><meta charset=utf-8><title>notebook</title>" + "\n".join(parts)


def assert_needs_nothing(page: Path, profile: Path) -> None:
    """Opens a page in headless Chromium: no error in its console, and no request but for the file."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")
    net = profile.with_suffix(".net.json")
    quiet = "disable-background-networking disable-component-update disable-sync disable-quic no-first-run disable-gpu no-sandbox"
    command = [chromium, "--headless", *(f"--{one}" for one in quiet.split()), "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--enable-logging=stderr", f"--log-net-log={net}", f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "CONSOLE" not in ended.stderr, ended.stderr
    # The browser's own requests, for its clock and its components, are of no site.
    lines = net.read_text(errors="replace").splitlines()
    assert not [line for line in lines if "site=file://" in line and '"url":"http' in line]
