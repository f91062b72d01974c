//! A budget that cannot be judged ends with one sentence that names file and line.

use std::fs;

use super::common::{open_folder, said, wirecost};
use super::{budget, of_one};

#[test]
fn a_limit_that_cannot_be_judged_has_its_line() {
    let home = open_folder();
    for (limit, expected) in [
        (
            "bytes_per_msg{stack=coap-conn}: = 1 B",
            "budget.yaml:7: meter: limits: unknown stack",
        ),
        (
            "bytes_per_msg{stack=coap-con}: = 1 B",
            "budget.yaml:7: meter: limits: bytes_per_msg{stack=coap-con}: nothing of this run is {stack=coap-con}",
        ),
        (
            "frame_bytes: = 1 B",
            "budget.yaml:7: meter: limits: frame_bytes: what it names has no such metric",
        ),
        (
            "month_bytes: <= 1 MB",
            "budget.yaml:7: meter: month_bytes of mqtt-qos1: it has no interval",
        ),
        ("all_in: <= 1 B 2 kB", "budget.yaml:7: limits: all_in:"),
        ("all_in: <= 3 mJ", "budget.yaml:7: limits: all_in:"),
        (
            "month_price{tariff=1nce}: <= 1 EUR",
            "is in EUR, and 1nce charges USD",
        ),
        (
            "month_price{tariff=nobody}: <= 1 EUR",
            "\"nobody\" is not a tariff",
        ),
        (
            "response_time: p(99) < 1 s",
            "budget.yaml:7: meter: response_time of mqtt-qos1: the run has no such figure",
        ),
    ] {
        let refused = budget(home.path(), &of_one("", limit), "--out out");
        assert_eq!(
            refused.code,
            Some(2),
            "{limit}: {}{}",
            refused.stdout,
            refused.stderr
        );
        let error = refused.line("error: ").unwrap_or_default();
        assert!(error.contains(expected), "{limit}: {error}");
        let errors = refused.stderr.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{limit}: {}", refused.stderr);
        drop(fs::remove_dir_all(home.path().join("out")));
    }
}

#[test]
fn a_stack_that_does_not_exist_and_a_file_that_is_not_there_have_their_line() {
    let home = open_folder();
    let unknown = budget(
        home.path(),
        &of_one("", "all_in: = 1 B").replace("mqtt-qos1,", "mqtt-qos9,"),
        "",
    );
    assert_eq!(unknown.code, Some(2));
    let error = unknown.line("error: ").unwrap_or_default();
    assert!(
        error.starts_with("budget.yaml:5: ") && error.contains("mqtt-qos9"),
        "{error}"
    );
    let file = "wirecost_budget: 1\nscenarios:\n  meter:\n    file: away.yaml\n    limits: {all_in: = 1 B}\n";
    let absent = budget(home.path(), file, "");
    assert_eq!(absent.code, Some(2));
    let error = absent.line("error: ").unwrap_or_default();
    assert!(
        error.starts_with("budget.yaml:3: meter: cannot read away.yaml"),
        "{error}"
    );
    fs::write(
        home.path().join("load.yaml"),
        "wirecost: 1\nstack: tcp\nphases: [{do: connect}]\n",
    )
    .expect("written");
    let load = budget(home.path(), &file.replace("away", "load"), "");
    assert_eq!(load.code, Some(2), "{}", load.stderr);
}

#[test]
fn an_old_folder_of_another_scenario_is_refused() {
    let home = open_folder();
    let other = said(wirecost(home.path()).args("compare tcp --engine sim -n 1 --out other -q".split(' ')));
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    let file = of_one("", "all_in: <= 2% above");
    let refused = budget(home.path(), &file, "--against other --out out");
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    let expected = "budget.yaml:4: meter: --against: other holds another scenario: its stacks are tcp, and this one has mqtt-qos1";
    assert_eq!(refused.line("error: "), Some(expected));
    assert!(!home.path().join("out").exists(), "nothing ran");
    let nothing = budget(home.path(), &file, "--against .");
    assert_eq!(
        nothing.line("error: "),
        Some("--against: . is neither a results folder nor that of a budget")
    );
    let twice = budget(home.path(), &file, "--json - --markdown -");
    assert_eq!(twice.code, Some(2), "{}", twice.stderr);
}

#[test]
fn a_results_folder_of_the_one_scenario_is_an_earlier_run_too() {
    let home = open_folder();
    let alone = "compare mqtt-qos1 --engine sim -n 1 --size 64B --out alone -q";
    assert_eq!(said(wirecost(home.path()).args(alone.split(' '))).code, Some(0));
    let judged = budget(
        home.path(),
        &of_one("", "bytes_per_msg: <= 0% above"),
        "--against alone --out new",
    );
    assert_eq!(judged.code, Some(0), "{}{}", judged.stdout, judged.stderr);
}
