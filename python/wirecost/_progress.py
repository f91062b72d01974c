"""Progress from the journal of a run, as a bar in notebooks and terminals."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import TracebackType


class Bar:
    """How much of a run is done, in a notebook or on the last line of a terminal. `shown` is by default whether there is one."""

    def __init__(self, noun: str, shown: bool | None = None) -> None:
        self._noun = noun
        self._in_notebook = _in_notebook()
        self._shown = (self._in_notebook or sys.stderr.isatty()) if shown is None else shown
        self._began = time.monotonic()
        self._handle = None
        self._drawn = False

    def draw(self, done: int, of: int) -> None:
        """Shows that `done` of `of` are done."""
        if not self._shown:
            return
        self._drawn = True
        text = f"{done} of {of} {self._noun}, {time.monotonic() - self._began:.0f} s"
        if not self._in_notebook:
            filled = 30 * done // of
            sys.stderr.write(f"\r{'#' * filled}{'.' * (30 - filled)} {text}")
            sys.stderr.flush()
            return
        from IPython.display import HTML, display

        bar = HTML(f'<progress value="{done}" max="{of}"></progress> {text}')
        if self._handle is None:
            self._handle = display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def close(self) -> None:
        """Ends the line of a terminal."""
        if self._drawn and not self._in_notebook:
            sys.stderr.write("\n")


class Progress:
    """Reads `journal.jsonl` while a run writes it: `done` of `planned` cells, which are a shard of `whole`."""

    def __init__(self, folder: Path, *, shown: bool | None = None) -> None:
        self._path = folder / "journal.jsonl"
        self._read = 0
        self._bar = Bar("cells", shown)
        self.planned: int | None = None
        self.whole: int | None = None
        self.done = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.update()
        self._bar.close()

    def update(self) -> None:
        """Takes the events written since the last call."""
        try:
            with self._path.open("rb") as journal:
                journal.seek(self._read)
                text = journal.read()
        except OSError:
            return
        complete = text[: text.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.splitlines():
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError):
                # What the journal says wrongly is missing in the bar, and in nothing else.
                continue
        if self.planned:
            self._bar.draw(min(self.done, self.planned), self.planned)

    def _take(self, event: dict[str, object]) -> None:
        if event["event"] == "planned":
            self.planned = int(str(event["cells"]))
            self.whole = int(str(event.get("of_all", self.planned)))
        elif event["event"] == "cell":
            self.done += 1


def _in_notebook() -> bool:
    module = sys.modules.get("IPython")
    if module is None:
        return False
    shell = module.get_ipython()
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"
