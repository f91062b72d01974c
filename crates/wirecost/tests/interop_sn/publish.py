"""Publishes "hello" with the client of the package mqtt-sn-12: PORT QUALITY -t|-T TOPIC."""

import subprocess
import sys

port, quality, option, topic = sys.argv[1:]
program = [sys.executable, "-m", "mqttsn12.mqtt_sn_pub", "-h", "127.0.0.1", "-p", port]
subprocess.run([*program, "-q", quality, option, topic, "-m", "hello"], check=True, timeout=60)
