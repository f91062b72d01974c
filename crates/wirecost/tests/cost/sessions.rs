//! What the life of a battery follows from, beside the packets: each input by itself.

use serde_json::Value;

use super::common::{open_folder, said, wirecost};
use super::files::assert_refused;
use super::{assert_near, compared, cost, number, rows};

const BATTERY: &str = "--device nrf9160-lte-m --battery 2400mAh@3.6V";
const RESUMED: &str = "compare coap-con+dtls1.2-cid,coap-con+dtls1.2-psk,mqtt-qos1+tls1.3 --start cold,resumed --engine sim -n 1 \
    --size 48B --out run -q";

/// The first row of a stack, its start and a way to use connections.
fn row(rows: &[Value], label: &str, mode: &str) -> Value {
    let is_wanted = |row: &&Value| {
        row["traffic"]
            .as_str()
            .is_some_and(|text| text.starts_with(label))
            && row["mode"] == mode
    };
    rows.iter()
        .find(is_wanted)
        .unwrap_or_else(|| panic!("{label}, {mode}: {rows:?}"))
        .clone()
}

fn years(row: &Value) -> f64 {
    number(&row["battery_years"]["years"])
}

#[test]
fn sleep_current_and_self_discharge_shorten_battery_life() {
    let home = open_folder();
    compared(home.path());
    let file = include_str!("../../../../devices/nrf9160-lte-m.yaml");
    assert!(file.contains("2.7uA"), "the sleep current");
    std::fs::write(home.path().join("dev.yaml"), file.replace("2.7uA", "270uA")).expect("written");
    let of = |arguments: &str| -> Vec<f64> {
        let rows = rows(
            home.path(),
            &format!("run --battery 2400mAh@3.6V --interval 1d --keep-alive 0s {arguments}"),
        );
        rows.iter().map(years).collect()
    };
    let given = of("--device nrf9160-lte-m");
    let sleepless = of("--device ./dev.yaml");
    let leaking = of("--device nrf9160-lte-m --self-discharge 5%");
    for (index, given) in given.iter().enumerate() {
        assert!(sleepless[index] < *given && leaking[index] < *given, "{index}");
        // 1/years is a sum of power and self-discharge.
        assert_near(1.0 / leaking[index] - 1.0 / given, 0.04);
    }
}

#[test]
fn a_handshake_follows_the_end_of_each_session() {
    let home = open_folder();
    let ran = said(wirecost(home.path()).args(RESUMED.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let of = |arguments: &str| rows(home.path(), &format!("run {BATTERY} --keep-alive 0s {arguments}"));
    let (given, daily) = (of(""), of("--session-lifetime 1d"));
    let bytes = |row: &Value| number(&row["bytes_once"]);
    for stack in ["mqtt-qos1+tls1.3", "coap-con+dtls1.2-psk"] {
        let fresh = row(&given, &format!("{stack} cold"), "a connection each");
        let kept = row(&given, &format!("{stack} cold"), "kept open");
        let renewed = row(&daily, &format!("{stack} cold"), "kept open, renewed");
        // One of 96 readings of a day.
        assert_near(
            bytes(&renewed),
            bytes(&kept) + (bytes(&fresh) - bytes(&kept)) / 96.0,
        );
        assert!(
            years(&fresh) < years(&renewed) && years(&renewed) < years(&kept),
            "{stack}"
        );
        // Each connection that starts cold has a full handshake anyway.
        assert_near(
            years(&row(&daily, &format!("{stack} cold"), "a connection each")),
            years(&fresh),
        );
        let resumed = row(&given, &format!("{stack} resumed"), "a connection each");
        let renewed = row(&daily, &format!("{stack} resumed"), "a connection each, renewed");
        assert_near(
            bytes(&renewed),
            bytes(&resumed) + (bytes(&fresh) - bytes(&resumed)) / 96.0,
        );
    }
}

#[test]
fn a_silent_connection_behind_a_nat_is_made_again() {
    let home = open_folder();
    let ran = said(wirecost(home.path()).args(RESUMED.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let of = |arguments: &str| rows(home.path(), &format!("run {BATTERY} {arguments}"));
    let nat = "--nat-timeout udp=60s,tcp=20min";
    let (given, silent) = (of("--interval 1h"), of(&format!("--interval 1h {nat}")));
    // Keep-alives every minute hold the mapping of TCP, and a Connection ID needs none.
    for stack in ["mqtt-qos1+tls1.3 cold", "coap-con+dtls1.2-cid cold"] {
        assert_near(
            years(&row(&silent, stack, "kept open")),
            years(&row(&given, stack, "kept open")),
        );
    }
    let psk = "coap-con+dtls1.2-psk cold";
    let again = row(&silent, psk, "forgotten by the NAT");
    assert!(years(&again) < years(&row(&given, psk, "kept open")));
    assert_near(number(&again["month"]["sessions"]), 2_592_000.0 / 3_600.0);
    // Readings every 30 s are never silent for a minute.
    row(&of(&format!("--interval 30s {nat}")), psk, "kept open");
    // Without keep-alives, or with rare ones, TCP is forgotten as well.
    for keep_alive in ["0s", "25min"] {
        let rows = of(&format!("--interval 1h --keep-alive {keep_alive} {nat}"));
        row(&rows, "mqtt-qos1+tls1.3 cold", "forgotten by the NAT");
    }
}

#[test]
fn sessions_that_change_nothing_are_refused() {
    let home = open_folder();
    compared(home.path());
    let device = "--device nrf9160-lte-m";
    assert_refused(
        &cost(home.path(), &format!("run {device} --session-lifetime 0s")),
        "--session-lifetime must be above 0s",
    );
    for flag in ["--session-lifetime 1d", "--nat-timeout udp=60s"] {
        let name = flag.split(' ').next().expect("a flag");
        assert_refused(
            &cost(home.path(), &format!("run/capture/sim.pcapng {device} {flag}")),
            &format!(
                "{name} has no effect on run/capture/sim.pcapng: only the connections of a comparison can be made again"
            ),
        );
    }
    let words = "compare mqtt-qos1+tls1.3 --start resumed --engine sim -n 1 --size 48B --out resumed -q";
    let ran = said(wirecost(home.path()).args(words.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_refused(
        &cost(home.path(), &format!("resumed {device} --session-lifetime 1d")),
        "--session-lifetime: the run has no full handshake of mqtt-qos1+tls1.3, which starts resumed",
    );
}
