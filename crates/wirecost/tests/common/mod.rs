//! Shared by the tests of the whole program: runs it, reads its results, and compares them with tshark.
#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod browser;
pub(crate) mod capture;
pub(crate) mod frames;
pub(crate) mod mqtt;
pub(crate) mod processes;
pub(crate) mod tshark;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wirecost_results::Summary;
use wirecost_results::summary::Section;

/// The built program.
pub(crate) const WIRECOST: &str = env!("CARGO_BIN_EXE_wirecost");
/// All stacks.
pub(crate) const ALL_STACKS: &str =
    "tcp,udp,mqtt-qos0,mqtt-qos1,mqtt-qos2,mqtt5-qos0,mqtt5-qos1,mqtt5-qos2,coap-non,coap-con";
/// The longest time of a command. All commands here take far less.
const PATIENCE: Duration = Duration::from_secs(150);
/// The user that has no privileges anywhere.
pub(crate) const NOBODY: u32 = 65_534;

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Said {
    /// The line of stderr that begins with `prefix`, without it.
    pub(crate) fn line(&self, prefix: &str) -> Option<&str> {
        self.stderr.lines().find_map(|line| line.strip_prefix(prefix))
    }
}

/// A command that runs wirecost in the given folder.
pub(crate) fn wirecost(folder: &Path) -> Command {
    let mut command = Command::new(WIRECOST);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a command to its end, for at most [`PATIENCE`]: a hang is a failure.
pub(crate) fn said(command: &mut Command) -> Said {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    ended(child)
}

/// The exit code and the output of a started program.
pub(crate) fn ended(child: Child) -> Said {
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(PATIENCE) else {
        signal(pid, "KILL");
        panic!("process {pid} did not end within {} s", PATIENCE.as_secs());
    };
    output.expect("the output").into()
}

/// Sends a signal to a process.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh")
        .arg("-c")
        .arg(format!("kill -{name} {pid}"))
        .status();
    assert!(sent.is_ok_and(|status| status.success()), "SIG{name} to {pid}");
}

/// Child processes of a process, by the beginning of their first argument.
pub(crate) fn children(parent: u32, argument: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        status.contains(&format!("PPid:\t{parent}\n"))
            && line
                .split('\0')
                .nth(1)
                .is_some_and(|first| first.starts_with(argument))
    };
    pids.filter(is_it).collect()
}

/// Held while a server of that name runs: two of one name share ports and folders of the machine, those of different names
/// do not. A test that failed leaves the machine as free as one that did not.
pub(crate) fn alone_with(target: &str) -> MutexGuard<'static, ()> {
    static RUNNING: [(&str, Mutex<()>); 6] = [
        ("apache", Mutex::new(())),
        ("caddy", Mutex::new(())),
        ("libcoap", Mutex::new(())),
        ("libcoap-gnutls", Mutex::new(())),
        ("mosquitto", Mutex::new(())),
        ("rabbitmq", Mutex::new(())),
    ];
    let found = RUNNING.iter().find(|(name, _)| *name == target);
    let (_, running) = found.unwrap_or_else(|| panic!("no lock for {target}"));
    running.lock().unwrap_or_else(|failed| failed.into_inner())
}

/// Waits until a condition holds. On a busy machine, this takes far longer than a moment.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    const PATIENCE: Duration = Duration::from_secs(40);
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A finished comparison.
pub(crate) struct Run {
    pub(crate) summary: Summary,
    home: TempDir,
}

impl Run {
    /// Runs `wirecost compare` with arguments that are separated by blanks, into a folder that lives as long as this
    /// value; on kernel sockets unless they name an engine.
    pub(crate) fn compare(arguments: &str) -> Self {
        need_root();
        Self::from_arguments(arguments, |command, _| command)
    }

    /// The same as a user without privileges.
    pub(crate) fn compare_as_nobody(arguments: &str) -> Self {
        need_root();
        Self::from_arguments(arguments, as_nobody)
    }

    /// A run in which nothing was sent twice: on a link without loss that is so wherever the machine is not so late that a
    /// sender probes for a lost tail (RFC 8985 section 7, RFC 9002 section 6.2), which is no property of what is tested.
    pub(crate) fn undisturbed(run: impl Fn() -> Self) -> Self {
        const TRIES: usize = 5;
        let found = (0..TRIES).map(|_| run()).find(|run| !run.has_resent());
        found.unwrap_or_else(|| panic!("each of {TRIES} runs resent something on a link that loses nothing"))
    }

    fn has_resent(&self) -> bool {
        let cells = self.summary.cells.iter();
        let sections = cells.flat_map(|cell| [&cell.connect, &cell.message, &cell.close]);
        let resent = |section: &Section| {
            let bytes = section.by_cause.get("retransmission");
            bytes.is_some_and(|bytes| bytes.up + bytes.down > 0.0)
        };
        sections.flatten().any(resent)
    }

    fn from_arguments(arguments: &str, prepare: impl FnOnce(Command, &Path) -> Command) -> Self {
        let home = open_folder();
        let mut command = wirecost(home.path());
        command
            .args(["compare", "--out", "run", "-q"])
            .args(arguments.split(' '));
        if !arguments.contains("--engine ") {
            command.args(["--engine", "live"]);
        }
        let said = said(&mut prepare(command, home.path()));
        let summary = compared(&said, &home.path().join("run"));
        Self { summary, home }
    }

    /// A file of the results folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join("run").join(name)
    }
}

/// What a comparison has left in `folder` that ended well, or with nothing against it but [`LATE`]: how late the machine
/// is belongs into no test, and the bytes hold all the same. The summary that is returned does not hold it against a cell.
pub(crate) fn compared(said: &Said, folder: &Path) -> Summary {
    assert!(
        matches!(said.code, Some(0 | 14)),
        "exit code {:?}\n{}",
        said.code,
        said.stderr
    );
    let mut summary = summary_in(folder);
    for cell in &mut summary.cells {
        let warnings = cell.warnings.len();
        cell.warnings.retain(|warning| warning.kind.name() != LATE);
        let is_spoiled = cell.warnings.iter().any(|warning| warning.invalidates);
        assert!(
            !is_spoiled || said.code == Some(0),
            "{}: {:?}",
            cell.stack,
            cell.warnings
        );
        cell.valid |= cell.warnings.len() < warnings && !is_spoiled;
    }
    summary
}

/// The warning of a busy machine: the emulated delays are too long.
const LATE: &str = "link-rtt-off";

/// The summary in a results folder.
pub(crate) fn summary_in(folder: &Path) -> Summary {
    let path = folder.join("summary.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A temporary folder that every user may write to, as /tmp is.
pub(crate) fn open_folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().expect("a temporary folder");
    let everyone = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), everyone).expect("permissions");
    folder
}

/// Makes [`NOBODY`] run the command, from a copy of the program that every user can reach.
pub(crate) fn as_nobody(command: Command, folder: &Path) -> Command {
    use std::os::unix::process::CommandExt as _;
    let program = folder.join("wirecost");
    std::fs::copy(WIRECOST, &program).expect("a copy of the program");
    let mut copy = Command::new(program);
    copy.args(command.get_args())
        .current_dir(folder)
        .stdin(Stdio::null());
    copy.env("HOME", folder).uid(NOBODY).gid(NOBODY);
    copy
}

/// Fails without root, which the test needs.
pub(crate) fn need_root() {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:\t"));
    let is_root = uid.is_some_and(|uid| uid.starts_with("0\t"));
    assert!(is_root, "this test needs root: sudo scripts/test");
}

/// Fails if a program that the test needs is missing.
pub(crate) fn need_program(name: &str, package: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .any(|folder| folder.join(name).is_file());
    assert!(
        found,
        "this test needs {name}: apt-get install {package} (scripts/test does)"
    );
}
