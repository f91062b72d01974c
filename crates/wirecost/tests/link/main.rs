//! `wirecost link`: programs of other makers behind the link, with every byte attributed as tshark sees it.

#[path = "../common/mod.rs"]
mod common;

mod bytes;
mod ends;
mod programs;
mod servers;
mod signals;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Said, as_nobody, need_root, open_folder, said, wirecost};
use serde_json::Value;
use tempfile::TempDir;

/// A configuration with which Mosquitto accepts every client from any address.
const MOSQUITTO: &str = "listener 1883\nallow_anonymous true\nuser root\n";

/// A folder for one run of `wirecost link`.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        need_root();
        Self(open_folder())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file; returns its path.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// `wirecost link` with options that are separated by blanks, and the program's words.
    fn command(&self, options: &str, program: &[&str]) -> Command {
        let mut command = wirecost(self.path());
        command.args(["link", "--out", "run", "--settle", "300ms"]);
        command.args(options.split_ascii_whitespace());
        command.arg("--").args(program);
        command
    }

    fn run(&self, options: &str, program: &[&str]) -> Said {
        said(&mut self.command(options, program))
    }

    /// The same with a command as the server.
    fn run_with(&self, server: &str, options: &str, program: &[&str]) -> Said {
        let mut command = self.command(options, &[]);
        // What is behind `--` must stay there.
        let mut words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        words.pop();
        words.extend(["--server", server, "--"].map(Into::into));
        words.extend(program.iter().map(Into::into));
        command = wirecost(self.path());
        said(command.args(words))
    }

    /// The same by a user without privileges.
    fn run_as_nobody(&self, options: &str, program: &[&str]) -> Said {
        said(&mut as_nobody(self.command(options, program), self.path()))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join("run").join(name)
    }

    fn capture(&self) -> PathBuf {
        self.file("capture/all.pcapng")
    }

    /// `link.json`.
    fn summary(&self) -> Value {
        let text = std::fs::read_to_string(self.file("link.json")).expect("link.json");
        serde_json::from_str(&text).expect("JSON")
    }

    /// What `wirecost pcap` prints of the capture.
    fn pcap(&self) -> String {
        let mut command = wirecost(self.path());
        let said = said(command.args(["pcap", "run/capture/all.pcapng"]));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stdout
    }
}

/// Asserts how the program ended.
fn assert_code(said: &Said, code: i32) {
    assert_eq!(
        said.code,
        Some(code),
        "stdout: {}\nstderr: {}",
        said.stdout,
        said.stderr
    );
}
