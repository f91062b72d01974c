"""What one IoT message costs, in bytes, time, CPU and energy, from notebooks.

    import wirecost as wc
    run = wc.compare("mqtt-qos1", "coap-con", size=["48B", "1kB"], rtt="100ms", engine="sim")
    run.cells          # a pyarrow.Table
"""

from . import ray
from ._commands import (
    choose,
    claims,
    compare,
    cost,
    devices,
    fit,
    link,
    links,
    load,
    merge,
    nbiot,
    pcap,
    probe,
    resume,
    run,
    study,
    tariffs,
    what_if,
)
from ._errors import (
    Changed,
    Incomplete,
    Interrupt,
    Invalid,
    Refused,
    ThresholdError,
    Unavailable,
    Unreachable,
    UsageError,
    WirecostError,
)
from ._histogram import Histogram
from ._link import Link, LinkResult
from ._program import program, version
from ._run import Run, read

__all__ = [
    "Changed",
    "Histogram",
    "Incomplete",
    "Interrupt",
    "Invalid",
    "Link",
    "LinkResult",
    "Refused",
    "Run",
    "ThresholdError",
    "Unavailable",
    "Unreachable",
    "UsageError",
    "WirecostError",
    "choose",
    "claims",
    "compare",
    "cost",
    "devices",
    "fit",
    "link",
    "links",
    "load",
    "merge",
    "nbiot",
    "pcap",
    "probe",
    "program",
    "ray",
    "read",
    "resume",
    "run",
    "study",
    "tariffs",
    "what_if",
]


def __getattr__(name: str) -> str:
    # The version is that of the program, which is asked when it is wanted.
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
