"""Decodes payloads of readings: lines "encoding compression hexadecimal-digits" on standard input.

For each line, prints the readings as one line: time, temperature, humidity and battery of each, separated by commas.
"""

import gzip
import json
import sys

import brotli
import cbor2
import zstandard

SENSOR = "00005efffe005301"
DECOMPRESS = {
    "none": lambda data: data,
    "gzip": gzip.decompress,
    "brotli": brotli.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompress(data),
}
LABELS = {-2: "bn", -3: "bt", 0: "n", 1: "u", 2: "v", 6: "t"}
UNITS = {"temperature": "Cel", "humidity": "%RH", "battery": "%EL"}


def plain(value):
    """The readings of JSON or CBOR."""
    for reading in value if isinstance(value, list) else [value]:
        assert reading["sensor"] == SENSOR
        yield [reading[name] for name in ("time", "temperature", "humidity", "battery")]


def resolved(records):
    """The readings of SenML: base name and base time hold for all records behind them (RFC 8428, section 4.6)."""
    base_name, base_time, readings = "", 0, {}
    for record in records:
        base_name, base_time = record.get("bn", base_name), record.get("bt", base_time)
        name = base_name + record["n"]
        prefix = f"urn:dev:mac:{SENSOR}:"
        assert name.startswith(prefix)
        kind = name.removeprefix(prefix)
        assert record["u"] == UNITS[kind]
        readings.setdefault(base_time + record.get("t", 0), {})[kind] = record["v"]
    for time, values in readings.items():
        yield [time, values["temperature"], values["humidity"], values["battery"]]


def readings(encoding, data):
    match encoding:
        case "json":
            return plain(json.loads(data))
        case "cbor":
            return plain(cbor2.loads(data))
        case "senml-json":
            return resolved(json.loads(data))
        case "senml-cbor":
            records = cbor2.loads(data)
            return resolved({LABELS[label]: value for label, value in record.items()} for record in records)


for line in sys.stdin:
    encoding, compression, digits = line.split()
    data = DECOMPRESS[compression](bytes.fromhex(digits))
    numbers = [f"{float(number):.2f}" for reading in readings(encoding, data) for number in reading]
    print(",".join(numbers), flush=True)
