//! The side of a worker process: it reads its job, runs a loop for each part, passes messages on, and ends when its
//! input does.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::job::{Addressed, Job, JobError};
use crate::devices::part::{FromPart, Inbox, ToPart};
use crate::devices::share::Share;

/// Why a worker process has ended early.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// It has no job.
    #[error("a worker process reads its job from standard input: {0}")]
    NoJob(#[source] io::Error),
    /// Its job is invalid.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The machine gives no more threads.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// Runs the job in the first line of `orders`, passes the messages in the following lines on, and writes its parts'
/// messages to `words`. It ends when `orders` does.
///
/// # Errors
/// There is no job, or it cannot be begun.
pub fn run(orders: impl BufRead, words: impl Write + Send) -> Result<(), WorkerError> {
    let mut lines = orders.lines();
    let first = lines.next().unwrap_or(Err(io::ErrorKind::UnexpectedEof.into()));
    let shares = Job::shares(&first.map_err(WorkerError::NoJob)?)?;
    let (outbox, heard) = channel();
    thread::scope(|scope| {
        let (inboxes, loops) = start(shares, &outbox)?;
        // The parts have their own ends: with this one left open, `say_all` would wait for ever.
        drop(outbox);
        scope.spawn(move || say_all(&heard, words));
        for line in lines.map_while(Result::ok) {
            if let Some(Addressed { part, message }) = Addressed::from_line(&line)
                && let Some(inbox) = inboxes.get(&part)
            {
                inbox.put(message);
            }
        }
        // The coordinator has gone, perhaps killed: no device may go on sending.
        inboxes.values().for_each(|inbox| inbox.put(ToPart::Quit));
        // A part that panicked has sent no last message, and the coordinator notices that.
        loops.into_iter().for_each(|thread| drop(thread.join()));
        Ok(())
    })
}

/// The parts' inboxes by their numbers, and their threads.
type Started = (BTreeMap<u32, Arc<Inbox>>, Vec<JoinHandle<()>>);

/// Starts a thread for each share.
///
/// # Errors
/// The machine gives no more threads.
pub(crate) fn start(shares: Vec<Share>, outbox: &Sender<(u32, FromPart)>) -> Result<Started, WorkerError> {
    let (mut inboxes, mut loops) = (BTreeMap::new(), Vec::new());
    for share in shares {
        let inbox = Inbox::new();
        inboxes.insert(share.number, Arc::clone(&inbox));
        let outbox = outbox.clone();
        let name = format!("loop {}", share.number);
        let run = move || share.run(&inbox, &outbox);
        let thread = thread::Builder::new().name(name).spawn(run);
        loops.push(thread.map_err(WorkerError::Thread)?);
    }
    Ok((inboxes, loops))
}

/// Writes the messages of the parts until all have ended or the output is closed.
fn say_all(heard: &Receiver<(u32, FromPart)>, mut words: impl Write) {
    for (part, message) in heard {
        let line = Addressed { part, message }.to_line() + "\n";
        let written = words.write_all(line.as_bytes());
        if written.and_then(|()| words.flush()).is_err() {
            return;
        }
    }
}
