//! Parts of a load in worker processes, if one process cannot hold all devices or if the user asked for several.
//!
//! ```text
//! coordinator == Parts ==> Addressed<ToPart>: a line of JSON on a worker's stdin ==> Inbox of its part, a loop on a thread
//!             <== Parts == Addressed<FromPart>: a line of JSON on its stdout     <== messages of its parts
//! ```
//!
//! The first line that a worker reads is its [`Job`]. It ends when its input does, and with the process that started
//! it. If a worker dies, each of its parts counts as failed: the load ends with the figures so far.
//!
//! - [`layout`]: the number of processes and loops of a load
//! - [`job`]: the job of a worker, and the lines that follow
//! - [`worker`]: the worker's side

pub mod job;
pub mod layout;
pub mod worker;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wirecost_live::process::foreground::StartError;
use wirecost_live::process::worker::Worker;

use crate::devices::part::{FromPart, ToPart};
use crate::devices::share::Share;
use crate::parts::running::{Parts, Tell};
use job::{Addressed, Job};
pub use layout::Layout;

/// The hidden command of a worker process.
pub const COMMAND: &str = "load-worker";
/// How long a worker may take to end before it is killed.
const ENDING: Duration = Duration::from_secs(5);

/// Why parts could not be started.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// The machine gives no more threads.
    #[error("cannot start a thread for a loop: {0}")]
    Thread(#[source] std::io::Error),
    /// A worker process cannot be started.
    #[error("cannot start a worker process: {0}")]
    Process(#[source] StartError),
}

/// Starts the parts of a load by its layout: threads of this process, or worker processes with threads, which run
/// `program`. Call it from a thread that outlives them: the kernel kills a worker when the thread that started it ends.
///
/// # Errors
/// The machine gives no more threads or processes.
pub fn parts(layout: &Layout, program: &Path, shares: Vec<Share>) -> Result<Parts, WorkersError> {
    if layout.is_one_process() {
        return Parts::threads(shares).map_err(WorkersError::Thread);
    }
    processes((program, &[COMMAND]), layout, &shares)
}

/// A program and its arguments.
type Program<'a> = (&'a Path, &'a [&'a str]);

fn processes(program: Program<'_>, layout: &Layout, shares: &[Share]) -> Result<Parts, WorkersError> {
    let (outbox, incoming) = channel();
    let mut tell: Vec<Tell> = Vec::new();
    let (mut pids, mut handles) = (Vec::new(), Vec::new());
    for shares in shares.chunks(layout.loops as usize) {
        let handle = WorkerHandle::start(program, shares, outbox.clone())?;
        pids.push(handle.pid);
        tell.extend(shares.iter().map(|share| handle.tell(share.number)));
        handles.push(handle);
    }
    let join = move || handles.into_iter().for_each(WorkerHandle::end);
    Ok(Parts::new(tell, incoming, pids, join))
}

/// A worker process, the sender of its messages, and the thread that reads its output.
struct WorkerHandle {
    pid: u32,
    input: Sender<String>,
    worker: Arc<Mutex<Worker>>,
    reading: JoinHandle<()>,
}

impl WorkerHandle {
    fn start(
        (program, arguments): Program<'_>,
        shares: &[Share],
        outbox: Sender<(u32, FromPart)>,
    ) -> Result<Self, WorkersError> {
        let mut worker = Worker::start(program, arguments).map_err(WorkersError::Process)?;
        let pid = worker.pid();
        // A pipe does not hold every job. If the worker does not read it, the load must still be able to end.
        let input = worker.sender();
        drop(input.send(Job::from_shares(shares).to_line()));
        let lines = worker.receiver();
        let worker = Arc::new(Mutex::new(worker));
        let reader = OutputReader {
            pid,
            worker: Arc::clone(&worker),
            alive: shares.iter().map(|share| share.number).collect(),
            outbox,
        };
        let name = format!("worker {pid}");
        let reading = thread::Builder::new()
            .name(name)
            .spawn(move || reader.read(&lines))
            .map_err(WorkersError::Thread)?;
        Ok(Self {
            pid,
            input,
            worker,
            reading,
        })
    }

    /// Sends messages to a part of this worker.
    fn tell(&self, part: u32) -> Tell {
        let input = self.input.clone();
        Box::new(move |message: ToPart| {
            // A worker that has ended takes no message; the thread that reads its output has reported the end.
            drop(input.send(Addressed { part, message }.to_line()));
        })
    }

    /// Closes the worker's input, which ends it, and waits for it.
    fn end(self) {
        drop(self.input);
        // If the wait fails, the worker is already gone.
        drop(lock(&self.worker).stop(ENDING));
        drop(self.reading.join());
    }
}

/// Reads the output of a worker until it has ended.
struct OutputReader {
    pid: u32,
    worker: Arc<Mutex<Worker>>,
    /// Parts that have not sent their last message.
    alive: BTreeSet<u32>,
    outbox: Sender<(u32, FromPart)>,
}

impl OutputReader {
    fn read(mut self, lines: &Receiver<String>) {
        let mut reason = None;
        for line in lines {
            let Some(Addressed { part, message }) = Addressed::from_line(&line) else {
                reason = Some(format!(
                    "worker process {} sent a line that is not a message",
                    self.pid
                ));
                break;
            };
            // A part that has said its last message is not missed when the process ends.
            if matches!(message, FromPart::Finished { .. } | FromPart::Failed { .. }) {
                self.alive.remove(&part);
            }
            // Sending fails if the coordinator has gone, and the worker ends with it.
            drop(self.outbox.send((part, message)));
        }
        if self.alive.is_empty() {
            return;
        }
        // A part that says nothing more would keep the coordinator waiting until the end of the phase and its grace.
        let reason = reason.unwrap_or_else(|| self.death());
        for part in self.alive {
            let reason = reason.clone();
            drop(self.outbox.send((part, FromPart::Failed { reason })));
        }
    }

    /// How the worker ended. Its output has ended, so it is about to.
    fn death(&self) -> String {
        let how = lock(&self.worker).stop(ENDING);
        let how = how.map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("worker process {} ended during the run with {how}", self.pid)
    }
}

fn lock(worker: &Mutex<Worker>) -> MutexGuard<'_, Worker> {
    // A worker is consistent even if a thread panicked while it held the lock.
    worker.lock().unwrap_or_else(PoisonError::into_inner)
}
