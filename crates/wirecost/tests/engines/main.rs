//! Virtual time and kernel sockets side by side, and each engine alone.

#[path = "../common/mod.rs"]
mod common;

use std::process::{Command, Stdio};

use wirecost_results::Summary;

use common::{
    Run, WIRECOST, compared, ended, need_program, need_root, open_folder, said, signal, summary_in, wirecost,
};

fn engines(summary: &Summary) -> Vec<(&str, &str, &str)> {
    let cells = summary.cells.iter();
    cells
        .map(|cell| (cell.stack.as_str(), cell.engine.as_str(), cell.target.as_str()))
        .collect()
}

#[test]
#[ignore = "needs root"]
fn both_engines_stand_side_by_side_and_say_whether_they_agree() {
    let run = Run::compare("udp,coap-con -n 4 --settle 200ms --engine auto");
    assert_eq!(
        engines(&run.summary),
        [
            ("udp", "sim", "builtin"),
            ("udp", "live", "builtin"),
            ("coap-con", "sim", "builtin"),
            ("coap-con", "live", "builtin"),
        ]
    );
    for cell in &run.summary.cells {
        let agreement = cell.agreement.as_ref();
        assert_eq!(agreement.is_some(), cell.engine == "live");
        assert!(agreement.is_none_or(|agreement| agreement.equal), "{agreement:?}");
        assert!(agreement.is_none_or(|agreement| agreement.median_ratio.is_some()));
    }
    assert!(run.file("capture/sim.pcapng").exists() && run.file("capture/all.pcapng").exists());
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_simulation_beside_a_foreign_server_uses_the_builtin_one() {
    need_program("mosquitto", "mosquitto");
    let run = Run::compare("mqtt-qos1 -n 2 --settle 200ms --engine auto --target mosquitto");
    assert_eq!(
        engines(&run.summary),
        [
            ("mqtt-qos1", "sim", "builtin"),
            ("mqtt-qos1", "live", "mosquitto")
        ]
    );
    assert!(run.summary.cells.iter().all(|cell| cell.agreement.is_none()));
}

#[test]
#[ignore = "needs root"]
fn without_namespaces_everything_is_simulated_with_a_hint() {
    need_root();
    let home = open_folder();
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \
                  --inh-caps=-all --ambient-caps=-all \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, WIRECOST]);
    command.args(["compare", "udp,coap-con", "-n", "30", "--out", "run"]);
    let said = said(command.current_dir(home.path()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let line = said
        .line("simulated only: ")
        .expect("one line of what is missing");
    assert!(line.contains("cannot create a user namespace"), "{line}");
    assert!(
        line.contains("For live runs: ") && line.contains("sudo wirecost"),
        "{line}"
    );
    let summary = summary_in(&home.path().join("run"));
    assert_eq!(
        engines(&summary),
        [("udp", "sim", "builtin"), ("coap-con", "sim", "builtin")]
    );
    assert!(!summary.interrupted);
}

#[test]
#[ignore = "needs root"]
fn a_second_copy_of_a_close_has_attributed_bytes() {
    // To the server it is the first datagram of another flow, which it cannot open.
    let stacks = "http3,udp+dtls1.3,coap-con+dtls1.2";
    let run = Run::compare(&format!("{stacks} --engine sim --duplicate 30% -n 30"));
    for cell in &run.summary.cells {
        assert!(cell.valid, "{}: {:?}", cell.stack, cell.warnings);
    }
}

#[test]
#[ignore = "needs root"]
fn virtual_time_needs_no_privileges() {
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args("compare udp --engine sim -n 30 --out run".split(' '));
    let said = said(&mut common::as_nobody(command, home.path()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let summary = summary_in(&home.path().join("run"));
    let cell = &summary.cells[0];
    assert!(cell.valid && cell.warnings.is_empty(), "{:?}", cell.warnings);
    assert!(cell.cpu.client.is_none() && cell.cpu.reason.is_some());
    assert_eq!(cell.outcomes.delivered, 30);
}

#[test]
#[ignore = "needs root"]
fn the_first_figures_come_before_the_live_run() {
    need_root();
    let home = open_folder();
    let arguments = "compare udp,coap-con -n 2 --settle 200ms --out run";
    let said = said(wirecost(home.path()).args(arguments.split(' ')));
    let lines: Vec<&str> = said.stderr.lines().collect();
    let place = |prefix: &str| lines.iter().position(|line| line.starts_with(prefix));
    let (first, link) = (place("simulated: udp 128 B: "), place("link: RTT asked"));
    assert!(first.is_some() && first < link, "{}", said.stderr);
}

#[test]
#[ignore = "needs root"]
fn live_cells_of_several_mtus_are_several_batches_of_one_run() {
    let run = Run::compare("tcp -s 2kB -n 2 --settle 200ms --engine live --vary mtu=600B,1500B");
    let packets: Vec<f64> = run
        .summary
        .cells
        .iter()
        .filter_map(|cell| Some(cell.message.as_ref()?.up.packets.mean))
        .collect();
    assert!(packets[0] > packets[1], "{packets:?}");
    assert!(run.file("capture/all-2.pcapng").exists());
}

#[test]
#[ignore = "needs root"]
fn a_live_run_that_was_interrupted_goes_on_too() {
    need_root();
    let home = open_folder();
    let line = "compare udp,coap-con -n 100 --settle 200ms --rtt 5ms -q --engine live";
    let mut command = wirecost(home.path());
    command.args(line.split(' ')).args(["--out", "run"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wirecost starts");
    std::thread::sleep(std::time::Duration::from_millis(2_000));
    signal(child.id(), "INT");
    let stopped = ended(child);
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    let resumed = said(
        wirecost(home.path())
            .args(line.split(' '))
            .args(["--resume", "run"]),
    );
    let summary = compared(&resumed, &home.path().join("run"));
    assert!(!summary.interrupted);
    let offered: Vec<u64> = summary.cells.iter().map(|cell| cell.outcomes.offered).collect();
    assert_eq!(offered, [100, 100]);
}
