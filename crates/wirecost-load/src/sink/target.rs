//! The target's own process.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::thread::JoinHandle;

use wirecost_live::driver::server::ServerLoop;
use wirecost_live::environment::OpenFiles;
use wirecost_live::{Clock, priority};
use wirecost_proto::Instant;
use wirecost_proto::driver::Service;
use wirecost_stack::channels::{ChannelOptions, ServerChannels};
use wirecost_stack::server::{Clients, Server};
use wirecost_stack::{Channel, Credentials, Stack};

use super::super::destination::OnLink;
use super::counter::Counter;
use super::report::SinkUsage;
use super::{Answer, Shard, SinkOptions};

pub(super) const REPORT: &str = "report";
pub(super) const USAGE: &str = "usage";
/// A phase begins; what of it is measured comes behind it.
pub(super) const PHASE: &str = "phase ";
const QUIT: &str = "quit";

/// Is a target: takes a `Shard` and questions from `orders`, gives answers to `words`, until there are no more
/// orders.
///
/// # Errors
/// Its server has ended, or its output is closed. Why it could not start at all is an answer.
pub fn serve(orders: impl BufRead, mut words: impl Write) -> Result<(), String> {
    let mut orders = orders.lines().map_while(Result::ok);
    let first = orders.next().unwrap_or_default();
    let started = serde_json::from_str(&first)
        .map_err(|error| format!("what it is to be cannot be read: {error}"))
        .and_then(|shard: Shard| start(&shard));
    let target = match started {
        Ok((target, ready)) => {
            say(&mut words, &ready)?;
            target
        }
        Err(reason) => return say(&mut words, &Answer::Failed { reason }),
    };
    for order in orders {
        if target.serving.is_finished() {
            return Err(target.last_words());
        }
        match order.as_str() {
            REPORT => say(&mut words, &Answer::Report(Box::new(target.report())))?,
            USAGE => say(&mut words, &Answer::Usage(target.usage()))?,
            QUIT => break,
            other => match other.strip_prefix(PHASE).map(serde_json::from_str) {
                Some(Ok(phase)) => target.counter.begin_phase(&phase),
                _ => return Err(format!("{order:?} is no order")),
            },
        }
    }
    Ok(())
}

fn say(words: &mut impl Write, answer: &Answer) -> Result<(), String> {
    let line = serde_json::to_string(answer).map_err(|error| error.to_string())?;
    writeln!(words, "{line}")
        .and_then(|()| words.flush())
        .map_err(|error| error.to_string())
}

/// A server at work; it ends with the process.
struct Target {
    counter: Counter,
    /// Ends with why it has ended.
    serving: JoinHandle<String>,
}

fn start(shard: &Shard) -> Result<(Target, Answer), String> {
    let options = &shard.options;
    let refused = |error: &dyn std::fmt::Display| error.to_string();
    let stack: Stack = options.stack.parse().map_err(|error| refused(&error))?;
    OpenFiles::raise().map_err(|error| refused(&error))?;
    if let Some(cpu) = options.cpu {
        priority::keep_to_cpu(cpu).map_err(|error| format!("cannot keep to CPU {cpu}: {error}"))?;
    }
    let clock = Clock::start();
    let credentials = credentials(shard, clock)?;
    let portable = credentials.portable().map_err(|error| refused(&error))?;
    let counter = Counter::new(clock.monotonic_nanos(Instant::START), options.stamped);
    let service = Service {
        address: options.address,
        transport: stack.transport(),
        endpoint: endpoint(stack, options, credentials)?,
    };
    let (serving, address) = run(service, shard, clock, counter.clone()).map_err(|error| refused(&error))?;
    let ready = Answer::Ready {
        address,
        credentials: portable,
    };
    Ok((Target { counter, serving }, ready))
}

/// Credentials of one's own, where none are given.
fn credentials(shard: &Shard, clock: Clock) -> Result<Credentials, String> {
    let credentials = match &shard.credentials {
        Some(portable) => portable.unpack(clock.epoch()),
        None => Credentials::generate(clock.epoch(), false),
    };
    credentials.map_err(|error| error.to_string())
}

fn endpoint(stack: Stack, options: &SinkOptions, credentials: Credentials) -> Result<Server, String> {
    let channel_options = ChannelOptions {
        accept_early_data: options.accept_early_data,
        client_certificates: options.client_certificates,
        ..OnLink::channel_options(options.link)
    };
    let contexts = match stack.channel {
        Channel::Oscore => options.connections as usize,
        Channel::Plain
        | Channel::Tls13
        | Channel::Tls12
        | Channel::Dtls13
        | Channel::Dtls12
        | Channel::Dtls12Psk => 0,
    };
    let channels = ServerChannels::new(credentials, channel_options, contexts);
    let seed = u64::from(std::process::id());
    Server::new(stack, Clients::Devices, &channels, seed).map_err(|error| error.to_string())
}

/// Serves on a thread of its own from now on; returns where.
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
    // Clients that come again from other ports have two.
    let server = server.with_max_peers(shard.options.connections as usize * 2 + 1);
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

    /// Why it serves no more.
    fn last_words(self) -> String {
        let reason = self.serving.join();
        let reason = reason.unwrap_or_else(|_| "its thread panicked; please report this".into());
        format!("the target's server has ended: {reason}")
    }

    fn usage(&self) -> SinkUsage {
        SinkUsage::own(self.counter.messages())
    }
}
