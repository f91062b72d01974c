//! The figures of several devices, of a day or a year.

use serde_json::Value;

use super::common::open_folder;
use super::{TERMS, json, number, run};

fn assert_near(got: f64, expected: f64, what: &str) {
    assert!((got / expected - 1.0).abs() < 1e-9, "{what}: {got}, {expected}");
}

#[test]
fn a_fleet_in_a_period_has_the_figures_of_one_device_in_a_month_as_often() {
    let home = open_folder();
    let home = home.path();
    run(
        home,
        "compare -q --engine sim -n 1 --size 64B --link lte-m coap-con+oscore --out run",
    );
    for (per, months) in [("day", 1.0 / 30.0), ("month", 1.0), ("year", 365.0 / 30.0)] {
        let fleet = format!("--devices 7 --per {per}");
        let cost = json(home, &format!("cost run {TERMS} --interval 15min {fleet}"));
        assert_eq!(
            (&cost["devices"], &cost["per"]),
            (&Value::from(7), &Value::from(per))
        );
        let row = &cost["rows"][0];
        let (month, of_fleet) = (&row["month"], &row["fleet"]);
        let times = 7.0 * months;
        for key in ["bytes_up", "bytes_down", "packets_up", "messages"] {
            assert_near(number(&of_fleet[key]), number(&month[key]) * times, key);
        }
        let joules = |of: &Value| number(&of["joules"]["mean"]);
        assert_near(joules(of_fleet), joules(month) * times, "joules");
        let amount = number(&row["bill"]["amount"]);
        assert_near(number(&of_fleet["bill"]["amount"]), amount * times, "money");
        let choice = json(
            home,
            &format!(
                "choose -q -n 1 --size 64B --every 15min --link lte-m {TERMS} coap-con+oscore {fleet} --out choice-{per}"
            ),
        );
        assert_eq!(choice["per"], per);
        let chosen = &choice["rows"][0]["figures"]["fleet"];
        assert_near(
            number(&chosen["bytes_up"]),
            number(&of_fleet["bytes_up"]),
            "choose: bytes",
        );
        assert_near(joules(chosen), joules(of_fleet), "choose: joules");
        let bill = |of: &Value| number(&of["bill"]["amount"]);
        assert_near(bill(chosen), bill(of_fleet), "choose: money");
    }
}
