//! Cells without an interval: a connection for each reading, and one that is kept open as long as its session lasts and the address
//! translator on its path remembers it.

use std::time::Duration;

use wirecost_energy::Device;
use wirecost_proto::bare::Transport;
use wirecost_results::Cell;
use wirecost_results::ladder::Ladder;
use wirecost_scenario::replay;
use wirecost_stack::{Application, Channel, Stack};

use super::traffic::{Cycle, Traffic, cycle, label};
use crate::arguments::CostArguments;
use crate::exit::Failure;

/// A cell with the packets of one of its devices.
pub type Seen<'a> = (&'a Cell, &'a Ladder);

/// How a reading uses its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The connection is there.
    Kept,
    /// It is made and closed.
    Each,
    /// It is made; the one before was forgotten on the path, so that it is not closed.
    Again,
}

/// What a row of a cell follows from.
struct Row<'a> {
    arguments: &'a CostArguments,
    device: Option<&'a Device>,
    cell: Seen<'a>,
    /// The cell whose connect is a full handshake; `None` where the run has none.
    full: Option<Seen<'a>>,
    /// Seconds between readings.
    every: f64,
}

/// Adds the rows of a cell: a connection for each reading, and one that is kept open, where there is a connection.
///
/// # Errors
/// A session ends, and the run has no full handshake of the stack.
pub fn rows(
    arguments: &CostArguments,
    device: Option<&Device>,
    (cell, all): (Seen<'_>, &[Seen<'_>]),
    every: f64,
    to: &mut Vec<Traffic>,
) -> Result<(), Failure> {
    let row = Row {
        arguments,
        device,
        cell,
        full: full_handshake(cell, all),
        every,
    };
    if cell.0.connect.is_none() {
        to.push(row.traffic(Use::Kept, "no connection")?);
        return Ok(());
    }
    to.push(row.traffic(Use::Each, "a connection each")?);
    to.push(match row.is_forgotten() {
        true => row.traffic(Use::Again, "forgotten by the NAT")?,
        false => row.traffic(Use::Kept, "kept open")?,
    });
    Ok(())
}

/// The cell whose connect is a full handshake of the same stack: itself, or that which starts cold.
fn full_handshake<'a>((cell, ladder): Seen<'a>, all: &[Seen<'a>]) -> Option<Seen<'a>> {
    let cold = Cell {
        start: "cold".to_owned(),
        ..cell.clone()
    };
    let wanted = label(&cold, ladder);
    all.iter()
        .find(|(cell, ladder)| label(cell, ladder) == wanted)
        .copied()
}

impl Row<'_> {
    /// The interval of the keep-alives of a connection that is kept open, in seconds.
    fn keep_alive(&self) -> Option<f64> {
        let (cell, _) = self.cell;
        Some(self.arguments.keep_alive.as_secs_f64())
            .filter(|every| cell.connect.is_some() && publishes(cell) && *every > 0.0)
    }

    /// Whether the address translator forgets a kept connection between two of its packets.
    fn is_forgotten(&self) -> bool {
        let Some(timeouts) = self.arguments.nat_timeout else {
            return false;
        };
        let Ok(stack) = self.cell.0.stack.parse::<Stack>() else {
            return false;
        };
        if keeps_its_session_on_a_new_port(stack) {
            return false;
        }
        let timeout = match stack.transport() {
            Transport::Stream => timeouts.tcp,
            Transport::Datagram => timeouts.udp,
        };
        let silence = self.keep_alive().map_or(self.every, |each| each.min(self.every));
        timeout.is_some_and(|timeout| silence > timeout.as_secs_f64())
    }

    fn traffic(&self, usage: Use, mode: &str) -> Result<Traffic, Failure> {
        let (cell, ladder) = self.cell;
        let usual = self.reading(self.cell, usage);
        let renewed = self.lifetime_of(usage);
        let (mut cycles, mode) = match renewed {
            None => (vec![usual], mode.to_owned()),
            Some(lifetime) => {
                let full = self.full.ok_or_else(|| no_full_handshake(cell))?;
                let full = self.reading(full, if usage == Use::Kept { Use::Each } else { usage });
                (mixed(usual, full, lifetime), format!("{mode}, renewed"))
            }
        };
        let keep_alive = self.keep_alive().filter(|_| usage != Use::Each);
        if let Some(every) = keep_alive {
            let (pings, _) = cycle(self.device, Some(every), |to| replay::tell_keep_alive(ladder, to));
            cycles.push(Cycle {
                readings: 0.0,
                ..pings
            });
        }
        Ok(Traffic {
            label: label(cell, ladder),
            stack: cell.stack.parse().ok(),
            mode,
            interval: self.every,
            keep_alive,
            cycles,
            activity: None,
        })
    }

    /// How long sessions last, where a reading does not make a new one by itself.
    fn lifetime_of(&self, usage: Use) -> Option<Duration> {
        let (cell, _) = self.cell;
        self.arguments
            .session_lifetime
            .filter(|_| cell.connect.is_some() && (usage == Use::Kept || cell.start != "cold"))
    }

    /// A reading of a cell, with its share of the connection.
    fn reading(&self, (cell, ladder): Seen<'_>, usage: Use) -> Cycle {
        let unclosed = Cell {
            close: None,
            ..cell.clone()
        };
        let cell = if usage == Use::Again { &unclosed } else { cell };
        let is_kept = usage == Use::Kept;
        let (mut reading, _) = cycle(self.device, Some(self.every), |observer| {
            replay::tell(ladder, cell, is_kept, observer);
        });
        reading.usage = replay::usage(cell, is_kept);
        reading
    }
}

/// Whether the cell's stack sends keep-alives of its own: MQTT and MQTT-SN do.
fn publishes(cell: &Cell) -> bool {
    let stack: Result<Stack, _> = cell.stack.parse();
    stack.is_ok_and(Stack::publishes)
}

/// Whether server and client go on when the client's port changes: DTLS with a Connection ID (RFC 9146), QUIC (RFC 9000 section 9).
const fn keeps_its_session_on_a_new_port(stack: Stack) -> bool {
    matches!(stack.channel, Channel::Dtls12Cid) || matches!(stack.application, Application::Http3)
}

/// Readings of which one per lifetime has a full handshake; all of them, where the lifetime is shorter than the interval.
fn mixed(usual: Cycle, full: Cycle, lifetime: Duration) -> Vec<Cycle> {
    let period = lifetime.as_secs_f64().max(full.every);
    let rate = 1.0 / usual.every - 1.0 / period;
    let full = Cycle {
        every: period,
        ..full
    };
    if rate <= 0.0 {
        return vec![full];
    }
    let usual = Cycle {
        every: 1.0 / rate,
        ..usual
    };
    vec![usual, full]
}

fn no_full_handshake(cell: &Cell) -> Failure {
    Failure::usage(format!(
        "--session-lifetime: the run has no full handshake of {}, which starts {}",
        cell.stack, cell.start
    ))
    .with_hint(format!("run it with --start cold,{}", cell.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(seconds: f64) -> Cycle {
        Cycle {
            account: None,
            usage: wirecost_cost::Usage::default(),
            readings: 1.0,
            every: seconds,
        }
    }

    #[test]
    fn one_reading_of_each_lifetime_has_the_full_handshake() {
        let cycles = mixed(every(60.0), every(60.0), Duration::from_secs(600));
        let rates: Vec<f64> = cycles.iter().map(|cycle| 1.0 / cycle.every).collect();
        assert!((rates[0] * 600.0 - 9.0).abs() < 1e-9 && (rates[1] * 600.0 - 1.0).abs() < 1e-9);
        let short = mixed(every(60.0), every(60.0), Duration::from_secs(10));
        assert_eq!(short.iter().map(|cycle| cycle.every).collect::<Vec<_>>(), [60.0]);
    }

    #[test]
    fn a_connection_id_outlives_a_port() {
        for (name, expected) in [
            ("coap-con+dtls1.2-cid", true),
            ("http3", true),
            ("coap-con+dtls1.3", false),
            ("mqtt-qos1+tls1.3", false),
        ] {
            let stack = name.parse().expect("a stack");
            assert_eq!(keeps_its_session_on_a_new_port(stack), expected, "{name}");
        }
    }
}
