"""What scripts/agreement compares: links, and on each the stacks and payloads that are measured side by side."""

# Enough samples for a 95th percentile with an interval of some hundredths of the distribution.
SAMPLES = 800
# Where nothing is left to chance, the simulation is one value, and the median tells all.
SAMPLES_OF_CONSTANTS = 51

TIMED_STACKS = ["tcp", "mqtt-qos1", "coap-con", "http1"]
TIMED_SIZES = ["128B", "1kB", "10kB", "100kB", "1MB"]
TIMED_LINKS = [
    {"--rtt": rtt, "--link-rate": rate} for rate in ["1mbit", "10mbit", "100mbit"] for rtt in ["5ms", "25ms", "100ms"]
]

# Without a rate, only windows limit a sender. Block-wise CoAP has a round trip per block at any rate.
FREE_STACKS = ["tcp", "mqtt-qos1", "http1"]
FREE_SIZES = ["100kB", "300kB", "1MB", "5MB"]
FREE_LINKS = [{"--rtt": rtt} for rtt in ["5ms", "10ms", "25ms", "50ms", "100ms", "200ms", "400ms"]] + [
    {"--up": "delay=95ms", "--down": "delay=5ms"},
    {"--up": "delay=5ms", "--down": "delay=95ms"},
]

# Link, stacks, payloads. No sum of a few flights of 27 ms equals a time-out, where a live microsecond would decide.
DISTRIBUTIONS = [
    ({"--rtt": "27ms", "--loss": "1%"}, ["coap-con", "mqtt-qos1", "tcp", "http1"], ["128B", "20kB"]),
    (
        {"--rtt": "27ms", "--loss": "5%"},
        ["tcp", "udp", "mqtt-qos2", "amqp-unsettled", "http3", "coap-con", "coap-con+oscore", "mqtt5-qos0"],
        ["128B"],
    ),
    ({"--rtt": "27ms", "--loss": "10%"}, ["tcp", "mqtt-qos1", "http3"], ["20kB", "50kB"]),
    ({"--rtt": "27ms", "--loss": "20%"}, ["coap-con", "mqtt-qos1", "tcp"], ["128B"]),
    (
        {"--rtt": "60ms", "--loss": "5%", "--loss-burst": "3"},
        ["tcp", "mqtt5-qos1", "coap-con", "http1+tls1.3", "amqp-settled"],
        ["1kB"],
    ),
    ({"--rtt": "40ms", "--loss": "10%", "--loss-burst": "7.5"}, ["tcp+tls1.3", "mqtt-qos1+tls1.3"], ["40kB"]),
    ({"--rtt": "40ms", "--reorder": "8%"}, ["tcp", "http1", "mqtt-qos2", "http3"], ["20kB", "100kB"]),
    (
        {"--rtt": "30ms", "--duplicate": "5%"},
        ["tcp", "coap-con", "mqtt5-qos2", "amqp-unsettled", "udp+dtls1.3", "http3"],
        ["1kB"],
    ),
    (
        {"--rtt": "30ms", "--corrupt": "3%"},
        ["tcp", "coap-con", "http3", "mqtt-qos1+tls1.2", "coap-con+cose", "udp+dtls1.2"],
        ["1kB"],
    ),
    ({"--rtt": "50ms", "--delay-variation": "10ms"}, ["tcp", "mqtt-qos1", "coap-con", "http3", "mqtt-qos0"], ["10kB"]),
    ({"--rtt": "25ms", "--link-rate": "1mbit", "--queue": "3packets"}, ["tcp", "mqtt-qos1", "http1", "http3"], ["20kB"]),
    ({"--rtt": "80ms", "--link-rate": "500kbit", "--queue": "8kB", "--loss": "2%"}, ["tcp", "coap-con", "amqp-settled"], ["10kB"]),
    (
        {"--rtt": "35ms", "--mtu": "576B", "--loss": "3%"},
        ["tcp", "tcp+tls1.2", "http1+tls1.2", "mqtt5-qos1+tls1.3", "coap-con"],
        ["1kB"],
    ),
    (
        {"--rtt": "60ms", "--up": "rate=100kbit", "--down": "rate=1mbit", "--loss": "2%"},
        ["mqtt-qos1", "http1", "tcp", "coap-con+dtls1.2-psk"],
        ["1kB"],
    ),
    (
        {"--rtt": "27ms", "--loss": "5%", "--ipv6": None},
        ["mqtt-qos1+tls1.3", "amqp-unsettled+tls1.3", "http1", "coap-non", "coap-con+dtls1.2"],
        ["2kB"],
    ),
    ({"--rtt": "200ms", "--loss": "3%"}, ["mqtt5-qos2", "http3", "coap-con+dtls1.3", "udp+dtls1.2-psk", "tcp"], ["1kB"]),
    ({"--rtt": "50ms", "--up": "loss=10%"}, ["mqtt-qos1", "coap-con", "tcp"], ["1kB"]),
    ({"--rtt": "50ms", "--down": "loss=10%"}, ["mqtt-qos1", "coap-con", "tcp"], ["1kB"]),
    (
        {"--rtt": "50ms", "--loss": "4%", "--reorder": "4%", "--duplicate": "2%"},
        ["tcp", "mqtt5-qos1", "coap-con+oscore", "http1", "http3"],
        ["10kB"],
    ),
    ({"--rtt": "100ms", "--loss": "1%"}, ["tcp", "http1"], ["300kB"]),
]

CONSTANTS = [
    ({"--rtt": "100ms"}, ["tcp", "http1", "mqtt-qos0", "amqp-settled", "http3", "mqtt5-qos0"], ["20kB", "300kB"]),
    ({"--rtt": "50ms", "--link-rate": "2mbit"}, ["http3", "amqp-unsettled", "mqtt-qos2", "mqtt5-qos1"], ["50kB"]),
    (
        {"--rtt": "20ms", "--mtu": "1280B"},
        ["udp", "coap-non", "coap-con+dtls1.3", "coap-non+oscore", "tcp+tls1.3", "amqp-settled+tls1.2"],
        ["1kB"],
    ),
]

# What is measured is the connect: 4.9 kB of TLS that a public server and a client with X25519MLKEM768 exchange, over a long way that loses packets.
HANDSHAKES = [
    (
        {"--rtt": "837ms", "--loss": "5%", "--certificate": "rsa2048", "--chain": "intermediate", "--group": "x25519mlkem768"},
        ["mqtt-qos1+tls1.3", "http1+tls1.3"],
        ["128B"],
    ),
]
