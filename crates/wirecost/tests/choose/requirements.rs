//! What requirements exclude, and the files that hold them.

use serde_json::Value;

use super::{choose, chosen, rows};
use crate::common::open_folder;

/// A broker charges a reading by its size, however many packets it takes.
#[test]
fn a_large_reading_is_one_message_of_a_tariff() {
    let home = open_folder();
    let rule = "{counts: [connect, publish], unit: 5kB, price: 1 USD, per: 1000000}";
    let text = format!("wirecost_tariff: 1\ntitle: mine\nrules: {{messages: {rule}}}\n");
    std::fs::write(home.path().join("mine.yaml"), text).expect("a tariff");
    let choice = chosen(
        home.path(),
        "mqtt-qos1+tls1.3 --size 20kB --every 12h --rtt 50ms --keep-alive 60s --start cold --tariff ./mine.yaml --out a",
    );
    let prices = rows(&choice).iter().map(|row| {
        let money = row["figures"]["money_per_month"].as_f64().expect("money");
        // A million messages cost a dollar; a reading is four of 5 kB, and a connect one more.
        (
            row["connection"].clone(),
            (money * 1e6 / (2_592_000.0 / 43_200.0) * 1e6).round() / 1e6,
        )
    });
    let mut prices: Vec<(Value, f64)> = prices.collect();
    prices.sort_by(|one, other| one.1.total_cmp(&other.1));
    assert_eq!(
        prices,
        [
            ("persistent for 2".into(), 4.5),
            ("a connection each".into(), 5.0)
        ]
    );
}

#[test]
fn each_requirement_names_what_it_excludes() {
    let home = open_folder();
    let said = choose(
        home.path(),
        "coap-con,coap-non,mqtt-qos1+tls1.3 --every 12h --rtt 200ms --within 1800ms --reach coap --device-class 1 \
         --device nrf9160-lte-m --battery 100mAh@3.6V --battery-years 90 --monthly-bytes 3kB -n 2 -q --json - --out a",
    );
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    assert!(
        said.stderr.contains("no stack meets the requirements"),
        "{}",
        said.stderr
    );
    let choice: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let fails = |stack: &str, way: &str| {
        let row = rows(&choice)
            .iter()
            .find(|row| row["stack"] == stack && row["connection"] == way);
        row.expect("a row")["fails"].to_string()
    };
    assert!(fails("coap-non", "no connection").contains("delivery: delivers at most once"));
    let mqtt = fails("mqtt-qos1+tls1.3", "a connection each");
    for expected in [
        "within: longest 2.3 s (wake-up 1.5 s, connect 600 ms, message 200 ms), above 1.8 s",
        "reach: the other side does not speak it",
        "device-class: too large for a device of class 1",
        "battery-years: ",
        "monthly-bytes: ",
    ] {
        assert!(mqtt.contains(expected), "{expected}: {mqtt}");
    }
    let coap = fails("coap-con", "no connection");
    assert!(
        coap.contains("battery-years: ") && !coap.contains("within: "),
        "{coap}"
    );
}

#[test]
fn a_file_of_requirements_gives_way_to_the_command_line() {
    let home = open_folder();
    std::fs::write(
        home.path().join("needs.yaml"),
        "every: 12h\nsize: 100B\nrtt: 20ms\nstacks: [coap-con]\n",
    )
    .expect("a file");
    let choice = chosen(home.path(), "--file needs.yaml --size 50B --out a");
    assert!(
        choice["asked"]
            .as_str()
            .expect("text")
            .starts_with("50 B every 12 h"),
        "{choice}"
    );
    let refused = |text: &str| {
        std::fs::write(home.path().join("wrong.yaml"), text).expect("a file");
        let said = choose(home.path(), "--file wrong.yaml --out c");
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        said.stderr
    };
    for (text, expected) in [
        (
            "every: 12h\nevry: 12h\n",
            "wrong.yaml:2: unexpected argument '--evry'",
        ),
        ("size: 12B\n", "--every"),
        (
            "every: 12h\nsize: twelve\n",
            "wrong.yaml:2: invalid value 'twelve' for '--size",
        ),
        (
            "every: 12h\nby: money\n",
            "wrong.yaml:2: --by money needs --tariff",
        ),
        (
            "every: 12h\n\nwithin: 0s\n",
            "wrong.yaml:3: --within must be above 0s",
        ),
        (
            "every: 12h\nout: here\n",
            "wrong.yaml:2: --out belongs on the command line",
        ),
        ("use_cases: 3\n", "wrong.yaml:1: use_cases is not a list"),
        (
            "use_cases:\n  - {every: 12h}\n",
            "wrong.yaml:2: a use case without a name",
        ),
        ("- 3\n", "not a table of options"),
        (
            "every: 12h\nbattery_years: 2\n",
            "wrong.yaml:2: --battery-years needs --battery",
        ),
        (
            "every: 12h\n\nbattery: 1Ah@3V\n",
            "wrong.yaml:3: --battery needs --device",
        ),
        (
            "every: 12h\nlink: {rtt: 5ms}\n",
            "wrong.yaml:2: --link is a table, not a value",
        ),
        (
            "use_cases:\n  - {name: a, every: 12h}\n  - {name: a, every: 6h}\n",
            "wrong.yaml:3: two use cases have the name \"a\"",
        ),
        (
            "every: 12h\nuse_cases:\n  - name: a\n    within: 2ms\n    rtt: 20ms\n",
            "wrong.yaml:4: --within 2 ms contradicts the link",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains(expected), "{text}: {said}");
        assert!(said.contains("hint: "), "{said}");
    }
}

#[test]
fn several_use_cases_make_a_decision_matrix() {
    let home = open_folder();
    let text = "every: 12h\nrtt: 100ms\nstacks: [coap-con, mqtt-qos1]\nuse_cases:\n  - {name: Small, size: 48B}\n  \
                - {name: Pictures of 10 kB, size: 10kB, by: time}\n  - {name: A few bytes, monthly_bytes: 4kB}\n";
    std::fs::write(home.path().join("cases.yaml"), text).expect("a file");
    let said = choose(home.path(), "--file cases.yaml -n 2 -q --out m");
    // The third one has no answer: 48 B with headers twice a day.
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("no stack meets the requirements of: A few bytes"),
        "{}",
        said.stderr
    );
    for expected in [
        "use case",
        "Small",
        "coap-con, no connection",
        "Pictures of 10 kB",
        "mqtt-qos1",
        "nearest coap-con",
        "by monthly-bytes",
    ] {
        assert!(said.stdout.contains(expected), "{expected}:\n{}", said.stdout);
    }
    let read = |name: &str| std::fs::read_to_string(home.path().join("m").join(name)).expect("a file");
    let choice: Value = serde_json::from_str(&read("choice.json")).expect("JSON");
    let best = |index: usize| choice["use_cases"][index]["best"].clone();
    assert_eq!(
        (best(0), best(1), best(2)),
        ("coap-con".into(), "mqtt-qos1".into(), Value::Null)
    );
    assert!(read("choice.html").contains("Decision matrix"));
    assert!(read("choice.html").contains("02-pictures-of-10-kb&#x2f;report.html"));
    assert!(read("02-pictures-of-10-kb/choice.md").contains("# Pictures of 10 kB"));
}

#[test]
fn the_example_of_use_cases_is_valid() {
    let home = open_folder();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/choose/use-cases.yaml"
    );
    let text = std::fs::read_to_string(example).expect("the example");
    assert_eq!(text.matches("name: ").count(), 10);
    // A wrong option of the command line comes after the file was read.
    let said = choose(home.path(), &format!("--file {example} --every 0s --out m"));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("--every must be above 0s"),
        "{}",
        said.stderr
    );
}

#[test]
fn contradicting_requirements_are_refused() {
    let home = open_folder();
    let refused = |arguments: &str, why: &str| {
        let said = choose(home.path(), &format!("{arguments} --out d"));
        assert_eq!(said.code, Some(2), "{arguments}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{arguments}: {}", said.stderr);
    };
    refused("--every 0s", "--every must be above 0s");
    refused("--every 100d", "--every must be above 0 ms and at most 744 h");
    refused("--every 1min --by money", "--by money needs --tariff");
    refused("--every 1min --by energy", "--by energy needs --device");
    refused("--every 1min --rtt 5ms,10ms", "choose takes one link");
    refused("--every 1min --within 0s", "--within must be above 0s");
    refused(
        "--every 1min --delivery exactly-once --reach coap",
        "--delivery exactly-once and --reach coap contradict each other",
    );
    refused(
        "--every 1min --reach http --device-class 1",
        "--reach http and --device-class 1 contradict each other",
    );
    refused(
        "--every 10s --size 1kB --monthly-bytes 1MB",
        "--monthly-bytes 1MB contradicts --size 1kB every 10 s",
    );
    refused(
        "--every 1min --rtt 100ms --within 40ms",
        "--within 40 ms contradicts the link, whose delay up is 50 ms",
    );
    refused("--every 1min --battery 1Ah@3V --battery-years 2", "--device");
    refused("--every 1min --device nrf9161", "unknown device");
}

#[test]
fn a_stack_that_loses_readings_does_not_meet_a_guarantee() {
    let home = open_folder();
    // The NAT forgets the connection between two readings: every second one meets its end.
    let asked = "mqtt-qos1 --size 60B --every 10min --rtt 40ms --nat-timeout tcp=5min --keep-alive 0s -n 2 -q --json -";
    let said = choose(home.path(), &format!("{asked} --out least"));
    let choice: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let losing = |choice: &Value| -> Vec<String> {
        let fails = rows(choice)
            .iter()
            .flat_map(|row| row["fails"].as_array().cloned());
        fails.flatten().map(|fail| fail.to_string()).collect()
    };
    assert_eq!(losing(&choice), ["\"delivery: loses 144 of 288 readings\""]);
    let most = choose(
        home.path(),
        &format!("{asked} --delivery at-most-once --out most"),
    );
    let choice: Value = serde_json::from_str(&most.stdout).expect("JSON");
    assert!(losing(&choice).is_empty(), "{choice}");
}

#[test]
fn a_stack_that_the_tariffs_service_does_not_take_fails_it() {
    let home = open_folder();
    let choice = chosen(
        home.path(),
        "coap-con+oscore,http3,mqtt-qos1+tls1.3 --size 48B --every 15min --rtt 40ms --tariff AWS-IoT-Core",
    );
    assert_eq!(choice["best"], "mqtt-qos1+tls1.3");
    for row in rows(&choice) {
        let stack = row["stack"].as_str().expect("a name");
        let why = format!("tariff: tariffs/aws-iot-core.yaml takes mqtt+tls and http1+tls, not {stack}");
        let fails = row["fails"].as_array().expect("reasons");
        let is_taken = stack.starts_with("mqtt");
        assert_eq!(fails.iter().any(|reason| *reason == *why), !is_taken, "{row}");
        assert_eq!(row["figures"]["money_per_month"].is_null(), !is_taken, "{row}");
    }
}
