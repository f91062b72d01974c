//! A program in its own PID namespace, whose first process belongs to wirecost: everything that the program starts, as
//! any user, ends with this process however it ends.

use super::usage::{namespace_link, processes};
use crate::error::{Doing, EnvironmentError};
use crate::namespace::refused;
use crate::sys::init::{self, Become, Init, Slate};
use crate::sys::process as calls;
use crate::topology::Side;
use std::fs;
use std::io;
use std::os::fd::AsFd;

use std::process::{Child, Command, ExitStatus};

/// A PID namespace without a program yet. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Container(Init);

impl Container {
    /// Makes the namespace.
    ///
    /// # Errors
    /// [`EnvironmentError::Namespace`] if the machine refuses it.
    pub(super) fn new() -> Result<Self, EnvironmentError> {
        init::start()
            .map(Self)
            .map_err(|error| refused("process", "clone", &error))
    }

    /// Starts `command` in it, on `side`, as what `becoming` says. The inner error belongs to the program: it is missing or cannot be run.
    ///
    /// # Errors
    /// A namespace cannot be entered.
    pub(super) fn start(
        self,
        mut command: Command,
        side: &Side,
        slate: Slate,
        becoming: Option<Become>,
    ) -> Result<io::Result<Contained>, EnvironmentError> {
        let Self(init) = self;
        init::prepare(&mut command, slate, becoming);
        // An ordinary user cannot undo the choice of the PID namespace for a thread's children (setns(2)), so a
        // separate thread makes it.
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

/// A program and all processes that it starts. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Contained {
    child: Child,
    /// `None` once all processes have ended.
    init: Option<Init>,
}

impl Contained {
    /// The program's process id, as this process sees it.
    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// The id of the namespace's first process, which belongs to wirecost.
    pub(super) fn first(&self) -> Option<i32> {
        self.init.as_ref().map(|init| init.pid)
    }

    /// How the program ended; `None` while it runs.
    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends all its processes. Returns how the program ended.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(init) = &self.init {
            calls::kill(init.pid, libc::SIGKILL)?;
        }
        // The first process is still running. Only the program has its parent outside the namespace.
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
        // There is no caller to report to.
        let _ = self.end();
    }
}
