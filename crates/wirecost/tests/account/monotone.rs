//! What can never make a life shorter or a bill larger.

use proptest::prelude::*;
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

/// A case runs the program several times, so that there are few.
fn few() -> ProptestConfig {
    ProptestConfig {
        cases: 4,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The rows of both by their names, each pair of which is in both.
fn pairs<'a>(sooner: &'a Value, later: &'a Value) -> Vec<(&'a Value, &'a Value)> {
    let name = |row: &Value| {
        let mode = row["mode"].as_str().expect("a way").split(' ').next();
        (row["traffic"].clone(), mode.map(str::to_owned))
    };
    assert_eq!(rows(sooner).len(), rows(later).len());
    let each = rows(sooner).iter().zip(rows(later));
    each.inspect(|(sooner, later)| assert_eq!(name(sooner), name(later)))
        .collect()
}

/// That a life is not shorter and its bill not larger. A delayed ACK comes at a time that is drawn for each link: this moves years by
/// some millionths.
fn assert_no_worse(worse: &Value, better: &Value, place: &str) {
    let paid = |row: &Value| number(&row["bill"]["amount"]);
    let name = (&better["traffic"], &better["mode"]);
    assert!(
        years(better) >= years(worse) * (1.0 - 1e-4),
        "{place}: {name:?}: {} and {} years",
        years(worse),
        years(better)
    );
    assert!(paid(better) <= paid(worse), "{place}: {name:?}");
}

/// The server of HTTP/1.1 ends an idle connection after this time, that of HTTP/3 before.
const SERVER_ENDS: u64 = 75;

proptest! {
    #![proptest_config(few())]

    #[test]
    fn no_figure_depends_on_the_pauses_of_a_measurement(
        settle in prop::array::uniform2(50..5_000_u32), interval in 2..90_u32, messages in 1..6_u32,
    ) {
        let home = open_folder();
        let of = |settle: u32| {
            run(
                home.path(),
                &format!(
                    "compare -q --engine sim -n 1 --size 64B --link lte-m --settle {settle}ms --interval {interval}min \
                     --messages-per-connection {messages} {STACKS} --out {settle}"
                ),
            );
            let mut priced = json(home.path(), &format!("cost {settle} {TERMS}"));
            priced["source"] = Value::Null;
            priced
        };
        let [one, other] = settle;
        prop_assert_eq!(of(one), of(other.max(one + 1)));
    }

    /// HTTP/1.1 where the server's close meets the translator in the same state: one that has forgotten the connection by then drops
    /// the FIN, which wakes no device.
    #[test]
    fn a_translator_that_forgets_later_never_shortens_a_life(
        sooner in 20..8_000_u64, longer in 1..8_000_u64, interval in 2..120_u64,
    ) {
        let home = open_folder();
        run(
            home.path(),
            &format!("compare -q --engine sim -n 1 --size 64B --link lte-m {STACKS} --out run"),
        );
        let later = sooner + longer;
        let of = |timeout: u64| {
            json(
                home.path(),
                &format!(
                    "cost run {TERMS} --interval {interval}min --keep-alive 0s --nat-timeout udp={timeout}s,tcp={timeout}s"
                ),
            )
        };
        let (before, after) = (of(sooner), of(later));
        let meets_alike = (sooner > SERVER_ENDS) == (later > SERVER_ENDS);
        for (worse, better) in pairs(&before, &after) {
            let is_http1 = better["traffic"].as_str().is_some_and(|name| name.starts_with("http1"));
            if meets_alike || !is_http1 {
                assert_no_worse(worse, better, &format!("{sooner} s, {later} s, every {interval} min"));
            }
        }
    }

    /// Both intervals are longer than each time-out of a server and than the tails of the device, and the link has no translator.
    #[test]
    fn a_longer_interval_never_shortens_a_life(every in 80..3_000_u64, longer in 1..20_000_u64) {
        let home = open_folder();
        run(
            home.path(),
            &format!("compare -q --engine sim -n 1 --size 64B --link wifi {STACKS} --out run"),
        );
        let of = |every: u64| json(home.path(), &format!("cost run {TERMS} --interval {every}s --keep-alive 0s"));
        let (short, long) = (of(every), of(every + longer));
        for (worse, better) in pairs(&short, &long) {
            assert_no_worse(worse, better, &format!("{every} s, {} s", every + longer));
        }
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
        let figure = |key: &str, value: &str| format!("    {key}: {{value: {value}, source: assumed}}\n");
        let lines = [
            figure("tunnel", tunnel),
            figure("round", round),
            figure("price", &format!("{price} EUR")),
        ];
        let text = format!(
            "wirecost_tariff: 1\ntitle: mine\nrules:\n  data:\n    counts: packets\n{}    per: 1MB\n",
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
