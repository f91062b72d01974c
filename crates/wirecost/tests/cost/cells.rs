//! Reports in NB-IoT cells: the figures of the folder again, from the times in each state.

use serde_json::Value;

use super::common::{open_folder, said, wirecost};
use super::{cost, number, rows};

const RUN: &str = "nbiot coap-con tcp --size 25B --load 1/s --set scenario.n_sites=1 --set scenario.sectors_per_site=1 \
    --duration 8s --seeds 1 --what-if psm,persistent-tcp --vary idle.tau_period_s=3600,86400 --out run -q";

#[test]
fn a_run_in_cells_has_its_own_energy_and_battery_life() {
    let home = open_folder();
    let said = said(wirecost(home.path()).args(RUN.split_whitespace()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = std::fs::read_to_string(home.path().join("run/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    let points = summary["points"].as_array().expect("points");
    // A tenth of 5 Wh, so that no shelf life ends before it is empty.
    let asked = "run --device nbiot-tr45820 --battery 100mAh@5V --self-discharge 0%";
    let rows = rows(home.path(), asked);
    assert_eq!(rows.len(), points.len());
    let near = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-6, "{got} {expected}");
    for (row, point) in rows.iter().zip(points) {
        near(
            number(&row["once"]["joules"]["mean"]) * 1e3,
            number(&point["energy_mj"]),
        );
        near(
            number(&row["mean_power_w"]["total"]["mean"]) * 86_400e3,
            number(&point["day_mj"]),
        );
        near(
            number(&row["battery_years"]["years"]) * 10.0,
            number(&point["battery_years"]),
        );
        assert_eq!(row["month"]["packets_up"], Value::Null);
    }
    let text = cost(home.path(), asked).stdout;
    assert!(
        text.contains("modelled from the times in each state by devices/nbiot-tr45820.yaml"),
        "{text}"
    );
    assert!(text.contains("layers and causes are not told apart"), "{text}");
    let refused = cost(home.path(), "run --tariff per-mb");
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "error: run holds reports in NB-IoT cells, whose packets are not kept\n\
         hint: give --device alone, or price a run of compare --link nbiot\n"
    );
}

#[test]
fn a_loaded_cell_stands_beside_the_closed_form_with_the_difference_by_cause() {
    let home = open_folder();
    let run = "nbiot coap-non coap-con --size 25B --load 1/s,8/s --set scenario.n_sites=1 --set scenario.sectors_per_site=1 \
        --duration 20s --seeds 1 --out run -q";
    let said = said(wirecost(home.path()).args(run.split_whitespace()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = cost(home.path(), "run --device nbiot-tr45820").stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Cell and closed form of a load, in mJ, and what monitoring adds.
    let beside = |stack: &str, load: &str| {
        let line = text
            .split(&format!("{stack} 25B {load}/s: a report takes "))
            .nth(1)
            .expect("a line");
        assert!(
            line.contains(" blocks again), receiving ") && line.contains(", waiting "),
            "{line}"
        );
        let number = |after: &str| -> f64 {
            let text = line
                .split(after)
                .nth(1)
                .expect("a number")
                .split(' ')
                .next()
                .unwrap_or_default();
            text.trim_matches([',', '+']).parse().expect("a number")
        };
        let cell: f64 = line
            .split(' ')
            .next()
            .and_then(|text| text.parse().ok())
            .expect("a number");
        (cell, number("in the cell, and "), number(" monitoring "))
    };
    // The second one is answered.
    for stack in ["coap-non", "coap-con"] {
        let (quiet, loaded) = (beside(stack, "1"), beside(stack, "8"));
        assert!((quiet.0 / quiet.1 - 1.0).abs() < 0.1, "{stack}: {quiet:?}");
        assert!(
            loaded.0 > loaded.1 && loaded.0 / loaded.1 > quiet.0 / quiet.1,
            "{stack}: {quiet:?} {loaded:?}"
        );
    }
}
