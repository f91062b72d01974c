//! Shared by the tests with programs of other makers: servers on free ports, and programs that must end.
#![allow(dead_code, reason = "each test program uses its part")]

mod port;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::{WIRECOST, need_program};
pub(crate) use port::own_port;

/// How long a server may take to listen, and a message to arrive.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Seconds that a client may run.
const CLIENT_SECONDS: &str = "90";

/// A server on a free port of the loopback interface; it ends with this value.
pub(crate) struct Server {
    pub(crate) port: u16,
    process: Child,
    folder: TempDir,
}

impl Server {
    /// `wirecost serve PROTOCOL`.
    pub(crate) fn builtin(protocol: &str) -> Self {
        Self::builtin_at(protocol, own_port())
    }

    /// `wirecost serve PROTOCOL` on a port.
    pub(crate) fn builtin_at(protocol: &str, port: u16) -> Self {
        Self::builtin_with(protocol, port, &[])
    }

    /// `wirecost serve PROTOCOL` on a port, with more arguments.
    pub(crate) fn builtin_with(protocol: &str, port: u16, more: &[&str]) -> Self {
        let listen = format!("127.0.0.1:{port}");
        let mut command = Command::new(WIRECOST);
        command.args(["serve", protocol, "--listen", &listen]).args(more);
        let server = Self::start(command, port);
        server.wait(|server| server.log().contains("serving"));
        server
    }

    /// Mosquitto without configuration, except that it accepts any client.
    pub(crate) fn mosquitto() -> Self {
        need_program("mosquitto", "mosquitto");
        let port = own_port();
        let folder = TempDir::new().expect("a temporary folder");
        let configuration = folder.path().join("mosquitto.conf");
        let text = format!("listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n");
        fs::write(&configuration, text).expect("a configuration");
        let mut command = Command::new("mosquitto");
        command.arg("-c").arg(configuration).env("PATH", path());
        let server = Self::start_in(folder, command, port);
        server.wait(|server| TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).is_ok());
        server
    }

    /// Any command that listens on a port.
    pub(crate) fn start(command: Command, port: u16) -> Self {
        Self::start_in(TempDir::new().expect("a temporary folder"), command, port)
    }

    /// Any command that listens on a port, with its files in a folder.
    pub(crate) fn start_in(folder: TempDir, mut command: Command, port: u16) -> Self {
        let log = File::create(folder.path().join("log")).expect("a log");
        let process = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the server starts");
        Self {
            port,
            process,
            folder,
        }
    }

    /// Waits until something is true of the server.
    pub(crate) fn wait(&self, is_ready: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_ready(self) {
            assert!(began.elapsed() < PATIENCE, "in vain: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The server's process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the end of a server that was stopped. Returns whether it succeeded.
    pub(crate) fn ends_well(&mut self) -> bool {
        self.process.wait().is_ok_and(|status| status.success())
    }

    /// What the server said of itself.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("the log")
    }

    /// A folder that lives as long as the server.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; the test has said so then.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Runs a client to its end, and kills it if it does not end.
pub(crate) fn client<A: AsRef<OsStr>>(program: &str, package: &str, arguments: &[A]) -> Output {
    need_program(program, package);
    let output = Command::new("timeout")
        .args(["-k", "1", CLIENT_SECONDS, program])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("timeout(1) starts");
    assert_ne!(output.status.code(), Some(124), "{program} does not end");
    output
}

/// Runs one case of a Python script against a server; returns what it printed.
pub(crate) fn python(script: &str, server: &Server, case: &str) -> String {
    python_with(script, server, &[case])
}

/// Runs a Python script against a server with arguments behind its port; returns what it printed.
pub(crate) fn python_with(script: &str, server: &Server, arguments: &[&str]) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let output = Command::new("timeout")
        .args(["-k", "1", CLIENT_SECONDS])
        .arg(interpreter())
        .arg(file)
        .arg(server.port.to_string())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("timeout(1) starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{script} {arguments:?}: {}\n{said}{}\n--- server:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
        server.log()
    );
    said
}

/// The Python that has the clients of scripts/requirements-test.txt.
pub(crate) fn interpreter() -> PathBuf {
    let beside_sources = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    let environment = std::env::var_os("WIRECOST_VENV").map_or_else(beside_sources, PathBuf::from);
    let python = environment.join("bin/python");
    assert!(
        python.is_file(),
        "this test needs {} with scripts/requirements-test.txt installed (scripts/test does that)",
        python.display()
    );
    python
}

/// The search path, with the folder where Debian has servers.
pub(crate) fn path() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    std::env::join_paths(folders).expect("a search path")
}
