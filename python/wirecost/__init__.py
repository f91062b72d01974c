"""What one IoT message costs, in bytes, time, CPU and energy, from notebooks.

    import wirecost as wc
    run = wc.compare("mqtt-qos1", "coap-con", size=["48B", "1kB"], rtt="100ms", engine="sim")
    run.cells          # a pyarrow.Table
"""

from . import ray
from ._commands import claims, compare, link, load, merge, nbiot, pcap, probe, resume, run, study
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
from ._program import program
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
    "claims",
    "compare",
    "link",
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
]
