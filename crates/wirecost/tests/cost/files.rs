//! Wrong input, and the files of the program against their schemas.

use boon::{Compiler, Schemas};
use serde_json::Value;

use crate::{common, cost, open_folder};

/// One error, exit code 2, and a hint.
pub(crate) fn assert_refused(said: &common::Said, message: &str) {
    assert_eq!(said.code, Some(2), "{message}: {}", said.stderr);
    assert!(said.stderr.contains(message), "{message}: {}", said.stderr);
    assert_eq!(said.stderr.matches("error: ").count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains("hint: "), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn wrong_input_is_one_sentence_with_its_line() {
    let home = open_folder();
    let device = include_str!("../../../../devices/nrf9160-lte-m.yaml");
    let tariff = include_str!("../../../../tariffs/per-mb.yaml");
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).expect("a file");
    write("negative.yaml", &device.replace("2.7uA", "-2.7uA"));
    write("state.yaml", &device.replace("receive:", "recieve:"));
    write("key.yaml", &device.replace("supply:", "suply:"));
    write("tariff.yaml", &tariff.replace("per: 1MB", "per: 1"));
    write("empty.pcap", "");
    write("text.pcap", "no packets at all");
    let line = |text: &str, key: &str| text.lines().position(|line| line.contains(key)).expect("a line") + 1;
    for (arguments, message) in [
        (
            "empty.pcap --device nrf9160",
            "unknown device \"nrf9160\"".to_owned(),
        ),
        (
            "empty.pcap --tariff per-gb",
            "unknown tariff \"per-gb\"".to_owned(),
        ),
        (
            "empty.pcap --device negative.yaml",
            format!(
                "negative.yaml:{}: states.sleep.value: must be 0 or more",
                line(device, "2.7uA")
            ),
        ),
        (
            "empty.pcap --device state.yaml",
            format!(
                "state.yaml:{}: unknown key \"states.recieve\"",
                line(device, "receive:")
            ),
        ),
        (
            "empty.pcap --device key.yaml",
            format!("key.yaml:{}: unknown key \"suply\"", line(device, "supply:")),
        ),
        (
            "empty.pcap --tariff tariff.yaml",
            format!(
                "tariff.yaml:{}: bytes.per: \"1\" has no unit",
                line(tariff, "per: 1MB")
            ),
        ),
        (
            "text.pcap --device nrf9160-lte-m",
            "text.pcap: not a capture".to_owned(),
        ),
        (
            "text.pcap --device nrf9160-lte-m --interval 0s",
            "--interval must be above 0s".to_owned(),
        ),
        (
            "empty.pcap --device nowhere.yaml",
            "cannot read nowhere.yaml".to_owned(),
        ),
    ] {
        assert_refused(&cost(home.path(), arguments), &message);
    }
}

#[test]
fn options_of_captures_need_one_with_that_device() {
    let home = open_folder();
    crate::compared(home.path());
    let device = "--device nrf9160-lte-m";
    for option in ["--client 10.77.0.2", "--keylog keys.log"] {
        let name = option.split(' ').next().expect("a flag");
        assert_refused(
            &cost(home.path(), &format!("run {device} {option}")),
            &format!("{name} has no effect on run: it is about a capture"),
        );
    }
    let said = cost(
        home.path(),
        &format!("run/capture/sim.pcapng {device} --client 192.0.2.1"),
    );
    assert_refused(&said, "run/capture/sim.pcapng has no packets of 192.0.2.1");
    assert!(
        said.stderr.contains("hint: it has 4 devices, e.g. 10.77.0.2"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_battery_that_nothing_drains_is_refused() {
    let home = open_folder();
    crate::compared(home.path());
    let device = include_str!("../../../../devices/nrf9160-lte-m.yaml");
    let idle = device
        .lines()
        .map(|line| match line.split_once("value: ") {
            Some((before, after)) if line.contains("uA") || line.contains("mA") || line.contains("mW") => {
                let rest = after.split_once(',').map_or("", |(_, rest)| rest);
                format!("{before}value: 0mW,{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect::<String>();
    std::fs::write(home.path().join("idle.yaml"), idle).expect("a file");
    let battery = "run --device idle.yaml --battery 2400mAh@3.6V";
    assert_refused(
        &cost(home.path(), &format!("{battery} --self-discharge 0%")),
        "nothing drains the battery",
    );
    assert_eq!(cost(home.path(), battery).code, Some(0));
}

#[test]
fn the_files_of_the_program_satisfy_their_schemas() {
    for (kind, files) in [
        ("device", &wirecost_scenario::device::BUILT_IN[..]),
        ("tariff", &wirecost_scenario::tariff::BUILT_IN[..]),
    ] {
        let said = common::said(common::wirecost(std::path::Path::new(".")).args(["schema", kind]));
        let schema: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("schema.json", schema).expect("a resource");
        let index = compiler.compile("schema.json", &mut schemas).expect("a schema");
        for (name, text) in files {
            let value: Value = serde_saphyr::from_str(text).expect("YAML");
            let valid = schemas
                .validate(&value, index)
                .map_err(|error| format!("{error:#}"));
            assert_eq!(valid, Ok(()), "{name}");
        }
    }
}
