//! The parts of a load as their coordinator sees them: senders and receivers of messages.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::devices::part::{FromPart, Inbox, ToPart};
use crate::devices::share::Share;

/// Running parts, in threads or processes.
pub struct Parts {
    tell: Vec<Tell>,
    incoming: Box<dyn Incoming>,
    /// The process ids of worker processes.
    pub pids: Vec<u32>,
    /// Waits for threads and processes at the end.
    join: Box<dyn FnOnce() + Send>,
    /// Prepares the beginning of a phase, and returns how long before it the parts must be told.
    lead: Box<dyn FnMut() -> Duration + Send>,
    /// The shares of the parts, if they run on agents, which can be lost.
    shares: Vec<Share>,
}

/// The time from the command to the beginning of a phase, so that every part of this machine receives the command before.
const LEAD: Duration = Duration::from_millis(20);

/// Receives the messages of parts, with the parts' numbers.
pub trait Incoming {
    /// The next message; `Ok(None)` if none arrives within `patience`.
    ///
    /// # Errors
    /// All parts have gone.
    fn receive(&mut self, patience: Duration) -> Result<Option<(u32, FromPart)>, Gone>;

    /// Waits for `span`.
    fn wait(&mut self, span: Duration);
}

/// Threads and worker processes send their messages over one channel.
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

/// Sends a message to a part. Does nothing if the part has ended.
pub type Tell = Box<dyn Fn(ToPart) + Send>;

impl Parts {
    /// Parts that receive messages by `tell` and send them by `incoming`. `join` waits until they have ended.
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
            lead: Box::new(|| LEAD),
            shares: Vec::new(),
        }
    }

    /// Prepares the beginning of each phase with `lead`, which returns how long before it the parts must be told.
    #[must_use]
    pub fn led_by(self, lead: impl FnMut() -> Duration + Send + 'static) -> Self {
        Self {
            lead: Box::new(lead),
            ..self
        }
    }

    /// Parts of agents, with these shares.
    #[must_use]
    pub fn on_agents(self, shares: Vec<Share>) -> Self {
        Self { shares, ..self }
    }

    /// Prepares the beginning of a phase. Returns how long before it the parts must be told.
    pub fn lead(&mut self) -> Duration {
        (self.lead)()
    }

    /// The shares of the parts, if they run on agents.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Starts a thread of this process for each share.
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
            // A part that panicked never reported its end, and the coordinator has noticed that.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        };
        Ok(Self::new(tell, heard, Vec::new(), join))
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        self.tell.len()
    }

    /// Whether there are no parts.
    pub fn is_empty(&self) -> bool {
        self.tell.is_empty()
    }

    /// Sends a message to all parts.
    pub fn tell_all(&self, message: ToPart) {
        self.tell.iter().for_each(|tell| tell(message));
    }

    /// The next message and its part; `Ok(None)` if none arrives within `patience`.
    ///
    /// # Errors
    /// All parts have gone.
    pub fn receive(&mut self, patience: Duration) -> Result<Option<(u32, FromPart)>, Gone> {
        self.incoming.receive(patience)
    }

    /// Waits for `span`. Messages that parts send in that time are received later.
    pub fn wait(&mut self, span: Duration) {
        self.incoming.wait(span);
    }

    /// Closes all inputs and waits until the parts have ended.
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
