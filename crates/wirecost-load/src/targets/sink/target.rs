//! The target's own process.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::thread::JoinHandle;

use wirecost_live::driver::server::ServerLoop;
use wirecost_live::environment::OpenFiles;
use wirecost_live::{Clock, priority};
use wirecost_proto::Instant;
use wirecost_proto::driver::Service;
use wirecost_security::certificate;
use wirecost_stack::channels::{ChannelOptions, ServerChannels};
use wirecost_stack::server::{Clients, Server};
use wirecost_stack::{Credentials, NameError, Stack};

use super::counter::Counter;
use super::report::SinkUsage;
use super::{Answer, Shard, SinkOptions};
use crate::devices::destination::OnLink;
use crate::devices::keys::context_count;

pub(super) const REPORT: &str = "report";
pub(super) const USAGE: &str = "usage";
/// The command that begins a phase. The measured time follows.
pub(super) const PHASE: &str = "phase ";
const QUIT: &str = "quit";

/// Why the process of a target ends early, or cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its first line does not describe a target.
    #[error("the target's options cannot be read: {0}")]
    Options(#[source] serde_json::Error),
    /// Its stack is unknown.
    #[error(transparent)]
    Stack(#[from] NameError),
    /// Its certificates or keys are unusable.
    #[error(transparent)]
    Credentials(#[from] certificate::Error),
    /// Its server cannot be built.
    #[error("{0}")]
    Server(String),
    /// It may not run on the requested CPU.
    #[error("cannot keep to CPU {cpu}: {source}")]
    Cpu {
        /// The CPU's number.
        cpu: usize,
        /// The cause.
        source: io::Error,
    },
    /// It cannot listen, open files or write an answer.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line of its input is not a command.
    #[error("{0:?} is not a command of a target")]
    Command(String),
    /// Its server has ended.
    #[error("the target's server has ended: {0}")]
    Ended(String),
}

/// Runs a target: reads a `Shard` and then commands from `commands`, and writes answers to `answers`, until the
/// commands end.
///
/// # Errors
/// The server has ended, or its output is closed. A target that cannot start reports this in an answer.
pub fn serve(commands: impl BufRead, mut answers: impl Write) -> Result<(), ServeError> {
    let mut commands = commands.lines().map_while(Result::ok);
    let first = commands.next().unwrap_or_default();
    let started = serde_json::from_str(&first).map_err(ServeError::Options);
    let target = match started.and_then(|shard: Shard| start(&shard)) {
        Ok((target, ready)) => {
            write(&mut answers, &ready)?;
            target
        }
        Err(error) => {
            let reason = error.to_string();
            return write(&mut answers, &Answer::Failed { reason });
        }
    };
    for command in commands {
        // An ended server would answer reports with its last counts, and look alive.
        if target.serving.is_finished() {
            return Err(target.end());
        }
        match command.as_str() {
            REPORT => write(&mut answers, &Answer::Report(Box::new(target.report())))?,
            USAGE => write(&mut answers, &Answer::Usage(target.usage()))?,
            // Also the end of the input ends the target, so that it does not outlive a generator that was killed.
            QUIT => break,
            other => match other.strip_prefix(PHASE).map(serde_json::from_str) {
                Some(Ok(phase)) => target.counter.begin_phase(&phase),
                _ => return Err(ServeError::Command(command)),
            },
        }
    }
    Ok(())
}

fn write(answers: &mut impl Write, answer: &Answer) -> Result<(), ServeError> {
    let line = serde_json::to_string(answer).map_err(io::Error::from)?;
    writeln!(answers, "{line}")?;
    Ok(answers.flush()?)
}

/// A running server. It ends with the process.
struct Target {
    counter: Counter,
    /// The server's thread, which returns why it has ended.
    serving: JoinHandle<String>,
}

fn start(shard: &Shard) -> Result<(Target, Answer), ServeError> {
    let options = &shard.options;
    let stack: Stack = options.stack.parse()?;
    // The soft limit is usually 1,024; each connection needs a file descriptor.
    OpenFiles::raise()?;
    if let Some(cpu) = options.cpu {
        priority::keep_to_cpu(cpu).map_err(|source| ServeError::Cpu { cpu, source })?;
    }
    let clock = Clock::start();
    // The first process makes the credentials of all processes.
    let credentials = match &shard.credentials {
        // Processes of one port: a device may reach any of them, and trusts one certificate.
        Some(portable) => portable.unpack(clock.epoch())?,
        None => Credentials::generate_of_kind(options.handshake.kind(), clock.epoch(), false)?,
    };
    let portable = credentials.portable()?;
    let counter = Counter::new(clock.monotonic_nanos(Instant::START), options.stamped);
    let service = Service {
        address: options.address,
        transport: stack.transport(),
        endpoint: endpoint(stack, options, credentials)?,
    };
    let (serving, address) = run(service, shard, clock, counter.clone())?;
    let ready = Answer::Ready {
        address,
        credentials: portable,
    };
    Ok((Target { counter, serving }, ready))
}

fn endpoint(stack: Stack, options: &SinkOptions, credentials: Credentials) -> Result<Server, ServeError> {
    let channel_options = ChannelOptions {
        accept_early_data: options.accept_early_data,
        response_body: options.response_body,
        offered: options.handshake.offered(),
        accepted: options.handshake.accepted(),
        amqp_frame_size: options.amqp_frame_size,
        ..OnLink::channel_options(options.link)
    };
    let contexts = context_count(stack, options.connections);
    let channels = ServerChannels::new(credentials, channel_options, contexts);
    let seed = u64::from(std::process::id());
    let server = Server::new(stack, Clients::Devices, &channels, seed);
    server.map_err(|error| ServeError::Server(error.to_string()))
}

/// Serves on its own thread from now on. Returns its address.
fn run(
    service: Service<Server>,
    shard: &Shard,
    clock: Clock,
    counter: Counter,
) -> std::io::Result<(JoinHandle<String>, SocketAddr)> {
    let address = service.address;
    let server = match shard.shares_port {
        true => ServerLoop::sharing_ports(vec![service], clock, counter)?,
        false => ServerLoop::new(vec![service], clock, counter, false)?,
    };
    // A client that reconnects from another port counts twice for a while.
    let server = server
        .with_max_peers(shard.options.connections as usize * 2 + 1)
        .with_nagle(shard.options.nagle);
    let address = server.address().unwrap_or(address);
    let serving = std::thread::spawn(move || match server.run() {
        Ok(_) => "it was stopped".to_owned(),
        Err(error) => error.to_string(),
    });
    Ok((serving, address))
}

impl Target {
    fn report(&self) -> super::SinkReport {
        let report = self.counter.report();
        super::SinkReport {
            usage: SinkUsage::own(report.messages),
            ..report
        }
    }

    /// Why the server has ended.
    fn end(self) -> ServeError {
        let reason = self.serving.join();
        ServeError::Ended(reason.unwrap_or_else(|_| "its thread panicked; please report this".into()))
    }

    fn usage(&self) -> SinkUsage {
        SinkUsage::own(self.counter.messages())
    }
}
