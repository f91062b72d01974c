//! One connection to one address: the driver runs the endpoint, and a sniffer captures the packets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use wirecost_live::Clock;
use wirecost_live::activity::Activity;
use wirecost_live::driver::client::ClientLoop;
use wirecost_live::sniffer::{Catch, KEPT_BYTES, Sniffed, Sniffer};
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::Device;
use wirecost_proto::hosts::any_port;
use wirecost_proto::log::FlowLog;
use wirecost_proto::{BothWays, Direction, ResetReason};
use wirecost_security::Start;

use super::ProbeError;
use super::account::Flows;
use super::client::{Client, Environment};
use super::event::Trouble;
use super::monitor::Monitor;
use super::notes::{Notes, Step};
use super::options::{Options, Trust};
use super::script::ProbeScript;
use wirecost_security::certificate::x509::Presented;

/// How long the last packets may take from the socket to the interface.
const LINGER: Duration = Duration::from_millis(50);

/// One connection to one address.
pub(super) struct Attempt {
    /// The address.
    pub(super) remote: SocketAddr,
    /// What the script noted.
    pub(super) notes: Notes,
    /// The endpoint's logs, by the local address of the flow.
    pub(super) logs: Vec<(SocketAddr, FlowLog)>,
    /// The captured packets, or why packets cannot be captured.
    pub(super) seen: Result<Catch, io::Error>,
}

impl Attempt {
    /// Whether the address did not accept the connection: another one may.
    pub(super) fn is_unaccepted(&self) -> bool {
        match &self.notes.trouble {
            Some((Step::Connect | Step::Ticket, Trouble::TimedOut, _))
            | Some((_, Trouble::Broken(ResetReason::Unreachable), _)) => self.notes.first_bytes.is_empty(),
            Some((_, Trouble::Unconnected(_) | Trouble::Broken(ResetReason::Refused), _)) => true,
            _ => false,
        }
    }

    /// The flows of the attempt.
    pub(super) fn flows(&self, options: &Options) -> Flows<'_> {
        Flows {
            logs: &self.logs,
            remote: self.remote,
            marks: &self.notes.marks,
            describer: options.stack().describer(),
            is_tls: options.stack().channel.is_tls(),
        }
    }

    /// A warning where more packets arrived than are kept.
    pub(super) fn flood_warning(&self) -> Option<String> {
        let unkept = self.unkept();
        let kept = KEPT_BYTES >> 20;
        let text = || {
            format!(
                "{unkept} packets came beyond the {kept} MiB that are kept: they are not in the account; is somebody flooding \
                 this address?"
            )
        };
        (unkept > 0).then(text)
    }

    /// Datagrams and packets that arrived and were not kept.
    fn unkept(&self) -> u64 {
        let unkept = |log: &FlowLog| log.up.unkept + log.down.unkept;
        let told: u64 = self.logs.iter().map(|(_, log)| unkept(log)).sum();
        let seen = self.seen.as_ref().map_or(0, |catch| catch.unkept);
        told.max(seen)
    }

    /// Bytes of a stream, or datagrams, that arrived in the last step.
    pub(super) fn received(&self) -> u64 {
        let begun = self.notes.marks.last().map_or(0, |mark| mark.position.0.down);
        let Some((_, log)) = self.logs.last() else {
            return 0;
        };
        let all = match log.transport {
            Transport::Stream => log.down.bytes,
            Transport::Datagram => log.down.datagrams.len() as u64,
        };
        all.saturating_sub(begun)
    }

    /// Each packet once: packets up as they leave, packets down as they arrive, on the interface of the first packet of their
    /// direction. A packet to this machine itself is captured twice, a packet through a bridge several times.
    pub(super) fn packets(&self, options: &Options) -> Vec<(Direction, Sniffed)> {
        let flows = self.flows(options);
        let mut interfaces = BothWays::<Option<u32>>::default();
        let all = self.seen.iter().flat_map(|catch| &catch.packets);
        let ours = all.filter_map(|packet| {
            let direction = flows.direction(&packet.bytes)?;
            if packet.outgoing != (direction == Direction::Up) {
                return None;
            }
            let interface = interfaces[direction].get_or_insert(packet.interface);
            (*interface == packet.interface).then(|| (direction, packet.clone()))
        });
        ours.collect()
    }
}

/// Runs one connection to its end, and collects its packets.
pub(super) fn attempt(
    endpoint: Client,
    script: ProbeScript,
    options: &Options,
    remote: SocketAddr,
    clock: Clock,
) -> Result<Attempt, ProbeError> {
    let machine = |action| move |error| ProbeError::Machine { action, error };
    let sniffer = Sniffer::open(clock);
    let transport = options.url.scheme.stack().transport();
    let device = Device {
        host: 0,
        local: any_port(remote),
        remote,
        transport,
        endpoint: Monitor::new(endpoint, transport),
        script,
    };
    let activity = Arc::new(Activity::new(1));
    let devices = ClientLoop::new(vec![device], clock, activity).map_err(machine("open a socket"))?;
    let devices = devices.with_bounded_logs(KEPT_BYTES);
    let reports = devices.run().map_err(machine("wait for a socket"))?;
    thread::sleep(LINGER);
    let Some(report) = reports.into_iter().next() else {
        return Err(machine("run the client")(io::Error::other("it has no report")));
    };
    let mut notes = report.script.into_notes();
    if let (Some(error), None) = (report.error, &notes.trouble) {
        let last = notes.marks.last().map_or(Step::Connect, |mark| mark.step);
        notes.trouble = Some((last, Trouble::Foreign(error), Duration::ZERO));
        notes.ended.get_or_insert(clock.now());
    }
    let mut attempt = Attempt {
        remote,
        notes,
        logs: report.logs,
        seen: Ok(Catch::default()),
    };
    let flows = attempt.flows(options);
    let is_ours = |packet: &Sniffed| flows.direction(&packet.bytes).is_some();
    attempt.seen = sniffer.and_then(|sniffer| sniffer.drain(is_ours));
    Ok(attempt)
}

/// The certificate of the server, from a connection that ends after the handshake. A client that refuses a certificate does not
/// return it, so that this connection trusts every server.
pub(super) fn peer_certificate(
    options: &Options,
    environment: &Environment,
    remote: SocketAddr,
    clock: Clock,
) -> Result<Option<Presented>, ProbeError> {
    if !options.stack().channel.is_tls() {
        return Ok(None);
    }
    let trusting = Options {
        trusted: Trust::Anyone,
        start: Start::Cold,
        ..options.clone()
    };
    let endpoint = Client::silent(&trusting, environment)?;
    let script = ProbeScript::handshake_only(&trusting);
    let attempt = attempt(endpoint, script, &trusting, remote, clock)?;
    let negotiated = attempt.notes.negotiated.as_ref();
    Ok(negotiated.and_then(|negotiated| Presented::read(&negotiated.peer_certificates)))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// A connection whose log and sniffer did not keep so many packets.
    fn flooded(told: u64, seen: u64) -> Attempt {
        let mut log = FlowLog::bounded(Transport::Datagram, KEPT_BYTES);
        log.down.unkept = told;
        Attempt {
            remote: any_port(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))),
            notes: Notes::default(),
            logs: vec![(any_port(SocketAddr::from((Ipv4Addr::LOCALHOST, 2))), log)],
            seen: Ok(Catch {
                unkept: seen,
                ..Catch::default()
            }),
        }
    }

    #[test]
    fn a_flood_beyond_what_is_kept_is_said_with_its_number() {
        assert_eq!(flooded(0, 0).flood_warning(), None);
        for (told, seen) in [(7, 0), (0, 7), (7, 5)] {
            let text = flooded(told, seen).flood_warning().expect("a warning");
            assert!(
                text.starts_with("7 packets came beyond the 32 MiB that are kept"),
                "{text}"
            );
        }
    }
}
