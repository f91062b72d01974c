//! A program in a PID namespace of its own, whose first process is ours: whatever the program starts, and whatever user it
//! becomes, ends with us however we end.

use super::usage::{namespace_link, processes};
use crate::error::{Doing, EnvironmentError};
use crate::namespace::refused;
use crate::sys::init::{self, Init, Slate};
use crate::sys::process as calls;
use crate::topology::Side;
use std::fs;
use std::io;
use std::os::fd::AsFd;

use std::process::{Child, Command, ExitStatus};

/// A PID namespace in which there is no program yet. Dropped, it is gone.
#[derive(Debug)]
pub(super) struct Container(Init);

impl Container {
    /// Makes the namespace.
    ///
    /// # Errors
    /// [`EnvironmentError::Namespace`] where the machine refuses it.
    pub(super) fn new() -> Result<Self, EnvironmentError> {
        init::start()
            .map(Self)
            .map_err(|error| refused("process", "clone", &error))
    }

    /// Starts `command` in it, on `side`. The inner error is the program's: it is not there or cannot be run.
    ///
    /// # Errors
    /// A namespace cannot be entered.
    pub(super) fn start(
        self,
        mut command: Command,
        side: &Side,
        slate: Slate,
    ) -> Result<io::Result<Contained>, EnvironmentError> {
        let Self(init) = self;
        init::prepare(&mut command, slate);
        // Where a thread's children start cannot be undone by an ordinary user (setns(2)), so that it is a thread of its own.
        let start = || {
            side.enter()?;
            init::start_children_in(init.pidfd.as_fd()).doing("setns", || "enter a PID namespace".into())?;
            Ok::<_, EnvironmentError>(command.spawn())
        };
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        let started = started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(started.map(|child| Contained {
            child,
            init: Some(init),
        }))
    }
}

/// A program and everything that it starts. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Contained {
    child: Child,
    /// `None` once everything has been ended.
    init: Option<Init>,
}

impl Contained {
    /// The program's process id, as this process sees it.
    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// The id of the namespace's first process, which is ours.
    pub(super) fn first(&self) -> Option<i32> {
        self.init.as_ref().map(|init| init.pid)
    }

    /// How the program ended; `None` while it runs.
    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends whatever of it runs; returns how the program ended.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(init) = &self.init {
            calls::kill(init.pid, libc::SIGKILL)?;
        }
        // The first process has not ended: the one process whose parent is elsewhere is the program.
        let status = self.child.wait()?;
        self.init = None;
        Ok(status)
    }

    /// How many processes the program has left running.
    pub(super) fn leftovers(&self) -> usize {
        let Some(init) = &self.init else { return 0 };
        let link = |pid: i32| fs::read_link(namespace_link(pid)).ok();
        let Some(ours) = link(init.pid) else { return 0 };
        let pids = processes().into_iter().flatten();
        let others = pids.filter(|pid| ![init.pid, self.pid()].contains(pid));
        others.filter(|pid| link(*pid).as_ref() == Some(&ours)).count()
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        // No process is left to report to.
        let _ = self.end();
    }
}
