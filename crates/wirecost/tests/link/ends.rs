//! The command ends as the program does.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::common::{ended, need_program, said};
use super::{Home, MOSQUITTO, assert_code};

#[test]
#[ignore = "needs root"]
fn the_exit_code_is_the_programs_own() {
    let home = Home::new();
    let said = home.run("-q", &["sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_code(&said, 3);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(home.summary()["exit_code"], 3);
    let page = std::fs::read_to_string(home.file("report.html")).expect("a report");
    assert!(
        page.contains("ended with 3") && page.contains("echo err &gt;&amp;2"),
        "{page}"
    );
}

#[test]
#[ignore = "needs root"]
fn a_signal_is_reported_like_in_a_shell() {
    let home = Home::new();
    let said = home.run("", &["sh", "-c", "kill -USR1 $$"]);
    assert_code(&said, 128 + 10);
    assert!(said.stderr.contains("sh ended by signal 10"), "{}", said.stderr);
}

#[test]
#[ignore = "needs root"]
fn input_is_passed_through() {
    let home = Home::new();
    let mut command = home.command("-q", &["cat"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"from outside").expect("written");
    drop(input);
    let said = ended(child);
    assert_code(&said, 0);
    assert_eq!(said.stdout, "from outside");
}

#[test]
#[ignore = "needs root"]
fn a_program_that_is_not_there_is_named_and_leaves_nothing() {
    let home = Home::new();
    let said = home.run("-q", &["no-such-program", "x"]);
    assert_code(&said, 127);
    assert_eq!(
        said.line("error: "),
        Some("cannot run no-such-program: No such file or directory (os error 2)")
    );
    assert!(said.line("hint: ").is_some_and(|hint| hint.contains("sh -c")));
    assert!(!home.path().join("run").exists(), "an empty folder stays");
}

#[test]
#[ignore = "needs root"]
fn a_program_that_asks_its_own_machine_is_told_of_the_server() {
    let home = Home::new();
    let said = home.run("", &["sh", "-c", "exit 1", "localhost"]);
    assert_code(&said, 1);
    let hint = said.line("hint: behind the link localhost is the device itself");
    assert!(
        hint.is_some_and(|hint| hint.contains("{server}")),
        "{}",
        said.stderr
    );
    let home = Home::new();
    let said = home.run("", &["sh", "-c", "exit 1", "192.0.2.2"]);
    assert_eq!(said.line("hint: "), None, "{}", said.stderr);
}

#[test]
#[ignore = "needs root"]
fn a_file_that_is_not_a_program_is_named() {
    let home = Home::new();
    let said = home.run("-q", &["/etc/passwd"]);
    assert_code(&said, 126);
    assert!(
        said.line("error: ")
            .is_some_and(|line| line.contains("/etc/passwd"))
    );
}

#[test]
#[ignore = "needs root"]
fn background_processes_end_with_the_program() {
    let home = Home::new();
    let marker = home.path().join("alive");
    let script = format!(
        "(while :; do touch {}; sleep 0.05; done) & exit 0",
        marker.display()
    );
    let said = home.run("", &["sh", "-c", &script]);
    assert_code(&said, 0);
    assert!(
        said.line("warning: ")
            .is_some_and(|line| line.contains("left running"))
    );
    drop(std::fs::remove_file(&marker));
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!marker.exists(), "it runs on");
}

#[test]
#[ignore = "needs root"]
fn where_pid_namespaces_are_refused_one_line_says_so() {
    need_program("unshare", "util-linux");
    let home = Home::new();
    let refuse = "echo 0 > /proc/sys/user/max_pid_namespaces && exec \"$@\"";
    let link = home.command("--packet-path veth", &["sh", "-c", "sleep 60 & exit 3"]);
    let mut command = Command::new("unshare");
    command
        .current_dir(home.path())
        .args(["--user", "--map-root-user", "sh", "-c", refuse, "sh"]);
    command.arg(link.get_program()).args(link.get_args());
    let said = said(&mut command);
    assert_code(&said, 3);
    let warnings: Vec<&str> = said
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("warning: "))
        .collect();
    assert_eq!(warnings.len(), 2, "{}", said.stderr);
    assert!(
        warnings[0].starts_with("cannot create a process namespace (clone: ENOSPC"),
        "{}",
        warnings[0]
    );
    assert_eq!(
        warnings[1],
        "1 process that the program had left running ended with it"
    );
}

#[test]
#[ignore = "needs root and mosquitto-clients"]
fn children_of_the_program_are_behind_the_link_too() {
    need_program("mosquitto_sub", "mosquitto-clients");
    let home = Home::new();
    let configuration = home.write("mosquitto.conf", MOSQUITTO);
    let server = format!("mosquitto -c {}", configuration.display());
    let script = "mosquitto_sub -h {server} -t test -C 1 -W 20 & sleep 1; mosquitto_pub -h {server} -t test -m over; wait";
    let said = home.run_with(&server, "--rtt 20ms", &["sh", "-c", script]);
    assert_code(&said, 0);
    assert_eq!(said.stdout, "over\n");
    let group = &home.summary()["report"]["groups"][0];
    assert_eq!(group["flows"], 2);
    assert_eq!(home.summary()["warnings"], serde_json::json!([]));
}

#[test]
#[ignore = "needs root"]
fn a_command_line_that_cannot_be_meant_is_refused() {
    let home = Home::new();
    let cases: [(&str, &[&str], &str); 5] = [
        ("", &[], "<CMD>"),
        ("--rtt 10ms,20ms", &["true"], "one --rtt"),
        ("--serve coap --tls", &["true"], "--tls cannot carry"),
        ("--tls", &["true"], "--serve"),
        ("--ipv6 --mtu 1000B", &["true"], "1280"),
    ];
    for (options, program, expected) in cases {
        let said = home.run(options, program);
        assert_code(&said, 2);
        assert!(said.stderr.contains(expected), "{options}: {}", said.stderr);
        assert!(!home.path().join("run").exists(), "{options}");
    }
}

#[test]
#[ignore = "needs root and mosquitto-clients"]
fn a_user_without_privileges_gets_the_same_bytes() {
    need_program("mosquitto_pub", "mosquitto-clients");
    let publisher = ["mosquitto_pub", "-h", "{server}", "-t", "t", "-m", "m", "-q", "1"];
    let application = |home: &Home| {
        let summary = home.summary();
        let all = &summary["report"]["total"]["all"];
        ["up", "down"].map(|way| (all[way]["application"].as_u64(), all[way]["payload"].as_u64()))
    };
    let options = "--serve mqtt --rtt 20ms -q";
    let (ours, theirs) = (Home::new(), Home::new());
    assert_code(&ours.run(options, &publisher), 0);
    let unprivileged = theirs.run_as_nobody(&format!("{options} --packet-path veth"), &publisher);
    assert_code(&unprivileged, 0);
    assert_eq!(theirs.summary()["packet_path"], "veth");
    assert_eq!(application(&ours), application(&theirs));
}
