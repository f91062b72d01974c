use std::time::Duration;

use super::*;
use crate::options::load::print::{Resolved, Secrets};
use crate::options::load::{Arrivals, Offer, Phase};

fn load(text: &str) -> LoadOptions {
    parse(text).expect("a load")
}

fn round_trip(load: &LoadOptions) {
    let resolved = Resolved::new(load, Secrets::Shown);
    assert_eq!(
        parse(&resolved.to_json()).as_ref(),
        Ok(load),
        "{}",
        resolved.to_json()
    );
    let yaml = serde_saphyr::to_string(&resolved).expect("YAML");
    assert_eq!(parse(&yaml).as_ref(), Ok(load), "{yaml}");
}

const FULL: &str = "
stack: mqtt5-qos1+tls1.3
start: resumed
target: mqtts://broker.lab:8884/a
clients: 50k
rate: 30/min
payload: {template: '{\"d\": %d, \"t\": %t}'}
resource: t/%d/s
subscribers: {devices: 50, filter: t/+/s, shared: group, qos: 1}
retain: true
will: {topic: gone/%d, payload: bye}
login: {user: dev-%d, password: s3cret}
client_id: c-%d
keep_alive: 240s
session_expiry: 1h
inflight: 16
timeout: 5s
connect_timeout: 3s
ipv6: true
shared_socket: true
sources: [127.0.0.2, '::1']
threads: 2
processes: 3
ca: lab.pem
insecure: true
profile: true
capture: true
record: {keys: false}
seed: 7
phases:
  - {do: connect, rate: 2000/s, who: senders}
  - {do: publish, duration: 60s, warm_up: 2s, ramp: 1s, arrivals: poisson}
  - {do: request, closed_loop: true, count: 1000}
  - {do: handshakes, start: 0rtt, rate: 0.5/s, per_client: true, duration: 1min}
  - {do: hold, duration: 30s}
  - {do: drop_all, reset: false, who: subscribers}
  - {do: reconnect, backoff: {first: 500ms, max: 10s, jitter: none}, timeout: 90s}
  - {do: await_replay}
  - {do: close}
";

#[test]
fn every_key_reads_and_reads_back() {
    let load = load(FULL);
    assert_eq!(
        (load.clients, load.keep_alive, load.phases.len()),
        (50_000, 240, 9)
    );
    assert_eq!(
        load.phases[1],
        Phase::Publish(Offer {
            arrivals: Arrivals::Open {
                rate: 0.5,
                per_client: false,
                poisson: true
            },
            duration: Some(Duration::from_secs(60)),
            count: None,
            warm_up: Duration::from_secs(2),
            ramp: Duration::from_secs(1),
            spread: None,
        })
    );
    round_trip(&load);
}

#[test]
fn a_url_names_stack_and_resource() {
    let load = load("target: coaps://[::1]:7777/a%25/b\n");
    assert_eq!(load.stack.to_string(), "coap-con+dtls1.2");
    assert_eq!(load.resource, "a%%/b");
    round_trip(&load);
    let error = parse("stack: mqtt-qos1\ntarget: mqtts://broker.lab\n").expect_err("another stack");
    let error = error.to_string();
    let expected = "line 1: stack: mqtts:// does not name mqtt-qos1: write a stack like mqtt-qos1+tls1.3, or leave it out";
    assert_eq!(error, expected);
    let error = parse("target: mosquitto\n").expect_err("no stack").to_string();
    assert!(error.starts_with("line 1: stack is missing"), "{error}");
}

#[test]
fn a_link_reads_back_as_the_same() {
    let link = "{rtt: 40ms, loss: 1%, rate: 1Mbit, queue: 10packets, reorder: 1%, up: {delay: 30ms, reorder: 2% 3ms}}";
    let load = load(&format!("stack: mqtt-qos1\ntarget: mosquitto\nlink: {link}\n"));
    assert!(load.link.is_some_and(|link| link.up != link.down));
    round_trip(&load);
}

#[test]
fn what_cannot_be_run_is_refused_where_it_is_said() {
    for (text, expected) in [
        (
            "stack: mqtt-qos1\nphases:\n  - {do: connect}\n  - {do: request, count: 1}\n",
            "line 4: phases: mqtt-qos1 has no requests",
        ),
        (
            "stack: tcp\nretain: true\n",
            "line 2: retain: tcp has no retained messages",
        ),
        ("stack: tcp\ntimeout: 0s\n", "line 2: timeout must be above 0 s"),
        (
            "stack: tcp\nsources: [127.0.0.2]\nlink: {rtt: 40ms}\n",
            "line 3: link: devices on an emulated link have its addresses",
        ),
        ("stack: tcp\nlink: {mtu: 20B}\n", "line 2: link: "),
        (
            "stack: http3\nlink: {mtu: 600B}\n",
            "line 2: link: http3 needs an MTU of 1228 B",
        ),
    ] {
        let node = Node::parse(text).expect("YAML");
        let error = check(&node, &load(text)).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}

#[test]
fn what_is_left_open_is_the_default() {
    let load = load("stack: tcp\nphases: [{do: publish, count: 10}]\n");
    let mut expected = LoadOptions::new(
        "tcp".parse().expect("a stack"),
        LoadTarget::Started(Target::Builtin),
    );
    expected.phases = load.phases.clone();
    assert_eq!(load, expected);
    round_trip(&load);
}

#[test]
fn payloads_of_bytes_travel_as_digits() {
    let mut load = load("stack: udp\n");
    load.payload = Payload::File((0..=255).collect());
    round_trip(&load);
}

#[test]
fn a_password_is_not_printed_into_files() {
    let load = load(FULL);
    let yaml = serde_saphyr::to_string(&Resolved::new(&load, Secrets::Hidden)).expect("YAML");
    assert!(!yaml.contains("s3cret"), "{yaml}");
    let variable =
        |name: &str| (name == wirecost_stack::secret::PASSWORD_VARIABLE).then(|| "s3cret".to_owned());
    let inputs = ScenarioInputs {
        folder: None,
        variable: &variable,
    };
    assert_eq!(read(&Node::parse(&yaml).expect("YAML"), inputs), Ok(load));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, expected) in [
        ("stack: tcp\nsise: 1B\n", "line 2: unknown key \"sise\""),
        ("size: 1B\n", "line 1: stack is missing"),
        (
            "stack: tcp\nsize: 16\n",
            "line 2: size: \"16\" has no unit: write 128B or 10kB",
        ),
        ("stack: h3\n", "line 1: stack: unknown stack \"h3\""),
        (
            "stack: tcp\nrate: 5\n",
            "line 2: rate: \"5\" is not a rate: write 5000/s, 30/min or 2/h",
        ),
        (
            "stack: tcp\nrate: 99999999/s\n",
            "line 2: rate: must be at most 10000000/s, got 99999999/s",
        ),
        (
            "stack: tcp\nphases:\n  - {do: publsh}\n",
            "line 3: unknown phase \"publsh\"",
        ),
        (
            "stack: tcp\nphases:\n  - do: publish\n    sped: 1\n",
            "line 4: unknown key \"sped\"",
        ),
        (
            "stack: tcp\nphases:\n  - {do: publish}\n",
            "line 3: duration: a phase that sends ends by duration or by count",
        ),
        (
            "stack: tcp\nengine: ns3\n",
            "line 2: engine: unknown value \"ns3\", expected one of live, sim",
        ),
        (
            "stack: tcp\nclients: 0\n",
            "line 2: clients: \"0\" is not a number of devices: write 1500, 50k or 10M",
        ),
        (
            "stack: tcp\npayload: {file: /etc/passwd}\n",
            "line 2: payload.file: no files can be read here",
        ),
        (
            "stack: tcp\nsize: [1B, 2B]\n",
            "line 2: size: one value is expected, this is a list",
        ),
        (
            "- 1\n",
            "line 1: a scenario must be a table of keys and values, this is a list",
        ),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}
