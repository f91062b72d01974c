//! A program in the foreground: on the device's side, with our terminal, input and output; whoever looks at it from a
//! shell sees no difference.
//!
//! Where the machine allows it, the program is in a PID namespace of its own, second to a process of ours: the first would be
//! deaf to Ctrl-C (pid_namespaces(7)). Elsewhere what it leaves behind in the background comes to us
//! (`PR_SET_CHILD_SUBREAPER`) and is ended with it, unless we are killed.

use super::contained::{Contained, Container};
use super::usage::processes;
use crate::error::{Doing, EnvironmentError};
use crate::namespace::Namespace;
use crate::sys::init::Slate;
use crate::sys::process as calls;
use crate::sys::terminal;
use crate::topology::Side;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};

/// Rounds of ending what was left behind: each may bring up what the ended ones had started.
const ROUNDS: usize = 100;

/// A program in the foreground. Dropped, it is killed.
#[derive(Debug)]
pub struct Foreground {
    program: Program,
    /// The terminal, where we were in its foreground when the program started.
    terminal: Option<File>,
}

#[derive(Debug)]
enum Program {
    Contained(Contained),
    /// Where PID namespaces are refused, for this reason.
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
        /// The program as it was named.
        program: String,
        /// Why.
        source: io::Error,
    },
}

impl Foreground {
    /// Starts `command` in `side`. Call it from a thread that outlives the program: where PID namespaces are refused, the
    /// kernel kills the child when the *thread* that started it ends (prctl(2), `PR_SET_PDEATHSIG`).
    ///
    /// # Errors
    /// A network namespace is refused, or the program is not there or cannot be run.
    pub fn start(command: Command, side: &Side) -> Result<Self, StartError> {
        let terminal = terminal::open().filter(|terminal| terminal::is_ours(terminal.as_fd()));
        let name = command.get_program().to_string_lossy().into_owned();
        let started = match Container::new() {
            Ok(container) => container
                .start(command, side, Slate::Ours)?
                .map(Program::Contained),
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

    /// Why what the program starts would outlive us if we were killed; `None` where it would not.
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
    /// It has changed its user, and we may not.
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

    /// Ends what the program, which has ended, has left running in the background, and takes the terminal back; returns how
    /// many processes that were. `keep` are children of ours that it did not start.
    ///
    /// # Errors
    /// None that a child of this process meets.
    pub fn end_leftovers(&mut self, keep: &[i32]) -> io::Result<usize> {
        if let Some(terminal) = &self.terminal {
            // A shell that has given it to a job of its own cannot give it back to a group outside of its namespace. A terminal
            // that has been hung up belongs to no session.
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

/// Starts `command` as an ordinary child, whose orphans become ours.
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
            // One that has ended by itself waits to be looked after, too.
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
            // No process is left to report to.
            let _ = child.wait();
        }
    }
}

/// The children of this process, but for those in `keep`, that run still.
fn orphans(keep: &[i32]) -> Vec<i32> {
    let us = std::process::id();
    let pids = processes().into_iter().flatten();
    pids.filter(|pid| !keep.contains(pid))
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            parent_in(&stat) == Some(us)
        })
        .collect()
}

/// The parent in /proc/PID/stat (proc(5)): the second field behind the name, which may hold anything but ends with the
/// last bracket.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_parent() {
        assert_eq!(parent_in("7 (a) b (c) S 42 7 7 0"), Some(42));
        assert_eq!(parent_in("7 (sh) Z 1"), Some(1));
        assert_eq!(parent_in(""), None);
    }
}
