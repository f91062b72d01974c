"""A command that writes a results folder, from its start to its run or its error."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._errors import BY_CODE, Interrupt, WirecostError, of_exit
from ._files import argument, path_of
from ._program import Ended, flags, new_folder, remove_if_empty, run_child
from ._progress import Progress
from ._run import Run

# With these exit codes the folder has figures, and Run.check() says what is wrong with them.
_WITH_FIGURES = frozenset({0, 13, 14, 99})


def measure(command: str, words: list[str], options: Mapping[str, Any]) -> Run:
    """Runs a command that writes a results folder."""
    options = dict(options)
    progress = options.pop("progress", None)
    resumed = options.get("resume")
    folder = path_of(resumed) if resumed else new_folder(options)
    place = [] if resumed else [f"--out={argument(folder)}"]
    try:
        given = flags(options)
    except WirecostError:
        remove_if_empty(folder)
        raise
    with Progress(folder, shown=progress) as shown:
        ended = run_child([command, *words, *given, *place, "--quiet"], watch=shown.update)
    run = concluded(ended, folder)
    # What went another way than asked for: a machine that can only simulate, figures that are invalid.
    if ended.stderr.strip():
        warnings.warn(ended.stderr.strip(), stacklevel=3)
    return run


def concluded(ended: Ended, folder: Path) -> Run:
    """The run of a folder, or the error of the exit code with what was measured."""
    run = Run(folder) if Run.is_in(folder) else None
    if run is not None and ended.code in _WITH_FIGURES and (ended.code not in BY_CODE or run.summary):
        return run
    remove_if_empty(folder)
    if ended.code == 130:
        raise Interrupt(run)
    raise of_exit(ended.code, ended.stderr, run)
