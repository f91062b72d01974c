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
    // 7.92 Wh x 3,600 / 792 uW = 36 Ms = 1.14 years, far below the bound of 2.74 years.
    assert_eq!(point(3)["verdict"], "impossible", "{judged}");
    assert_eq!(point(3)["reason"], "above its bound; ours is idle draw alone");
    assert!((number(&point(3)["ours_value"]) - 36e6).abs() < 1.0);
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
