//! Agents that the coordinator starts over SSH: by OpenSSH's client from Dropbear, and by a script in place of ssh, which runs its
//! command here.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::common::{WIRECOST, eventually, need_program, need_root, open_folder, wirecost};
use crate::honesty::Target;
use crate::port::own_port;
use crate::rig::{Coordinator, Ended};

/// Notes its arguments, fails for the host `down`, and runs the command otherwise.
const SSH: &str = r#"#!/bin/sh
echo "$*" >> "$0.log"
while [ "$1" != -- ]; do shift; done
host="$2"
shift 2
[ "$host" = down ] && { echo "ssh: connect to host down: No route to host" >&2; exit 255; }
exec "$@"
"#;

fn run(arguments: &str) -> (Ended, String) {
    let ended = run_with(SSH, open_folder(), arguments);
    let log = fs::read_to_string(ended.home.path().join("bin/ssh.log")).expect("ssh was run");
    (ended, log)
}

/// A PATH with `wirecost`, and with this script as `ssh`.
fn path_with(ssh: &str, home: &Path) -> String {
    let bin = home.join("bin");
    fs::create_dir(&bin).expect("a folder");
    fs::write(bin.join("ssh"), ssh).expect("a script");
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink(WIRECOST, bin.join("wirecost")).expect("a link");
    format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"))
}

fn run_with(ssh: &str, home: TempDir, arguments: &str) -> Ended {
    let mut command: Command = wirecost(home.path());
    command.env("PATH", path_with(ssh, home.path()));
    command.args([
        "load",
        "--json",
        "summary.json",
        "--out",
        "run",
        "--listen",
        "127.0.0.1:0",
    ]);
    command.args(arguments.split(' '));
    Coordinator::from_command(command, home).end()
}

/// A server of SSH on loopback that lets in who has the key `client` of its folder, as root. Dropping it ends it.
struct Dropbear {
    server: Child,
    folder: TempDir,
}

impl Dropbear {
    fn start() -> Self {
        need_root();
        need_program("ssh", "openssh-client");
        need_program("dropbear", "dropbear-bin");
        let folder = open_folder();
        let at = folder.path();
        let made = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            let output = command.args(&words[1..]).current_dir(at).output();
            assert!(output.is_ok_and(|output| output.status.success()), "{words:?}");
        };
        for key in ["client", "stranger"] {
            made(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key]);
        }
        made(&["dropbearkey", "-t", "ed25519", "-f", "host"]);
        made(&["install", "-d", "-m", "700", "root", "root/.ssh"]);
        made(&["install", "-m", "600", "client.pub", "root/.ssh/authorized_keys"]);
        let port = own_port();
        let at = at.display();
        fs::write(
            folder.path().join("passwd"),
            format!("root:x:0:0::{at}/root:/bin/sh\n"),
        )
        .expect("a file");
        let of_host = |host: &str, key: &str| format!("Host {host}\n  IdentityFile {at}/{key}\n");
        let config = of_host("one two", "client")
            + &of_host("closed", "stranger")
            + &format!("Host *\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  IdentitiesOnly yes\n")
            + "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n";
        fs::write(folder.path().join("config"), config).expect("a file");
        // It has the home of root of a mount namespace of its own, and sets a PATH of its own for the commands of clients.
        let path = path_with("", folder.path());
        let start = format!(
            "mount --bind {at}/passwd /etc/passwd && exec dropbear -F -E -s -p 127.0.0.1:{port} -r {at}/host -P {at}/pid \
             -c 'PATH={path} exec sh -c \"$SSH_ORIGINAL_COMMAND\"'"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &start]);
        let server = command.stderr(Stdio::null()).spawn().expect("unshare starts");
        let started = Self { server, folder };
        eventually("Dropbear listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        started
    }

    /// OpenSSH's client with the names of its hosts.
    fn client(&self) -> String {
        let config = self.folder.path().join("config");
        format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", config.display())
    }
}

impl Drop for Dropbear {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

#[test]
#[ignore = "needs root, openssh-client and dropbear-bin"]
fn agents_come_over_ssh() {
    let dropbear = Dropbear::start();
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let arguments = format!("{url} -c 4 -r 100/s -d 1s --agents ssh:one,two");
    let ended = run_with(&dropbear.client(), open_folder(), &arguments);
    ended.ended_well();
    assert_eq!(ended.agents().to_the_end, 2);
    assert_eq!((ended.outcomes().acknowledged, target.messages()), (100, 100));
    let arguments = "mqtt://127.0.0.1:1 -c 4 --agents ssh:one,closed";
    let ended = run_with(&dropbear.client(), open_folder(), arguments);
    assert_eq!(ended.said.code, Some(11), "{}", ended.said.stderr);
    for said in ["Permission denied", "ssh closed ended before its agent came"] {
        assert!(ended.said.stderr.contains(said), "{}", ended.said.stderr);
    }
}

#[test]
fn a_coordinator_starts_an_agent_on_each_host() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let (ended, log) = run(&format!("{url} -c 4 -r 100/s -d 1s --agents ssh:one,two"));
    ended.ended_well();
    let figures = ended.agents();
    let mut names: Vec<&str> = figures
        .each
        .iter()
        .filter_map(|agent| agent.name.as_deref())
        .collect();
    names.sort_unstable();
    assert_eq!((names.as_slice(), figures.to_the_end), (&["one", "two"][..], 2));
    assert_eq!(target.messages(), 100);
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines
            .iter()
            .all(|line| line.contains("wirecost agent --join - --name ")),
        "{log}"
    );
    assert!(
        !ended.home.path().join("join.token").exists(),
        "the join file went by standard input"
    );
}

#[test]
fn a_host_that_is_down_is_named() {
    let (ended, _) = run("mqtt://127.0.0.1:1 -c 4 --agents ssh:one,down");
    assert_eq!(ended.said.code, Some(11), "{}", ended.said.stderr);
    assert!(
        ended.said.stderr.contains("No route to host"),
        "{}",
        ended.said.stderr
    );
    assert!(
        ended
            .said
            .stderr
            .contains("ssh down ended before its agent came: exit status: 255"),
        "{}",
        ended.said.stderr
    );
}
