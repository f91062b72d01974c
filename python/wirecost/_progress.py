"""Progress from the journal of a run, as a bar in notebooks and terminals."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


class Progress:
    """Reads `journal.jsonl` while a run writes it, and shows how many of its cells are done."""

    def __init__(self, folder: Path, *, shown: bool | None = None) -> None:
        self._path = folder / "journal.jsonl"
        self._read = 0
        self.planned: int | None = None
        self.whole: int | None = None
        self.done = 0
        self._began = time.monotonic()
        self._handle = None
        in_notebook = _in_notebook()
        self._in_notebook = in_notebook
        self._shown = (in_notebook or sys.stderr.isatty()) if shown is None else shown

    def update(self) -> None:
        """Takes the events written since the last call."""
        try:
            text = self._path.read_text()
        except OSError:
            return
        complete = text[: text.rfind("\n") + 1]
        for line in complete[self._read :].splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event.get("event") == "planned":
                self.planned = event["cells"]
                self.whole = event.get("of_all", self.planned)
            elif event.get("event") == "cell":
                self.done += 1
        self._read = len(complete)
        if self._shown and self.planned:
            self._show()

    def close(self) -> None:
        """Ends the line of a terminal."""
        self.update()
        if self._shown and not self._in_notebook and self.planned:
            sys.stderr.write("\n")

    def _text(self) -> tuple[str, float]:
        share = self.done / self.planned if self.planned else 0.0
        return f"{self.done} of {self.planned} cells, {time.monotonic() - self._began:.0f} s", share

    def _show(self) -> None:
        text, share = self._text()
        if not self._in_notebook:
            filled = int(30 * share)
            sys.stderr.write(f"\r{'#' * filled}{'.' * (30 - filled)} {text}")
            sys.stderr.flush()
            return
        from IPython.display import HTML, display

        bar = HTML(f'<progress value="{self.done}" max="{self.planned}"></progress> {text}')
        if self._handle is None:
            self._handle = display(bar, display_id=True)
        else:
            self._handle.update(bar)


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and running.__class__.__name__ == "ZMQInteractiveShell"
