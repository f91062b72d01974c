//! Scenarios of programs of other makers.

use wirecost_results::{Cell, Summary};

use super::common::{Said, need_program, open_folder, said, wirecost};
use super::{Home, assert_code};

const POST: &str = "curl -sS -o /dev/null -H 'Authorization: FlespiToken \
    0123456789012345678901234567890123456789012345678901234567890123' \
    -d '{\"test\":1234}' http://{server}/gw/channels/1/messages";

fn scenario(program: &str, more: &str) -> String {
    format!("wirecost: 1\nprogram: >-\n  {program}\ncount: 2\nsettle: 200ms\n{more}")
}

fn run(home: &Home, program: &str, more: &str, words: &[&str]) -> Said {
    home.write("a.yaml", &scenario(program, more));
    let mut command = wirecost(home.path());
    said(command.args(["run", "a.yaml", "--allow-programs"]).args(words))
}

fn only_cell(home: &Home) -> Cell {
    let text = std::fs::read_to_string(home.file("summary.json")).expect("a summary");
    let summary: Summary = serde_json::from_str(&text).expect("a summary of this version");
    let [cell] = summary.cells.try_into().expect("one cell");
    cell
}

#[test]
#[ignore = "needs root and curl"]
fn a_program_is_a_cell_with_the_figures_of_its_captures() {
    need_program("curl", "curl");
    let home = Home::new();
    let more = "serve: http1\nlink: {rtt: 20ms}\nframing: ethernet\n";
    let ran = run(&home, POST, more, &["--out", "run"]);
    assert_code(&ran, 0);
    let cell = only_cell(&home);
    assert_eq!(
        (cell.stack.as_str(), cell.labels["program"].as_str()),
        ("curl", "curl")
    );
    let frames = cell.frames.clone().expect("frames");
    assert_eq!(
        (frames.up, frames.header_bytes),
        (Some(675.0), 14),
        "591 B in six packets"
    );
    let mut pcap = wirecost(home.path());
    let table = said(pcap.args([
        "pcap",
        "run/programs/0002/capture/all.pcapng",
        "--framing",
        "ethernet",
    ]));
    let words = "as ethernet frames, each packet with 14 B more: 675 B up";
    assert!(table.stdout.contains(words), "{}", table.stdout);
    let program = cell.program.clone().expect("what the program cost");
    assert_eq!((program.time_ns.n, program.cpu_ns.n), (2, 2));
    assert!(
        program.cpu_ns.min > 0 && program.time_ns.min > 40_000_000,
        "two round trips at least"
    );
    for file in ["report.html", "summary.csv", "summary.md"] {
        assert!(home.file(file).exists(), "{file}");
    }
    std::fs::remove_dir_all(home.file("programs")).expect("the captures");
    let again = run(&home, POST, more, &["--resume", "run"]);
    assert_code(&again, 0);
    assert!(
        !home.file("programs").exists(),
        "a run that is there is not made again"
    );
    assert_eq!(only_cell(&home), cell);
}

#[test]
#[ignore = "needs root"]
fn a_program_without_figures_says_why_it_has_none() {
    for (program, why) in [
        (
            "sh -c 'echo one >&2; echo no route >&2; exit 7'",
            "sh ended with exit code 7 and said \"no route\"",
        ),
        ("sh -c 'kill -9 $$'", "sh ended by signal 9 and said nothing"),
        ("no-such-client --help", "no-such-client is not installed"),
    ] {
        let home = Home::new();
        let ran = run(&home, program, "", &["--out", "run"]);
        assert_code(&ran, 13);
        assert_eq!(only_cell(&home).not_run.as_deref(), Some(why));
    }
    let home = Home::new();
    let ran = run(
        &home,
        "curl http://{server}/",
        "server: no-such-server\n",
        &["--out", "run"],
    );
    assert_code(&ran, 13);
    let why = "the server no-such-server of curl is not installed";
    assert_eq!(only_cell(&home).not_run.as_deref(), Some(why));
}

#[test]
#[ignore = "needs root"]
fn a_program_that_takes_too_much_is_killed() {
    for (program, more, why) in [
        ("sleep 600", "timeout: 400ms\n", "sleep still ran after 400ms"),
        ("yes", "", "yes wrote more than 10MB of output"),
        (
            "sh -c 'trap \"\" TERM INT; while :; do sleep 1; done'",
            "timeout: 400ms\n",
            "sh still ran after 400ms",
        ),
    ] {
        let home = Home::new();
        let ran = run(&home, program, more, &["--out", "run"]);
        assert_code(&ran, 13);
        assert_eq!(only_cell(&home).not_run.as_deref(), Some(why));
    }
}

#[test]
#[ignore = "needs root"]
fn the_reason_of_a_failure_is_short_and_can_be_shown() {
    let long = "sh -c 'head -c 5000 /dev/zero | tr \"\\0\" x; exit 3'";
    let not_text = "sh -c 'printf \"caf\\351\\n\"; exit 3'";
    for (program, begins) in [
        (
            long,
            format!("sh ended with exit code 3 and said \"{}", "x".repeat(150)),
        ),
        (not_text, "sh ended with exit code 3 and said \"caf".to_owned()),
    ] {
        let home = Home::new();
        let ran = run(&home, program, "", &["--out", "run"]);
        assert_code(&ran, 13);
        let why = only_cell(&home).not_run.expect("a reason");
        assert!(why.starts_with(&begins) && why.len() < 300, "{why}");
    }
}

#[test]
#[ignore = "needs root"]
fn an_interrupted_run_is_none_and_can_be_made_again() {
    let home = Home::new();
    // It takes the signal for an order to end well: its run would look like one that ended by itself.
    let go = home.path().join("go");
    let program = format!(
        "sh -c 'touch {{folder}}/started; trap \"exit 0\" TERM; while test ! -e {}; do sleep 0.05; done'",
        go.display()
    );
    home.write("a.yaml", &scenario(&program, ""));
    let mut command = wirecost(home.path());
    let mut child = command
        .args(["run", "a.yaml", "--allow-programs", "--out", "run"])
        .spawn()
        .expect("wirecost");
    let started = home.file("programs/0001/started");
    while !started.exists() && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .arg(&pid)
            .status()
            .expect("kill")
            .success()
    );
    assert_eq!(child.wait().expect("its end").code(), Some(128 + 15));
    assert!(
        !home.file("summary.json").exists(),
        "a run that was interrupted has no figures"
    );
    std::fs::write(go, "").expect("a file");
    let again = run(&home, &program, "", &["--resume", "run"]);
    assert_code(&again, 0);
    assert_eq!(only_cell(&home).program.expect("figures").time_ns.n, 2);
}

#[test]
fn a_program_runs_only_where_the_user_allows_it() {
    let home = open_folder();
    std::fs::write(home.path().join("a.yaml"), scenario("curl http://{server}/", "")).expect("a file");
    std::fs::write(home.path().join("b.yaml"), scenario("curl 'http://{server}/", "")).expect("a file");
    for (words, expected) in [
        (
            &["a.yaml"][..],
            "hint: add --allow-programs if you trust the file",
        ),
        (
            &["a.yaml", "--allow-programs", "--engine", "sim"],
            "cannot run in virtual time",
        ),
        (&["a.yaml", "b.yaml", "--allow-programs"], "a program runs alone"),
        (&["b.yaml", "--allow-programs"], "has a quote that is not closed"),
    ] {
        let refused = said(wirecost(home.path()).arg("run").args(words));
        assert_code(&refused, 2);
        assert!(refused.stderr.contains(expected), "{words:?}: {}", refused.stderr);
    }
    assert!(!home.path().join("runs").exists(), "nothing was run");
}
