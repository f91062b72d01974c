//! Whether resumption and early data work with a server, and what they save.
//!
//! Each is tried as a device would use it: a connection that brings the ticket, and one that starts with it and sends the message
//! again. The cold connection of the probe is what they are compared with.

use std::net::SocketAddr;

use wirecost_live::Clock;
use wirecost_live::sniffer::Sniffed;
use wirecost_proto::Direction;
use wirecost_security::Start;
use wirecost_stack::url::Scheme;

use super::ProbeError;
use super::attempt::attempt;
use super::client::{Client, Environment};
use super::event::Fact;
use super::notes::Step;
use super::options::{Options, TlsVersion};
use super::report::{self, Report, StepReport};
use super::script::ProbeScript;

/// What a connection cost with all its steps except the ticket.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    bytes: u64,
    /// `None` if packets were not captured.
    round_trips: Option<f64>,
}

/// How a connection started that was asked to start in another way, and what it cost.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trial {
    granted: Option<Start>,
    cost: Cost,
}

/// Whether there is anything to try: a cold start on TLS over a stream, on QUIC, or on DTLS with a pre-shared key.
pub(super) fn is_possible(options: &Options) -> bool {
    let scheme = options.url.scheme;
    let has_sessions =
        scheme.is_secure() && (!matches!(scheme, Scheme::Coaps | Scheme::Mqttsns) || options.psk.is_some());
    options.tries_resumption && options.start == Start::Cold && has_sessions
}

/// Tries both, after a cold connection with the results `cold`.
///
/// # Errors
/// The operating system refused.
pub(super) fn tried(
    options: &Options,
    environment: &Environment,
    remote: SocketAddr,
    clock: Clock,
    cold: &Report,
) -> Result<Fact, ProbeError> {
    let cold_cost = Cost::from_steps(&cold.steps, cold.captured);
    let resumed = trial(options, environment, remote, clock, Start::Resumed)?;
    // TLS 1.2 and DTLS 1.2 have no early data (RFC 8446, section 2.3).
    let early = match options.tls {
        Some(TlsVersion::V12) => None,
        _ if options.psk.is_some() => None,
        _ if resumed.granted != Some(Start::Resumed) => None,
        _ => Some(trial(options, environment, remote, clock, Start::ZeroRtt)?),
    };
    Ok(Fact::new(
        "resumption",
        said(&cold_cost, &resumed, early.as_ref()),
    ))
}

/// One line about both.
fn said(cold: &Cost, resumed: &Trial, early: Option<&Trial>) -> String {
    let works = |trial: &Trial| format!("works, {}", trial.cost.against(cold));
    let first = match resumed.granted {
        Some(Start::Resumed) => works(resumed),
        _ => "does not work: the server accepted no ticket".to_owned(),
    };
    let second = match early {
        Some(trial) if trial.granted == Some(Start::ZeroRtt) => works(trial),
        _ => "does not work".to_owned(),
    };
    format!("{first}; early data {second}")
}

fn trial(
    options: &Options,
    environment: &Environment,
    remote: SocketAddr,
    clock: Clock,
    start: Start,
) -> Result<Trial, ProbeError> {
    let options = Options {
        start,
        ..options.clone()
    };
    let endpoint = Client::new(&options, environment)?;
    let attempt = attempt(endpoint, ProbeScript::new(&options), &options, remote, clock)?;
    let flows = attempt.flows(&options);
    let is_captured = attempt.seen.is_ok();
    let packets = attempt.packets(&options);
    let packets: Vec<(Direction, &Sniffed)> = packets.iter().map(|(way, packet)| (*way, packet)).collect();
    let account = match is_captured {
        true => flows.account(&packets),
        false => flows.from_logs(),
    };
    let steps = report::steps(&attempt.notes, &account);
    Ok(Trial {
        granted: attempt.notes.start.filter(|_| attempt.notes.trouble.is_none()),
        cost: Cost::from_steps(&steps, is_captured),
    })
}

impl Cost {
    fn from_steps(steps: &[StepReport], is_captured: bool) -> Self {
        let own = || {
            steps
                .iter()
                .filter(|step| !matches!(step.step, Step::Dns | Step::Ticket | Step::Close))
        };
        let trips: f64 = own().filter_map(|step| step.round_trips).sum();
        Self {
            bytes: own()
                .map(|step| step.up.wire_bytes() + step.down.wire_bytes())
                .sum(),
            round_trips: is_captured.then_some(trips),
        }
    }

    /// `1,050 B and 1 round trip less than cold`.
    fn against(&self, cold: &Self) -> String {
        let difference = |saved: f64, unit: &str| {
            let more = if saved < 0.0 { "more" } else { "less" };
            format!("{} {unit} {more}", saved.abs())
        };
        let bytes = difference(cold.bytes as f64 - self.bytes as f64, "B");
        match cold.round_trips.zip(self.round_trips) {
            Some((cold, own)) => {
                let saved = cold - own;
                let unit = if saved.abs() == 1.0 {
                    "round trip"
                } else {
                    "round trips"
                };
                format!("{bytes} and {} than cold", difference(saved, unit))
            }
            None => format!("{bytes} than cold, without headers"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_works_and_what_it_saves() {
        let cost = |bytes, trips| Cost {
            bytes,
            round_trips: Some(trips),
        };
        let trial = |granted, bytes, trips| Trial {
            granted,
            cost: cost(bytes, trips),
        };
        let cold = cost(2_000, 4.0);
        let resumed = trial(Some(Start::Resumed), 900, 4.0);
        let early = trial(Some(Start::ZeroRtt), 850, 3.0);
        assert_eq!(
            said(&cold, &resumed, Some(&early)),
            "works, 1100 B less and 0 round trips less than cold; early data works, 1150 B less and 1 round trip less than cold"
        );
        let refused = trial(Some(Start::Cold), 2_000, 4.0);
        assert_eq!(
            said(&cold, &refused, None),
            "does not work: the server accepted no ticket; early data does not work"
        );
    }
}
