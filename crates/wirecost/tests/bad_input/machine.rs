//! Machines that lack the resources for a run.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::common::{WIRECOST, as_nobody, need_program, need_root, open_folder, said, summary_in, wirecost};
use crate::{files, nothing_is_left_behind};

/// Runs `wirecost` with arguments inside namespaces that `sh` prepares: `unshare` with `flags`, then `script`.
fn in_namespaces(flags: &str, script: &str, folder: &Path, arguments: &[&str]) -> Command {
    need_root();
    let mut command = Command::new("unshare");
    command
        .args(flags.split(' '))
        .args(["sh", "-c", script, WIRECOST])
        .args(arguments);
    command.current_dir(folder);
    command
}

#[test]
#[ignore = "needs root"]
fn without_namespaces_a_live_run_names_the_remedy() {
    // In its own user namespace, a process may forbid itself further ones, as an administrator may forbid them to all.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \
                  --inh-caps=-all --ambient-caps=-all \"$0\" \"$@\"";
    for asked in ["compare --engine live tcp -n 1", "load tcp -n 1 --rtt 5ms"] {
        let home = open_folder();
        let run = home.path().join("run");
        let out = run.to_str().expect("a text");
        let arguments: Vec<&str> = asked.split(' ').chain(["--out", out]).collect();
        let flags = "--user --map-root-user";
        let said = said(&mut in_namespaces(flags, script, home.path(), &arguments));
        assert_eq!(said.code, Some(10), "{}", said.stderr);
        let error = said.line("error: ").expect("a sentence");
        assert!(
            error.contains("cannot create a user namespace (unshare: "),
            "{error}"
        );
        assert!(error.contains("user.max_user_namespaces=0"), "{error}");
        let hint = said.line("hint: ").expect("a way out");
        assert!(
            hint.contains("sudo wirecost") && hint.contains("sysctl -w user.max_user_namespaces="),
            "{hint}"
        );
        assert_eq!(files(home.path()), Vec::<String>::new());
        assert!(!run.exists(), "a run that never began leaves no folder");
        nothing_is_left_behind(home.path());
    }
}

/// In a user namespace where there is nobody but root, a server would be root of the machine.
#[test]
#[ignore = "needs root and mosquitto"]
fn a_server_that_could_only_be_root_is_not_started() {
    need_program("mosquitto", "mosquitto");
    for asked in ["load -c 1 -r 10/s -n 1", "compare --engine live -n 1"] {
        let home = open_folder();
        let arguments = format!("{asked} mqtt-qos1 --target mosquitto --out run");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let script = "exec \"$0\" \"$@\"";
        let said = said(&mut in_namespaces(
            "--user --map-root-user",
            script,
            home.path(),
            &arguments,
        ));
        assert_eq!(said.code, Some(10), "{}", said.stderr);
        let error = said.line("error: ").expect("a sentence");
        assert!(error.contains("it would be root of this machine"), "{error}");
        let hint = said.line("hint: ").expect("a way out");
        assert!(hint.contains("as an ordinary user"), "{hint}");
        nothing_is_left_behind(home.path());
    }
}

/// A server that wirecost starts is another user than root.
#[test]
#[ignore = "needs root"]
fn a_server_that_only_root_may_run_is_refused_with_a_sentence() {
    let home = open_folder();
    let program = home.path().join("mosquitto");
    let script = "#!/bin/sh\n[ \"$1\" = -c ] || { echo mosquitto version 2.0.0; exit; }\nexec sleep 60\n";
    std::fs::write(&program, script).expect("a script");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("permissions");
    let mut command = wirecost(home.path());
    need_root();
    command.env("PATH", home.path());
    let said = said(command.args("load mqtt-qos1 --target mosquitto -n 1 -r 10/s --out run".split(' ')));
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    let error = said.line("error: ").expect("a sentence");
    assert!(error.contains("only root may run it"), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_read_only_folder_is_answered_with_another_one() {
    for (asked, code, expected) in [
        (
            "compare --engine sim udp -n 1",
            2,
            "choose a folder that you may write to with --out",
        ),
        (
            "load udp -n 1",
            2,
            "choose a folder that you may write to with --out",
        ),
        (
            "link -- true",
            2,
            "choose a folder that you may write to with --out",
        ),
        (
            "compare --engine sim udp -n 1 --out /tmp/out --json summary.json",
            2,
            "choose a file that can be written to with --json",
        ),
        (
            "report run",
            2,
            "copy the folder to a place that you may write to, and report the copy",
        ),
    ] {
        let home = open_folder();
        let made = said(wirecost(home.path()).args("compare --engine sim udp -n 1 -q --out run".split(' ')));
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let script = "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec \"$0\" \"$@\"";
        let arguments: Vec<&str> = asked.split(' ').collect();
        let said = said(&mut in_namespaces("--mount", script, home.path(), &arguments));
        assert_eq!(said.code, Some(code), "{asked}: {}", said.stderr);
        let error = said.line("error: ").expect("a sentence");
        assert!(error.contains("Read-only file system"), "{asked}: {error}");
        assert_eq!(said.line("hint: "), Some(expected), "{asked}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_missing_target_names_its_package() {
    let script = "mount -t tmpfs none /usr/sbin && mount -t tmpfs none /usr/local/sbin && PATH=/nonexistent exec \"$0\" \"$@\"";
    for (target, stack, package) in [
        ("mosquitto", "mqtt-qos0", "mosquitto"),
        ("libcoap", "coap-con", "libcoap3-bin"),
    ] {
        let home = open_folder();
        let arguments = [
            "compare", "--engine", "live", stack, "-n", "1", "--target", target, "--out", "run",
        ];
        let said = said(&mut in_namespaces("--mount", script, home.path(), &arguments));
        assert_eq!(said.code, Some(11), "{}", said.stderr);
        assert!(said.line("error: cannot find ").is_some(), "{}", said.stderr);
        let hint = said.line("hint: ").expect("a way out");
        assert!(hint.contains(&format!("apt-get install {package}")), "{hint}");
        assert!(hint.contains("--target builtin"), "{hint}");
        assert!(!home.path().join("run").exists());
        nothing_is_left_behind(home.path());
    }
}

#[test]
#[ignore = "needs root"]
fn a_full_disk_ends_the_run_and_keeps_measured_figures() {
    let home = open_folder();
    let disk = home.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let out = home.path().join("copy");
    // The mount disappears with its namespace, so the results are copied out first.
    let script = format!(
        "mount -t tmpfs -o size=3m none {disk} && \"$0\" \"$@\"; code=$?; cp -r {disk}/run {out}; exit $code",
        disk = disk.display(),
        out = out.display()
    );
    let run = disk.join("run");
    let run = run.to_str().expect("a text");
    let arguments = [
        "compare", "--engine", "live", "tcp", "-s", "10kB", "-n", "200", "--settle", "200ms", "--rtt", "5ms",
        "-q", "--out", run,
    ];
    let said = said(&mut in_namespaces("--mount", &script, home.path(), &arguments));
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    let error = said.line("error: ").expect("a sentence");
    assert!(
        error.contains("disk of the results folder is full") || error.contains("No space left"),
        "{error}"
    );
    assert!(
        said.line("hint: what was measured before is in ").is_some(),
        "{}",
        said.stderr
    );
    let summary = summary_in(&out);
    assert!(summary.interrupted);
    let samples = summary.cells[0].outcomes.offered;
    assert!((1..400).contains(&samples), "{samples} samples");
    // Figures of whole samples only: no message has less than its 10 kB up, and more only where TCP sent some again, as it
    // does on a machine that was held up.
    let message = summary.cells[0].message.as_ref().expect("a section");
    assert_eq!(message.up.payload.min, 10_000);
    let sent_again = message
        .by_cause
        .get("retransmission")
        .map_or(0.0, |bytes| bytes.up);
    assert!(
        message.up.payload.max == 10_000 || sent_again > 0.0,
        "{message:?}"
    );
    nothing_is_left_behind(home.path());
}

#[test]
fn a_taken_port_is_named() {
    let home = open_folder();
    let stream = TcpListener::bind("127.0.0.1:0").expect("a port");
    let datagram = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let streams = stream.local_addr().expect("an address");
    let datagrams = datagram.local_addr().expect("an address");
    for (protocol, address) in [
        ("mqtt", streams),
        ("tcp", streams),
        ("coap", datagrams),
        ("udp", datagrams),
    ] {
        let address = address.to_string();
        let said = said(wirecost(home.path()).args(["serve", protocol, "--listen", &address]));
        assert_eq!(said.code, Some(10), "{}", said.stderr);
        let error = said.line("error: ").expect("a sentence");
        assert!(
            error.starts_with(&format!("cannot listen on {address}")),
            "{error}"
        );
        assert!(
            said.line("hint: another program listens there").is_some(),
            "{}",
            said.stderr
        );
    }
}

#[test]
#[ignore = "needs root"]
fn an_unwritable_folder_is_refused_before_anything_runs() {
    need_root();
    let home = open_folder();
    let locked = home.path().join("locked");
    std::fs::create_dir(&locked).expect("a folder of root's");
    let mut command = wirecost(home.path());
    command.args([
        "compare",
        "--engine",
        "live",
        "tcp",
        "-n",
        "1",
        "--out",
        "locked/run",
    ]);
    let said = said(&mut as_nobody(command, home.path()));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.line("error: cannot create locked/run: Permission denied")
            .is_some(),
        "{}",
        said.stderr
    );
    assert_eq!(files(&locked), Vec::<String>::new());
}

#[test]
#[ignore = "needs root"]
fn too_few_open_files_are_found_before_the_run() {
    need_root();
    let home = open_folder();
    let mut command = Command::new("prlimit");
    command.args([
        "--nofile=100:100",
        WIRECOST,
        "compare",
        "--engine",
        "live",
        "tcp",
        "-n",
        "100",
        "--out",
        "run",
    ]);
    let said = said(command.current_dir(home.path()));
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    let error = said.line("error: ").expect("a sentence");
    assert!(
        error.contains("need 264 open files, this process may have 100"),
        "{error}"
    );
    assert!(
        said.line("hint: raise it: ulimit -n 264; or take -n 18")
            .is_some(),
        "{}",
        said.stderr
    );
    assert!(
        !home.path().join("run").exists(),
        "a run that never began leaves no folder"
    );
}
