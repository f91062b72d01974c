//! The figures of public pages in `claims/` have the verdicts that their page has.

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{open_folder, said, wirecost};
use serde_json::Value;

#[test]
fn the_public_figures_have_the_verdicts_of_their_page() {
    let claims = concat!(env!("CARGO_MANIFEST_DIR"), "/../../claims");
    let home = open_folder();
    let arguments = ["study", "--from", claims, "--out", "out", "--json", "claims.json"];
    let judged = said(wirecost(home.path()).args(arguments));
    assert_eq!(judged.code, Some(0), "{}{}", judged.stdout, judged.stderr);
    let text = fs::read_to_string(home.path().join("claims.json")).expect("claims");
    let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let text = |claim: &Value, key: &str| claim[key].as_str().expect(key).replace('_', " ");
    let told: BTreeMap<String, String> = all
        .iter()
        .filter(|claim| claim["list"] == "claims")
        .map(|claim| (text(claim, "id"), text(claim, "verdict")))
        .collect();
    let page = fs::read_to_string(format!("{claims}/README.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| P"));
    let written: BTreeMap<String, String> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let verdict = cells[4].split(',').next().unwrap_or_default();
            (cells[0].to_owned(), verdict.to_owned())
        })
        .collect();
    assert_eq!(written.len(), 20);
    assert_eq!(told, written);
}
