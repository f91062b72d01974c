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
    write(
        "twice.yaml",
        &format!("{tariff}  more: {{counts: packets, price: 1 EUR, per: 1MB}}\n"),
    );
    write(
        "order.yaml",
        &tariff.replace(
            "price: {value: 0.40 EUR, source: assumed}",
            "tiers: [{to: 2MB, price: 0 EUR}, {to: 1MB, price: 1 EUR}, {price: 2 EUR}]",
        ),
    );
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
                "tariff.yaml:{}: rules.data.per: \"1\" is not a size: write 5KB",
                line(tariff, "per: 1MB")
            ),
        ),
        (
            "empty.pcap --tariff twice.yaml",
            format!(
                "twice.yaml:{}: rules.more.counts: packets is counted by the rule data already",
                tariff.lines().count() + 1
            ),
        ),
        (
            "empty.pcap --tariff order.yaml",
            format!(
                "order.yaml:{}: rules.data.tiers.to: it is not above the tier before it",
                line(tariff, "price:")
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
fn a_battery_that_nothing_drains_lasts_its_shelf_life() {
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
    for asked in [battery.to_owned(), format!("{battery} --self-discharge 0%")] {
        for row in crate::rows(home.path(), &asked) {
            assert_eq!(row["battery_years"]["high"], 10.0, "{asked}");
        }
    }
}

#[test]
fn a_cell_that_cannot_feed_the_device_is_an_answer() {
    let home = open_folder();
    crate::compared(home.path());
    let asked = |more: &str| {
        cost(
            home.path(),
            &format!("run --device nrf9160-nb-iot --battery 8500mAh@3.6V {more}"),
        )
        .stdout
    };
    let sentence =
        "This cell cannot feed 308 mA (at most 60 mA): take one with a capacitor or a spiral cell.";
    let said = asked("--chemistry li-socl2-bobbin");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with(sentence), "{said}");
    assert!(!asked("--chemistry li-socl2-spiral").contains("cannot"));
    let wrong = cost(
        home.path(),
        "run --device nrf9160-nb-iot --battery 8500mAh@3.6V --chemistry nimh",
    );
    assert_refused(&wrong, "unknown cell \"nimh\"");
}

#[test]
fn what_the_network_sets_changes_the_energy_and_impossible_times_are_refused() {
    let home = open_folder();
    crate::compared(home.path());
    let joules = |more: &str| {
        let rows = crate::rows(
            home.path(),
            &format!("run --device nrf9160-lte-m --interval 1h {more}"),
        );
        crate::number(&rows[0]["joules_each"]["mean"])
    };
    let given = joules("");
    assert!(joules("--rai") < given && joules("--inactivity 20s") > given);
    assert!(joules("--tx-power 0dBm") < given);
    assert!(joules("--psm active=0s") < given && joules("--psm tau=10min") > given);
    // Without power saving eDRX is the rest, and nothing is reachable besides; with it, it is what the device does in its active time.
    assert!(joules("--edrx 81.92s") > given && joules("--edrx 81.92s") > joules("--edrx 655.36s"));
    assert!(joules("--psm active=4min --edrx 81.92s") < joules("--psm active=4min"));
    for (asked, message) in [
        (
            "--psm active=9s",
            "no network has an active time (T3324) of 9 s: the nearest is 8 s",
        ),
        (
            "--psm tau=45s",
            "no network has a time between tracking area updates (T3412) of 45 s: the nearest is 44 s",
        ),
        (
            "--edrx 80s",
            "no network has a cycle of eDRX on LTE of 80 s: the nearest is 81.92 s",
        ),
        (
            "--dtim 3",
            "nrf9160-lte-m: the device has no beacons that it listens to",
        ),
        (
            "--tx-power 30dBm",
            "nrf9160-lte-m: the device sends at 0 dBm to 23 dBm",
        ),
        (
            "--psm active=1h,tau=10min",
            "a time between tracking area updates (T3412) of 10 min leaves no power saving: wake-up and active time (T3324) take 3601.5 s",
        ),
        ("--psm 8s", "write active=8s, tau=24h, or both with a comma"),
    ] {
        assert_refused(
            &cost(home.path(), &format!("run --device nrf9160-lte-m {asked}")),
            message,
        );
    }
}

#[test]
fn attaches_have_a_share_of_their_own_and_none_without_the_option() {
    let home = open_folder();
    crate::compared(home.path());
    let row = |more: &str| {
        let arguments = format!("run --device nrf9160-nb-iot --interval 1h {more}");
        crate::rows(home.path(), &arguments)[0].clone()
    };
    let part =
        |row: &serde_json::Value, name: &str| crate::number(&row["mean_power_w"]["part"][name]["mean"]);
    let [kept, often, rare] =
        ["", "--attach every=1d", "--attach every=30d"].map(|more| part(&row(more), "attach"));
    assert_eq!(kept, 0.0);
    assert!((often / rare / 30.0 - 1.0).abs() < 1e-9, "{often} {rare}");
    let long = part(&row("--attach every=1d,search=3min"), "attach");
    // 160 s more of listening at 15 mA and 3.7 V a day.
    assert!(((long - often) * 86_400.0 / (160.0 * 0.015 * 3.7) - 1.0).abs() < 1e-6);
    let text = cost(
        home.path(),
        "run --device nrf9160-nb-iot --interval 1h --attach every=30d",
    );
    let text = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "attach every 30 d after a search of 20 s (assumed)",
        "attach* every 30 d: ",
        " mC of a search of 20 s, assumed, ",
        "The first seven sum to 100 %",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let without = cost(home.path(), "run --device nrf9160-nb-iot --interval 1h").stdout;
    assert!(!without.contains("attach"), "{without}");
    for (asked, message) in [
        (
            "nrf9160-nb-iot --attach every=20s",
            "nrf9160-nb-iot: an attach takes ",
        ),
        (
            "esp32s3-wifi --attach every=30d",
            "esp32s3-wifi: the device has no connection that is kept for some time",
        ),
        (
            "raspberry-pi-2b-3g --attach every=30d",
            "raspberry-pi-2b-3g: the device has no single state in which it is connected",
        ),
        ("nrf9160-nb-iot --attach 30d", "write every=30d,search=1min"),
    ] {
        assert_refused(&cost(home.path(), &format!("run --device {asked}")), message);
    }
}

#[test]
fn coverage_and_connected_drx_change_the_energy_and_what_cannot_be_is_refused() {
    let home = open_folder();
    crate::compared(home.path());
    let joules = |device: &str| {
        let rows = crate::rows(home.path(), &format!("run --device {device} --interval 1h"));
        crate::number(&rows[0]["joules_each"]["mean"])
    };
    let levels =
        ["120dB", "0", "1", "2"].map(|coverage| joules(&format!("nrf9160-nb-iot --coverage {coverage}")));
    assert!(levels.is_sorted() && levels[3] > levels[1] * 1.5, "{levels:?}");
    let title = cost(home.path(), "run --device nrf9160-nb-iot --coverage 1").stdout;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(title.contains("coupling loss 154 dB (level 1: 23 dBm"), "{title}");
    let long = joules("nrf9160-lte-m --cdrx long=2.56s");
    let short = joules("nrf9160-lte-m --cdrx long=320ms");
    assert!(long < short && short < joules("nrf9160-lte-m"), "{long} {short}");
    for (asked, message) in [
        (
            "nrf9160-nb-iot --coverage 170dB",
            "no transport format of NB-IoT reaches over a coupling loss of 170 dB",
        ),
        ("nrf9160-nb-iot --coverage 3", "there are levels 0, 1 and 2"),
        (
            "nrf9160-lte-m --coverage 1",
            "nrf9160-lte-m: the device has no repetitions of NB-IoT (radio.nbiot)",
        ),
        (
            "nrf9160-lte-m --cdrx long=300ms",
            "no network has a long cycle of C-DRX on LTE of 0.3 s: the nearest is 0.32 s",
        ),
        (
            "nrf9160-nb-iot --cdrx long=2.048s",
            "nrf9160-nb-iot: the device has no cdrx_listen, how long it listens in a cycle of C-DRX",
        ),
    ] {
        assert_refused(&cost(home.path(), &format!("run --device {asked}")), message);
    }
}

#[test]
fn a_life_says_how_sure_it_is_in_its_first_lines() {
    let home = open_folder();
    crate::compared(home.path());
    let answer = |device: &str| {
        let said = cost(
            home.path(),
            &format!("run --device {device} --battery 240mAh@3.6V"),
        )
        .stdout;
        let first = said.split("\n\n").next().unwrap_or_default();
        first.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (device, _) in wirecost_scenario::device::BUILT_IN {
        let said = answer(device);
        let is_held = said.contains("of such events are within a factor of");
        let is_never = said.contains("was never held against a measured event");
        assert_ne!(is_held, is_never, "{device}: {said}");
        assert_eq!(is_held, device.starts_with("nrf9160"), "{device}: {said}");
    }
    assert!(answer("nbiot-tr45820").contains("was never held against a measured event"));
    let of_nb_iot = answer("nrf9160-nb-iot");
    assert!(
        of_nb_iot.contains("By 6 events measured of nRF9160, 80 % of such events are within a factor of"),
        "{of_nb_iot}"
    );
    assert!(
        of_nb_iot.contains("none of them says TX power or coverage"),
        "{of_nb_iot}"
    );
    assert!(
        answer("nrf9160-nb-iot --tx-power 0dBm --inactivity 1s")
            .contains("80 % of such events are within a factor of 3.11"),
        "what is set says nothing about how sure the file is"
    );
    let row =
        &crate::rows(home.path(), "run --device nrf9160-nb-iot --battery 240mAh@3.6V")[0]["battery_years"];
    let [low, years, high] = ["low", "years", "high"].map(|key| crate::number(&row[key]));
    assert!(low < years / 1.5 && high > years * 1.5, "{low} {years} {high}");
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
