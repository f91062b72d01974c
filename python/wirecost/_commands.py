"""The commands as functions. Their keywords are the flags' names; the program refuses what it does not know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _tables
from ._errors import Interrupt, UsageError, of_exit
from ._files import argument, make_folder, path_of
from ._link import Link
from ._measure import concluded, measure
from ._program import flags, new_folder, output_of, remove_if_empty, run_child, word
from ._run import Run


def compare(*stacks: str, **options: Any) -> Run:
    """Compares stacks on one link: bytes by layer, response times, round trips.

    `compare("mqtt-qos1", "coap-con", size=["48B", "1kB"], rtt="100ms", engine="sim")`
    """
    return measure("compare", [word(stack) for stack in stacks], options)


def load(*targets: str, executor: Any = None, shards: int | None = None, **options: Any) -> Run:
    """Loads one target, by its URL or a stack: `load("mqtt-qos1", clients=20, rate="1000/s", duration="10s")`.

    In virtual time an executor runs shards of the devices: `load("coap-con", clients="10M", engine="sim", executor=ex, shards=8)`. What
    the devices of a shard share, such as a broker, they share with no other shard.
    """
    words = [word(target) for target in targets]
    if executor is None and shards is None:
        return measure("load", words, options)
    from ._executor import load_in_shards

    return load_in_shards(words, executor, shards, options)


def nbiot(*stacks: str, **options: Any) -> Run:
    """Sends reports from devices in NB-IoT cells, in virtual time: `nbiot("coap-con", load="1/s")`."""
    return measure("nbiot", [word(stack) for stack in stacks], options)


def fit(file: str | Path, *points: str, executor: Any = None, shards: int | None = None, **options: Any) -> dict[str, Any]:
    """Searches settings of NB-IoT cells with given points, as `wirecost nbiot --fit --json -` prints them, on all CPUs or by an executor.

    `fit("free.yaml", "served(tcp,400B,2/s)=95%", profile="study", fits=60, executor=ex)["settings"]`. Where no setting meets the
    points, `best` is the nearest one. `known` takes what an earlier call wrote with `json`, whose settings are not measured again.
    """
    from ._fit import fitted

    return fitted(path_of(file), [word(point) for point in points], executor, shards, options)


def run(file: str | Path, *, executor: Any = None, shards: int | None = None, force: bool = False, **options: Any) -> Run:
    """Runs a scenario file: `run("sweep.yaml")`; in shards by any concurrent.futures executor: `run("sweep.yaml", executor=ex)`.

    Below 60 CPU s in all this machine is faster than a cluster, and runs it; `force=True` sends it away all the same.
    """
    if executor is None and shards is None:
        return measure("run", [argument(file)], options)
    from ._executor import run_shards

    return run_shards(path_of(file), executor, shards, force, options)


def resume(folder: str | Path, **options: Any) -> Run:
    """Finishes a run that was interrupted, by the scenario of its folder."""
    place = path_of(folder)
    return measure("run", [argument(place / "scenario.resolved.yaml")], {**options, "resume": place})


def study(name: str, **options: Any) -> Run:
    """Makes the runs of a published study and judges its claims: `study("tcp-vs-mqtt", quick=True).claims`."""
    name = word(name)
    folder = path_of(options.pop("out", None) or f"runs/study-{name}")
    given = flags(options)
    make_folder(folder.parent)
    ended = run_child(["study", name, *given, f"--out={argument(folder)}"])
    run = Run(folder) if Run.is_in(folder) else None
    if ended.code == 130:
        raise Interrupt(run)
    if ended.code != 0 or run is None:
        raise of_exit(ended.code, ended.stderr, run)
    return run


def claims(file: str | Path, runs: Mapping[str, Run | str | Path] | None = None, **options: Any) -> pa.Table:
    """Judges the claims of a file on runs: `claims("mine.yaml", {"publish": run})`; the table that `Run.claims` is."""
    words = [word(f"{name}={_place(one)}") for name, one in (runs or {}).items()]
    return _tables.claims(json.loads(_printed(["claims", argument(file), *words], options)))


def probe(url: str, **options: Any) -> dict[str, Any]:
    """Sends one message to a real server; times and bytes of each step, as `wirecost probe --json -` prints them."""
    printed: dict[str, Any] = json.loads(_printed(["probe", word(url)], options))
    return printed


def pcap(file: str | Path, **options: Any) -> dict[str, Any]:
    """Attributes the bytes of a capture to layers, phases and causes, as `wirecost pcap --json -` prints them."""
    printed: dict[str, Any] = json.loads(_printed(["pcap", argument(file)], options))
    return printed


def cost(source: Run | str | Path, **options: Any) -> dict[str, Any]:
    """Models energy, battery life and money of a run or a capture, as `wirecost cost --json -` prints them.

    `cost(run, device="nrf9160-lte-m", battery="2400mAh@3.6V", tariff="soracom")["rows"]`
    """
    printed: dict[str, Any] = json.loads(_printed(["cost", argument(_place(source))], options))
    return printed


def choose(*stacks: str, **options: Any) -> dict[str, Any]:
    """Ranks the stacks that meet the requirements, as `wirecost choose --json -` prints them, and the `folder` of the evidence.

    `choose(size="64B", every="15min", link="lte-m", device="nrf9160-lte-m", battery="2400mAh@3.6V")["rows"]`. Where no stack meets
    them, `best` is None, and each row says what it fails.
    """
    return _in_folder(["choose", *map(word, stacks)], options)


def what_if(capture: str | Path, *stacks: str, **options: Any) -> dict[str, Any]:
    """Sends the readings of a capture over other stacks, as `wirecost what-if --json -` prints it, and the `folder` of the evidence.

    `what_if("capture.pcapng", "coap-con+oscore", "mqtt-qos1+tls1.3", keylog="keys.log")`
    """
    return _in_folder(["what-if", argument(capture), *map(word, stacks)], options)


def links(name: str | Path | None = None, **options: Any) -> Any:
    """The links with names, each figure with its source; one of them by its name or file. `out` writes it to start from."""
    return _catalog("links", name, options)


def devices(name: str | Path | None = None, **options: Any) -> Any:
    """The devices with names, each figure with its source; one of them by its name or file. `out` writes it to start from."""
    return _catalog("devices", name, options)


def tariffs(name: str | Path | None = None, **options: Any) -> Any:
    """The tariffs with names, each figure with its source; one of them by its name or file. `out` writes it to start from,
    `examples` runs the worked examples of its provider's page."""
    return _catalog("tariffs", name, options)


def _catalog(command: str, name: str | Path | None, options: dict[str, Any]) -> Any:
    words = [command] if name is None else [command, word(name)]
    if options.get("out") is not None:
        output_of([*words, f"--out={argument(options.pop('out'))}"])
    return json.loads(_printed(words, options))


def _in_folder(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    folder = new_folder(options)
    remove_if_empty(folder)
    given = flags(options)
    ended = run_child([*words, *given, f"--out={argument(folder)}", "--quiet", "--json=-"])
    # 13: no stack meets the requirements, and each row says why.
    if not ended.stdout or ended.code not in (0, 13, 14):
        remove_if_empty(folder)
        raise of_exit(ended.code, ended.stderr)
    return {**json.loads(ended.stdout), "folder": str(folder)}


def _printed(words: list[str], options: Mapping[str, Any]) -> str:
    ended = run_child([*words, *flags(options), "--json=-"])
    # 14: the capture ends inside a packet, and the report covers those before it.
    if ended.code != 0 and not (ended.code == 14 and ended.stdout):
        raise of_exit(ended.code, ended.stderr)
    return ended.stdout


def merge(*runs: Run | str | Path, **options: Any) -> Run:
    """Combines shards, or loads of several machines. Histograms add up; percentiles are computed from the sums."""
    if not runs:
        raise UsageError("there is no run to merge", "name at least one: merge(a, b)", code=2)
    folder = new_folder(options)
    remove_if_empty(folder)
    ended = run_child(["merge", *(argument(_place(one)) for one in runs), *flags(options), f"--out={argument(folder)}"])
    return concluded(ended, folder)


def link(**options: Any) -> Link:
    """An emulated, recorded link for programs of your own.

    `with link(rtt="100ms", loss="1%", serve="mqtt") as l: l.run("mosquitto_pub -h {server} -t test -m 21.5 -q 1")`
    """
    return Link(options)


def _place(one: Run | str | Path) -> Path:
    return one.folder if isinstance(one, Run) else path_of(one)
