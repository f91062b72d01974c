//! A program in the foreground: on the device's side, with our terminal, input and output; whoever looks at it from a
//! shell sees no difference.
//!
//! It is no first process of a namespace, unlike a server: that would be deaf to Ctrl-C (pid_namespaces(7)). What it
//! leaves behind in the background comes to us (`PR_SET_CHILD_SUBREAPER`) and is ended with it.

use crate::error::{Doing, EnvironmentError};
use crate::namespace::Namespace;
use crate::sys::process as calls;
use crate::topology::Side;
use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus};

/// Rounds of ending what was left behind: each may bring up what the ended ones had started.
const ROUNDS: usize = 100;

/// A program in the foreground. Dropped, it is killed.
#[derive(Debug)]
pub struct Foreground {
    child: Child,
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
    /// Starts `command` in `side`. Call it from a thread that outlives the program: the kernel kills the child when
    /// the *thread* that started it ends (prctl(2), `PR_SET_PDEATHSIG`).
    ///
    /// # Errors
    /// The namespace is refused, or the program is not there or cannot be run.
    pub fn start(mut command: Command, side: &Side) -> Result<Self, StartError> {
        calls::adopt_orphans().doing("prctl", || "adopt what programs leave behind".into())?;
        let home = Namespace::current()?;
        calls::tie_to_thread(&mut command);
        side.enter()?;
        let started = command.spawn();
        home.enter()?;
        match started {
            Ok(child) => Ok(Self { child }),
            Err(source) => Err(StartError::Program {
                program: command.get_program().to_string_lossy().into_owned(),
                source,
            }),
        }
    }

    /// How the program ended; `None` while it runs.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Passes a signal on to the program.
    ///
    /// # Errors
    /// It has changed its user, and we may not.
    pub fn signal(&mut self, signal: i32) -> io::Result<()> {
        if self.exit_status().is_some() {
            return Ok(());
        }
        calls::kill(pid_of(&self.child), signal)
    }

    /// Ends what the program has left running in the background; returns how many processes that were. `keep` are
    /// children of ours that it did not start.
    pub fn end_leftovers(&mut self, keep: &[i32]) -> usize {
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
}

impl Drop for Foreground {
    fn drop(&mut self) {
        if self.exit_status().is_none() && self.child.kill().is_ok() {
            // Nobody is left to tell.
            let _ = self.child.wait();
        }
    }
}

fn pid_of(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or(i32::MAX)
}

/// The children of this process, but for those in `keep`, that run still.
fn orphans(keep: &[i32]) -> Vec<i32> {
    let us = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
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
