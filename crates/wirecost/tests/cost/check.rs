//! `--check`: published figures, recomputed.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::files::assert_refused;
use super::{cost, number, open_folder};

const PAGE: &str = include_str!("../../../../docs/models/energy.md");
const BEGIN: &str = "wirecost: 1\nstudy: mine\nsource: a data sheet\nclaims:\n";

/// The claims with their points, of a file with these claims.
fn checked(home: &Path, claims: &str) -> Value {
    fs::write(home.join("claims.yaml"), format!("{BEGIN}{claims}")).expect("claims");
    let said = cost(home, "--check claims.yaml --json -");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn the_page_shows_the_tables_of_published_figures() {
    let home = open_folder();
    for (file, rows) in [("claims.yaml", 47), ("nrf9160.yaml", 7)] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/published-energy");
        let said = cost(home.path(), &format!("--check {folder}/{file}"));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let lines: Vec<&str> = said.stdout.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), rows, "{}", said.stdout);
        for line in &lines[1..] {
            assert!(
                PAGE.contains(line.trim_start_matches("* ")),
                "docs/models/energy.md lacks {line}"
            );
        }
    }
    assert!(!home.path().join("runs").exists(), "the runs are temporary");
}

#[test]
fn battery_life_and_bytes_of_a_month_are_arithmetic() {
    let home = open_folder();
    let judged = checked(
        home.path(),
        "- {id: bytes, says: keep-alives, published: 5.4MB, arithmetic: \"1 month / 60 s * 124 B\"}\n\
         - {id: years, says: a reading each hour takes 0.05 mAh, published: 5.5year, arithmetic: \"2400 mAh / (0.05 mAh / 1 h)\"}\n\
         - {id: joules, says: an hour at 10 mA, published: 118.8J, arithmetic: \"10 mA * 1 h * 3.3 V\"}\n\
         - {id: rest, says: a device that sleeps, published: 40year, within: 0%, model: \"2400 mAh * 3.3 V / [idle of esp32s3-wifi]\", \
            bound: {most: \"2400 mAh / 100 uA\"}}\n",
    );
    let point = |at: usize| &judged[at]["points"][0];
    assert_eq!(point(0)["verdict"], "reproduced", "{judged}");
    assert_eq!(point(1)["verdict"], "reproduced", "{judged}");
    assert_eq!(point(2)["verdict"], "reproduced", "{judged}");
    // 2,400 mAh at 0.77 mA are 11.2 Ms, 0.36 years, far below the bound of 2.74 years.
    assert_eq!(point(3)["verdict"], "contradicted", "{judged}");
    assert_eq!(point(3)["reason"], "above its bound; ours is idle draw alone");
    assert!((number(&point(3)["ours_value"]) - 2.4 * 3_600.0 / 0.77e-3).abs() < 1.0);
    assert!((number(&point(3)["bound_value"]) - 86.4e6).abs() < 1.0);
}

#[test]
fn wrong_claims_are_refused_with_file_and_line() {
    let home = open_folder();
    for (claim, message) in [
        (
            "- {id: a, says: b, published: 1mAh, model: \"[idle of esp32] / 5 V\"}",
            "claims.yaml:5: model: ",
        ),
        (
            "- {id: a, says: b, published: 1mAh, model: \"[idle of esp32s3-wifi] / 5 V\"}",
            "has another unit",
        ),
        (
            "- {id: a, says: b, published: 1mAh, arithmetic: \"2000 mAh / \"}",
            "claims.yaml:5: arithmetic: ",
        ),
        (
            "- {id: a, says: b, published: 1 mAhh, arithmetic: \"1\"}",
            "\"mAhh\" is not a unit",
        ),
        (
            "- {id: a, says: b, published: 1mAh, arithmetic: \"1 mAh\", bound: {least: \"5 V\"}}",
            "bound: 5 V has another unit",
        ),
        (
            "- {id: a, says: b, published: 1uJ, value: \"nowhere/energy{device=esp32s3-wifi} mean\"}",
            "none of the runs",
        ),
        (
            "- {id: a, says: b, published: 1uJ, joules: 2}",
            "claims.yaml:5: unknown key \"joules\"",
        ),
    ] {
        fs::write(home.path().join("claims.yaml"), format!("{BEGIN}{claim}\n")).expect("claims");
        assert_refused(&cost(home.path(), "--check claims.yaml"), message);
    }
    assert_refused(
        &cost(home.path(), "--check nowhere.yaml"),
        "cannot read nowhere.yaml",
    );
}

/// The folder of the project.
const MEASUREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../measurements");

/// Predicted over measured of the points of which nothing was fitted in their publication.
fn ratios(checked: &Value, publication: &str) -> Vec<(String, f64)> {
    let points = checked["points"].as_array().expect("points").iter();
    let wanted =
        points.filter(|point| point["publication"] == publication && point["held_out"] == "a publication");
    wanted
        .map(|point| {
            let ratio = number(&point["predicted"]) / number(&point["measured"]);
            (point["point"].as_str().expect("a name").to_owned(), ratio)
        })
        .collect()
}

#[test]
fn measurements_are_predicted_by_fits_that_have_not_seen_them() {
    let home = open_folder();
    let said = cost(home.path(), &format!("--check {MEASUREMENTS} --json -"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let checked: Value = serde_json::from_str(&said.stdout).expect("JSON");
    // The profiler of the maker is 58 % below the first, 15 % with measured timers below the second.
    for (id, ratio) in ratios(&checked, "nordic-power-optimization") {
        assert!((ratio - 1.0).abs() < 0.15, "{id}: {ratio}");
    }
    let of_2022 = ratios(&checked, "kraus-2022-09");
    let of_nb_iot: Vec<_> = of_2022
        .iter()
        .filter(|(id, _)| id.starts_with("kraus09-nb"))
        .collect();
    assert_eq!(of_nb_iot.len(), 5);
    for (id, ratio) in of_nb_iot {
        assert!((0.5..2.0).contains(ratio), "{id}: {ratio}");
    }
    let points = checked["points"].as_array().expect("points").iter();
    let predicted: Vec<f64> = points
        .filter(|point| point["held_out"] == "a publication")
        .filter(|point| {
            point["point"]
                .as_str()
                .is_some_and(|id| id.starts_with("kraus09-nb"))
        })
        .map(|point| number(&point["predicted"]))
        .collect();
    assert!(
        predicted.is_sorted(),
        "in the order of what was measured: {predicted:?}"
    );
}

#[test]
fn the_page_shows_the_errors_of_each_class() {
    let home = open_folder();
    let said = cost(home.path(), &format!("--check {MEASUREMENTS}"));
    let classes = said.stdout.split("\n\n").nth(1).expect("a table");
    for line in classes.lines() {
        assert!(PAGE.contains(line), "docs/models/energy.md lacks {line}");
    }
}

#[test]
fn wrong_measurements_are_refused_with_file_and_line() {
    let home = open_folder();
    fs::create_dir(home.path().join("points")).expect("a folder");
    assert_refused(
        &cost(home.path(), "--check points"),
        "points has no file of measurements",
    );
    let begin = "wirecost_measurements: 1\npublication: Somebody, 2024\npoints:\n  - {id: one, use: state, device: chip, \
        rail: all, place: here,";
    for (rest, message) in [
        (
            "quantity: charge, measured: 5mA}",
            "points/one.yaml:4: points.measured: ",
        ),
        (
            "quantity: current, measured: 5mA, active: 9s}",
            "no network has an active time (T3324) of 9 s",
        ),
        (
            "quantity: current, measured: 5mA, edrx: 80s}",
            "no network has a cycle of eDRX on LTE of 80 s",
        ),
        (
            "quantity: warmth, measured: 5mA}",
            "points/one.yaml:4: points.quantity: this is no quantity",
        ),
    ] {
        fs::write(home.path().join("points/one.yaml"), format!("{begin} {rest}\n")).expect("points");
        assert_refused(&cost(home.path(), "--check points"), message);
    }
}
