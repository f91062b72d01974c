"""The bills of a device of a capture by three tariffs, from the packets and the YAML files alone.

usage: bills.py CAPTURE ADDRESS DEVICES TARIFFS_FOLDER
"""

import json
import math
import re
import subprocess
import sys

MONTH_S = 30 * 86_400
CONNECT, PUBLISH, PUBACK, SUBSCRIBE, PINGREQ = 1, 3, 4, 8, 12
FIELDS = ["frame.time_relative", "ip.src", "ip.len", "tcp.flags.syn", "mqtt.msgtype", "mqtt.len", "mqtt.topic_len", "mqtt.qos"]


def packets(capture, address):
    """The fields of each packet of the device; those of MQTT are lists."""
    fields = [word for field in FIELDS for word in ("-e", field)]
    run = ["tshark", "-r", capture, "-Y", f"ip.addr == {address}", "-d", "tcp.port==1883,mqtt", "-T", "fields", *fields]
    lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    return [dict(zip(FIELDS, line.split("\t") + [""] * len(FIELDS))) for line in lines]


def messages(seen, address):
    """Type, direction, bytes of topic and payload, and bytes of the whole packet of MQTT, of each message."""
    found = []
    for packet in seen:
        types = [int(kind) for kind in packet["mqtt.msgtype"].split(",") if kind]
        lengths = [int(length) for length in packet["mqtt.len"].split(",") if length]
        levels = [int(level) for level in packet["mqtt.qos"].split(",") if level]
        for kind, length in zip(types, lengths):
            # MQTT 3.1.1, sections 2.2.3 and 3.3: the length of the topic, and of QoS 1 an identifier.
            inner = length - 2 - (2 if levels and levels[0] else 0) if kind == PUBLISH else length
            whole = 1 + (1 if length < 128 else 2 if length < 16_384 else 3) + length
            found.append((kind, packet["ip.src"] == address, inner, whole))
    return found


def figure(text, key):
    """A figure with its unit: `key: {value: 5KB, source: x}` or `key: 5KB`."""
    found = re.search(rf"\b{key}: (?:\{{value: )?([0-9.]+) ?([A-Za-z]*)", text)
    return float(found[1]), found[2]


def rule(text, name):
    return re.search(rf"^  {name}:\n((?:    .*\n)+)", text, re.M)[1]


def size(text, key, kilobyte):
    number, unit = figure(text, key)
    return number * {"B": 1, "KB": kilobyte, "MB": kilobyte**2, "GB": kilobyte**3}[unit]


def above(quantity, text):
    """What a rule with a free tier charges."""
    return max(quantity - figure(text, "free")[0], 0) / figure(text, "per")[0] * figure(text, "price")[0]


def aws(text, sent, minutes, times, devices, kilobyte):
    unit = size(rule(text, "messages"), "unit", kilobyte)
    units = 0
    for kind, is_up, inner, _ in sent:
        is_metered = kind == PUBLISH or (is_up and kind in (CONNECT, PUBACK, SUBSCRIBE))
        units += max(math.ceil(inner / unit), 1) if is_metered else 0
    charged = units * times
    money = above(charged * devices, rule(text, "messages")) + above(minutes * times * devices, rule(text, "connection"))
    return charged, money


def clearblade(text, sent, times, devices):
    least = size(rule(text, "data"), "least", 1_024)
    charged = 0
    for kind, is_up, _, whole in sent:
        is_billed = kind == PUBLISH or (is_up and kind in (CONNECT, SUBSCRIBE, PINGREQ))
        charged += max(whole, least) if is_billed else 0
    left, start, money = charged * times * devices, 0.0, 0.0
    for tier in re.findall(r"- \{(.*)\}$", text, re.M)[:4]:
        number, unit = figure(tier, "to") if "to:" in tier else (math.inf, "B")
        end = number * {"B": 1, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}[unit]
        money += max(min(left, end) - start, 0) / 1024**2 * figure(tier, "price")[0]
        start = end
    return charged * times, money


def soracom(text, seen, address, times, devices):
    up, down = size(text, "tunnel", 1_024), size(text, "tunnel_down", 1_024)
    counted = sum(int(packet["ip.len"]) + (up if packet["ip.src"] == address else down) for packet in seen)
    unit = size(text, "round", 1_024)
    charged = math.ceil(counted * times / unit - 1e-9) * unit
    return charged, charged / size(text, "per", 1_024) * figure(text, "price")[0] * devices


def main():
    capture, address, devices, folder = sys.argv[1:]
    devices = int(devices)
    seen = packets(capture, address)
    times_of = [float(packet["frame.time_relative"]) for packet in seen]
    lasts = times_of[-1] - times_of[0]
    times = MONTH_S / lasts
    sent = messages(seen, address)
    assert sum(packet["ip.src"] == address and packet["tcp.flags.syn"] in ("1", "True") for packet in seen) == 1
    minutes = math.ceil(lasts / 60)
    text = {name: open(f"{folder}/{name}.yaml").read() for name in ["aws-iot-core", "clearblade", "soracom-plan01s"]}
    named = {
        "aws-iot-core": aws(text["aws-iot-core"], sent, minutes, times, devices, 1_000),
        "aws-iot-core with 1024": aws(text["aws-iot-core"], sent, minutes, times, devices, 1_024),
        "clearblade": clearblade(text["clearblade"], sent, times, devices),
        "soracom-plan01s": soracom(text["soracom-plan01s"], seen, address, times, devices),
    }
    print(json.dumps({name: {"charged": charged, "money": money} for name, (charged, money) in named.items()}))


if __name__ == "__main__":
    main()
