//! Takes a CPU profile of started processes with Linux's `perf`.
//!
//! The event is the kernel's CPU clock, which needs no hardware counters: virtual machines often have none. Stacks are
//! copied and unwound afterwards, because optimised programs keep no frame pointers.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use wirecost_proto::PeerText;
use wirecost_results::profile::{Folded, fold};
use wirecost_stack::secret::PASSWORD_VARIABLE;

/// Samples per second of CPU time. The number does not divide the kernel's tick rate, so the two do not run in step.
const FREQUENCY: &str = "99";
/// How perf copies stacks: bytes per sample.
const STACK: &str = "dwarf,8192";

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// `perf` is not installed.
    #[error("there is no program perf: Debian's package linux-perf has it")]
    Missing,
    /// `perf` could not be run.
    #[error("perf cannot be run: {0}")]
    Io(#[from] io::Error),
    /// `perf` failed, with its message.
    #[error("perf failed: {0}")]
    Refused(String),
    /// wirecost did not start the target.
    #[error("wirecost can profile only a target that it starts")]
    NotOurs,
    /// The processes used no CPU time.
    #[error("perf saw no sample of the target")]
    Nothing,
}

/// A profile that is being taken.
#[derive(Debug)]
pub struct Recorder {
    child: Child,
    folder: tempfile::TempDir,
}

impl Recorder {
    /// Starts to sample the processes with these ids.
    ///
    /// # Errors
    /// `perf` is missing or cannot be started. [`Recorder::finish`] reports its own failures.
    pub fn start(pids: impl IntoIterator<Item = u32>) -> Result<Self, ProfileError> {
        // perf.data has copies of the servers' stacks, 8 KiB per sample: it is large, may hold secrets, and is not kept.
        let folder = tempfile::tempdir()?;
        let pids: Vec<String> = pids.into_iter().map(|pid| pid.to_string()).collect();
        let mut command = perf();
        command
            .args(["record", "--quiet", "--event", "cpu-clock", "--freq", FREQUENCY])
            .args([
                "--call-graph",
                STACK,
                "--control",
                "fd:0",
                "--pid",
                &pids.join(","),
            ])
            .arg("--output")
            .arg(folder.path().join("perf.data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(missing)?;
        Ok(Self { child, folder })
    }

    /// Ends the sampling and folds the stacks. The processes may be running or ended.
    ///
    /// # Errors
    /// `perf` was not permitted to sample, or saw no sample.
    pub fn finish(mut self) -> Result<Folded, ProfileError> {
        let mut control = self.child.stdin.take();
        if let Some(control) = &mut control {
            // A process that has ended already needs no signal.
            drop(control.write_all(b"stop\n"));
        }
        let data = self.data();
        let output = self.child.wait_with_output()?;
        // Keep it open until then: without its control file, perf ends at once and its file is incomplete.
        drop(control);
        if !data.exists() || std::fs::metadata(&data)?.len() == 0 {
            return Err(ProfileError::Refused(first_line(&output.stderr)));
        }
        let script = perf()
            .args(["script", "--no-inline", "--fields", "comm,ip,sym", "--input"])
            .arg(&data)
            .output()
            .map_err(missing)?;
        let folded = fold(&String::from_utf8_lossy(&script.stdout));
        match folded.is_empty() {
            false => Ok(folded),
            true if script.status.success() => Err(ProfileError::Nothing),
            true => Err(ProfileError::Refused(first_line(&script.stderr))),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("perf.data")
    }
}

fn perf() -> Command {
    let mut command = Command::new("perf");
    command.env_remove(PASSWORD_VARIABLE);
    command
}

fn missing(error: io::Error) -> ProfileError {
    match error.kind() {
        io::ErrorKind::NotFound => ProfileError::Missing,
        _ => ProfileError::Io(error),
    }
}

/// The first line that is not empty.
fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && *line != "Error:");
    PeerText::new(line.unwrap_or("it gave no reason")).to_string()
}
