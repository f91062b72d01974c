//! Sends one message to a real server. Measures the time and the bytes by layer of each step.
//!
//! - [`options`]: what to probe and how
//! - [`script`]: the steps; [`notes`]: what the script notes of them
//! - [`resolve`](mod@resolve): from a name to addresses; [`reach`](mod@reach): to the address that accepts a connection
//! - `client`, `application`, `monitor`, [`event`]: the endpoint and its events
//! - `resumption`: whether resumption and early data work, and what they save
//! - `attempt`: one connection to one address; `facts`: what client and server negotiated
//! - [`account`]: bytes by step and layer, from packets where they can be captured
//! - [`failure`]: what went wrong, and what to do; `answer`: protocols by their first bytes
//! - [`report`]: the results
//! - `capture`: the packets as a file
//!
//! wirecost does not emulate the link. It captures packets at the interface of this machine: before the network on the way up,
//! behind it on the way down. It counts a segment that the interface cuts into several packets once.

pub mod account;
pub mod answer;
mod application;
mod attempt;
mod capture;
mod client;
pub mod event;
mod facts;
pub mod failure;
mod monitor;
pub mod notes;
pub mod options;
pub mod reach;
pub mod report;
pub mod resolve;
mod resumption;
pub mod script;

use std::io;
use std::net::{IpAddr, SocketAddr};

use wirecost_cost::Traffic;
use wirecost_live::Clock;
use wirecost_live::patience::Patience;
use wirecost_live::sniffer::{Sniffed, interface_of};
use wirecost_proto::bare::Transport;
use wirecost_proto::units::counted;
use wirecost_proto::{Direction, Rng};
use wirecost_security::KeyLog;
use wirecost_security::entropy::Entropy;
use wirecost_security::layer::Fault;

use account::Account;
use attempt::{Attempt, attempt, peer_certificate};
use client::{Client, Environment};
use event::{Fact, Trouble};
use facts::{layer_fact, tls_facts};
use failure::Diagnosis;
pub use failure::{Failure, FailureKind};
use notes::{Notes, Step};
pub use options::{Options, OptionsError};
pub use report::Report;
use report::StepReport;
use script::ProbeScript;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The options conflict, or no client can do what they ask for.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The operating system refused.
    #[error("cannot {action}: {error}")]
    Machine {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// A probe that has ended.
#[derive(Debug)]
pub struct Probe {
    /// The results.
    pub report: Report,
    /// The certificates of the server in DER, its own first; none without TLS, or where it was not accepted.
    pub chain: Vec<Vec<u8>>,
    packets: Vec<(Direction, Sniffed)>,
    keys: KeyLog,
    clock: Clock,
}

/// Runs a probe.
///
/// # Errors
/// [`ProbeError`] where nothing was sent. A failure of the server is in the report.
pub fn run(options: &Options) -> Result<Probe, ProbeError> {
    options.check()?;
    let clock = Clock::start();
    let environment = environment(options, clock)?;
    // Options that no client can carry out are refused before anything is sent.
    Client::new(options, &environment)?;
    let mut probe = Probe {
        report: Report::new(options),
        chain: Vec::new(),
        packets: Vec::new(),
        keys: environment.key_log.clone(),
        clock,
    };
    let begun = clock.now();
    let found = resolve::resolve(
        &options.url.host,
        options.url.port,
        options.family,
        Patience::at_most(options.timeout),
    );
    let looked_up = clock.now().saturating_since(begun);
    let addresses = match found {
        Ok(addresses) => addresses,
        Err(error) => {
            probe.report.failure = Some(failure::of_name(&error, looked_up));
            return Ok(probe);
        }
    };
    if options.url.host.parse::<IpAddr>().is_err() {
        probe.report.push(StepReport {
            step: Step::Dns,
            time: looked_up,
            round_trips: None,
            up: Traffic::default(),
            down: Traffic::default(),
        });
    }
    probe.try_addresses(options, &environment, &addresses)?;
    Ok(probe)
}

fn environment(options: &Options, clock: Clock) -> Result<Environment, ProbeError> {
    let mut seed = [0; 8];
    let filled = Entropy::system().fill(&mut seed);
    filled.map_err(|error| ProbeError::Machine {
        action: "find randomness",
        error: io::Error::other(error.to_string()),
    })?;
    Ok(Environment {
        epoch: clock.epoch(),
        key_log: if options.keeps_keys {
            KeyLog::new()
        } else {
            KeyLog::disabled()
        },
        rng: Rng::new(u64::from_ne_bytes(seed)),
    })
}

impl Probe {
    /// Tries one address after another until one accepts the connection.
    fn try_addresses(
        &mut self,
        options: &Options,
        environment: &Environment,
        addresses: &[SocketAddr],
    ) -> Result<(), ProbeError> {
        let attempted = reach::in_turn(
            addresses,
            |remote| {
                let endpoint = Client::new(options, environment)?;
                attempt(endpoint, ProbeScript::new(options), options, remote, self.clock)
            },
            Attempt::is_unaccepted,
        )?;
        let Some((attempt, passed_over)) = attempted else {
            return Ok(());
        };
        let remote = attempt.remote;
        let remark = |remote| format!("{remote} does not accept the connection; tried the next address");
        self.report.warnings.extend(passed_over.into_iter().map(remark));
        self.conclude(options, environment, attempt)?;
        if self.report.failure.is_none() && resumption::is_possible(options) {
            let fact = resumption::tried(options, environment, remote, self.clock, &self.report)?;
            self.report.facts.push(fact);
        }
        Ok(())
    }

    fn conclude(
        &mut self,
        options: &Options,
        environment: &Environment,
        attempt: Attempt,
    ) -> Result<(), ProbeError> {
        let (remote, notes) = (attempt.remote, &attempt.notes);
        self.report.address = Some(remote);
        let account = self.account(options, &attempt);
        for step in report::steps(notes, &account) {
            self.report.push(step);
        }
        self.report_facts(options, notes);
        if let Some(negotiated) = &notes.negotiated {
            self.chain.clone_from(&negotiated.peer_certificates);
        }
        let certificate = match &notes.trouble {
            Some((_, Trouble::Insecure(Fault::Certificate(_)), _)) => {
                peer_certificate(options, environment, remote, self.clock)?
            }
            _ => None,
        };
        let diagnosis = Diagnosis {
            options,
            remote,
            interface: self.report.interface.as_deref(),
            datagrams_sent: attempt.logs.last().map_or(0, |(_, log)| log.up.datagrams.len()),
            certificate: certificate.as_ref(),
            received: attempt.received(),
            notes,
        };
        self.report.failure = diagnosis.failure();
        // Bytes of another protocol belong to no layer: the failure says so already.
        if account.unattributed_bytes > 0 && self.report.failure.is_none() {
            let text = format!(
                "{} B belong to no layer that is known",
                account.unattributed_bytes
            );
            self.report.warnings.push(text);
        }
        Ok(())
    }

    /// The account of the packets where they were captured, and otherwise of the endpoint's log.
    fn account(&mut self, options: &Options, attempt: &Attempt) -> Account {
        let flows = attempt.flows(options);
        self.report.warnings.extend(attempt.flood_warning());
        let dropped = match &attempt.seen {
            Ok(catch) => catch.dropped,
            Err(error) => {
                self.report.warnings.push(format!(
                    "packets cannot be seen ({error}): IP and transport headers, acknowledgements and round trips are not \
                     counted; sudo, or CAP_NET_RAW, shows them"
                ));
                return flows.from_logs();
            }
        };
        self.report.captured = true;
        if dropped > 0 {
            let text = format!(
                "{} passed unseen: the machine is too busy",
                counted(dropped.into(), "packet")
            );
            self.report.warnings.push(text);
        }
        self.packets = attempt.packets(options);
        self.check_interface();
        let packets: Vec<(Direction, &Sniffed)> =
            self.packets.iter().map(|(way, packet)| (*way, packet)).collect();
        flows.account(&packets)
    }

    /// Names the interface, and warns where it cuts packets that were counted once.
    fn check_interface(&mut self) {
        let Some((_, first)) = self.packets.first() else {
            return;
        };
        let Some((name, mtu)) = interface_of(first.interface) else {
            return;
        };
        let too_long = |packet: &Sniffed| packet.bytes.len() > mtu as usize;
        let cut = self.packets.iter().filter(|(_, packet)| too_long(packet)).count();
        if cut > 0 {
            self.report.warnings.push(format!(
                "{} beyond the {mtu} B that {name} carries: segmentation offload; on the wire these \
                 are more packets, with more headers; ethtool -K {name} tso off gso off gro off",
                counted(cut as u64, "packet")
            ));
        }
        self.report.interface = Some(name);
    }

    fn report_facts(&mut self, options: &Options, notes: &Notes) {
        let facts = &mut self.report.facts;
        if let Some(start) = notes.start {
            let asked = match start == options.start {
                true => String::new(),
                false => format!(", asked for {}", options.start),
            };
            facts.push(Fact::new("start", format!("{start}{asked}")));
        }
        match &notes.negotiated {
            Some(negotiated) => facts.extend(tls_facts(negotiated)),
            None if notes.start.is_some() => facts.extend(layer_fact(options)),
            None => {}
        }
        facts.extend(notes.facts.iter().cloned());
        let stream = options.url.scheme.stack().transport() == Transport::Stream;
        if stream && notes.trouble.is_none() && !notes.peer_closed {
            let text = "the server did not close its side within 1 s of our close";
            self.report.warnings.push(text.to_owned());
        }
    }
}
