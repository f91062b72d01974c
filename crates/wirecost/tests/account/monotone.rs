//! What can never make a life shorter or a bill larger.

use serde_json::Value;

use super::common::open_folder;
use super::{TERMS, json, number, run};

const STACKS: &str = "coap-con+dtls1.2-psk,mqtt-qos1+tls1.3,http1+tls1.3,http3";

fn rows(value: &Value) -> &[Value] {
    value["rows"].as_array().expect("rows")
}

fn years(row: &Value) -> f64 {
    number(&row["battery_years"]["years"])
}

#[test]
fn no_figure_depends_on_the_pauses_of_a_measurement() {
    let home = open_folder();
    let of = |settle: &str| {
        run(
            home.path(),
            &format!(
                "compare -q --engine sim -n 1 --size 64B --link lte-m --settle {settle} --interval 15min \
                 --messages-per-connection 1,4 {STACKS} --out {settle}"
            ),
        );
        let mut priced = json(home.path(), &format!("cost {settle} {TERMS}"));
        priced["source"] = Value::Null;
        priced
    };
    let usual = of("1s");
    assert_eq!(usual, of("200ms"));
    assert_eq!(usual, of("3s"));
}

/// Without HTTP/1.1, whose server ends an idle connection after 75 s: a translator that has forgotten it by then drops the FIN, which
/// wakes no device. A delayed ACK comes at a time that is drawn for each link: this moves years by some millionths.
#[test]
fn a_translator_that_forgets_later_never_shortens_a_life() {
    let home = open_folder();
    run(
        home.path(),
        "compare -q --engine sim -n 1 --size 64B --link lte-m coap-con+dtls1.2-psk,mqtt-qos1+tls1.3,http3 --out run",
    );
    let mut before: Option<Value> = None;
    for timeout in ["1min", "10min", "16min", "2h"] {
        let now = json(
            home.path(),
            &format!(
                "cost run {TERMS} --interval 15min --keep-alive 0s --nat-timeout udp={timeout},tcp={timeout}"
            ),
        );
        let pairs = before.iter().flat_map(rows).zip(rows(&now));
        for (sooner, later) in pairs {
            let name = (&later["traffic"], &later["mode"]);
            assert!(
                years(later) >= years(sooner) * (1.0 - 1e-4),
                "{timeout}, {name:?}"
            );
            let paid = |row: &Value| number(&row["bill"]["amount"]);
            assert!(paid(later) <= paid(sooner), "{timeout}, {name:?}");
        }
        before = Some(now);
    }
}

#[test]
fn a_cheaper_tariff_never_costs_more_and_its_usage_is_the_same() {
    let home = open_folder();
    run(
        home.path(),
        &format!(
            "compare -q --engine sim -n 1 --size 64B --link lte-m {STACKS} --interval 15min --keep-alive 0s \
             --messages-per-connection 1,4 --out run"
        ),
    );
    let file = |price: &str, round: &str, tunnel: &str| {
        let figure = |key: &str, value: &str| format!("  {key}: {{value: {value}, source: assumed}}\n");
        let lines = [
            figure("tunnel", tunnel),
            figure("round", round),
            figure("price", &format!("{price} EUR")),
        ];
        let text = format!(
            "wirecost_tariff: 1\ntitle: mine\nbytes:\n{}  period: month\n  per: 1MB\n",
            lines.concat()
        );
        std::fs::write(home.path().join("mine.yaml"), text).expect("a tariff");
        json(home.path(), "cost run --tariff ./mine.yaml")
    };
    let dear = file("2", "100kB", "54B");
    for cheap in [
        file("1", "100kB", "54B"),
        file("2", "1kB", "54B"),
        file("2", "100kB", "0B"),
    ] {
        for (dear, cheap) in rows(&dear).iter().zip(rows(&cheap)) {
            assert_eq!(dear["month"], cheap["month"]);
            assert!(number(&cheap["bill"]["amount"]) <= number(&dear["bill"]["amount"]));
        }
    }
}
