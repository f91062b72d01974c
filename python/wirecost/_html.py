"""The run in a notebook: a table with bars, warnings and the link to the report; no script, light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._run import Run

_LAYERS = ("ip", "transport", "security", "application", "payload")
# Colours of the report, which are told apart in light and dark and by colour-blind readers.
_COLOURS = ("#4c78a8", "#f58518", "#b279a2", "#54a24b", "#9d9d9d")

_STYLE = """<style>
.wirecost{font:13px/1.4 system-ui,sans-serif;color-scheme:light dark}
.wirecost table{border-collapse:collapse}
.wirecost td,.wirecost th{padding:2px 10px;text-align:right;border:0;white-space:nowrap}
.wirecost td:first-child,.wirecost th:first-child{text-align:left}
.wirecost .bar{width:240px;text-align:left}
.wirecost .bar span{display:inline-block;height:11px}
.wirecost .why{color:#b3261e;text-align:left}
@media (prefers-color-scheme:dark){.wirecost .why{color:#ff8a80}}
</style>"""


def page(run: Run) -> str:
    """HTML of the run."""
    rows = {"comparison": _cells, "load": _loads, "nbiot": _points, "study": _claims}[run.kind](run)
    warnings = "".join(f"<li>{escape(text)}</li>" for text in run.warnings[:8])
    more = len(run.warnings) - 8
    notes = f"<ul>{warnings}{f'<li>and {more} more</li>' if more > 0 else ''}</ul>" if warnings else ""
    command = f" · <code>{escape(run.command)}</code>" if run.command else ""
    link = f'<p><a href="{escape(str(run.report()))}">report</a>{command}</p>'
    return f'{_STYLE}<div class="wirecost">{rows}{notes}{link}</div>'


def _cells(run: Run) -> str:
    cells = run.summary.get("cells", [])
    links = dict(zip(run.cells.column("key").to_pylist(), run.cells.column("link").to_pylist()))
    most = max((_bytes(cell) for cell in cells), default=0.0) or 1.0
    head = "<tr><th>stack</th><th>size</th><th>link</th><th>B/message</th><th></th><th>RTTs</th><th>p50 ms</th></tr>"
    body = []
    for cell in cells:
        where = _stack(cell), f"{cell.get('payload_bytes')} B", links.get(cell.get("key"), "")
        first = "".join(f"<td>{escape(text)}</td>" for text in where)
        why = _invalid(cell)
        if why:
            body.append(f'<tr>{first}<td class="why" colspan="4">{escape(why)}</td></tr>')
            continue
        time = (cell["message"].get("response_time_ns") or {}).get("p50")
        shown = [_number(_bytes(cell), 0), _bar(cell, most), _number(cell["message"].get("round_trips"), 1), _number(time, 1, 1e6)]
        body.append("<tr>" + first + "".join(_td(text) for text in shown) + "</tr>")
    legend = " ".join(
        f'<span style="color:{colour}">■</span> {name}' for name, colour in zip(_LAYERS, _COLOURS)
    )
    return f"<table>{head}{''.join(body)}</table><p>{legend}</p>"


def _loads(run: Run) -> str:
    head = "<tr><th>load</th><th>phase</th><th>offered</th><th>acknowledged</th><th>rate/s</th><th>p50 ms</th><th>p99 ms</th></tr>"
    body = []
    for load in run.summary.get("loads", []):
        for phase in load.get("phases") or [{}]:
            first = f"<td>{escape(_stack(load))}</td><td>{escape(str(phase.get('name', '')))}</td>"
            why = _invalid(load)
            if why:
                body.append(f'<tr>{first}<td class="why" colspan="5">{escape(why)}</td></tr>')
                continue
            times = phase.get("response_time_ns") or {}
            outcomes = phase.get("outcomes") or {}
            shown = [_number(outcomes.get("offered"), 0), _number(outcomes.get("acknowledged"), 0), _number(phase.get("carried_rate"), 0)]
            shown += [_number(times.get("p50"), 3, 1e6), _number(times.get("p99"), 3, 1e6)]
            body.append("<tr>" + first + "".join(_td(text) for text in shown) + "</tr>")
    return f"<table>{head}{''.join(body)}</table>"


def _points(run: Run) -> str:
    head = "<tr><th>stack</th><th>size</th><th>load</th><th>served</th><th>p50 s</th><th>p95 s</th></tr>"
    body = []
    for point in run.summary.get("points", []):
        served = point["served"]["mean"] if isinstance(point.get("served"), dict) else point.get("served")
        shown = [_number(point.get("size_bytes"), 0), _number(point.get("load"), 2), _number(served, 3)]
        shown += [_number(point.get("delay_p50_s"), 2), _number(point.get("delay_p95_s"), 2)]
        body.append(f"<tr><td>{escape(_stack(point))}</td>" + "".join(_td(text) for text in shown) + "</tr>")
    return f"<table>{head}{''.join(body)}</table>"


def _claims(run: Run) -> str:
    head = "<tr><th>claim</th><th>says</th><th>published</th><th>bound</th><th>ours</th><th>verdict</th></tr>"
    names = ("id", "says", "published", "bound", "ours", "point_verdict")
    rows = ([escape(row[name] or "") for name in names] for row in run.claims.to_pylist())
    body = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def _td(text: str) -> str:
    return text if text.startswith("<td") else f"<td>{text}</td>"


def _stack(item: dict[str, Any]) -> str:
    start = item.get("start")
    name = str(item.get("stack", ""))
    if start and start != "cold":
        name += f" {start}"
    return f"{name} ({item['engine']})" if item.get("engine") else name


def _invalid(item: dict[str, Any]) -> str | None:
    from ._run import reason

    return reason(item)


def _bytes(cell: dict[str, Any]) -> float:
    message = cell.get("message")
    if not message or _invalid(cell):
        return 0.0
    return float(message["up"]["wire"]["mean"] + message["down"]["wire"]["mean"])


def _bar(cell: dict[str, Any], most: float) -> str:
    message = cell["message"]
    parts = []
    for layer, colour in zip(_LAYERS, _COLOURS):
        size = message["up"][layer]["mean"] + message["down"][layer]["mean"]
        width = 240 * size / most
        parts.append(f'<span style="width:{width:.1f}px;background:{colour}" title="{layer} {size:.0f} B"></span>')
    return f'<td class="bar">{"".join(parts)}</td>'


def _number(value: Any, digits: int, divisor: float = 1.0) -> str:
    return "–" if value is None else f"{value / divisor:,.{digits}f}"
