//! `report.html` of `wirecost nbiot`, and `wirecost report` on its folder.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod common;

use std::fs;

use common::{open_folder, said, wirecost};

/// One cell with few reports.
const RUN: &str = "nbiot coap-con tcp --size 25B --load 1/s,2/s --seeds 2 --duration 10s --what-if edt --quiet --out run \
                   --set scenario.n_sites=1 --set scenario.sectors_per_site=1";

#[test]
fn report_makes_the_page_of_cells_again_from_the_folder() {
    let home = open_folder();
    let run = said(wirecost(home.path()).args(RUN.split(' ')));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let page = home.path().join("run/report.html");
    let first = fs::read_to_string(&page).expect("a page");
    for part in [
        "id=\"answer\"",
        "id=\"delay\"",
        "id=\"changes\"",
        "id=\"map\"",
        "edt at 2&#x2f;s",
    ] {
        assert!(first.contains(part), "{part}");
    }
    fs::remove_file(&page).expect("a page to remove");
    let again = said(wirecost(home.path()).args(["report", "run"]));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.stdout, "run/report.html\n");
    assert!(
        fs::read_to_string(&page).expect("a page") == first,
        "another page"
    );
}

#[test]
fn a_run_that_is_continued_keeps_its_map() {
    let home = open_folder();
    said(wirecost(home.path()).args(RUN.split(' ')));
    let map = home.path().join("run/map.json");
    let first = fs::read_to_string(&map).expect("a map");
    fs::remove_file(&map).expect("a map to remove");
    let resumed = RUN.replace("--out run", "--resume run");
    let again = said(wirecost(home.path()).args(resumed.split(' ')));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&map).expect("a map"), first);
}
