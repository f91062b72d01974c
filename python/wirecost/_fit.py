"""A fit of NB-IoT cells, by the program alone or in shards by an executor."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._errors import Interrupt, UsageError, of_exit
from ._executor import fit_in_shards
from ._files import argument, path_of, read_text
from ._program import flags, run_child


def fitted(file: Path, points: list[str], executor: Any, shards: int | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """What `wirecost nbiot --fit --json -` prints; also written to the file of `json`."""
    options = dict(options)
    kept, shown, known = (options.pop(name, None) for name in ("json", "progress", "known"))
    words = [*(f"--fit={point}" for point in points), *flags(options)]
    before = _paths(known)
    with tempfile.TemporaryDirectory(prefix="wirecost-") as place:
        parts = Path(place)
        if executor is not None or shards is not None:
            texts = [_text(path) for path in before]
            try:
                fit_in_shards(file, executor, shards, words, texts, parts, shown)
            except KeyboardInterrupt:
                _keep(kept, _of_parts(parts))
                raise Interrupt(None) from None
            before += whole(parts)
        named = [f"--known={argument(path)}" for path in before]
        ended = run_child(["nbiot", f"--free={argument(file)}", *words, *named, "--quiet", "--json=-"])
    table: dict[str, Any] = json.loads(ended.stdout) if ended.stdout else {}
    _keep(kept, table)
    if ended.code == 130:
        raise Interrupt(None)
    # 99: no setting meets the points, and the best one is the nearest.
    if ended.code not in (0, 99) or not table:
        raise of_exit(ended.code, ended.stderr)
    return table


def _text(known: Path) -> str:
    hint = "name what an earlier fit wrote"
    try:
        return read_text(known, hint)
    except FileNotFoundError as error:
        raise UsageError(f"{known} cannot be read: {error.strerror}", hint, code=2) from None


def whole(place: Path) -> list[Path]:
    """The shards that came back, in order."""
    return sorted((path for path in place.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))


def _of_parts(place: Path) -> dict[str, Any]:
    """The settings of the shards that came back, as a fit that was stopped."""
    tables = [json.loads(path.read_text()) for path in whole(place)]
    settings = [setting for table in tables for setting in table["settings"]]
    return {**tables[0], "interrupted": True, "settings": settings} if tables else {}


def _keep(file: str | Path | None, table: Mapping[str, Any]) -> None:
    if file is not None and table:
        path_of(file).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def _paths(known: str | Path | Sequence[str | Path] | None) -> list[Path]:
    if known is None:
        return []
    return [path_of(one) for one in ([known] if isinstance(known, (str, Path)) else known)]
