//! The counting target of a load: the built-in server of a stack in its own processes, which reports arrivals.
//!
//! ```text
//! wirecost load                                   wirecost load-target (one process, or several on one port)
//!   Shard                  -- standard input  -->
//!                          <-- standard output -- Answer::Ready: address, credentials
//!   "report", "usage", "phase NANOSECONDS"    -->
//!                          <--                    Answer::Report, Answer::Usage
//!   end of input, or "quit"                   -->
//! ```
//!
//! Every line except these commands is JSON.

pub(crate) mod counter;
mod report;
mod target;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wirecost_live::Clock;
use wirecost_live::environment::OpenFiles;
use wirecost_live::patience::Patience;
use wirecost_live::process::foreground::StartError;
use wirecost_live::process::worker::{NoAnswer, Worker};
use wirecost_proto::bare::Transport;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_security::certificate;
use wirecost_stack::credentials::Portable;
use wirecost_stack::{Credentials, NameError, Stack};

use crate::devices::destination::OnLink;
use crate::parts::usage::Measured;
pub use report::{SinkReport, SinkUsage};
pub use target::{ServeError, serve};

/// The hidden command of the target's process.
pub const COMMAND: &str = "load-target";
/// How long a target may take to become ready.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a target may take to end after its last report.
const ENDING: Duration = Duration::from_secs(1);
/// File descriptors that a process needs for itself.
const RESERVED_FILES: u64 = 64;

/// The settings of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkOptions {
    /// The stack's name.
    pub stack: String,
    /// The address to listen on; port 0 is any port.
    pub address: SocketAddr,
    /// Simultaneous connections. They determine the number of processes.
    pub connections: u32,
    /// The CPU that it runs on; `None` is any.
    pub cpu: Option<usize>,
    /// Whether payloads begin with a [`wirecost_proto::Stamp`].
    pub stamped: bool,
    /// Whether it accepts early data, which anyone can replay.
    pub accept_early_data: bool,
    /// Whether its sockets leave Nagle's algorithm on.
    #[serde(default)]
    pub nagle: bool,
    /// Bytes of content in its answers (HTTP).
    #[serde(default)]
    pub response_body: usize,
    /// Its certificates and groups (TLS).
    #[serde(default)]
    pub handshake: Handshake,
    /// The largest frame that it accepts (AMQP); `None` is its usual one.
    #[serde(default)]
    pub amqp_frame_size: Option<u32>,
    /// The emulated link in front of it, if there is one.
    pub link: Option<OnLink>,
}

/// The settings of one process of a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shard {
    options: SinkOptions,
    /// Whether other processes listen on the same port.
    shares_port: bool,
    /// The credentials of all processes; the first process makes them.
    credentials: Option<Portable>,
}

impl SinkOptions {
    /// A target on loopback for `connections` connections and payloads with a stamp.
    pub fn new(stack: Stack, connections: u32) -> Self {
        Self {
            stack: stack.to_string(),
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            connections,
            cpu: None,
            stamped: true,
            accept_early_data: false,
            nagle: false,
            response_body: 0,
            handshake: Handshake::default(),
            amqp_frame_size: None,
            link: None,
        }
    }
}

/// An answer of a target.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The target listens.
    Ready {
        address: SocketAddr,
        credentials: Portable,
    },
    /// The arrivals so far, and the delays.
    Report(Box<SinkReport>),
    /// The usage so far, and the number of messages.
    Usage(SinkUsage),
    /// The target could not start.
    Failed { reason: String },
}

/// Why there is no target, or no answer from it.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// Its program cannot be run.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It sent no answer.
    #[error("the target: {0}")]
    Silent(#[from] NoAnswer),
    /// Its input is closed.
    #[error("cannot speak to the target: {0}")]
    Pipe(#[from] io::Error),
    /// Its process cannot serve, with the reason.
    #[error("the target cannot serve: {0}")]
    Failed(String),
    /// Its certificates or keys are unusable.
    #[error("the target cannot serve: {0}")]
    Credentials(#[from] certificate::Error),
    /// Its stack is unknown.
    #[error("the target cannot serve: {0}")]
    Stack(#[from] NameError),
    /// Its answer cannot be read.
    #[error("the target said {0:?}, which is not an answer")]
    Answer(String),
}

/// A running target. Dropping it kills its processes.
#[derive(Debug)]
pub struct Sink {
    shards: Vec<Process>,
    address: SocketAddr,
    credentials: Credentials,
}

impl Sink {
    /// Starts a target as processes of `program`, which is the running program ([`std::env::current_exe`]) except in
    /// tests. `clock` belongs to the run. Stops waiting once `is_over`.
    ///
    /// # Errors
    /// The program cannot be run, does not answer in time, or cannot serve.
    pub fn start(
        program: &Path,
        options: &SinkOptions,
        clock: Clock,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, SinkError> {
        let patience = Patience::new(PATIENCE, is_over);
        // A process may not hold more files than its limit, and every connection is one.
        let count = shards(options)?;
        let first = Shard {
            options: options.clone(),
            // SO_REUSEPORT only where it is needed: with it, any process of the same user could take part of the connections.
            shares_port: count > 1,
            credentials: None,
        };
        let (worker, address, credentials) = start_shard(program, &first, patience)?;
        let mut shards = vec![Process { worker, owed: 0 }];
        let other = Shard {
            options: SinkOptions {
                address,
                ..options.clone()
            },
            credentials: Some(credentials.clone()),
            ..first
        };
        for _ in 1..count {
            let worker = start_shard(program, &other, patience)?.0;
            shards.push(Process { worker, owed: 0 });
        }
        Ok(Self {
            shards,
            address,
            credentials: credentials.unpack(clock.epoch())?,
        })
    }

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The credentials that its clients need.
    pub const fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Its process ids.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.shards.iter().map(|shard| shard.worker.pid())
    }

    /// The arrivals so far, over all processes.
    ///
    /// # Errors
    /// [`SinkError`] if a process does not answer.
    pub fn report(&mut self, patience: Patience<'_>) -> Result<SinkReport, SinkError> {
        let mut sum = SinkReport::default();
        for answer in self.ask(target::REPORT, patience)? {
            match answer {
                Answer::Report(report) => sum.add(&report),
                other => return Err(SinkError::Answer(format!("{other:?}"))),
            }
        }
        Ok(sum)
    }

    /// The usage so far: less work than a report, so that it can be read every second.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn usage(&mut self, patience: Patience<'_>) -> Result<SinkUsage, SinkError> {
        let mut sum = SinkUsage::default();
        for answer in self.ask(target::USAGE, patience)? {
            match answer {
                Answer::Usage(usage) => sum.add(&usage),
                other => return Err(SinkError::Answer(format!("{other:?}"))),
            }
        }
        Ok(sum)
    }

    /// Restarts the distribution of one-way delays for a phase. Counts go on.
    ///
    /// # Errors
    /// The target has ended.
    pub fn begin_phase(&mut self, phase: &Measured) -> Result<(), SinkError> {
        let phase = serde_json::to_string(phase).map_err(io::Error::from)?;
        let order = format!("{}{phase}", target::PHASE);
        for shard in &mut self.shards {
            shard.worker.send(&order)?;
        }
        Ok(())
    }

    /// Ends the target.
    ///
    /// # Errors
    /// None in practice: the processes are children of this process.
    pub fn stop(mut self) -> Result<(), SinkError> {
        for shard in &mut self.shards {
            shard.worker.stop(ENDING)?;
        }
        Ok(())
    }

    /// Sends a question to all processes before it waits for the first answer.
    fn ask(&mut self, question: &str, patience: Patience<'_>) -> Result<Vec<Answer>, SinkError> {
        for shard in &mut self.shards {
            shard.worker.send(question)?;
            shard.owed += 1;
        }
        self.shards
            .iter_mut()
            .map(|shard| shard.receive(patience))
            .collect()
    }
}

/// One process of a target.
#[derive(Debug)]
struct Process {
    worker: Worker,
    /// The number of questions that it has not answered yet.
    owed: u32,
}

impl Process {
    /// Its answer to the last question. Late answers to earlier questions are skipped.
    fn receive(&mut self, patience: Patience<'_>) -> Result<Answer, SinkError> {
        loop {
            let answer = receive(&mut self.worker, patience)?;
            self.owed = self.owed.saturating_sub(1);
            if self.owed == 0 {
                return Ok(answer);
            }
        }
    }
}

/// The number of processes that hold the connections. The kernel distributes connections at random: six standard
/// deviations above the mean must fit.
fn shards(options: &SinkOptions) -> Result<u32, SinkError> {
    let stack: Stack = options.stack.parse()?;
    if stack.transport() == Transport::Datagram {
        return Ok(1);
    }
    let files = OpenFiles::read()?.hard.saturating_sub(RESERVED_FILES);
    Ok(processes_for(options.connections, files))
}

/// The fewest processes of which each can hold its share of the connections.
pub fn processes_for(connections: u32, each: u64) -> u32 {
    let fits = |count: &u32| {
        let mean = f64::from(connections) / f64::from(*count);
        let spread = if *count == 1 { 0.0 } else { 6.0 * mean.sqrt() };
        mean + spread <= each as f64
    };
    (1..=connections.max(1)).find(fits).unwrap_or(connections)
}

fn start_shard(
    program: &Path,
    shard: &Shard,
    patience: Patience<'_>,
) -> Result<(Worker, SocketAddr, Portable), SinkError> {
    let mut worker = Worker::start(program, &[COMMAND])?;
    worker.send(&serde_json::to_string(shard).map_err(io::Error::from)?)?;
    match receive(&mut worker, patience)? {
        Answer::Ready { address, credentials } => Ok((worker, address, credentials)),
        Answer::Failed { reason } => Err(SinkError::Failed(reason)),
        other => Err(SinkError::Answer(format!("{other:?}"))),
    }
}

fn receive(worker: &mut Worker, patience: Patience<'_>) -> Result<Answer, SinkError> {
    let line = patience.wait(|slice| match worker.receive(slice) {
        Err(NoAnswer::TimedOut { .. }) => None,
        heard => Some(heard),
    });
    let line = line.unwrap_or(Err(NoAnswer::TimedOut {
        pid: worker.pid(),
        waited: patience.most(),
    }))?;
    serde_json::from_str(&line).map_err(|_| SinkError::Answer(line))
}

/// The path of the running program.
///
/// # Errors
/// It has been removed since.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_processes_hold_all_connections() {
        assert_eq!(processes_for(1, 19_936), 1);
        assert_eq!(processes_for(19_936, 19_936), 1);
        assert_eq!(processes_for(19_937, 19_936), 2);
        // 5 x 20,000 would fit only if the distribution were even.
        assert_eq!(processes_for(100_000, 19_936), 6);
        assert_eq!(processes_for(0, 19_936), 1);
    }
}
