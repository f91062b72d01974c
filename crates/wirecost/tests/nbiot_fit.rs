//! `wirecost nbiot --fit` as a user's tool: its command can be repeated, and what cannot be fitted is refused with file and line.

mod common;

use std::path::Path;

use serde_json::Value;

use common::{Said, open_folder, said, wirecost};

/// One cell with few reports.
const CELL: [&str; 8] = [
    "--set",
    "scenario.n_sites=1",
    "--set",
    "scenario.sectors_per_site=1",
    "--seeds",
    "1",
    "--duration",
    "20s",
];

/// A fit of points, with the free parameters of a file.
fn fit(home: &Path, free: &str, words: &[&str]) -> Said {
    std::fs::write(home.join("free.yaml"), free).expect("a file");
    said(
        wirecost(home)
            .args(["nbiot", "-q", "--free", "free.yaml"])
            .args(words)
            .args(CELL),
    )
}

/// A refusal with these words; nothing is written.
fn refused(free: &str, words: &[&str], expected: &[&str]) {
    let home = open_folder();
    let said = fit(home.path(), free, words);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(2), ""),
        "{}",
        said.stderr
    );
    for word in expected {
        assert!(said.stderr.contains(word), "{word}: {}", said.stderr);
    }
}

#[test]
fn the_command_of_the_best_setting_repeats_its_points() {
    let home = open_folder();
    let free = "wirecost: 1\nfree: {levels.ce0.npdcch_g: [4, 8]}";
    let words = [
        "--fit",
        "delay_p50(coap-con,25B,2/s)<20s",
        "--statement",
        "served(coap-con,25B,2/s)>1%",
        "--fits",
        "2",
        "--seed",
        "9",
        "--ipv6",
        "--json",
        "-",
    ];
    let said = fit(home.path(), free, &words);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let fitted: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(fitted["interrupted"], false);
    assert_eq!(fitted["statements"][0]["holds"], 2, "{}", fitted["statements"]);
    let command = fitted["best"].as_str().expect("a command");
    let words = command.strip_prefix("wirecost ").expect("a command of wirecost");
    let mut again = wirecost(home.path());
    let again = common::said(
        again
            .args(words.split(' '))
            .args(["-q", "--json", "-", "--out", "run"]),
    );
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let run: Value = serde_json::from_str(&again.stdout).expect("JSON");
    let settings = fitted["settings"].as_array().expect("settings");
    let delays: Vec<f64> = settings
        .iter()
        .filter_map(|one| one["measured"][0].as_f64())
        .collect();
    let delay = run["points"][0]["delay_p50_s"].as_f64().expect("a delay");
    assert!(delays.contains(&delay), "{delay} of {delays:?}");
}

/// A user's cell whose search spaces and penetration loss are known: two points are measured in it, and fitted without them.
#[test]
fn the_settings_of_a_cell_lie_in_the_printed_spread_of_its_points() {
    let home = open_folder();
    let known = "wirecost: 1\nfree: {levels.ce0.npdcch_g: [8], radio.indoor_loss_db: [44]}";
    let points = [
        "--fit",
        "served(coap-non,25B,2/s)>0%",
        "--fit",
        "delay_p50(coap-con,25B,1/s)<20s",
    ];
    let made = fit(
        home.path(),
        known,
        &[&points[..], &["--fits", "1", "--json", "-"]].concat(),
    );
    let made: Value = serde_json::from_str(&made.stdout).expect("JSON");
    let measured = |point: usize| made["settings"][0]["measured"][point].as_f64().expect("a figure");
    let served = format!("served(coap-non,25B,2/s)={}+-6%", measured(0));
    let delay = format!(
        "delay_p50(coap-con,25B,1/s)={}us+-250ms",
        (1e6 * measured(1)).round()
    );
    let free =
        "wirecost: 1\nfree: {levels.ce0.npdcch_g: [4, 8, 16], radio.indoor_loss_db: {from: 34, to: 54}}";
    let said = fit(
        home.path(),
        free,
        &["--fit", &served, "--fit", &delay, "--fits", "16"],
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let spread = |path: &str| -> String {
        let line = said
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with(path));
        line.and_then(|line| line.trim().rsplit("  ").next())
            .expect(&said.stdout)
            .to_owned()
    };
    let spaces = spread("levels.ce0.npdcch_g");
    assert!(
        spaces.contains("8 in ") && !spaces.contains("8 in 0"),
        "{}",
        said.stdout
    );
    let loss: Vec<f64> = spread("radio.indoor_loss_db")
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect();
    let [least, _, most] = loss[..] else {
        panic!("{}", said.stdout)
    };
    assert!(
        least <= 44.0 && 44.0 <= most && most - least < 15.0,
        "{}",
        said.stdout
    );
}

#[test]
fn a_fit_is_made_of_what_its_shards_wrote() {
    let home = open_folder();
    let free = "wirecost: 1\nfree: {levels.ce0.npdcch_g: [4, 8]}";
    let words = ["--fit", "served(coap-con,25B,2/s)>1%", "--fits", "4"];
    let of = |more: &[&str]| fit(home.path(), free, &[&words[..], more].concat());
    let whole = of(&["--json", "-"]);
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    for (shard, file) in [("1/2", "one.json"), ("2/2", "two.json")] {
        let part = of(&["--shard", shard, "--json", file]);
        assert_eq!(part.code, Some(0), "{}", part.stderr);
    }
    let known = ["--known", "two.json", "--known", "one.json", "--json", "-"];
    assert_eq!(of(&known).stdout, whole.stdout);
    let other = fit(
        home.path(),
        free,
        &[&["--fit", "served(coap-con,25B,2/s)>2%"], &known[..2]].concat(),
    );
    assert_eq!(other.code, Some(2));
    let expected =
        "two.json: it is of another fit: wirecost nbiot --fit 'served(coap-con,25B,2/s)>1%' --fits 4";
    assert!(other.stderr.contains(expected), "{}", other.stderr);
    std::fs::write(home.path().join("two.json"), "{").expect("a file");
    let broken = of(&known);
    assert!(
        broken.code == Some(2) && broken.stderr.contains("two.json: "),
        "{}",
        broken.stderr
    );
}

#[test]
fn a_point_that_no_setting_reaches_ends_with_the_code_of_thresholds_and_the_nearest() {
    let home = open_folder();
    let free = "wirecost: 1\nfree: {levels.ce0.npdcch_g: [2, 4]}";
    let said = fit(
        home.path(),
        free,
        &["--fit", "served(coap-con,25B,1/s)<1%", "--fits", "2"],
    );
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    let error = said.line("error: ").expect("an error");
    let expected = "no setting of free.yaml meets the points: the nearest has served(coap-con,25B,1/s)<1%: ";
    assert!(error.contains(expected), "{error}");
    assert!(
        said.stdout
            .starts_with("0 of 2 settings meet the points\nnearest: "),
        "{}",
        said.stdout
    );
}

#[test]
fn what_cannot_be_fitted_is_refused_with_its_line() {
    let served = ["--fit", "served(tcp,25B,1/s)=95%"];
    refused(
        "wirecost: 1\nfree:\n  scenario.isd_m: 2000\n",
        &served,
        &["free.yaml:3: free.scenario.isd_m: a free parameter has bounds"],
    );
    refused(
        "wirecost: 1\nfree:\n  scenario.isd_m: {from: 1000}\n",
        &served,
        &["free.yaml:3: scenario.isd_m.to is missing"],
    );
    refused(
        "wirecost: 1\nsolved:\n  coverage.mcl_ce1_db: {from: 140, to: 160}\n",
        &served,
        &[
            "free.yaml:3: ",
            "coverage.mcl_ce2_db",
            "above coverage.mcl_ce1_db (160)",
        ],
    );
    refused(
        "wirecost: 1\nfree: {scenario.isd_m: [1000, 2000]}",
        &[&served[..], &["--set", "bearer.pdn_type=non-ip"]].concat(),
        &["no run can decide served(tcp,25B,1/s)=95%: tcp: "],
    );
    refused(
        "wirecost: 1\nfree: {scenario.isd_m: [1000, 2000]}",
        &[
            &served[..],
            &["--statement", "served(tcp,25B,1/s)<served(tcp,25B,1/s)"],
        ]
        .concat(),
        &["--statement", "nothing can decide it"],
    );
    refused(
        "wirecost: 1\nfree: {scenario.isd_m: [1000, 2000]}",
        &["--fit", "served(tcp,25B,41/s)=95%"],
        &["a load is above 0/s and at most 40/s per cell, got 41/s"],
    );
}

#[test]
fn a_profile_with_levels_in_the_wrong_order_is_refused_with_its_line() {
    let home = open_folder();
    let text = "wirecost: 1\nnbiot:\n  profile: study\n  coverage: {mcl_ce1_db: 160}\nstack: tcp\n";
    std::fs::write(home.path().join("cells.yaml"), text).expect("a file");
    let said = said(wirecost(home.path()).args(["run", "cells.yaml"]));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let error = said.line("error: ").expect("an error");
    assert!(error.contains("cells.yaml:4: "), "{error}");
    assert!(
        error.contains("coverage.mcl_ce2_db") && error.contains("above coverage.mcl_ce1_db (160)"),
        "{error}"
    );
}
