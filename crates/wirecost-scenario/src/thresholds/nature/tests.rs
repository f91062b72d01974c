use crate::load::ScenarioInputs;
use crate::{Edits, Scenario, ScenarioError};

/// Reads a load with these lines and one demand, which is in line 2.
fn read(lines: &str, demand: &str) -> Result<Scenario, ScenarioError> {
    let text = format!("wirecost: 1\nthresholds: {{{demand}}}\n{lines}\n");
    Scenario::read(&text, Edits::default(), ScenarioInputs::NONE)
}

/// What is said of a demand that nothing can fulfil, and the way out.
fn refusal(lines: &str, demand: &str) -> (String, String) {
    let error = read(lines, demand).expect_err(&format!("{demand}: {lines}"));
    assert_eq!(error.line(), Some(2), "{error}");
    (
        error.message().to_owned(),
        error.hint().unwrap_or_default().to_owned(),
    )
}

const PUBLISH: &str = "phases: [{do: publish, rate: 10/s, duration: 1s}]";
const URL: &str = "target: \"mqtt://127.0.0.1:1883/test\"";
const AWAY: &str = "phases: [{do: connect}, {do: drop_all, who: subscribers}, {do: publish, rate: 10/s, duration: 1s}, \
                    {do: reconnect, who: subscribers}, {do: await_replay, timeout: 5s}]";
const LATE: &str = "retain: true\nphases: [{do: connect, who: senders}, {do: publish, rate: 10/s, duration: 1s}, \
                    {do: connect, who: subscribers}, {do: await_replay, timeout: 5s}]";

#[test]
fn a_demand_without_a_figure_is_refused_with_the_reason() {
    let subscribed = "subscribers: {devices: 2, filter: test, qos: 1}";
    let elsewhere = "subscribers: {devices: 2, filter: other, qos: 1}";
    for (stack, more, demand, why, hint) in [
        (
            "mqtt-qos0",
            "",
            "response_time: \"p(99)<1s\"",
            "nothing answers",
            "one_way_delay",
        ),
        (
            "coap-non",
            "",
            "service_time: \"p(99)<1s\"",
            "nothing answers",
            "coap-con",
        ),
        (
            "tcp",
            "",
            "acknowledged: \"rate>=99%\"",
            "nothing answers",
            "delivered",
        ),
        (
            "mqtt-qos1",
            "",
            "delivered: \"rate>=99%\"",
            "are answered",
            "demand acknowledged",
        ),
        (
            "coap-non",
            "size: 4kB",
            "delivered: \"count>0\"",
            "are answered",
            "acknowledged",
        ),
        (
            "mqtt-qos1",
            URL,
            "one_way_delay: \"p(99)<1s\"",
            "does not report what arrives",
            "subscribers",
        ),
        (
            "mqtt-qos1",
            URL,
            "duplicates: \"count==0\"",
            "does not report what arrives",
            "subscribers",
        ),
        (
            "mqtt-qos1",
            URL,
            "server_cpu: \"value<=50%\"",
            "the CPU time of its server is not measured",
            "let wirecost start the server",
        ),
        (
            "mqtt-qos1",
            "engine: sim",
            "server_cpu: \"value<=50%\"",
            "the CPU time of its server is not measured",
            "engine live",
        ),
        (
            "mqtt-qos1",
            "target: mosquitto",
            "duplicates: \"count==0\"",
            "does not report",
            "",
        ),
        (
            "mqtt-qos1",
            "",
            "missing: \"count==0\"",
            "no device of it subscribes",
            "subscribers",
        ),
        (
            "mqtt-qos1",
            "",
            "replayed: \"count==0\"",
            "no device of it subscribes",
            "subscribers",
        ),
        (
            "mqtt-qos1",
            elsewhere,
            "one_way_delay: \"p(99)<1s\"",
            "no subscription matches",
            "filter",
        ),
        (
            "mqtt-qos1",
            elsewhere,
            "missing: \"count==0\"",
            "no subscription matches",
            "filter",
        ),
        (
            "mqtt-qos1",
            "size: 8B",
            "one_way_delay: \"p(99)<1s\"",
            "do not say when",
            "16B",
        ),
        (
            "mqtt-qos1+cose",
            subscribed,
            "one_way_delay: \"max<1s\"",
            "do not say when",
            "+cose",
        ),
    ] {
        let (said, way_out) = refusal(&format!("stack: {stack}\n{more}\n{PUBLISH}"), demand);
        let name = demand.split(':').next().unwrap_or_default();
        let begins = format!("thresholds: {name}: what it names has no such metric: ");
        assert!(said.starts_with(&begins) && said.contains(why), "{said}");
        assert!(way_out.contains(hint), "{said}: {way_out}");
    }
    let unknown = format!("stack: mqtt-qos0\n{URL}\n{PUBLISH}");
    for demand in ["delivered: \"rate>=99%\"", "carried_rate: \"value>=1/s\""] {
        assert!(
            refusal(&unknown, demand)
                .0
                .contains("does not report what arrives"),
            "{demand}"
        );
    }
    let observed = format!("stack: coap-con\nsubscribers: {{devices: 2, filter: test}}\n{PUBLISH}");
    assert!(
        refusal(&observed, "missing: \"count==0\"")
            .0
            .contains("unknown how many")
    );
    assert!(
        refusal(&observed, "replayed: \"count==0\"")
            .0
            .contains("stores no messages")
    );
    let closed = "stack: mqtt-qos1\nphases: [{do: publish, closed_loop: true, duration: 1s}]";
    let (said, _) = refusal(closed, "offered_rate: \"value>1/s\"");
    assert!(said.contains("a closed loop asks for no rate"), "{said}");
}

#[test]
fn messages_to_absent_subscribers_have_no_delay() {
    let subscribed = "stack: mqtt-qos1\nsubscribers: {devices: 2, filter: test, qos: 1}";
    let away = format!("{subscribed}\nsession_expiry: 1h\n{AWAY}");
    let (said, hint) = refusal(&away, "one_way_delay: \"p(99)<1s\"");
    assert!(said.contains("no subscriber is connected while"), "{said}");
    assert!(hint.contains("replayed"), "{hint}");
    let (said, _) = refusal(&away, "\"duplicates{phase=publish}\": \"count==0\"");
    assert!(said.contains("no subscriber is connected while"), "{said}");
    for demand in [
        "missing",
        "replayed",
        "\"replayed{phase=reconnect}\"",
        "duplicates",
    ] {
        read(&away, &format!("{demand}: \"count==0\"")).expect(demand);
    }
    let late = format!("{subscribed}\n{LATE}");
    for demand in ["missing", "replayed"] {
        read(&late, &format!("{demand}: \"count==0\"")).expect(demand);
    }
    assert!(
        refusal(&late, "one_way_delay: \"p(99)<1s\"")
            .0
            .contains("no subscriber is connected while")
    );
}

#[test]
fn a_demand_with_a_figure_is_accepted() {
    let subscribers = "subscribers: {devices: 2, filter: test, qos: 1}";
    let delay = "one_way_delay: \"p(99)<1s\"";
    for (lines, demand) in [
        ("stack: mqtt-qos0", delay),
        ("stack: tcp", delay),
        ("stack: coap-non", "delivered: \"rate>=99%\""),
        ("stack: udp", "carried_rate: \"value>=1/s\""),
        ("stack: udp", "duplicates: \"count==0\""),
        ("stack: coap-non\nsize: 4kB", "acknowledged: \"rate>=99%\""),
        (
            &format!("stack: mqtt-qos0\n{URL}\n{subscribers}"),
            "delivered: \"rate>=99%\"",
        ),
        (&format!("stack: mqtt-qos1\n{URL}\n{subscribers}"), delay),
        (
            &format!("stack: mqtt-qos1\n{URL}\n{subscribers}"),
            "missing: \"count==0\"",
        ),
        (&format!("stack: mqtt-qos0\n{URL}"), "messages_lost: \"count==0\""),
        ("stack: coap-con\nsubscribers: {devices: 2, filter: test}", delay),
    ] {
        read(&format!("{lines}\n{PUBLISH}"), demand).expect(lines);
    }
    let handshakes = "stack: mqtt-qos0\nphases: [{do: handshakes, rate: 10/s, duration: 1s}]";
    for demand in ["response_time: \"p(99)<1s\"", "acknowledged: \"rate>=99%\""] {
        read(handshakes, demand).expect(demand);
    }
}

#[test]
fn energy_of_a_cell_names_its_device() {
    let cells = "stack: mqtt-qos1\nlink: {rtt: 40ms}";
    for (demand, why, hint) in [
        (
            "energy: \"mean<1J\"",
            "names no device",
            "energy{device=esp32s3-wifi}",
        ),
        (
            "\"energy{device=esp32}\": \"mean<1J\"",
            "a device: esp32s3-wifi",
            "",
        ),
        ("\"energy{device=esp32s3-wifi}\": \"min<1J\"", "mean", ""),
    ] {
        let (message, advice) = refusal(cells, demand);
        assert!(
            message.contains(why) || advice.contains(why),
            "{message}: {advice}"
        );
        assert!(advice.contains(hint), "{advice}");
    }
    for demand in [
        "\"energy{device=esp32s3-wifi}\": \"mean<1J\"",
        "\"session_energy{stack=mqtt*,device=raspberry-pi-2b-3g|nrf9160-lte-m}\": \"min<1J\"",
    ] {
        read(cells, demand).expect(demand);
    }
    refusal(
        &format!("stack: mqtt-qos1\n{PUBLISH}"),
        "\"energy{device=esp32s3-wifi}\": \"mean<1J\"",
    );
}

#[test]
fn one_load_of_a_matrix_with_the_figure_is_enough() {
    let both = format!("stack: [mqtt-qos0, mqtt-qos1]\n{PUBLISH}");
    read(&both, "response_time: \"p(99)<1s\"").expect("one of them is answered");
    let (said, _) = refusal(&both, "\"response_time{stack=mqtt-qos0}\": \"p(99)<1s\"");
    assert!(said.contains("nothing answers"), "{said}");
    let cells = "stack: [udp, coap-con]\nengine: sim";
    for metric in ["acknowledged", "delivered"] {
        read(cells, &format!("{metric}: \"rate>=99%\"")).expect(metric);
    }
    let (said, _) = refusal("stack: udp\nengine: sim", "acknowledged: \"rate>=99%\"");
    assert!(said.contains("nothing answers"), "{said}");
    let (said, _) = refusal("stack: coap-con\nengine: sim", "delivered: \"rate>=99%\"");
    assert!(said.contains("are answered"), "{said}");
}

#[test]
fn a_bound_in_round_trip_times_needs_a_link() {
    let load = format!("stack: mqtt-qos1\n{PUBLISH}");
    let (said, hint) = refusal(&load, "response_time: \"p(99)<2*link.rtt\"");
    assert_eq!(
        said,
        "thresholds: response_time: \"p(99)<2*link.rtt\" needs a round-trip time, and there is no link"
    );
    assert!(hint.contains("link: {rtt: 40ms}"), "{hint}");
    read(
        &format!("{load}\nlink: {{rtt: 5ms}}"),
        "response_time: \"p(99)<2*link.rtt\"",
    )
    .expect("a link");
}
