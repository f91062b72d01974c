"""The commands as functions. Written by scripts/python-stubs from the help of every command; do not edit."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pyarrow as pa

from ._link import Link
from ._run import Run

Value = str | int | float | Path
Values = Value | Sequence[Value] | Mapping[str, Value | Sequence[Value]]


def compare(
    *stacks: str,
    size: Values | None = None,  # Payload size of each message  [default: 128B]
    readings: Values | None = None,  # Readings of a sensor in each message, instead of --size: time, sensor, temperature, humidity and battery from a seeded se
    messages_per_connection: Values | None = None,  # Measured messages per connection, after one warm-up message; with an explicit 1, each message opens its ow
    interval: Values | None = None,  # Send the measured messages at this interval: the life of a device, in which nothing warms up or settles
    encoding: Values | None = None,  # Encoding of the readings: json, cbor, senml-json or senml-cbor [default: json]
    compression: Values | None = None,  # Compression of the encoded readings: none, gzip (level 6), brotli (quality 5) or zstd (level 3) [default: none]
    payload_file: Values | None = None,  # File whose bytes are the payload of each message
    resource: Values | None = None,  # MQTT topic, CoAP path and HTTP path  [default: test]
    keep_alive: Values | None = None,  # MQTT keep-alive interval; 0s turns it off  [default: 1min]
    chunk: Values | None = None,  # Give each message to TCP in pieces of this size, as a program does that reads a file; without TLS
    request_headers: Values | None = None,  # Further header fields of each HTTP request, from 15B on: the size that they have in HTTP/1.1
    response_body: Values | None = None,  # Body of the built-in server's HTTP answer to a message, from 1B on
    reading_in_query: bool = False,  # Send each HTTP message as a GET with its payload in the query, percent-encoded, instead of a POST
    reconnect: Values | None = None,  # What a device does when its connection has ended before its last message: as-needed (it connects again, by its start, wh
    start: Values | None = None,  # How connections start: cold, resumed or 0rtt; coap-con+oscore also by a handshake of EDHOC, edhoc or edhoc-by-value. With 0r
    target: Values | None = None,  # Server: builtin, mosquitto, rabbitmq, caddy, apache, libcoap, libcoap-gnutls, postgresql or mariadb; or the URL of one that
    ipv6: bool = False,  # Use IPv6 between devices and server
    client_certificates: bool = False,  # Servers require a certificate from each device (TLS, HTTP/3, and DTLS without a pre-shared key)
    dtls_cookie: bool = False,  # DTLS servers request a cookie first, which costs one more round trip
    certificate: Values | None = None,  # Key and signatures of the certificates: p256, p384, rsa2048, rsa3072, ed25519, mldsa44 or mldsa65 (TLS and HTTP/3) [de
    chain: Values | None = None,  # Certificates that a server sends: leaf, intermediate (leaf and the authority that issued it), cross-signed (these and the au
    group: Values | None = None,  # Groups of the key exchange, the best first: x25519, p256, p384, x25519mlkem768, mlkem768, mlkem1024; the first one has the k
    server_group: Values | None = None,  # Groups of the built-in server, where they are not those of the devices: if it lacks their first one, it asks for anot
    cipher: Values | None = None,  # Cipher of records: aes128-gcm, aes256-gcm or chacha20-poly1305, in TLS 1.3, HTTP/3, and TLS 1.2 with the suite of the certi
    dtls_leaf: bool = False,  # Let DTLS have a P-256 leaf of its own beside the --chain of TLS and HTTP/3: its library sends no chain
    nagle: bool = False,  # Leave Nagle's algorithm on: TCP holds a small segment back until the one before it is acknowledged
    congestion: Values | None = None,  # Congestion control of TCP at both ends of a link, cubic (RFC 9438), reno (RFC 5681, RFC 6582) or bbr: live the kernel's
    pipelined_connect: bool = False,  # Send behind the request to connect without waiting for its answer: MQTT its first message (3.1.4), AMQP everything up to
    amqp_frame_size: Values | None = None,  # Largest frame that both built-in ends of an AMQP connection accept, from 512B on, usually 65536B. A larger message
    cacert: Values | None = None,  # File with the certificate authorities that the server of a URL may have, in PEM [default: those of the system]
    insecure: bool = False,  # Accept any certificate of the server of a URL, for tests only
    i_own_this_target: bool = False,  # Confirm that you own the target of a URL or are permitted to load it; required for more than 100 messages or connects pe
    link: Values | None = None,  # Named link (wirecost links lists them) or a file of your own; the other options replace single values of it
    link_rate: Values | None = None,  # Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    rtt: Values | None = None,  # Round-trip time; half of it in each direction [default: 25ms]
    loss: Values | None = None,  # Share of packets lost in each direction [default: 0%]
    up: Values | None = None,  # Different settings for the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    down: Values | None = None,  # Different settings for the direction from server to device
    loss_burst: Values | None = None,  # Mean number of packets in a burst of losses: uses the Gilbert-Elliott model instead of independent losses
    queue: Values | None = None,  # Size of the queue in front of the rate, in packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    delay_variation: Values | None = None,  # Variation of the delay in each direction: uniform within plus or minus TIME, or 'normal TIME' with this standard d
    reorder: Values | None = None,  # Probability that a packet is delayed until later ones have passed [default: 0%]
    duplicate: Values | None = None,  # Probability that a packet arrives twice [default: 0%]
    corrupt: Values | None = None,  # Probability that a packet arrives with a flipped bit [default: 0%]
    mtu: Values | None = None,  # Size of the largest IP packet [default: 1500B]
    nat_timeout: Values | None = None,  # How long an address translator (NAT) keeps a mapping that no packet uses: udp=60s,tcp=20min, or one of them [default:
    nat: Values | None = None,  # The port that this translator gives to a UDP port that it has forgotten: same-port or new-port. Behind another port, a DTLS se
    engine: Values | None = None,  # Engine: sim (virtual time), live (kernel sockets over the emulated link), or auto (sim, then live if the machine allows it)
    count: Values | None = None,  # Number of samples per cell; each sample is a device that connects, sends and closes  [default: 150]
    seed: Values | None = None,  # Seed of all random decisions: the same seed repeats a simulated run exactly  [default: 42]
    vary: Values | None = None,  # Values of one dimension of the matrix, instead of its option: size=16B,1kB link=wifi,lte rtt=5ms,100ms loss= readings= encodi
    settle: Values | None = None,  # Quiet time after each step of a sample, so that late acknowledgements count for their message; raise it on links with a lon
    timeout: Values | None = None,  # Time after which an answer counts as late; after twice this time the device gives up  [default: 30s]
    packet_path: Values | None = None,  # How packets leave the network namespaces: auto (TUN where it can), tun (TUN devices), or veth (veth pairs, if /dev/net
    framing: Values | None = None,  # Also count the bytes of a session as a sniffer does, each packet with the header of its link layer: none, ethernet (14 B),
    one_cpu: bool = False,  # Keep link and hosts on one CPU, so that the kernel's TCP sends the same packets in every run, even in bursts
    offload: bool = False,  # Keep segmentation offload on and record packets before they are cut to the MTU, as a capture on a host with offload does (engine l
    jobs: Values | None = None,  # Number of cells to simulate at the same time [default: the number of CPUs]
    cell_load: Values | None = None,  # Load of the cell of --link nbiot by other devices: 1/s, 30/min, in reports per second and cell [default: unloaded]
    coupling_loss: Values | None = None,  # Coupling loss between the device and the cell of --link nbiot: 144dB is the edge of normal coverage, 164dB the limit
    cell_profile: Values | None = None,  # Parameters of the cell of --link nbiot: vodafone or study [default: vodafone]
    sequence: bool = False,  # Print what was on the air of the cell for the first device of each stack, from its connect to the end of its first message
    shared_link: bool = False,  # All devices of a cell share one link and one server, to see how they compete (engine sim)
    clients: Values | None = None,  # Number of devices that share the link of a cell, instead of -n
    spread: Values | None = None,  # Spread the starts of the devices on a shared link over this time [default: the interval]
    threshold: Values | None = None,  # Demand on a figure of the cells, as in scenarios: p(95)<50ms (response time), or METRIC{KEY=VALUE}: EXPRESSION such as '
    out: Values | None = None,  # Results folder [default: runs/TIME]
    per: Values | None = None,  # Unit of the all-in bytes; a day, a month (30 days) and a year (365 days) need --interval
    no_keys: bool = False,  # Leave the secrets of the connections out of the capture, for a capture that you share
    record_hosts: Values | None = None,  # Devices per cell in the capture if the run has more than 10,000 messages; shorter runs record all devices  [default:
    resume_changed: bool = False,  # Continue even if the options differ, and run only the missing cells
    rows: Values | None = None,  # Rows of a stack that both engines ran: one (live if measured) or both
    progress: bool | None = None,  # Show a bar; by default in notebooks and terminals
) -> Run: ...

def load(
    *targets: str, executor: Executor | None = None, shards: int | None = None,
    clients: Values | None = None,  # Number of devices that send, or only connect: 50k, 10M  [default: 10]
    rate: Values | None = None,  # Messages per second over all devices: 5000/s, 30/min, 2/h  [default: 1000/s]
    find_max: Values | None = None,  # Find the highest rate at which this condition holds for response or delivery times, such as p(99)<50ms; the first load ha
    threshold: Values | None = None,  # Demand like p(99)<50ms (response time) or 'acknowledged: rate>=99%'; exit code 99 if it fails; you can repeat this optio
    duration: Values | None = None,  # How long to send messages [default: 10s, or as long as --count takes]
    count: Values | None = None,  # Number of messages over all devices; the load ends when this or --duration is reached
    qos: Values | None = None,  # QoS of MQTT and MQTT-SN at a URL, -1 of MQTT-SN alone; 0 also sends settled AMQP and non-confirmable CoAP messages. A stack ha
    size: Values | None = None,  # Payload size of each message; from 16B on, a payload contains its number and its intended time  [default: 128B]
    resource: Values | None = None,  # Topic, path or address; {device} and are the numbers of device and message [default: the URL's, or test; obs for CoAP obs
    per_client: bool = False,  # --rate is the rate of each device, not of all devices together
    poisson: bool = False,  # Random (exponential) gaps between messages instead of equal ones, as from independent devices
    warmup: Values | None = None,  # Time at the beginning that counts in no figure  [default: 0s]
    ramp: Values | None = None,  # Time over which the rate rises from 0 to --rate  [default: 0s]
    spread: Values | None = None,  # Spread each round of messages (one from each device) over this time, for devices that report together [default: evenly over
    closed_loop: bool = False,  # Send a message when the previous one is answered, instead of at a rate; a slow target then receives fewer messages, which hide
    inflight: Values | None = None,  # Messages of a device that may wait for an answer at the same time [default: the protocol's limit; 1 in a closed loop]
    mqtt: Values | None = None,  # Version of MQTT at a URL; a stack has its own in its name (mqtt5-qos1) [default: 3.1.1]
    user_property: Values | None = None,  # User property of each message (MQTT 5); you can repeat this option
    encoding: Values | None = None,  # Encoding of the readings: json, cbor, senml-json or senml-cbor [default: json]
    compression: Values | None = None,  # Compression of the encoded readings: none, gzip (level 6), brotli (quality 5) or zstd (level 3) [default: none]
    chunk: Values | None = None,  # Give each message to TCP in pieces of this size, as a program does that reads a file; without TLS
    request_headers: Values | None = None,  # Further header fields of each HTTP request, from 15B on: the size that they have in HTTP/1.1
    response_body: Values | None = None,  # Body of the built-in server's HTTP answer to a message, from 1B on
    reading_in_query: bool = False,  # Send each HTTP message as a GET with its payload in the query, percent-encoded, instead of a POST
    retain: bool = False,  # Send retained messages (MQTT)
    timeout: Values | None = None,  # Time after which an answer counts as late; after twice this time the device gives up  [default: 30s]
    payload_file: Values | None = None,  # File whose bytes are the payload of each message
    payload_template: Values | None = None,  # Text of each payload: %d is the device's number, %n the message's number, %t the intended time in ms since 1970,
    get: bool = False,  # Fetch the resource with GET instead of sending (CoAP, HTTP)
    readings: Values | None = None,  # Readings of a sensor in each message, instead of --size: time, sensor, temperature, humidity and battery from a seeded se
    connect_rate: Values | None = None,  # New connections per second [default: as fast as possible]
    connection: Values | None = None,  # How long connections last: kept (one carries all messages of its device) or per-message (each message has its own, and
    start: Values | None = None,  # How devices start repeated connections (--connect-only, --reconnect-storm): cold, resumed, 0rtt, edhoc or edhoc-by-value. Wi
    connect_only: bool = False,  # Connect and close, again and again, to measure handshakes; --rate is the rate of handshakes, --start selects how they start
    reconnect_storm: bool = False,  # Connect, stay connected for --duration, lose all connections at one instant, and reconnect. No messages are sent, and --co
    nagle: bool = False,  # Leave Nagle's algorithm on: TCP holds a small segment back until the one before it is acknowledged
    congestion: Values | None = None,  # Congestion control of TCP at both ends of a link, cubic (RFC 9438), reno (RFC 5681, RFC 6582) or bbr: live the kernel's
    pipelined_connect: bool = False,  # Send behind the request to connect without waiting for its answer: MQTT its first message (3.1.4), AMQP everything up to
    certificate: Values | None = None,  # Key and signatures of the certificates: p256, p384, rsa2048, rsa3072, ed25519, mldsa44 or mldsa65 (TLS and HTTP/3) [de
    chain: Values | None = None,  # Certificates that a server sends: leaf, intermediate (leaf and the authority that issued it), cross-signed (these and the au
    group: Values | None = None,  # Groups of the key exchange, the best first: x25519, p256, p384, x25519mlkem768, mlkem768, mlkem1024; the first one has the k
    server_group: Values | None = None,  # Groups of the built-in server, where they are not those of the devices: if it lacks their first one, it asks for anot
    cipher: Values | None = None,  # Cipher of records: aes128-gcm, aes256-gcm or chacha20-poly1305, in TLS 1.3, HTTP/3, and TLS 1.2 with the suite of the certi
    amqp_frame_size: Values | None = None,  # Largest frame that both built-in ends of an AMQP connection accept, from 512B on, usually 65536B. A larger message
    client_id: Values | None = None,  # Client identifiers; %d is the device's number, %x three characters of this run at a server that runs already  [default:
    keep_alive: Values | None = None,  # MQTT keep-alive interval; 0s turns it off  [default: 1min]
    session_expiry: Values | None = None,  # How long sessions outlive their connections (MQTT; without a limit in 3.1.1) [default: clean starts]
    connect_timeout: Values | None = None,  # Time after which a connect has failed  [default: 10s]
    cacert: Values | None = None,  # File with the CA certificates to trust, in PEM [default: those of the system]
    insecure: bool = False,  # Accept any certificate of the server, for tests only
    cert: Values | None = None,  # Certificate of the devices in PEM, with --key; or a folder with one for each device: NAME.crt (or .pem) and NAME.key
    key: Values | None = None,  # Private key to the certificate of the devices in PEM
    will_topic: Values | None = None,  # Topic of each device's will message; %d is the device's number (MQTT)
    will_payload: Values | None = None,  # Payload of the will messages  [default: lost]
    credentials: Values | None = None,  # CSV file with a line for each device, below a header with its columns: user, password and, if you want them, client_id
    backoff: Values | None = None,  # First and longest wait before a reconnect; the wait doubles after each failure: 1s..30s, or 0s for none  [default: 1s..30s
    no_jitter: bool = False,  # Wait for the full back-off instead of a random part of it
    back_within: Values | None = None,  # Time after which a device that has not reconnected has failed  [default: 120s]
    user: Values | None = None,  # User name for MQTT, AMQP, databases; %d is a load's device number
    password_file: Values | None = None,  # File whose first line is the user's password
    subscribers: Values | None = None,  # Number of additional devices that receive (MQTT subscribers, CoAP observers, HTTP clients that poll)
    filter: Values | None = None,  # Topic filter of the subscribers; %d is the subscriber's number [default: the topic, with + for its placeholders; messages,
    poll: Values | None = None,  # How often each subscriber asks for the messages since its last question (HTTP)
    shared: Values | None = None,  # Group name of a shared subscription: each message goes to one subscriber of the group (MQTT)
    subscribe_qos: Values | None = None,  # QoS of the subscriptions [default: the QoS of the messages]
    late_subscribers: bool = False,  # Subscribers connect after the messages were sent, and receive the retained ones
    replay: bool = False,  # Subscribers disconnect while messages are sent, reconnect, and receive the messages queued for their sessions
    engine: Values | None = None,  # Engine: live (kernel sockets), or sim (virtual time: everything is modelled, and the same seed gives the same figures)  [de
    target: Values | None = None,  # Server to start for the load: builtin, mosquitto, rabbitmq, caddy, apache, libcoap, libcoap-gnutls, postgresql or mariadb
    i_own_this_target: bool = False,  # Confirm that you own the target or are permitted to load it; required for more than 100 messages (including those to sub
    agents: Values | None = None,  # Let N agents on other machines generate the load (wirecost agent); ssh:HOST,HOST starts one on each of these hosts
    listen: Values | None = None,  # Address on which agents are awaited; a port alone means loopback
    shared_socket: bool = False,  # The devices of a loop share sockets, and tokens tell them apart, for more devices than ports (CoAP without DTLS)
    threads: Values | None = None,  # Number of loops [default: one per free CPU, if there are enough devices]
    processes: Values | None = None,  # Number of processes [default: as many as the limit of open files requires]
    ipv6: bool = False,  # Use IPv6 between devices and server
    seed: Values | None = None,  # Seed of all random decisions: the same seed repeats a simulated run exactly  [default: 42]
    repeat: Values | None = None,  # Run each load N times, each time with another seed: its figures have 95 % intervals over the runs; with --find-max, search
    service_time: Values | None = None,  # Time that the server of --engine sim needs for a message: 1ms, or exponential:1ms for random times with this mean [de
    workers: Values | None = None,  # Number of workers of the server of --engine sim, which share one queue  [default: 1]
    source: Values | None = None,  # Source addresses of the devices [default: the kernel's choice, or enough addresses of 127.0.0.0/8]
    shard: Values | None = None,  # Run only this part of the devices of a load in virtual time: 2/8 is the second of eight; wirecost merge adds the parts up
    join_file: Values | None = None,  # File for the agents, with the secret of this run; it is removed when all have come  [default: join.token]
    join_address: Values | None = None,  # Address that agents dial, if it is not that of --listen
    agents_wait: Values | None = None,  # How long to wait for agents  [default: 60s]
    clock_error_max: Values | None = None,  # The most by which the clock of an agent may be uncertain  [default: 2ms]
    link: Values | None = None,  # Named link (wirecost links lists them) or a file of your own; the other options replace single values of it
    link_rate: Values | None = None,  # Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    rtt: Values | None = None,  # Round-trip time; half of it in each direction [default: 25ms]
    loss: Values | None = None,  # Share of packets lost in each direction [default: 0%]
    up: Values | None = None,  # Different settings for the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    down: Values | None = None,  # Different settings for the direction from server to device
    loss_burst: Values | None = None,  # Mean number of packets in a burst of losses: uses the Gilbert-Elliott model instead of independent losses
    queue: Values | None = None,  # Size of the queue in front of the rate, in packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    delay_variation: Values | None = None,  # Variation of the delay in each direction: uniform within plus or minus TIME, or 'normal TIME' with this standard d
    reorder: Values | None = None,  # Probability that a packet is delayed until later ones have passed [default: 0%]
    duplicate: Values | None = None,  # Probability that a packet arrives twice [default: 0%]
    corrupt: Values | None = None,  # Probability that a packet arrives with a flipped bit [default: 0%]
    mtu: Values | None = None,  # Size of the largest IP packet [default: 1500B]
    nat_timeout: Values | None = None,  # How long an address translator (NAT) keeps a mapping that no packet uses: udp=60s,tcp=20min, or one of them [default:
    nat: Values | None = None,  # The port that this translator gives to a UDP port that it has forgotten: same-port or new-port. Behind another port, a DTLS se
    capture: bool = False,  # Record every packet of the emulated link, or of virtual time, with the secrets that decrypt it, in capture/ of the results folder
    out: Values | None = None,  # Results folder [default: runs/TIME]
    junit: Values | None = None,  # Write the results of loads and thresholds as JUnit XML to FILE, for CI; - prints them instead of the table
    profile: bool = False,  # Take a CPU profile of a target that wirecost starts, with perf; the report shows it as a flame graph
    resume_changed: bool = False,  # Continue even if the options differ, and run only the missing loads
    no_keys: bool = False,  # Leave the secrets of the connections out of the capture, for a capture that you share
    prometheus: Values | None = None,  # Serve GET /metrics for Prometheus on this address while the load runs; a port alone means loopback
    progress: bool | None = None,  # Show a bar; by default in notebooks and terminals
) -> Run: ...

def run(
    file: str | Path, *, executor: Executor | None = None, shards: int | None = None, force: bool = False,
    set: Values | None = None,  # Replace a value of the file: size=16B, link.rtt=100ms, count=10; you can repeat this option
    vary: Values | None = None,  # Replace a value of the file by several ones, for a run of each: size=16B,1kB; you can repeat this option
    engine: Values | None = None,  # Engine instead of the file's: sim or live; auto in comparisons
    shard: Values | None = None,  # Run only this part of the cells, loads or points: 2/8 is the second of eight; wirecost merge combines the parts
    i_own_this_target: bool = False,  # Confirm that you own the target or are permitted to load it; required for more than 100 messages (including those to sub
    allow_programs: bool = False,  # Allow scenarios to run the programs that they name (program, and server of it)
    jobs: Values | None = None,  # Number of cells to simulate at the same time [default: the number of CPUs]
    agents: Values | None = None,  # Let N agents on other machines generate the load (wirecost agent); ssh:HOST,HOST starts one on each of these hosts
    listen: Values | None = None,  # Address on which agents are awaited; a port alone means loopback
    join_file: Values | None = None,  # File for the agents, with the secret of this run; it is removed when all have come  [default: join.token]
    join_address: Values | None = None,  # Address that agents dial, if it is not that of --listen
    agents_wait: Values | None = None,  # How long to wait for agents  [default: 60s]
    clock_error_max: Values | None = None,  # The most by which the clock of an agent may be uncertain  [default: 2ms]
    junit: Values | None = None,  # Write the results of loads and thresholds as JUnit XML to FILE, for CI; - prints them instead of the table
    out: Values | None = None,  # Results folder [default: runs/TIME]
    prometheus: Values | None = None,  # Serve GET /metrics for Prometheus on this address while loads run; a port alone means loopback
    resume_changed: bool = False,  # Continue even if the options differ, and run only the missing cells
    rows: Values | None = None,  # Rows of a stack that both engines ran: one (live if measured) or both
    per: Values | None = None,  # Unit of the all-in bytes; a day, a month (30 days) and a year (365 days) need --interval
    progress: bool | None = None,  # Show a bar; by default in notebooks and terminals
) -> Run: ...

def study(
    name: str, *,
    quick: bool = False,  # Fewer samples and values, as the study says
    claim: Values | None = None,  # Judge only these claims, and make only their runs
    from_: Values | None = None,  # Study in this folder instead of one that is compiled in; with all or list, that one, too
    out: Values | None = None,  # Results folder; of runs that are there, only what is missing is made [default: runs/study-NAME]
    allow_programs: bool = False,  # Allow the scenarios of --from to run the programs that they name; those of studies that are compiled in may
    baseline: Values | None = None,  # Also list what changed since the results folder of an earlier run of the study: verdicts and figures
    no_runs: bool = False,  # Judge without any run: only bounds, arithmetic, and the runs that --out has, or the verdicts that it keeps
) -> Run: ...

def claims(
    file: str | Path, runs: Mapping[str, Run | str | Path] | None = None,
) -> pa.Table: ...

def probe(
    url: str, *,
    size: Values | None = None,  # Payload size of the message  [default: 128B]
    qos: Values | None = None,  # QoS of MQTT; 0 also sends a settled AMQP message  [default: 1]
    get: bool = False,  # Fetch the resource with GET, instead of sending with PUT (CoAP) or POST (HTTP)
    mqtt: Values | None = None,  # Version of MQTT
    client_id: Values | None = None,  # MQTT client identifier and AMQP container id [default: four characters, other ones for each probe]
    user: Values | None = None,  # User name for MQTT, AMQP, databases; %d is a load's device number
    password_file: Values | None = None,  # File whose first line is the user's password
    timeout: Values | None = None,  # Time limit of each step  [default: 10s]
    start: Values | None = None,  # How the connection starts: cold, resumed or 0rtt. The last two open a first connection for the ticket, and with 0rtt you acc
    ipv4: bool = False,  # Use IPv4 only
    ipv6: bool = False,  # Use IPv6 only
    tls_version: Values | None = None,  # Version of TLS or DTLS [default: the newest that both sides support; DTLS 1.2]
    cacert: Values | None = None,  # File with the CA certificates to trust, or with the server's raw public key, in PEM [default: those of the system]
    insecure: bool = False,  # Accept any certificate of the server, for tests only
    psk: Values | None = None,  # Pre-shared key for coaps://; KEY is text, or hex after 0x; @FILE reads both from a file
    group: Values | None = None,  # Groups of the key exchange of TLS and QUIC, the best first: x25519, p256, p384, x25519mlkem768, mlkem768, mlkem1024; the fir
    cipher: Values | None = None,  # Cipher of the records of TLS and QUIC: aes128-gcm, aes256-gcm or chacha20-poly1305 [default: all that the library has]
    cert: Values | None = None,  # Certificate of the client in PEM, if the server requires one
    key: Values | None = None,  # Private key of the client in PEM
    connection_id: bool = False,  # Ask for a connection ID (RFC 9146); the probe fails if the server grants none
    no_resumption: bool = False,  # Do not try resumption and early data after a cold connection on TLS, QUIC or DTLS with a key; each of them sends the message
    out: Values | None = None,  # Write the packets to FILE (pcapng), with the secrets that decrypt them
    save_chain: Values | None = None,  # Write the certificates that the server sends to FILE, in PEM: --chain FILE of compare, choose and load takes their size
    no_keys: bool = False,  # Leave the secrets of the connection out of the capture, for a capture that you share
) -> dict[str, Any]: ...

def pcap(
    file: str | Path, *,
    merge_hosts: Values | None = None,  # Capture of the same traffic at the other host: what arrived, what did not, and how long it took; give the device's fir
    keylog: Values | None = None,  # Secrets of its TLS, DTLS and QUIC connections, in the format of SSLKEYLOGFILE
    framing: Values | None = None,  # Also count bytes as a sniffer does, each packet with the header of its link layer: ethernet (14 B) or wifi (50 B)
) -> dict[str, Any]: ...

def choose(
    *stacks: str,
    size: Values | None = None,  # Payload of a reading  [default: 48B]
    readings: Values | None = None,  # Readings of a sensor that a message carries, instead of --size: time, sensor, temperature, humidity and battery from a se
    every: Values | None = None,  # Time from one reading to the next; a message with several --readings leaves when its last one is there
    file: Values | None = None,  # Requirements as a YAML file: each key is an option of this command without its dashes; use_cases is a list of such tables, ea
    encoding: Values | None = None,  # Encoding of the readings: json, cbor, senml-json or senml-cbor [default: json]
    compression: Values | None = None,  # Compression of the encoded readings: none, gzip (level 6), brotli (quality 5) or zstd (level 3) [default: none]
    start: Values | None = None,  # How connections start: cold, resumed, 0rtt, edhoc or edhoc-by-value; only these are compared. With 0rtt a message can be rep
    pipelined_connect: bool = False,  # Send behind the request to connect without waiting for its answer (MQTT, AMQP), as compare does
    keep_alive: Values | None = None,  # Time between keep-alives of MQTT connections, 0s for none; only these are compared [default: 60s, and the longest that
    within: Values | None = None,  # A reading must have arrived, or be acknowledged where the stack does that, within this time (95th percentile): with its wai
    delivery: Values | None = None,  # What the stack must guarantee
    reach: Values | None = None,  # Protocol that the other side speaks; may be given several times
    battery_years: Values | None = None,  # Years that the battery must last
    monthly_bytes: Values | None = None,  # The most bytes of IP packets in a month of one device
    device_class: Values | None = None,  # Class of the device by RFC 7228: 1 has about 10 KiB of RAM, 2 about 50 KiB
    device: Values | None = None,  # Device whose energy is modelled: a name, or a file
    psm: Values | None = None,  # Power saving mode: active time after a connection (T3324) and time between tracking area updates (T3412), e.g. active=8s,tau=2
    edrx: Values | None = None,  # Reachable between messages: eDRX cycle, paging window of 2.56 s
    rai: bool = False,  # Release assistance: 1 s after its last packet it is idle
    inactivity: Values | None = None,  # How long a silent connection is kept [default: the device's]
    tx_power: Values | None = None,  # Transmit power, e.g. 10dBm [default: the device's]
    coverage: Values | None = None,  # Coverage on NB-IoT: level 0 to 2, or coupling loss, e.g. 150dB
    cdrx: Values | None = None,  # DRX while connected: inactivity=100ms,short=160msx4,long=320ms
    attach: Values | None = None,  # Losses of its network: every=30d,search=1min [default: none]
    dtim: Values | None = None,  # Every how many beacons it listens [default: the device's]
    battery: Values | None = None,  # Battery, e.g. 2400mAh@3.6V: adds its life in years
    chemistry: Values | None = None,  # Kind of its cells: what they lose, how long they stay good and what they can feed: alkaline, li-fes2, li-ion, li-mno2, l
    self_discharge: Values | None = None,  # Part of its charge that the battery loses by itself per year [default: that of --chemistry, or 1%]
    tariff: Values | None = None,  # Data plan or broker whose price is computed: a name, or a file
    devices: Values | None = None,  # Number of devices on the data plan: bytes and money of all  [default: 1]
    per: Values | None = None,  # Time that bytes and money are of  [default: month]
    link: Values | None = None,  # Named link (wirecost links lists them) or a file of your own; the other options replace single values of it
    link_rate: Values | None = None,  # Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    rtt: Values | None = None,  # Round-trip time; half of it in each direction [default: 25ms]
    loss: Values | None = None,  # Share of packets lost in each direction [default: 0%]
    up: Values | None = None,  # Different settings for the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    down: Values | None = None,  # Different settings for the direction from server to device
    loss_burst: Values | None = None,  # Mean number of packets in a burst of losses: uses the Gilbert-Elliott model instead of independent losses
    queue: Values | None = None,  # Size of the queue in front of the rate, in packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    delay_variation: Values | None = None,  # Variation of the delay in each direction: uniform within plus or minus TIME, or 'normal TIME' with this standard d
    reorder: Values | None = None,  # Probability that a packet is delayed until later ones have passed [default: 0%]
    duplicate: Values | None = None,  # Probability that a packet arrives twice [default: 0%]
    corrupt: Values | None = None,  # Probability that a packet arrives with a flipped bit [default: 0%]
    mtu: Values | None = None,  # Size of the largest IP packet [default: 1500B]
    nat_timeout: Values | None = None,  # How long an address translator (NAT) keeps a mapping that no packet uses: udp=60s,tcp=20min, or one of them [default:
    nat: Values | None = None,  # The port that this translator gives to a UDP port that it has forgotten: same-port or new-port. Behind another port, a DTLS se
    security: Values | None = None,  # Security of handshakes: today (--certificate, --chain, --group), or 2030 (X25519MLKEM768 and certificates with ML-DSA-65,
    certificate: Values | None = None,  # Key and signatures of the certificates: p256, p384, rsa2048, rsa3072, ed25519, mldsa44 or mldsa65 (TLS and HTTP/3) [de
    chain: Values | None = None,  # Certificates that a server sends: leaf, intermediate (leaf and the authority that issued it), cross-signed (these and the au
    group: Values | None = None,  # Groups of the key exchange, the best first: x25519, p256, p384, x25519mlkem768, mlkem768, mlkem1024; the first one has the k
    server_group: Values | None = None,  # Groups of the built-in server, where they are not those of the devices: if it lacks their first one, it asks for anot
    cipher: Values | None = None,  # Cipher of records: aes128-gcm, aes256-gcm or chacha20-poly1305, in TLS 1.3, HTTP/3, and TLS 1.2 with the suite of the certi
    by: Values | None = None,  # What the best stack has least of
    verify: bool = False,  # Also measure the first three live on this link, and compare bytes
    sensitivity: bool = False,  # Also simulate which input, changed by at most 10 %, changes the order of the first two, and what persistent connections cost a
    count: Values | None = None,  # Devices to simulate for each way, at least 20 where packets are lost; bytes, energy and money are means over the first 20  [
    seed: Values | None = None,  # Seed of all random decisions  [default: 42]
    explain: Values | None = None,  # Print the account of one row instead of the ranking, by its number: each packet with its bytes, milliseconds, millijoules
    out: Values | None = None,  # Results folder [default: runs/choose-TIME]
) -> dict[str, Any]: ...

def cost(
    source: Run | str | Path, *,
    device: Values | None = None,  # Device whose energy is modelled: a name, or a file
    psm: Values | None = None,  # Power saving mode: active time after a connection (T3324) and time between tracking area updates (T3412), e.g. active=8s,tau=2
    edrx: Values | None = None,  # Reachable between messages: eDRX cycle, paging window of 2.56 s
    rai: bool = False,  # Release assistance: 1 s after its last packet it is idle
    inactivity: Values | None = None,  # How long a silent connection is kept [default: the device's]
    tx_power: Values | None = None,  # Transmit power, e.g. 10dBm [default: the device's]
    coverage: Values | None = None,  # Coverage on NB-IoT: level 0 to 2, or coupling loss, e.g. 150dB
    cdrx: Values | None = None,  # DRX while connected: inactivity=100ms,short=160msx4,long=320ms
    attach: Values | None = None,  # Losses of its network: every=30d,search=1min [default: none]
    dtim: Values | None = None,  # Every how many beacons it listens [default: the device's]
    battery: Values | None = None,  # Battery, e.g. 2400mAh@3.6V: adds its life in years
    chemistry: Values | None = None,  # Kind of its cells: what they lose, how long they stay good and what they can feed: alkaline, li-fes2, li-ion, li-mno2, l
    self_discharge: Values | None = None,  # Part of its charge that the battery loses by itself per year [default: that of --chemistry, or 1%]
    tariff: Values | None = None,  # Data plan or broker whose price is computed: a name, or a file
    interval: Values | None = None,  # Time from one reading to the next [default: a capture repeats as it is; the interval of the run, or 15min]
    keep_alive: Values | None = None,  # Time between keep-alives of persistent MQTT connections; 0s for none [default: that of the run]
    session_lifetime: Values | None = None,  # How long a session is kept or resumed: then a full handshake follows [default: as long as the connection]
    nat_timeout: Values | None = None,  # How long an address translator (NAT) keeps a mapping that no packet uses: udp=60s,tcp=20min, or one of them [default:
    nat: Values | None = None,  # The port that this translator gives to a UDP port that it has forgotten: same-port or new-port. Behind another port, a DTLS se
    devices: Values | None = None,  # Number of devices on the data plan: bytes and money of all [default: 1]
    per: Values | None = None,  # Time that bytes and money are of [default: month]
    client: Values | None = None,  # Only this device of a capture, by its address
    keylog: Values | None = None,  # Secrets of the capture's connections, in the format of SSLKEYLOGFILE
    meter: Values | None = None,  # Power meter's file of the same time as the capture: measured energy beside the model
    volts: Values | None = None,  # Voltage of the supply, for a meter's file without one, e.g. 3.3V
    marker: Values | None = None,  # Time of the meter's file at which the capture's first packet up is sent [default: --marker-rise]
    marker_rise: Values | None = None,  # The device's first wake-up begins where the measured current first rises this much above the rest [default: 20mA]
    fit: Values | None = None,  # Power meter's file of the same time as --capture: print the file of --device with the powers and times of the trace in place o
    capture: Values | None = None,  # Capture of the device's packets while the meter measured, for --fit
    marker_channel: Values | None = None,  # Digital channel of the meter that the device raises when it sends the first packet of a burst, e.g. D0 [default: th
    residual: Values | None = None,  # Also draw the mean burst, measured and fitted, and their difference into an SVG file
    curve: Values | None = None,  # Draw the modelled current of a reading of the first row as SVG
    day_curve: Values | None = None,  # Draw the modelled current of its day as SVG: means of 5 minutes
    check: bool = False,  # Recompute published figures of energy, battery life and bytes: beside each its bound, ours, and why they differ; of a folder of meas
) -> dict[str, Any]: ...

def what_if(
    capture: str | Path, *stacks: str,
    keylog: Values | None = None,  # Secrets of the capture's connections, in the format of SSLKEYLOGFILE
    client: Values | None = None,  # The device, by its address [default: the one with the most bytes]
    every: Values | None = None,  # Time from one reading to the next [default: the median in the capture]
    keep_alive: Values | None = None,  # Time between keep-alives of MQTT connections; 0s for none  [default: 60s]
    device: Values | None = None,  # Device whose energy is modelled: a name, or a file
    psm: Values | None = None,  # Power saving mode: active time after a connection (T3324) and time between tracking area updates (T3412), e.g. active=8s,tau=2
    edrx: Values | None = None,  # Reachable between messages: eDRX cycle, paging window of 2.56 s
    rai: bool = False,  # Release assistance: 1 s after its last packet it is idle
    inactivity: Values | None = None,  # How long a silent connection is kept [default: the device's]
    tx_power: Values | None = None,  # Transmit power, e.g. 10dBm [default: the device's]
    coverage: Values | None = None,  # Coverage on NB-IoT: level 0 to 2, or coupling loss, e.g. 150dB
    cdrx: Values | None = None,  # DRX while connected: inactivity=100ms,short=160msx4,long=320ms
    attach: Values | None = None,  # Losses of its network: every=30d,search=1min [default: none]
    dtim: Values | None = None,  # Every how many beacons it listens [default: the device's]
    battery: Values | None = None,  # Battery, e.g. 2400mAh@3.6V: adds its life in years
    chemistry: Values | None = None,  # Kind of its cells: what they lose, how long they stay good and what they can feed: alkaline, li-fes2, li-ion, li-mno2, l
    self_discharge: Values | None = None,  # Part of its charge that the battery loses by itself per year [default: that of --chemistry, or 1%]
    tariff: Values | None = None,  # Data plan or broker whose price is computed: a name, or a file
    devices: Values | None = None,  # Number of devices on the data plan: bytes and money of all  [default: 1]
    per: Values | None = None,  # Time that bytes and money are of  [default: month]
    link: Values | None = None,  # Named link (wirecost links lists them) or a file of your own; the other options replace single values of it
    link_rate: Values | None = None,  # Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    rtt: Values | None = None,  # Round-trip time; half of it in each direction [default: 25ms]
    loss: Values | None = None,  # Share of packets lost in each direction [default: 0%]
    up: Values | None = None,  # Different settings for the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    down: Values | None = None,  # Different settings for the direction from server to device
    loss_burst: Values | None = None,  # Mean number of packets in a burst of losses: uses the Gilbert-Elliott model instead of independent losses
    queue: Values | None = None,  # Size of the queue in front of the rate, in packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    delay_variation: Values | None = None,  # Variation of the delay in each direction: uniform within plus or minus TIME, or 'normal TIME' with this standard d
    reorder: Values | None = None,  # Probability that a packet is delayed until later ones have passed [default: 0%]
    duplicate: Values | None = None,  # Probability that a packet arrives twice [default: 0%]
    corrupt: Values | None = None,  # Probability that a packet arrives with a flipped bit [default: 0%]
    mtu: Values | None = None,  # Size of the largest IP packet [default: 1500B]
    nat_timeout: Values | None = None,  # How long an address translator (NAT) keeps a mapping that no packet uses: udp=60s,tcp=20min, or one of them [default:
    nat: Values | None = None,  # The port that this translator gives to a UDP port that it has forgotten: same-port or new-port. Behind another port, a DTLS se
    certificate: Values | None = None,  # Key and signatures of the certificates: p256, p384, rsa2048, rsa3072, ed25519, mldsa44 or mldsa65 (TLS and HTTP/3) [de
    chain: Values | None = None,  # Certificates that a server sends: leaf, intermediate (leaf and the authority that issued it), cross-signed (these and the au
    group: Values | None = None,  # Groups of the key exchange, the best first: x25519, p256, p384, x25519mlkem768, mlkem768, mlkem1024; the first one has the k
    server_group: Values | None = None,  # Groups of the built-in server, where they are not those of the devices: if it lacks their first one, it asks for anot
    cipher: Values | None = None,  # Cipher of records: aes128-gcm, aes256-gcm or chacha20-poly1305, in TLS 1.3, HTTP/3, and TLS 1.2 with the suite of the certi
    out: Values | None = None,  # Results folder [default: runs/what-if-TIME]
    seed: Values | None = None,  # Seed of all random decisions  [default: 42]
) -> dict[str, Any]: ...

def links(
    name: str | Path | None = None, *,
    out: Values | None = None,  # Write it to FILE, as a file of your own to start from
) -> Any: ...

def devices(
    name: str | Path | None = None, *,
    out: Values | None = None,  # Write it to FILE, as a file of your own to start from
) -> Any: ...

def tariffs(
    name: str | Path | None = None, *,
    out: Values | None = None,  # Write it to FILE, as a file of your own to start from
    examples: bool = False,  # Run the worked examples that the file contains: beside each usage line and sum of the provider's page what its rules give
) -> Any: ...

def link(
    *,
    server: Values | None = None,  # Command that starts the server on the other side of the link, as the user that you are; its output goes to server.log
    serve: Values | None = None,  # Built-in server to start on the other side of the link, on its protocol's port
    tls: bool = False,  # The built-in server uses TLS 1.2 or 1.3
    dtls: bool = False,  # The built-in server uses DTLS 1.2 or 1.3
    port: Values | None = None,  # Port to wait for, if the server opens other ports before this one
    server_timeout: Values | None = None,  # How long the server may take until it listens  [default: 30s]
    link: Values | None = None,  # Named link (wirecost links lists them) or a file of your own; the other options replace single values of it
    link_rate: Values | None = None,  # Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    rtt: Values | None = None,  # Round-trip time; half of it in each direction [default: 25ms]
    loss: Values | None = None,  # Share of packets lost in each direction [default: 0%]
    up: Values | None = None,  # Different settings for the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    down: Values | None = None,  # Different settings for the direction from server to device
    loss_burst: Values | None = None,  # Mean number of packets in a burst of losses: uses the Gilbert-Elliott model instead of independent losses
    queue: Values | None = None,  # Size of the queue in front of the rate, in packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    delay_variation: Values | None = None,  # Variation of the delay in each direction: uniform within plus or minus TIME, or 'normal TIME' with this standard d
    reorder: Values | None = None,  # Probability that a packet is delayed until later ones have passed [default: 0%]
    duplicate: Values | None = None,  # Probability that a packet arrives twice [default: 0%]
    corrupt: Values | None = None,  # Probability that a packet arrives with a flipped bit [default: 0%]
    mtu: Values | None = None,  # Size of the largest IP packet [default: 1500B]
    nat_timeout: Values | None = None,  # How long an address translator (NAT) keeps a mapping that no packet uses: udp=60s,tcp=20min, or one of them [default:
    nat: Values | None = None,  # The port that this translator gives to a UDP port that it has forgotten: same-port or new-port. Behind another port, a DTLS se
    seed: Values | None = None,  # Seed of the link's random decisions: the same seed repeats them  [default: 42]
    ipv6: bool = False,  # {server} and {device} are IPv6 addresses
    packet_path: Values | None = None,  # How packets leave the network namespaces: TUN devices, or veth pairs if /dev/net/tun is closed to you
    congestion: Values | None = None,  # Congestion control of TCP at both ends of the link, as this machine's kernel has it  [default: cubic]
    framing: Values | None = None,  # Also count bytes as a sniffer does, each packet with the header of its link layer: ethernet (14 B) or wifi (50 B)
    settle: Values | None = None,  # Quiet time on the link after the end of the program, before the recording stops  [default: 1s]
    out: Values | None = None,  # Results folder [default: runs/TIME]
    keylog: Values | None = None,  # Key log file that a program writes by itself; other programs find SSLKEYLOGFILE in their environment
    no_keys: bool = False,  # Leave the secrets of the connections out of the capture, and do not set SSLKEYLOGFILE
) -> Link: ...

def merge(
    *runs: Run | str | Path,
    out: Values | None = None,  # Folder for the combined results [default: runs/TIME]
    per: Values | None = None,  # Unit of the all-in bytes; a day, a month (30 days) and a year (365 days) need --interval
    rows: Values | None = None,  # Rows of a stack that both engines ran: one (live if measured) or both
) -> Run: ...

def nbiot(
    *stacks: str,
    interval: Values | None = None,  # Time between two reports of a device, for battery life  [default: 120min]
    start: Values | None = None,  # How the connection of a report starts: cold, resumed or 0rtt. With 0rtt you accept that a message can be replayed  [default:
    size: Values | None = None,  # Size of a report, the application's header included  [default: 25B,400B]
    load: Values | None = None,  # Reports per second and cell: 2/s, 30/min [default: 0.5/s to 4/s in steps of 0.5/s]
    keep_alive: Values | None = None,  # Time without traffic after which a connection that persistent-tcp keeps is kept alive: by PINGREQ (MQTT), else by TCP
    ipv6: bool = False,  # Use IPv6 between devices and server
    resource: Values | None = None,  # MQTT topic, CoAP path and HTTP path  [default: test]
    what_if: Values | None = None,  # Changes of the network or of the endpoints to run beside the given ones, one at a time
    profile: Values | None = None,  # Parameters to start from: vodafone, a cell of an operator, or study  [default: vodafone]
    set: Values | None = None,  # One parameter of the network, by its path: levels.ce0.npdcch_rmax=16; may be given several times
    vary: Values | None = None,  # Several values of a parameter of the network, for every point with each of them; may be given several times
    fit: Values | None = None,  # A point that settings of the network are searched for: 'served(tcp,400B,2/s)=95%', delay_p50 or delay_p95, > or < instead of =
    statement: Values | None = None,  # What is measured in the settings that --fit finds, and asked of none: 'served(tcp,25B,3/s)<90%', or with another figure
    free: Values | None = None,  # Parameters of the network that are free in --fit, with their bounds, and the one that is solved for the first point with =
    fits: Values | None = None,  # Settings that --fit tries: a Latin hypercube of the free parameters [default: 60]
    known: Values | None = None,  # Settings that --fit measured before, from the file of its --json: they are not measured again. For a fit that was stopped, a
    seeds: Values | None = None,  # Replications of each point, each with places and arrivals of its own [default: 3; with --full: 10]
    duration: Values | None = None,  # How long reports are measured, by when they are generated [default: 120s; with --full: 600s]
    seed: Values | None = None,  # Seed of all random decisions: the same seed repeats a simulated run exactly  [default: 42]
    sensitivity: bool = False,  # Show the load at which 5 % of reports are not served, with an NPDCCH occasion every 8, 16, 32 and 64 ms
    warm_up: Values | None = None,  # How long reports are generated before [default: a tenth of the duration]
    full: bool = False,  # The study's own size: 10 replications of 600 s
    shard: Values | None = None,  # Run only this part of the points, or of the settings of --fit: 2/8 is the second of eight; wirecost merge, or --known, combi
    validate: bool = False,  # Compare the model with closed forms and published figures, instead of running reports
    engine_threads: Values | None = None,  # Runs to play at the same time [default: the number of CPUs]; the results are the same for any number
    threshold: Values | None = None,  # A demand on a figure of the points, as in scenarios: METRIC{KEY=VALUE}: EXPRESSION; may be given several times
    out: Values | None = None,  # Results folder [default: runs/TIME]
    sequence: bool = False,  # Print what was on the air for the first measured device of each stack and size, in its first run
    capture: bool = False,  # Write the IP packets of these devices into the folder capture, with their times on the air in the comments
    resume_changed: bool = False,  # Continue even if the options differ, and play only the missing runs
    progress: bool | None = None,  # Show a bar; by default in notebooks and terminals
) -> Run: ...

def fit(
    file: str | Path, *points: str, executor: Executor | None = None, shards: int | None = None, json: str | Path | None = None,
    start: Values | None = None,  # How the connection of a report starts: cold, resumed or 0rtt. With 0rtt you accept that a message can be replayed  [default:
    ipv6: bool = False,  # Use IPv6 between devices and server
    resource: Values | None = None,  # MQTT topic, CoAP path and HTTP path  [default: test]
    profile: Values | None = None,  # Parameters to start from: vodafone, a cell of an operator, or study  [default: vodafone]
    set: Values | None = None,  # One parameter of the network, by its path: levels.ce0.npdcch_rmax=16; may be given several times
    statement: Values | None = None,  # What is measured in the settings that --fit finds, and asked of none: 'served(tcp,25B,3/s)<90%', or with another figure
    fits: Values | None = None,  # Settings that --fit tries: a Latin hypercube of the free parameters [default: 60]
    known: Values | None = None,  # Settings that --fit measured before, from the file of its --json: they are not measured again. For a fit that was stopped, a
    seeds: Values | None = None,  # Replications of each point, each with places and arrivals of its own [default: 3; with --full: 10]
    duration: Values | None = None,  # How long reports are measured, by when they are generated [default: 120s; with --full: 600s]
    seed: Values | None = None,  # Seed of all random decisions: the same seed repeats a simulated run exactly  [default: 42]
    warm_up: Values | None = None,  # How long reports are generated before [default: a tenth of the duration]
    engine_threads: Values | None = None,  # Runs to play at the same time [default: the number of CPUs]; the results are the same for any number
    progress: bool | None = None,  # Show a bar; by default in notebooks and terminals
) -> dict[str, Any]: ...

def resume(folder: str | Path, **options: Any) -> Run: ...
