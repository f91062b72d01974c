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
