"""The account of a device of a capture, from the packets and the YAML files alone: docs/models/account.md, line by line.

usage: by_hand.py CAPTURE ADDRESS DEVICE.yaml TARIFF.yaml READINGS INTERVAL_S BATTERY_J SELF_DISCHARGE
"""

import json
import math
import re
import subprocess
import sys

UNITS = {
    "uA": 1e-6, "mA": 1e-3, "V": 1.0, "mW": 1e-3, "s": 1.0, "ms": 1e-3, "kbit": 1e3,
    # The kilobyte of tariffs/soracom.yaml.
    "B": 1.0, "KB": 1024.0, "MB": 1024.0**2, "USD": 1.0,
}
MONTH_S = 30 * 86_400
YEAR_S = 365 * 86_400


def value(text, key):
    """The number of a key that is written once, in base units."""
    found = re.search(rf"\b{key}: (?:\{{value: )?([0-9.]+) ?([A-Za-z]+)", text)
    return float(found[1]) * UNITS[found[2]]


def packets(capture, address):
    """Time, IP bytes and whether it is up, of each packet of the device."""
    fields = ["-e", "frame.time_relative", "-e", "ip.len", "-e", "ip.src"]
    shown = f"ip.addr == {address}"
    run = ["tshark", "-r", capture, "-Y", shown, "-T", "fields", *fields]
    lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    return [(float(at), int(length), source == address) for at, length, source in rows]


def states(seen, device):
    """Seconds by state from the first wake-up to the end of the last tails."""
    wake, grant = value(device, "time"), value(device, "grant")
    up, down, extra = value(device, "up"), value(device, "down"), value(device, "link_bytes")
    tails = [(name, float(time)) for name, time in re.findall(r"state: (\w+), time: \{value: ([0-9.]+)s", device)]
    spent = dict.fromkeys(["sleep", "idle", "listen", "receive", "transmit", "wake"], 0.0)
    until = None
    for at, length, is_up in seen:
        begins = at
        if until is None:
            spent["wake"] += wake
        else:
            left = at - until
            for name, time in tails:
                spent[name] += min(time, max(left, 0.0))
                left -= time
            if left > 0.0:
                spent["sleep"] += max(left - wake, 0.0)
                spent["wake"] += wake
                begins = at + max(wake - left, 0.0)
            else:
                begins = max(at, until)
        air = 8 * (length + extra) / (up if is_up else down)
        spent["transmit" if is_up else "receive"] += air
        spent["listen"] += grant if is_up else 0.0
        until = begins + air + (grant if is_up else 0.0)
    for name, time in tails:
        spent[name] += time
    return spent


def main():
    capture, address, device, tariff, readings, interval, battery, leak = sys.argv[1:]
    device, tariff = open(device).read(), open(tariff).read()
    readings, interval, battery, leak = int(readings), float(interval), float(battery), float(leak)
    seen = packets(capture, address)
    spent = states(seen, device)
    volts = value(device, "supply")
    watts = {name: value(device, name) * volts for name in ["sleep", "idle", "listen", "receive", "transmit"]}
    watts["wake"] = value(device, "power")
    joules = sum(spent[name] * watts[name] for name in spent)
    cycle = readings * interval
    power = joules / cycle + watts["sleep"] * (1 - sum(spent.values()) / cycle)
    sent = sum(length for _, length, _ in seen)
    lives = MONTH_S / cycle
    counted = lives * (sent + len(seen) * value(tariff, "tunnel"))
    unit = value(tariff, "round")
    charged = math.ceil(counted / unit - 1e-9) * unit
    print(json.dumps({
        "packets": len(seen),
        "bytes": sent / readings,
        "month": sent * lives,
        "seconds": spent,
        "joules": joules,
        "watts": power,
        "years": battery / (power * YEAR_S + leak * battery),
        "counted": counted,
        "charged": charged,
        "money": charged / value(tariff, "per") * value(tariff, "price"),
    }))


if __name__ == "__main__":
    main()
