//! The parts of a load as their coordinator knows them: by their messages alone.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::part::{FromPart, Inbox, ToPart};
use super::share::Share;

/// Parts at work, wherever they are.
pub struct Parts {
    tell: Vec<Tell>,
    incoming: Box<dyn Incoming>,
    /// Process ids of those that are processes of their own.
    pub pids: Vec<u32>,
    /// Called when all is over, to wait for what is left.
    join: Box<dyn FnOnce() + Send>,
}

/// Receives the messages of parts, with the parts' numbers.
pub trait Incoming {
    /// The next message; `Ok(None)` where none comes within `patience`.
    ///
    /// # Errors
    /// All parts have gone.
    fn receive(&mut self, patience: Duration) -> Result<Option<(u32, FromPart)>, Gone>;

    /// Waits for `span`.
    fn wait(&mut self, span: Duration);
}

/// Parts on threads and in processes send their messages over one channel.
impl Incoming for Receiver<(u32, FromPart)> {
    fn receive(&mut self, patience: Duration) -> Result<Option<(u32, FromPart)>, Gone> {
        match self.recv_timeout(patience) {
            Ok(heard) => Ok(Some(heard)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Gone),
        }
    }

    fn wait(&mut self, span: Duration) {
        thread::sleep(span);
    }
}

/// Tells a part something; one that has ended hears nothing.
pub type Tell = Box<dyn Fn(ToPart) + Send>;

impl Parts {
    /// Parts that are told by `tell`, each, and heard by `incoming`; `join` waits until they are
    /// gone.
    pub fn new(
        tell: Vec<Tell>,
        incoming: impl Incoming + 'static,
        pids: Vec<u32>,
        join: impl FnOnce() + Send + 'static,
    ) -> Self {
        Self {
            tell,
            incoming: Box::new(incoming),
            pids,
            join: Box::new(join),
        }
    }

    /// A thread of this process for each share.
    ///
    /// # Errors
    /// The machine gives no more threads.
    pub fn threads(shares: Vec<Share>) -> std::io::Result<Self> {
        let (outbox, heard) = channel();
        let mut tell: Vec<Tell> = Vec::new();
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        for share in shares {
            let inbox = Inbox::new();
            let (told, outbox) = (Arc::clone(&inbox), outbox.clone());
            tell.push(Box::new(move |message| told.put(message)));
            let name = format!("loop {}", share.number);
            let run = move || share.run(&inbox, &outbox);
            threads.push(thread::Builder::new().name(name).spawn(run)?);
        }
        let join = move || {
            // One that panicked has not said that it finished, which its coordinator has noticed.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        };
        Ok(Self::new(tell, heard, Vec::new(), join))
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        self.tell.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tell.is_empty()
    }

    /// Tells all parts.
    pub fn tell_all(&self, message: ToPart) {
        self.tell.iter().for_each(|tell| tell(message));
    }

    /// What is heard next, of whom; `Ok(None)` where it is nothing for so long.
    ///
    /// # Errors
    /// All parts have gone.
    pub fn receive(&mut self, patience: Duration) -> Result<Option<(u32, FromPart)>, Gone> {
        self.incoming.receive(patience)
    }

    /// Waits for `span`; messages that parts send meanwhile are received later.
    pub fn wait(&mut self, span: Duration) {
        self.incoming.wait(span);
    }

    /// Waits until they are gone; they are told nothing any more.
    pub fn join(self) {
        let Self { tell, join, .. } = self;
        // Dropping `tell` closes the worker's input, and a worker ends when its input does.
        drop(tell);
        join();
    }
}

/// All parts have gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all parts of the load have ended; please report this")]
pub struct Gone;

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts")
            .field("len", &self.len())
            .field("pids", &self.pids)
            .finish_non_exhaustive()
    }
}
