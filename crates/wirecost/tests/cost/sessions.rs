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
            &format!("run --battery 240mAh@3.6V --interval 1d --keep-alive 0s {arguments}"),
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
    let (given, hourly) = (of(""), of("--session-lifetime 1h"));
    let bytes = |row: &Value| number(&row["bytes_once"]);
    for stack in ["mqtt-qos1+tls1.3", "coap-con+dtls1.2-psk"] {
        let fresh = row(&given, &format!("{stack} cold"), "a connection each");
        let kept = row(&given, &format!("{stack} cold"), "persistent for 96");
        let renewed = row(&hourly, &format!("{stack} cold"), "persistent for 4, renewed");
        assert!(
            years(&fresh) < years(&renewed) && years(&renewed) < years(&kept),
            "{stack}"
        );
        assert!(
            bytes(&fresh) > bytes(&renewed) && bytes(&renewed) > bytes(&kept),
            "{stack}"
        );
        // Each connection that starts cold has a full handshake anyway.
        assert_near(
            years(&row(&hourly, &format!("{stack} cold"), "a connection each")),
            years(&fresh),
        );
        // One of four connections of an hour.
        let resumed = row(&given, &format!("{stack} resumed"), "a connection each");
        let renewed = row(&hourly, &format!("{stack} resumed"), "a connection each, renewed");
        assert_near(
            bytes(&renewed),
            bytes(&resumed) + (bytes(&fresh) - bytes(&resumed)) / 4.0,
        );
        assert_near(
            bytes(&row(
                &hourly,
                &format!("{stack} resumed"),
                "persistent for 4, renewed",
            )),
            bytes(&row(
                &hourly,
                &format!("{stack} cold"),
                "persistent for 4, renewed",
            )),
        );
    }
}

/// The full handshakes of sessions that end are simulated, also where the run has none.
#[test]
fn a_run_without_a_full_handshake_still_has_sessions_that_end() {
    let home = open_folder();
    let words = "compare mqtt-qos1+tls1.3 --start resumed --engine sim -n 1 --size 48B --out resumed -q";
    let ran = said(wirecost(home.path()).args(words.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let rows = rows(home.path(), &format!("resumed {BATTERY} --session-lifetime 1h"));
    let modes: Vec<&str> = rows.iter().filter_map(|row| row["mode"].as_str()).collect();
    assert_eq!(modes, ["a connection each, renewed", "persistent for 4, renewed"]);
}

#[test]
fn the_nat_of_the_link_forgets_silent_connections_and_a_typed_one_overrides_it() {
    let home = open_folder();
    let words = "compare mqtt-qos1+tls1.3 --engine sim -n 1 --size 48B --link lte-m --out run -q";
    let ran = said(wirecost(home.path()).args(words.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sessions = |arguments: &str| {
        let rows = rows(
            home.path(),
            &format!("run {BATTERY} --interval 1h --keep-alive 0s {arguments}"),
        );
        number(&row(&rows, "mqtt-qos1+tls1.3", "persistent for 24")["month"]["sessions"])
    };
    // lte-m forgets TCP after 20 min.
    assert!(sessions("") > 300.0);
    assert_near(sessions("--nat-timeout tcp=2h"), 30.0);
    // Keep-alives every quarter of an hour hold the mapping.
    let rows = rows(
        home.path(),
        &format!("run {BATTERY} --interval 1h --keep-alive 15min"),
    );
    assert_near(
        number(&row(&rows, "mqtt-qos1+tls1.3", "persistent for 24")["month"]["sessions"]),
        30.0,
    );
}

/// lte-m gives another port to a UDP port that it has forgotten: a DTLS session without a connection ID is then gone.
#[test]
fn a_typed_port_of_the_nat_overrides_that_of_the_link() {
    let home = open_folder();
    let words = "compare coap-con+dtls1.2-psk,coap-con+dtls1.2-cid --engine sim -n 1 --size 48B --link lte-m --out run -q";
    let ran = said(wirecost(home.path()).args(words.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let bytes = |stack: &str, arguments: &str| {
        let rows = rows(home.path(), &format!("run {BATTERY} --interval 1h {arguments}"));
        number(&row(&rows, stack, "persistent for 24")["bytes_once"])
    };
    let (psk, cid) = ("coap-con+dtls1.2-psk", "coap-con+dtls1.2-cid");
    assert!(bytes(psk, "") > 1.5 * bytes(psk, "--nat same-port"));
    assert_near(bytes(psk, "--nat new-port"), bytes(psk, ""));
    assert_near(bytes(cid, "--nat same-port"), bytes(cid, ""));
    assert_near(
        bytes(psk, "--nat new-port --nat-timeout udp=2h"),
        bytes(psk, "--nat same-port"),
    );
}

#[test]
fn a_port_that_no_nat_gives_is_refused() {
    let home = open_folder();
    compared(home.path());
    assert_refused(
        &cost(home.path(), "run --device nrf9160-lte-m --nat new-port"),
        "--nat needs --nat-timeout udp=TIME",
    );
}

/// A client sends a PINGREQ a keep-alive after its last packet: none is due where readings come sooner.
#[test]
fn keep_alives_that_are_never_due_cost_nothing() {
    let home = open_folder();
    let words = "compare mqtt-qos1+tls1.3 --engine sim -n 1 --size 48B --out run -q";
    let ran = said(wirecost(home.path()).args(words.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let of = |keep_alive: &str| {
        let rows = rows(
            home.path(),
            &format!("run {BATTERY} --interval 15min --keep-alive {keep_alive}"),
        );
        row(&rows, "mqtt-qos1+tls1.3", "persistent for 96")
    };
    let (rare, none) = (of("1080s"), of("0s"));
    assert_eq!(number(&rare["month"]["keep_alives"]), 0.0);
    assert_near(years(&rare), years(&none));
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
    for flag in [
        "--session-lifetime 1d",
        "--nat-timeout udp=60s",
        "--nat new-port",
        "--keep-alive 0s",
    ] {
        let name = flag.split(' ').next().expect("a flag");
        assert_refused(
            &cost(home.path(), &format!("run/capture/sim.pcapng {device} {flag}")),
            &format!(
                "{name} has no effect on run/capture/sim.pcapng: only the lives of a comparison can be simulated again"
            ),
        );
    }
}
