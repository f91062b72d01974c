//! A program in the foreground on the device's side, with the user's terminal, input and output, as if a shell had
//! started it.
//!
//! If the machine allows it, the program runs in its own PID namespace as its second process: the first one would
//! ignore Ctrl-C (pid_namespaces(7)). Otherwise its background processes become children of this process
//! (`PR_SET_CHILD_SUBREAPER`), which ends them, unless it is killed itself.

use super::contained::{Contained, Container};
use super::usage::{parent_in, processes};
use crate::error::{Doing, EnvironmentError};
use crate::namespace::Namespace;
use crate::sys::init::Slate;
use crate::sys::process as calls;
use crate::sys::terminal;
use crate::topology::Side;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};
use wirecost_files::system;

/// How many times to end leftover processes: each round may reveal processes that the ended ones had started.
const ROUNDS: usize = 100;

/// A program in the foreground. Dropping it kills it.
#[derive(Debug)]
pub struct Foreground {
    program: Program,
    /// The terminal, if this process was in its foreground when the program started.
    terminal: Option<File>,
}

#[derive(Debug)]
enum Program {
    Contained(Contained),
    /// The machine refuses PID namespaces, for this reason.
    Plain(Child, EnvironmentError),
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The machine refused something.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The program itself cannot be run.
    #[error("cannot run {program}: {source}")]
    Program {
        /// The program as the user named it.
        program: String,
        /// The cause.
        source: io::Error,
    },
}

impl Foreground {
    /// Starts `command` in `side`. Call it from a thread that outlives the program: if PID namespaces are refused, the
    /// kernel kills the child when the *thread* that started it ends (prctl(2), `PR_SET_PDEATHSIG`).
    ///
    /// # Errors
    /// A network namespace is refused, or the program is missing or cannot be run.
    pub fn start(command: Command, side: &Side) -> Result<Self, StartError> {
        let terminal = terminal::open().filter(|terminal| terminal::is_ours(terminal.as_fd()));
        let name = command.get_program().to_string_lossy().into_owned();
        let started = match Container::new() {
            Ok(container) => container
                .start(command, side, Slate::Ours, None)?
                .map(Program::Contained),
            // Without a PID namespace its own children may outlive it, but a run is still better than none.
            Err(refusal) => plain(command, side)?.map(|child| Program::Plain(child, refusal)),
        };
        match started {
            Ok(program) => Ok(Self { program, terminal }),
            Err(source) => Err(StartError::Program {
                program: name,
                source,
            }),
        }
    }

    /// Why the program's children would survive if this process were killed; `None` if they would not.
    pub fn looseness(&self) -> Option<&EnvironmentError> {
        match &self.program {
            Program::Contained(_) => None,
            Program::Plain(_, refusal) => Some(refusal),
        }
    }

    /// How the program ended; `None` while it runs.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        match &mut self.program {
            Program::Contained(contained) => contained.exit_status(),
            Program::Plain(child, _) => child.try_wait().ok().flatten(),
        }
    }

    /// Passes a signal on to the program.
    ///
    /// # Errors
    /// The program has changed its user, and this process may not signal it.
    pub fn signal(&mut self, signal: i32) -> io::Result<()> {
        if self.exit_status().is_some() {
            return Ok(());
        }
        let pid = match &self.program {
            Program::Contained(contained) => contained.pid(),
            Program::Plain(child, _) => child.id().cast_signed(),
        };
        calls::kill(pid, signal)
    }

    /// Kills the program, unless it has ended. What it started is left to [`end_leftovers`](Self::end_leftovers).
    ///
    /// # Errors
    /// The program has changed its user, and this process may not signal it.
    pub fn kill(&mut self) -> io::Result<()> {
        self.signal(libc::SIGKILL)
    }

    /// Ends the background processes of a program that has ended, and takes the terminal back. Returns how many there
    /// were. `keep` are children of this process that the program did not start.
    ///
    /// # Errors
    /// None for a child of this process.
    pub fn end_leftovers(&mut self, keep: &[i32]) -> io::Result<usize> {
        if let Some(terminal) = &self.terminal {
            // A shell with job control cannot return the terminal to a process group outside its namespace. A terminal
            // that has hung up belongs to no session.
            let _ = terminal::take(terminal.as_fd());
        }
        match &mut self.program {
            Program::Contained(contained) => {
                let left = contained.leftovers();
                contained.end().map(|_| left)
            }
            Program::Plain(..) => Ok(end_orphans(keep)),
        }
    }
}

/// Starts `command` as an ordinary child, whose orphans become children of this process.
fn plain(mut command: Command, side: &Side) -> Result<io::Result<Child>, EnvironmentError> {
    calls::adopt_orphans().doing("prctl", || "adopt what programs leave behind".into())?;
    let home = Namespace::current()?;
    calls::tie_to_thread(&mut command);
    side.enter()?;
    let started = command.spawn();
    home.enter()?;
    Ok(started)
}

fn end_orphans(keep: &[i32]) -> usize {
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let left = orphans(keep);
        if left.is_empty() {
            break;
        }
        ended += left.len();
        for pid in left {
            // A process that has ended by itself must still be waited for.
            let _ = calls::kill(pid, libc::SIGKILL);
            let _ = calls::wait(pid, true);
        }
    }
    ended
}

impl Drop for Program {
    fn drop(&mut self) {
        let Self::Plain(child, _) = self else { return };
        if child.try_wait().is_ok_and(|ended| ended.is_none()) && child.kill().is_ok() {
            // There is no caller to report to.
            let _ = child.wait();
        }
    }
}

/// The running children of this process, without those in `keep`.
fn orphans(keep: &[i32]) -> Vec<i32> {
    let us = i32::try_from(std::process::id()).ok();
    let pids = processes().into_iter().flatten();
    pids.filter(|pid| !keep.contains(pid))
        .filter(|pid| {
            let stat = system::text(format!("/proc/{pid}/stat")).unwrap_or_default();
            us.is_some() && parent_in(&stat) == us
        })
        .collect()
}
