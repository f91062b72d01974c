//! Command lines that cannot be meant.

use crate::common::{open_folder, said, wirecost};
use crate::files;

/// Arguments, and what the sentence and the hint must say. Every one is exit code 2 and writes nothing.
const CASES: &[(&str, &str, &str)] = &[
    (
        "compare carrier-pigeon",
        "unknown stack \"carrier-pigeon\"; the stacks are tcp udp mqtt-qos0",
        "",
    ),
    (
        "compare mqtt-qos3",
        "unknown stack \"mqtt-qos3\" (did you mean mqtt-qos0?)",
        "",
    ),
    (
        "compare udp+tls1.3",
        "udp cannot be combined with \"tls1.3\"; it stands alone or with +cose +dtls1.3 +dtls1.2 +dtls1.2-psk",
        "",
    ),
    (
        "compare coap-con+dtls9",
        "coap-con cannot be combined with \"dtls9\"",
        "",
    ),
    (
        "compare --size 128",
        "\"128\" has no unit: write 128B or 10kB",
        "",
    ),
    ("compare --rtt 25", "\"25\" has no unit: write 40ms or 15min", ""),
    ("compare --loss 5", "\"5\" has no unit", ""),
    ("compare --rate 50", "\"50\" has no unit", ""),
    (
        "compare --queue 5",
        "\"5\" has no unit: write 64packets or 32kB",
        "",
    ),
    ("compare --size=-1B", "\"-1B\" is outside the range of a size", ""),
    (
        "compare --rtt=-5ms",
        "\"-5ms\" is outside the range of a time",
        "",
    ),
    ("compare --seed=-1", "invalid digit", ""),
    (
        "compare --size 10TB",
        "\"TB\" in \"10TB\" is not a unit of a size: use one of B, kB, MB",
        "",
    ),
    (
        "compare --size 99999999999999999GB",
        "is outside the range of a size",
        "",
    ),
    (
        "compare --loss 150%",
        "\"150%\" is outside the range of a probability: 0% to 100%",
        "",
    ),
    (
        "compare --rate 0bit",
        "\"0bit\" is outside the range of a bit rate",
        "",
    ),
    ("compare -n 0", "-n must be at least 1", ""),
    (
        "compare -n 4000000000",
        "more than the 60000 devices that one run holds: lower -n",
        "",
    ),
    (
        "compare --messages-per-connection 0",
        "--messages-per-connection must be at least 1",
        "",
    ),
    ("compare --settle 0s", "--settle must be above 0 ms", ""),
    (
        "compare --settle 100h",
        "--settle must be above 0 ms and at most 1 h",
        "",
    ),
    ("compare --timeout 0s", "--timeout must be above 0 ms", ""),
    ("compare --interval 0s", "--interval must be above 0 ms", ""),
    (
        "compare --keep-alive 1500ms",
        "--keep-alive must be whole seconds, at most 65535s",
        "",
    ),
    ("compare --rtt 10000000s", "delay must be at most 60min", ""),
    (
        "compare --queue 0packets",
        "a queue holds at least one packet",
        "",
    ),
    ("compare --loss-burst 3 tcp", "--loss-burst needs --loss", ""),
    ("compare --size -1B", "\"-1B\" is outside the range of a size", ""),
    (
        "compare --rtt -5ms tcp",
        "\"-5ms\" is outside the range of a time",
        "",
    ),
    ("compare -n -1", "invalid value '-1' for '--count <N>'", ""),
    (
        "compare tcp udp tcp",
        "stack 3 of 3 has been asked for before: name each stack once",
        "",
    ),
    (
        "compare --size 1kB,1000B",
        "size 2 of 2 has been asked for before",
        "",
    ),
    (
        "compare --json nowhere/summary.json tcp",
        "cannot write nowhere/summary.json: ",
        "hint: choose a file that can be written to with --json",
    ),
    (
        "compare --loss-burst 0.5 --loss 5%",
        "the mean is at least 1 packet",
        "",
    ),
    (
        "compare --up jitter=1ms",
        "unknown key \"jitter\"; the keys are delay, delay_variation, loss",
        "",
    ),
    (
        "compare --down loss",
        "--down takes KEY=VALUE,..., got \"loss\"",
        "",
    ),
    ("compare --up delay=5", "\"5\" has no unit", ""),
    (
        "compare --ipv6 --mtu 600B",
        "IPv6 needs an MTU of at least 1280 B (RFC 8200, section 5), got 600 B",
        "",
    ),
    ("compare --mtu 20B", "mtu must be at least 68B, got 20B", ""),
    ("compare --mtu 1MB", "must be at most 65535B, got 1MB", ""),
    (
        "compare --target activemq",
        "unknown target \"activemq\"; the targets are builtin, mosquitto, rabbitmq, caddy, libcoap, libcoap-gnutls",
        "",
    ),
    (
        "compare --target mosquitto coap-con",
        "mosquitto speaks none of the stacks asked for; it speaks the mqtt",
        "",
    ),
    (
        "compare --target libcoap tcp",
        "libcoap speaks none of the stacks asked for; it speaks the coap",
        "",
    ),
    (
        "compare --engine ns3",
        "unknown engine \"ns3\"; the engines are auto, sim, live",
        "",
    ),
    (
        "compare --engine sim --target mosquitto mqtt-qos1",
        "leave out --target mosquitto, or take --engine live",
        "",
    ),
    (
        "compare --engine sim -n 5000000",
        "more than the 4000000 devices that one run holds: lower -n",
        "",
    ),
    (
        "compare --vary sizes=1B",
        "cannot vary \"sizes\" (did you mean size?)",
        "",
    ),
    (
        "compare --vary size",
        "--vary takes KEY=VALUE,..., got \"size\"",
        "hint: for example --vary size=16B,1kB",
    ),
    (
        "compare --vary size=1B --vary size=2B",
        "--vary size stands twice",
        "",
    ),
    ("compare --vary rtt=5", "\"5\" has no unit", ""),
    (
        "compare --vary interval=1s,1s",
        "interval with its messages per connection 2 of 2 has been asked for before",
        "",
    ),
    ("compare --jobs 0", "invalid value '0' for '--jobs <N>'", ""),
    (
        "compare --shared-link",
        "--shared-link works in virtual time only, so far: add --engine sim",
        "",
    ),
    (
        "compare coap-con --engine sim --shared-link",
        "devices that share a link send at an interval: add --interval",
        "",
    ),
    (
        "compare coap-con --engine sim --shared-link --interval 1s --start resumed",
        "devices that share a link start cold, so far: leave out --start",
        "",
    ),
    (
        "compare udp --engine sim --shared-link --interval 1s",
        "nothing to run: nothing answers udp: on a shared link only answers are timed, so far",
        "",
    ),
    (
        "compare coap-con --engine sim --shared-link --interval 1s --spread 2h",
        "--spread must be at most 1 h, got 120min",
        "",
    ),
    (
        "compare --clients 10",
        "required arguments were not provided",
        "--shared-link",
    ),
    (
        "compare --resume",
        "--resume needs the folder of the run to go on with",
        "hint: --resume DIR",
    ),
    (
        "compare --resume nowhere",
        "there is no run to go on with: cannot read nowhere/scenario.resolved.yaml",
        "hint: leave out --resume",
    ),
    (
        "compare --resume here --out there",
        "--out there is another one",
        "",
    ),
    (
        "compare --resume-changed",
        "required arguments were not provided",
        "--resume",
    ),
    (
        "compare mqtt-qos0 --resource #",
        "topic name must have a character and no wildcard, got \"#\"",
        "",
    ),
    (
        "compare --out /proc/nope",
        "cannot create /proc/nope: ",
        "hint: choose a folder that can be written to with --out",
    ),
    (
        "compare --out /etc/passwd",
        "cannot create /etc/passwd: ",
        "hint: choose a folder that can be written to with --out",
    ),
    (
        "compare --out /etc",
        "/etc is not empty",
        "hint: choose a new folder with --out, or remove this one",
    ),
    ("frobnicate", "unrecognized subcommand 'frobnicate'", ""),
    (
        "lod mqtt-qos1",
        "unrecognized subcommand 'lod'",
        "a similar subcommand exists: 'load'",
    ),
    (
        "load mqtt-qos1 -r 99999999/s",
        "\"99999999/s\" is too high: the highest rate is 10000000/s",
        "",
    ),
    (
        "load coap-con --qos 2",
        "coap-con has no QoS 2",
        "hint: --qos is 0, 1 or 2 for MQTT, 0 or 1 for CoAP and AMQP",
    ),
    ("load http://127.0.0.1:1 --qos 1", "http1 has no QoS 1", ""),
    (
        "load mqtt-qos1 --topic a/+/b",
        "topic name must have a character and no wildcard, got \"a/+/b\"",
        "",
    ),
    (
        "load mqtts://127.0.0.1:1 --cacert nowhere.pem",
        "cannot read nowhere.pem: ",
        "hint: --cacert takes a file of certificates in PEM",
    ),
    (
        "load mqtt-qos1 --json nowhere/summary.json",
        "cannot write nowhere/summary.json: ",
        "hint: choose a file that can be written to with --json",
    ),
    (
        "load mqtt-qos1 --junit nowhere/junit.xml",
        "cannot write nowhere/junit.xml: ",
        "hint: choose a file that can be written to with --junit",
    ),
    (
        "load mqtt-qos1 --json - --junit -",
        "--json - and --junit - cannot both be printed: there is one stdout",
        "hint: name a file for one of them",
    ),
    (
        "load mqtt-qos1 --reconnect-storm --rate 5/s",
        "the argument '--reconnect-storm' cannot be used with '--rate <RATE>'",
        "",
    ),
    (
        "load mqtt-qos1 --no-jitter --rate 20/s",
        "the argument '--no-jitter' cannot be used with '--rate <RATE>'",
        "",
    ),
    (
        "load mqtt-qos1 --connect-only --filter x/#",
        "the argument '--connect-only' cannot be used with '--filter <FILTER>'",
        "",
    ),
    (
        "load mqtt-qos1 --reconnect-storm --closed-loop",
        "the argument '--reconnect-storm' cannot be used with '--closed-loop'",
        "",
    ),
    (
        "load mqtt-qos1 --connect-only --size 1kB",
        "the argument '--connect-only' cannot be used with '--size <SIZE>'",
        "",
    ),
    (
        "load mqtt://127.0.0.1:1 --profile",
        "only a target that wirecost has started is profiled, and mqtt://127.0.0.1:1/ is there already: ",
        "",
    ),
    (
        "link --rtt 10ms --json - -- true",
        "--json -: stdout belongs to the program that is run",
        "hint: name a file with --json",
    ),
    (
        "probe mqtt://127.0.0.1:1 --out -",
        "--out -: packets are no text, and their secrets are for you alone",
        "hint: name a file with --out",
    ),
    ("report nowhere", "cannot read nowhere/summary.json: ", ""),
    ("serve stomp", "invalid value 'stomp' for '<PROTOCOL>'", ""),
    (
        "serve mqtt --listen 0.0.0.0:0",
        "0.0.0.0:0 is open to the network, and this server lets in anybody",
        "hint: ask clients who they are (--user, --client-ca), or add --open if that is what you want",
    ),
    (
        "serve mqtt --listen 127.0.0.1",
        "invalid value '127.0.0.1' for '--listen <ADDR:PORT>'",
        "",
    ),
];

#[test]
fn an_impossible_command_line_is_refused_with_the_reason_and_writes_nothing() {
    for (arguments, sentence, hint) in CASES {
        let home = open_folder();
        let said = said(wirecost(home.path()).args(arguments.split(' ')));
        let place = format!("wirecost {arguments}\n{}", said.stderr);
        assert_eq!(said.code, Some(2), "{place}");
        let errors: Vec<&str> = said
            .stderr
            .lines()
            .filter(|line| line.starts_with("error: "))
            .collect();
        assert_eq!(errors.len(), 1, "{place}");
        assert!(errors[0].contains(sentence), "expected {sentence:?}\n{place}");
        assert!(said.stderr.contains(hint), "expected {hint:?}\n{place}");
        assert!(!said.stderr.contains("panicked"), "{place}");
        assert_eq!(said.stdout, "", "{place}");
        assert_eq!(files(home.path()), Vec::<String>::new(), "{place}");
    }
}

#[test]
fn results_are_never_written_over() {
    let home = open_folder();
    std::fs::create_dir(home.path().join("run")).expect("a folder");
    std::fs::write(home.path().join("run/summary.json"), "mine").expect("a file");
    let said = said(wirecost(home.path()).args(["compare", "-n", "1", "--out", "run"]));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert_eq!(said.line("error: "), Some("run is not empty"));
    assert_eq!(files(home.path()), ["run/summary.json"]);
}

#[test]
fn a_comparison_of_which_nothing_can_be_run_has_failed() {
    for command in [
        "compare --engine sim udp -s 70kB -n 1 --out run",
        "compare --engine sim http3 --mtu 600B -n 1 --out run",
        "run a.yaml --out run",
    ] {
        let home = open_folder();
        let scenario = "wirecost: 1\nstack: udp\nsize: 70kB\nengine: sim\nsamples: 1\n";
        std::fs::write(home.path().join("a.yaml"), scenario).expect("a file");
        let said = said(wirecost(home.path()).args(command.split(' ')));
        assert_eq!(said.code, Some(13), "{command}: {}", said.stderr);
        let error = "none of the cells could be run; the table says why";
        assert_eq!(said.line("error: "), Some(error), "{}", said.stderr);
        assert!(said.stdout.contains("not run: "), "{}", said.stdout);
        let summary = crate::common::summary_in(&home.path().join("run"));
        assert!(summary.cells.iter().all(|cell| cell.not_run.is_some()));
    }
}

#[test]
fn what_one_stack_cannot_do_fails_no_other() {
    let home = open_folder();
    let command = "compare --engine sim udp,tcp -s 70kB -n 1 --out run";
    let said = said(wirecost(home.path()).args(command.split(' ')));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
#[ignore = "needs root"]
fn a_payload_that_a_stack_cannot_carry_is_not_run_and_the_others_are() {
    crate::common::need_root();
    let run = crate::common::Run::compare("udp,tcp -s 70kB -n 1 --settle 200ms");
    let [udp, tcp] = run.summary.cells.as_slice() else {
        panic!("two cells")
    };
    assert!(
        udp.not_run.as_ref().is_some_and(|why| why.contains("65507")),
        "{:?}",
        udp.not_run
    );
    assert!(udp.message.is_none() && udp.outcomes.offered == 0);
    assert!(tcp.valid && tcp.not_run.is_none() && tcp.outcomes.delivered == 1);
}
