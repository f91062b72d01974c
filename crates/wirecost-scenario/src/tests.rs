use std::time::Duration;

use wirecost_proto::ByteSize;

use super::*;
use crate::options::compare::{Engine, Medium, Schedule, SharedLink};
use crate::options::load::Phase;
use crate::plan;

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::read(text, Edits::default(), ScenarioInputs::NONE)
}

fn comparison(text: &str) -> Options {
    match read(text).expect(text).work {
        Work::Comparison(options) => *options,
        other => panic!("not a comparison: {other:?}"),
    }
}

fn loads(text: &str) -> Vec<LoadOptions> {
    match read(text).expect(text).work {
        Work::Loads(loads) => loads,
        other => panic!("no loads: {other:?}"),
    }
}

const MATRIX: &str = "
wirecost: 1
name: everything
engine: live
stack: [tcp, mqtt-qos1+tls1.3, amqp-settled+tls1.3]
vary:
  link.rtt: [1ms, 25ms]
  size: [16B, 1kB]
  start: [cold, resumed]
exclude:
  - {stack: amqp*, start: resumed}
  - {size: 1000B, link.rtt: 1000us}
link: {loss: 1%, loss_burst: 3, rate: 1Mbit, queue: 32kB, reorder: 1%, delay_variation: 100us, down: {rate: 2Mbit}}
interval: [1s, 2s]
messages_per_connection: [1, 10]
count: 5
settle: 2s
timeout: 20s
ipv6: true
seed: 7
resource: sensors
keep_alive: 0s
client_certificates: true
dtls_cookie: true
packet_path: veth
one_cpu: true
nagle: true
offload: true
chunk: 1kB
record: {keys: false, hosts: 3}
thresholds:
  bytes_per_msg{stack=tcp}: [\"mean<500B\"]
  response_time:
    - {expr: p(50)<3*link.rtt, abort_on_fail: true, after: 5s}
";

#[test]
fn every_key_of_a_comparison_means_what_its_flag_means() {
    let options = comparison(MATRIX);
    assert_eq!(
        (options.engine, options.samples, options.links.len()),
        (Engine::Live, 5, 2)
    );
    assert_eq!(options.schedules.len(), 4);
    assert_eq!(
        (options.medium, options.record_hosts, options.keys),
        (Some(Medium::Veth), 3, false)
    );
    let sending = &options.sending;
    assert_eq!(
        (sending.nagle, sending.offload, sending.chunk),
        (true, true, Some(ByteSize::from_bytes(1_000)))
    );
    assert_eq!(options.links[1].rtt(), Duration::from_millis(25));
    // 3 stacks, 2 starts, 2 sizes, 2 links, 4 schedules; less amqp resumed (1/6), less 1 kB on 1 ms (1/4).
    assert_eq!(plan::labels(&options).len(), 96 - 16 - 24 + 4);
}

#[test]
fn a_payload_of_a_comparison_stands_for_its_size() {
    let options = comparison("wirecost: 1\nstack: tcp\npayload: {hex: 00ff10}\n");
    assert_eq!(options.contents.each(), [ByteSize::from_bytes(3).into()]);
    assert_eq!(options.sending.payload.as_deref(), Some(&[0x00, 0xff, 0x10][..]));
    for wrong in [
        "size: 4B\npayload: {hex: 00ff10}",
        "payload: {template: a}",
        "payload: {size: 3B}",
    ] {
        let text = format!("wirecost: 1\nstack: tcp\n{wrong}\n");
        assert!(read(&text).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_printed_reads_back_as_the_same() {
    let shared =
        "wirecost: 1\nstack: coap-con\nengine: sim\nshared_link: true\nspread: 1min\ninterval: 60s\n";
    let load = "wirecost: 1\nstack: tcp\nrate: [1/s, 2/s]\nclients: [1, 2]\nnagle: true\nchunk: 64B\nconnection: per_message\nphases: [{do: publish, duration: 1s}]\n\
                thresholds: {carried_rate: value>=1/s}\n";
    for text in ["wirecost: 1\n", MATRIX, shared, load] {
        let scenario = read(text).expect(text);
        let yaml = scenario.to_yaml();
        let again = read(&yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        // What a loss burst of 3 packets is made of has 16 digits, of which 14 are printed.
        assert_eq!(again.to_yaml(), yaml);
        if text != MATRIX {
            assert_eq!(again, scenario, "{yaml}");
        }
    }
}

#[test]
fn what_is_left_open_is_the_default() {
    let options = comparison("wirecost: 1\n");
    assert_eq!(options.cells(), wirecost_stack::name::DEFAULT.len() as u64);
    assert_eq!(
        (options.samples, options.seed, options.shared_link),
        (150, 42, None)
    );
    assert_eq!(options.schedules, [Schedule::default()]);
    let shared = comparison("wirecost: 1\nstack: coap-con\nengine: sim\nshared_link: true\ninterval: 1s\n")
        .shared_link;
    assert_eq!(shared, Some(SharedLink { spread: None }));
}

#[test]
fn shards_are_disjoint_and_together_everything() {
    let keys = |shard: Option<&str>| {
        let mut options = comparison(MATRIX);
        options.shard = shard.map(|text| text.parse().expect("a shard"));
        plan::labels(&options)
            .into_iter()
            .map(|(key, _)| key)
            .collect::<Vec<_>>()
    };
    let mut parts = [keys(Some("1/3")), keys(Some("2/3")), keys(Some("3/3"))].concat();
    let mut whole = keys(None);
    parts.sort_unstable();
    whole.sort_unstable();
    assert_eq!(parts, whole);
    whole.dedup();
    assert_eq!(parts.len(), whole.len(), "no cell twice");
}

#[test]
fn loads_are_every_combination_with_their_first_and_last_phase() {
    let text = "wirecost: 1\nstack: [tcp, mqtt-qos1]\nvary: {clients: [10, 100], rate: [1/s, 2/s]}\n\
                exclude: [{clients: 100, rate: 2/s}]\nphases:\n  - {do: publish, duration: 10s}\n";
    let loads = loads(text);
    assert_eq!(loads.len(), 6);
    assert_eq!(
        (loads[0].clients, loads[1].clients, loads[2].clients),
        (10, 10, 100)
    );
    assert!(matches!(
        loads[0].phases.as_slice(),
        [Phase::Connect { .. }, Phase::Publish(_), Phase::Close { .. }]
    ));
}

#[test]
fn flags_take_the_place_of_keys_and_say_so_in_errors() {
    let set = ["count=3".to_owned(), "link.loss=5%".to_owned()];
    let vary = ["size=1B,2B".to_owned()];
    let edits = Edits {
        set: &set,
        vary: &vary,
    };
    let text = "wirecost: 1\nsize: 9B\ncount: 1\n";
    let scenario = Scenario::read(text, edits, ScenarioInputs::NONE).expect("edits");
    let Work::Comparison(options) = scenario.work else {
        panic!("loads");
    };
    assert_eq!(
        (
            options.samples,
            options.contents.count(),
            options.links[0].up.loss.rate()
        ),
        (3, 2, 0.05)
    );
    let set = ["count=x".to_owned()];
    let edits = Edits { set: &set, vary: &[] };
    let error = Scenario::read(text, edits, ScenarioInputs::NONE)
        .expect_err("no number")
        .to_string();
    assert_eq!(
        error,
        "--set count=x: count: \"x\" is not a whole number, or is too large a one"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_a_way_out() {
    for (text, expected, hint) in [
        ("", "line 1: a scenario must be a table", "wirecost new"),
        (
            "name: x\n",
            "line 1: the version of the format is missing",
            "wirecost: 1",
        ),
        (
            "wirecost: 2\n",
            "line 1: wirecost: this version reads scenarios of version 1, not 2",
            "",
        ),
        (
            "wirecost: 1\nsise: 1B\n",
            "line 2: unknown key \"sise\"",
            "did you mean \"size\"?",
        ),
        (
            "wirecost: 1\nrtt: 1ms\n",
            "line 2: unknown key \"rtt\"",
            "link.rtt",
        ),
        (
            "wirecost: 1\nagents: {hosts: 4}\n",
            "line 2: agents is not in this version",
            "wirecost merge",
        ),
        (
            "wirecost: 1\nclients: 5\n",
            "line 2: unknown key \"clients\"",
            "add phases",
        ),
        (
            "wirecost: 1\nstack: h3\n",
            "line 2: stack: unknown stack \"h3\" (did you mean http3?)",
            "",
        ),
        (
            "wirecost: 1\nsize: 16\n",
            "line 2: size: \"16\" has no unit: write 128B or 10kB",
            "",
        ),
        (
            "wirecost: 1\nlink:\n  rtt: 5\n",
            "line 3: link.rtt: \"5\" has no unit: write 40ms or 15min",
            "",
        ),
        (
            "wirecost: 1\nlink:\n  jitter: 5ms\n",
            "line 3: unknown key \"link.jitter\"",
            "delay_variation",
        ),
        (
            "wirecost: 1\nlink: {up: {rat: 5kbit}}\n",
            "line 2: unknown key \"up.rat\"",
            "rate",
        ),
        (
            "wirecost: 1\nipv6: yes\n",
            "line 2: ipv6: \"yes\" is not true or false",
            "",
        ),
        (
            "wirecost: 1\nsize: 1B\nsize: 2B\n",
            "line 3: size is given twice in this table",
            "leave one",
        ),
        (
            "wirecost: 1\nsize: [1B, 1B]\n",
            "line 2: size: size 2 of 2 has been asked for before",
            "",
        ),
        ("wirecost: 1\nsize: []\n", "line 2: size: the list is empty", ""),
        (
            "wirecost: 1\nexclude: [{stack: amqp-settled+tls1.2}]\n",
            "line 2: exclude: nothing of this run is {stack=amqp-settled+tls1.2}",
            "",
        ),
        (
            "wirecost: 1\nstack: tcp\nexclude: [{stack: tcp}]\n",
            "line 3: exclude: it leaves out every cell",
            "",
        ),
        (
            "wirecost: 1\nexclude: [{}]\n",
            "line 2: exclude: a table without conditions",
            "",
        ),
        (
            "wirecost: 1\nstack: tcp\nphases: [{do: publish, count: 1}]\nsettle: 1s\n",
            "line 4: unknown key \"settle\"",
            "comparisons",
        ),
        (
            "wirecost: 1\nthresholds:\n  respons_time: p(99)<1s\n",
            "line 3: thresholds: unknown metric \"respons_time\"",
            "",
        ),
        (
            "wirecost: 1\nthresholds:\n  response_time{stack=amqp-settled+tls1.2}: p(99)<1s\n",
            "line 3: thresholds: response_time{stack=amqp-settled+tls1.2}: nothing of this run is {stack=amqp-settled+tls1.2}",
            "selector",
        ),
        (
            "wirecost: 1\nstack: tcp\nphases: [{do: publish, count: 1}]\nthresholds: {reconnect_all: value<1s}\n",
            "line 4: thresholds: reconnect_all: what it names has no such metric",
            "add a phase",
        ),
        (
            "wirecost: 1\nthresholds:\n  response_time:\n    - p(98)<1s\n",
            "line 4: thresholds: response_time: \"p(98)\" is not a figure of response_time: it has p(50), p(90)",
            "",
        ),
        (
            "wirecost: 1\nthresholds: {response_time: p(99)<1}\n",
            "line 2: thresholds: response_time: \"1\" has no unit",
            "",
        ),
        (
            "wirecost: 1\nthresholds: {valid: rate==1}\n",
            "line 2: thresholds: valid: \"1\" has no unit: write 99%",
            "",
        ),
    ] {
        let error = read(text).expect_err(text);
        let said = error.to_string();
        assert!(said.starts_with(expected), "{said}\n{expected}");
        assert!(
            !said.contains("Policy"),
            "a library's advice to programmers: {said}"
        );
        let given = error.hint().unwrap_or_default();
        assert!(given.contains(hint), "{text:?}: {given}");
    }
}

#[test]
fn loads_are_told_apart_by_their_links() {
    let text = "wirecost: 1\nstack: mqtt-qos1\nvary: {link.rtt: [5ms, 40ms], link.loss: [0%, 1%]}\n\
                exclude: [{link.rtt: 40ms, link.loss: 1%}]\nphases: [{do: publish, duration: 1s}]\n\
                thresholds: {\"response_time{link.rtt=40ms}\": [\"p(99)<1s\"]}\n";
    let scenario = Scenario::read(text, Edits::default(), ScenarioInputs::NONE).expect(text);
    let Work::Loads(loads) = &scenario.work else {
        panic!("a comparison");
    };
    assert_eq!(loads.len(), 3);
    let text = text.replace("link.rtt=40ms", "link.rtt=41ms");
    let error = Scenario::read(&text, Edits::default(), ScenarioInputs::NONE).expect_err("nothing is meant");
    assert!(
        error
            .to_string()
            .contains("nothing of this run is {link.rtt=41ms}"),
        "{error}"
    );
}

/// A reader finds what is wrong by the line and the key of the file; a flag would tell nothing to whoever wrote a file.
#[test]
fn each_refusal_of_a_comparison_has_the_line_and_the_key_of_the_file() {
    for (lines, expected) in [
        ("count: 0", "line 3: count must be at least 1"),
        ("samples: 0", "line 3: samples must be at least 1"),
        (
            "count: 70000",
            "line 3: count: a cell of 70000 samples is more than",
        ),
        (
            "messages_per_connection: 0",
            "line 3: messages_per_connection must be at least 1",
        ),
        (
            "messages_per_connection: 2000000",
            "line 3: messages_per_connection must be at most 1000000",
        ),
        (
            "settle: 0s",
            "line 3: settle must be above 0 ms and at most 1 h, got 0ms",
        ),
        (
            "timeout: 2h",
            "line 3: timeout must be above 0 ms and at most 1 h, got 120min",
        ),
        (
            "interval: [1s, 0s]",
            "line 3: interval must be above 0 ms and at most 1 h",
        ),
        (
            "schedules: [{interval: 0s}]",
            "line 3: schedules must be above 0 ms",
        ),
        (
            "engine: sim\ntarget: mosquitto",
            "line 4: target: the engine sim knows",
        ),
        (
            "target: mosquitto\nclient_certificates: true",
            "line 4: client_certificates: it works with",
        ),
        (
            "link: nbiot\nengine: live",
            "line 4: engine: the engine live cannot run a modelled",
        ),
        (
            "link: nbiot\nshared_link: true",
            "line 4: shared_link: it is about an emulated link",
        ),
        (
            "shared_link: true",
            "line 3: shared_link: it works in virtual time only",
        ),
        (
            "engine: sim\nshared_link: true",
            "line 4: shared_link: devices that share a link send at an interval",
        ),
        (
            "engine: sim\nshared_link: true\ninterval: 1s\nstart: [resumed]",
            "line 6: start: devices that share a link start cold",
        ),
        (
            "engine: sim\nshared_link: true\ninterval: 1s\nreconnect: never",
            "line 6: reconnect: devices that share a link connect again",
        ),
        (
            "engine: sim\nshared_link: true\ninterval: 1s\nspread: 2h",
            "line 6: spread must be at most 1 h, got 120min",
        ),
        ("chunk: 0B", "line 3: chunk must be at least 1B"),
        ("request_headers: 1B", "line 3: request_headers must be "),
        (
            "engine: sim\noffload: true",
            "line 4: offload: it keeps the segmentation offload of interfaces, and virtual time",
        ),
        (
            "packet_path: tun\nengine: live\noffload: true",
            "line 5: offload: it keeps the segmentation offload",
        ),
        ("size: 2GB", "line 3: size must be at most 1GB"),
        ("size: 1GB\ncount: 1500", "line 4: count: this run would send"),
        (
            "link: {mtu: 600B}\nipv6: true",
            "line 4: ipv6: IPv6 needs an MTU of at least 1280 B",
        ),
        (
            "keep_alive: 1s",
            "line 3: keep_alive: 1s leaves the link no 1s of quiet",
        ),
        (
            "size: [1B, 1B]",
            "line 3: size: size 2 of 2 has been asked for before",
        ),
        (
            "start: [cold, cold]",
            "line 3: start: start 2 of 2 has been asked for before",
        ),
        ("readings: [1, 1]", "line 3: readings: number of readings 2 of 2"),
        (
            "link: [lte, lte]",
            "line 3: link: link 2 of 2 has been asked for before",
        ),
        (
            "interval: [1s, 1s]",
            "line 3: interval: interval with its messages per connection 2 of 2",
        ),
        ("target: caddy", "line 3: target: caddy speaks none of the stacks"),
        (
            "target: mqtt://host\nipv6: true",
            "line 4: ipv6: mqtt://host/ says where the target is",
        ),
        (
            "target: mqtt://host\none_cpu: true",
            "line 4: one_cpu: it belongs to an emulated link",
        ),
        (
            "target: mqtt://host\npacket_path: veth",
            "line 4: packet_path: it belongs to an emulated link",
        ),
        (
            "target: mqtt://host\nlink: lte\npath: real",
            "line 5: path: the real path has no emulated link",
        ),
        (
            "target: coap://host",
            "line 3: target: coap://host/ does not name a server of mqtt-qos1",
        ),
    ] {
        let text = format!("wirecost: 1\nstack: [mqtt-qos1]\n{lines}\n");
        let error = Scenario::read(&text, Edits::default(), ScenarioInputs::NONE)
            .expect_err(&text)
            .to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
        assert!(
            !error.contains(" --") && !error.contains("-n "),
            "a flag in a file: {error}"
        );
    }
    let error = Scenario::read(
        "wirecost: 1\nstack:\n  - udp\nnagle: true\n",
        Edits::default(),
        ScenarioInputs::NONE,
    );
    let error = error.expect_err("nothing to run").to_string();
    assert!(
        error.contains("stack: nothing to run: udp has no TCP connection"),
        "{error}"
    );
}

#[test]
fn a_list_of_too_many_links_is_refused_and_not_cut() {
    let list = |links: u32| {
        let links: Vec<String> = (1..=links).map(|millis| format!("{{rtt: {millis}ms}}")).collect();
        format!("wirecost: 1\nstack: udp\nlinks: [{}]\n", links.join(", "))
    };
    assert_eq!(comparison(&list(1_000)).links.len(), 1_000);
    let error = read(&list(1_001)).expect_err("one too many");
    assert!(error.to_string().contains("at most 1000 links"), "{error}");
    assert_eq!(error.line(), Some(3));
}

#[test]
fn a_scenario_that_may_use_no_files_opens_none_for_its_chain() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let pem = folder.path().join("key.pem");
    std::fs::write(&pem, "no certificate").expect("a file");
    let absolute = pem.display().to_string();
    let relative = format!("../../../../../../../../../..{absolute}");
    // Files that are there and files that are not get the same sentence, so that it tells nothing of them.
    for named in [
        &absolute,
        &relative,
        "./key.yaml",
        "/nonexistent.pem",
        "../key.pem",
    ] {
        let expected = format!(
            "chain: cannot use {named}: no files can be read here; write the sizes of its certificates, as in p256:1000+699"
        );
        for kind in [
            "stacks: [mqtt-qos1+tls1.3]\nengine: sim",
            "target: builtin\nstack: mqtt-qos1+tls1.3",
        ] {
            let text = format!("wirecost: 1\n{kind}\nchain: {named}\n");
            let error = Scenario::read(&text, Edits::default(), ScenarioInputs::NONE).expect_err(named);
            assert!(error.to_string().ends_with(&expected), "{text}: {error}");
        }
        assert!(certificates::chain_without_files(named).is_err(), "{named}");
    }
    // With a folder, the same scenario reads the file.
    let inputs = ScenarioInputs {
        folder: Some(folder.path()),
        variable: &|_| None,
    };
    let text = format!("wirecost: 1\nstacks: [mqtt-qos1+tls1.3]\nengine: sim\nchain: {absolute}\n");
    let error = Scenario::read(&text, Edits::default(), inputs).expect_err("no certificate");
    assert!(
        error.to_string().contains("no certificate in the PEM text"),
        "{error}"
    );
    // What a resolved scenario has needs no file.
    for known in ["intermediate", "aws", "p256:1000+699"] {
        let text = format!("wirecost: 1\nstacks: [mqtt-qos1+tls1.3]\nengine: sim\nchain: {known}\n");
        assert!(
            Scenario::read(&text, Edits::default(), ScenarioInputs::NONE).is_ok(),
            "{known}"
        );
    }
}
