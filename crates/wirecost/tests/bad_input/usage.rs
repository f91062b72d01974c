//! Contradictory command lines.

use crate::common::{open_folder, said, wirecost};
use crate::files;

/// Fails if `text` differs from the snapshot of that name. The snapshot contains command lines, each after `$
/// wirecost`, and their output, which `text_of` makes from the arguments.
fn check_snapshot(name: &str, text_of: impl Fn(&str) -> String) {
    let path = format!("{}/tests/snapshots/{name}", env!("CARGO_MANIFEST_DIR"));
    let accepted = std::fs::read_to_string(&path).expect("a file of command lines");
    let commands = accepted
        .lines()
        .filter_map(|line| line.strip_prefix("$ wirecost "));
    let texts: Vec<String> = commands
        .map(|arguments| format!("$ wirecost {arguments}\n{}\n", text_of(arguments).trim_end()))
        .collect();
    assert!(!texts.is_empty(), "{name} names no command");
    let text = texts.join("\n");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &text).expect("a file");
    } else if let Some(changed) = texts.iter().find(|text| !accepted.contains(*text)) {
        panic!("{name} has another text; UPDATE_SNAPSHOTS=1 accepts this one:\n{changed}");
    }
}

#[test]
fn an_impossible_command_line_is_refused_and_writes_nothing() {
    check_snapshot("refused.txt", |arguments| {
        let home = open_folder();
        let said = said(wirecost(home.path()).args(arguments.split(' ')));
        let place = format!("wirecost {arguments}\n{}", said.stderr);
        assert_eq!(said.code, Some(2), "{place}");
        let errors = said.stderr.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{place}");
        assert!(!said.stderr.contains("panicked"), "{place}");
        assert_eq!(said.stdout, "", "{place}");
        assert_eq!(files(home.path()), Vec::<String>::new(), "{place}");
        // Before the error, the program may print its next step, with the time.
        let error = said.stderr.find("error: ").unwrap_or_default();
        said.stderr[error..].to_owned()
    });
}

#[test]
fn every_command_has_the_help_that_was_accepted() {
    check_snapshot("help.txt", |arguments| {
        let home = open_folder();
        let said = said(wirecost(home.path()).args(arguments.split(' ')));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stdout
    });
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let home = open_folder();
    let said = said(wirecost(home.path()).args(["compare", "--out", "/proc/nope"]));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("cannot create /proc/nope: "),
        "{}",
        said.stderr
    );
}

#[test]
fn results_are_never_written_over() {
    let home = open_folder();
    std::fs::create_dir(home.path().join("run")).expect("a folder");
    std::fs::write(home.path().join("run/summary.json"), "mine").expect("a file");
    let said = said(wirecost(home.path()).args(["compare", "-n", "1", "--out", "run"]));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert_eq!(said.line("error: "), Some("run is not empty"));
    assert_eq!(files(home.path()), ["run/summary.json"]);
}

#[test]
fn a_comparison_of_which_nothing_can_be_run_has_failed() {
    for command in [
        "compare --engine sim udp -s 70kB -n 1 --out run",
        "compare --engine sim http3 --mtu 600B -n 1 --out run",
        "run a.yaml --out run",
    ] {
        let home = open_folder();
        let scenario = "wirecost: 1\nstack: udp\nsize: 70kB\nengine: sim\nsamples: 1\n";
        std::fs::write(home.path().join("a.yaml"), scenario).expect("a file");
        let said = said(wirecost(home.path()).args(command.split(' ')));
        assert_eq!(said.code, Some(13), "{command}: {}", said.stderr);
        let error = "none of the cells could be run; the table says why";
        assert_eq!(said.line("error: "), Some(error), "{}", said.stderr);
        assert!(said.stdout.contains("not run: "), "{}", said.stdout);
        let summary = crate::common::summary_in(&home.path().join("run"));
        assert!(summary.cells.iter().all(|cell| cell.not_run.is_some()));
    }
}

#[test]
fn one_stacks_limits_fail_no_other_stack() {
    let home = open_folder();
    let command = "compare --engine sim udp,tcp -s 70kB -n 1 --out run";
    let said = said(wirecost(home.path()).args(command.split(' ')));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
#[ignore = "needs root"]
fn a_stack_that_cannot_carry_the_payload_is_skipped() {
    crate::common::need_root();
    let run = crate::common::Run::compare("udp,tcp -s 70kB -n 1 --settle 200ms");
    let [udp, tcp] = run.summary.cells.as_slice() else {
        panic!("two cells")
    };
    assert!(
        udp.not_run.as_ref().is_some_and(|why| why.contains("65507")),
        "{:?}",
        udp.not_run
    );
    assert!(udp.message.is_none() && udp.outcomes.offered == 0);
    assert!(tcp.valid && tcp.not_run.is_none() && tcp.outcomes.delivered == 1);
}
