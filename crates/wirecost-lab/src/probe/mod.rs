//! One message to a real server, every step timed and its bytes by layer.
//!
//! - [`url`]: what is probed
//! - [`options`]: what is asked for
//! - [`script`]: the steps
//! - [`resolve`](mod@resolve): from a name to addresses
//! - `client`, `application`, `witness`, [`event`]: the endpoint, and what it reports
//! - [`account`]: bytes by step and layer, from packets where they can be seen
//! - [`failure`]: what went wrong, and the way out; `answer`: protocols by their first bytes
//! - [`report`]: what is found
//! - [`x509`]: what a certificate says of itself
//! - `capture`: the packets as a file
//!
//! The link is not ours: packets are seen as they pass the machine's own interface, so that only what came down has come
//! through the network, and a segment that the interface cuts for us is counted once.

pub mod account;
mod answer;
mod application;
mod capture;
mod client;
pub mod event;
pub mod failure;
pub mod options;
pub mod report;
pub mod resolve;
pub mod script;
pub mod url;
mod witness;
pub mod x509;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::activity::Activity;
use wirecost_live::driver::client::{ClientLoop, Device};
use wirecost_live::driver::log::FlowLog;
use wirecost_live::sniffer::{Catch, Sniffed, Sniffer, interface_of};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Buffer, Direction, ResetReason, Rng};
use wirecost_security::entropy::Entropy;
use wirecost_security::layer::Fault;
use wirecost_security::tls::Negotiated;
use wirecost_security::{KeyLog, Start};

use account::{Account, Flows};
use client::{Client, Surroundings};
use event::Fact;
use failure::Diagnosis;
pub use failure::{Failure, FailureKind};
pub use options::{Options, OptionsError};
pub use report::Report;
use report::StepReport;
use script::{Notes, ProbeScript, Step, Trouble};
use url::Scheme;
pub use url::Url;
use witness::Witness;
use x509::Certificate;

use crate::stack::credentials::epoch_of;

/// How long the last packets may take from a socket to the interface.
const LINGER: Duration = Duration::from_millis(50);

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The options cannot be met.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The machine refused.
    #[error("cannot {action}: {error}")]
    Machine {
        /// What was to be done.
        action: &'static str,
        /// Why not.
        error: io::Error,
    },
}

/// A probe that is over.
#[derive(Debug)]
pub struct Probe {
    /// What it has found.
    pub report: Report,
    packets: Vec<(Direction, Sniffed)>,
    keys: KeyLog,
    clock: Clock,
}

/// Probes.
///
/// # Errors
/// [`ProbeError`] where nothing was sent; what goes wrong with the server is in the report.
pub fn run(options: &Options) -> Result<Probe, ProbeError> {
    options.check()?;
    let clock = Clock::start();
    let around = surroundings(options, clock)?;
    // What the options cannot have is said before anybody is asked.
    Client::new(options, &around)?;
    let mut probe = Probe {
        report: Report::new(options),
        packets: Vec::new(),
        keys: around.key_log.clone(),
        clock,
    };
    let begun = clock.now();
    let found = resolve::resolve(
        &options.url.host,
        options.url.port,
        options.family,
        options.timeout,
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
            up: account::Way::default(),
            down: account::Way::default(),
        });
    }
    probe.try_addresses(options, &around, &addresses)?;
    Ok(probe)
}

fn surroundings(options: &Options, clock: Clock) -> Result<Surroundings, ProbeError> {
    let mut seed = [0; 8];
    let filled = Entropy::system().fill(&mut seed);
    filled.map_err(|error| ProbeError::Machine {
        action: "find randomness",
        error: io::Error::other(error.to_string()),
    })?;
    Ok(Surroundings {
        epoch: epoch_of(clock),
        key_log: if options.keeps_keys {
            KeyLog::new()
        } else {
            KeyLog::disabled()
        },
        rng: Rng::new(u64::from_ne_bytes(seed)),
    })
}

/// One connection to one address.
struct Attempt {
    remote: SocketAddr,
    notes: Notes,
    logs: Vec<(SocketAddr, FlowLog)>,
    /// What was seen, or why nothing could be.
    seen: Result<Catch, io::Error>,
}

impl Probe {
    /// Tries one address after another until one takes the connection.
    fn try_addresses(
        &mut self,
        options: &Options,
        around: &Surroundings,
        addresses: &[SocketAddr],
    ) -> Result<(), ProbeError> {
        for (index, remote) in addresses.iter().enumerate() {
            let endpoint = Client::new(options, around)?;
            let script = ProbeScript::new(options);
            let attempt = attempt(endpoint, script, options, *remote, self.clock)?;
            let unconnected = matches!(
                attempt.notes.trouble,
                Some((
                    _,
                    Trouble::Unconnected(_) | Trouble::Broken(ResetReason::Refused),
                    _
                ))
            );
            if unconnected && index + 1 < addresses.len() {
                let text = format!("{remote} does not take the connection; tried the next address");
                self.report.warnings.push(text);
                continue;
            }
            self.conclude(options, around, attempt)?;
            break;
        }
        Ok(())
    }

    fn conclude(
        &mut self,
        options: &Options,
        around: &Surroundings,
        attempt: Attempt,
    ) -> Result<(), ProbeError> {
        let Attempt {
            remote,
            notes,
            logs,
            seen,
        } = attempt;
        let flows = Flows {
            logs: &logs,
            remote,
            marks: &notes.marks,
            describer: describer(options),
            is_tls: has_records(options),
        };
        self.report.address = Some(remote);
        let account = self.account(&flows, seen);
        for step in report::steps(&notes, &account) {
            self.report.push(step);
        }
        self.tell(options, &notes);
        let certificate = match &notes.trouble {
            Some((_, Trouble::Insecure(Fault::Certificate(_)), _)) => {
                look(options, around, remote, self.clock)?
            }
            _ => None,
        };
        let diagnosis = Diagnosis {
            options,
            remote,
            interface: self.report.interface.as_deref(),
            datagrams_sent: logs.last().map_or(0, |(_, log)| log.up.datagrams.len()),
            certificate: certificate.as_ref(),
            notes: &notes,
        };
        self.report.failure = diagnosis.failure();
        // Where the server spoke another protocol, that there are such bytes is no news.
        if account.unattributed_bytes > 0 && self.report.failure.is_none() {
            let text = format!(
                "{} B belong to no layer that is known",
                account.unattributed_bytes
            );
            self.report.warnings.push(text);
        }
        Ok(())
    }

    /// The account of the packets where they were seen, and else of what the endpoint said.
    fn account(&mut self, flows: &Flows<'_>, seen: Result<Catch, io::Error>) -> Account {
        let catch = match seen {
            Ok(catch) => catch,
            Err(error) => {
                self.report.warnings.push(format!(
                    "packets cannot be seen ({error}): IP and transport headers, acknowledgements and round trips are not \
                     counted; sudo, or CAP_NET_RAW, shows them"
                ));
                return flows.spoken();
            }
        };
        self.report.captured = true;
        if catch.dropped > 0 {
            let text = format!("{} packets passed unseen: the machine is too busy", catch.dropped);
            self.report.warnings.push(text);
        }
        self.packets = once(flows, catch);
        self.look_at_interface();
        let packets: Vec<(Direction, &Sniffed)> =
            self.packets.iter().map(|(way, packet)| (*way, packet)).collect();
        let account = flows.account(&packets);
        if account.unattributed_bytes > 0 {
            let text = format!(
                "{} B belong to no layer that is known",
                account.unattributed_bytes
            );
            self.report.warnings.push(text);
        }
        account
    }

    /// Names the interface, and says where it has not sent what was counted.
    fn look_at_interface(&mut self) {
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
                "{cut} packets are longer than the {mtu} B that {name} carries: segmentation offload; on the wire they \
                 are more packets, with more headers; ethtool -K {name} tso off gso off gro off"
            ));
        }
        self.report.interface = Some(name);
    }

    fn tell(&mut self, options: &Options, notes: &Notes) {
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
        let stream = options.url.scheme.protocol().transport() == Transport::Stream;
        if stream && notes.trouble.is_none() && !notes.peer_closed {
            let text = "the server did not close its side within 1 s of our close";
            self.report.warnings.push(text.to_owned());
        }
    }
}

/// What was agreed on where the layer offers one thing alone.
fn layer_fact(options: &Options) -> Option<Fact> {
    let fact = match (options.url.scheme, &options.psk, options.tls) {
        (Scheme::H3, ..) => Fact::new("QUIC", "version 1, TLS 1.3, ALPN h3"),
        (Scheme::Coaps, Some(_), _) => Fact::new("DTLS", "DTLS 1.2, TLS_PSK_WITH_AES_128_CCM_8"),
        (Scheme::Coaps, None, Some(options::TlsVersion::V13)) => {
            Fact::new("DTLS", "DTLS 1.3, TLS_AES_128_GCM_SHA256")
        }
        (Scheme::Coaps, None, _) => Fact::new("DTLS", "DTLS 1.2, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
        _ => return None,
    };
    Some(fact)
}

fn tls_facts(negotiated: &Negotiated) -> Vec<Fact> {
    let words = [
        negotiated.version.map(str::to_owned),
        negotiated.suite.clone(),
        negotiated.group.clone(),
        negotiated
            .protocol
            .as_deref()
            .map(|protocol| format!("ALPN {}", String::from_utf8_lossy(protocol))),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let mut facts = vec![Fact::new("TLS", words.join(", "))];
    let own = negotiated.peer_certificates.first();
    if let Some(certificate) = own.and_then(|der| Certificate::read(der)) {
        let chain = negotiated.peer_certificates.iter().map(Vec::len);
        let text = format!(
            "{certificate}; {} in the chain, {} B",
            chain.len(),
            chain.sum::<usize>()
        );
        facts.push(Fact::new("certificate", text));
    }
    facts
}

/// Runs one connection to its end and collects what passed.
fn attempt(
    endpoint: Client,
    script: ProbeScript,
    options: &Options,
    remote: SocketAddr,
    clock: Clock,
) -> Result<Attempt, ProbeError> {
    let machine = |action| move |error| ProbeError::Machine { action, error };
    let sniffer = Sniffer::open(clock);
    let transport = options.url.scheme.protocol().transport();
    let device = Device {
        host: 0,
        local: any_port(remote),
        remote,
        transport,
        endpoint: Witness::new(endpoint, transport),
        script,
    };
    let activity = Arc::new(Activity::new(1));
    let devices = ClientLoop::new(vec![device], clock, activity).map_err(machine("open a socket"))?;
    let reports = devices.run().map_err(machine("wait for a socket"))?;
    thread::sleep(LINGER);
    let Some(report) = reports.into_iter().next() else {
        return Err(machine("run a device")(io::Error::other("it is gone")));
    };
    let mut notes = report.script.into_notes();
    if let (Some(error), None) = (report.error, &notes.trouble) {
        let last = notes.marks.last().map_or(Step::Connect, |mark| mark.step);
        notes.trouble = Some((last, Trouble::Foreign(error), Duration::ZERO));
        notes.ended.get_or_insert(clock.now());
    }
    let logs = report.logs;
    let flows = Flows {
        logs: &logs,
        remote,
        marks: &[],
        describer: describer(options),
        is_tls: has_records(options),
    };
    let seen = sniffer.and_then(|sniffer| sniffer.drain(|packet| flows.direction(&packet.bytes).is_some()));
    Ok(Attempt {
        remote,
        notes,
        logs,
        seen,
    })
}

const fn any_port(remote: SocketAddr) -> SocketAddr {
    match remote {
        SocketAddr::V4(_) => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        SocketAddr::V6(_) => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
    }
}

/// Each packet once: what goes up as it leaves, what comes down as it arrives, on the interface that the first one of its
/// direction took. A packet to the machine itself passes twice, one through a bridge several times.
fn once(flows: &Flows<'_>, catch: Catch) -> Vec<(Direction, Sniffed)> {
    let mut interfaces: [Option<u32>; 2] = [None; 2];
    let ours = catch.packets.into_iter().filter_map(|packet| {
        let direction = flows.direction(&packet.bytes)?;
        if packet.outgoing != (direction == Direction::Up) {
            return None;
        }
        let interface = interfaces[direction as usize].get_or_insert(packet.interface);
        (*interface == packet.interface).then_some((direction, packet))
    });
    ours.collect()
}

/// Whether what is sent is a stream of TLS records.
fn has_records(options: &Options) -> bool {
    let scheme = options.url.scheme;
    scheme.is_secure() && scheme.protocol().transport() == Transport::Stream
}

/// What tells the spans of datagrams that the endpoint has not described.
fn describer(options: &Options) -> fn(&[u8], &mut Buffer) {
    match (options.url.scheme, &options.psk) {
        (Scheme::H3, _) => wirecost_http::http3::describe,
        (Scheme::Coaps, Some(_)) => wirecost_security::dtls::describe_psk,
        (Scheme::Coaps, None) => wirecost_security::dtls::describe,
        _ => wirecost_coap::describe,
    }
}

/// Looks at a certificate that was not accepted, on a connection that says nothing beyond the handshake: a client that
/// refuses a certificate does not show it.
fn look(
    options: &Options,
    around: &Surroundings,
    remote: SocketAddr,
    clock: Clock,
) -> Result<Option<Certificate>, ProbeError> {
    if !has_records(options) {
        return Ok(None);
    }
    let trusting = Options {
        trusted: options::Trusted::Anyone,
        start: Start::Cold,
        ..options.clone()
    };
    let endpoint = Client::silent(&trusting, around)?;
    let script = ProbeScript::looking(&trusting);
    let attempt = attempt(endpoint, script, &trusting, remote, clock)?;
    let negotiated = attempt.notes.negotiated.as_ref();
    let own = negotiated.and_then(|negotiated| negotiated.peer_certificates.first());
    Ok(own.and_then(|der| Certificate::read(der)))
}
