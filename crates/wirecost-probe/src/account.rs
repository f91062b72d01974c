//! Bytes by step, layer and direction, from captured packets or from the endpoint's log.
//!
//! A packet belongs to the step in which the first byte of its content was sent. The position of that byte in the flow tells
//! the step; no clock is used. SYN belongs to the connect and FIN to the close. A packet without content belongs to the step
//! of the last packet of the other direction, which it acknowledges.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_cost::{Content, DeviceLedger, PacketTime, PacketVerdict, Ports, Traffic, flights, round_trips};
use wirecost_live::sniffer::Sniffed;
use wirecost_proto::log::{DatagramLog, DirectionLog, FlowLog};
use wirecost_proto::{BothWays, Buffer, Direction, Instant, Layer, Span};
use wirecost_wire::ip;
use wirecost_wire::tcp::{Flags, Segment};

use super::notes::{Mark, Step};

/// What one step cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepCost {
    /// Its traffic.
    pub ways: BothWays<Traffic>,
    /// Round trips on the critical path to the step's last packet from the server.
    pub round_trips: Option<f64>,
    /// When its last packet passed the interface.
    pub last_packet: Option<Instant>,
}

/// What every step cost.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// By `Step as usize`.
    pub steps: [StepCost; Step::ALL.len()],
    /// Bytes that no endpoint described.
    pub unattributed_bytes: u64,
}

/// A packet with its step.
struct Placed {
    step: Step,
    time: PacketTime,
    /// Whether it carries nothing but acknowledgements.
    acknowledges_only: bool,
}

/// The flows of a probe.
pub struct Flows<'a> {
    /// The logs by local address; the last one is the measured connection's.
    pub logs: &'a [(SocketAddr, FlowLog)],
    /// The server.
    pub remote: SocketAddr,
    /// Where the steps of the measured connection began, in the order of the steps.
    pub marks: &'a [Mark],
    /// Describes datagrams that the endpoint never received.
    pub describer: fn(&[u8], &mut Buffer),
    /// Whether the flows are streams of TLS records.
    pub is_tls: bool,
}

impl Flows<'_> {
    /// The direction of a packet; `None` where the packet belongs to no flow.
    pub fn direction(&self, packet: &[u8]) -> Option<Direction> {
        let packet = ip::Packet::new(packet).ok()?;
        let (source, destination) = (packet.source(), packet.destination());
        // Both addresses are the same where the server is on this machine; the ports differ.
        let ports = packet.ports();
        let is_ours = |port: u16| self.logs.iter().any(|(local, _)| local.port() == port);
        let way = match ports {
            Some((from, to))
                if destination == self.remote.ip() && to == self.remote.port() && is_ours(from) =>
            {
                Direction::Up
            }
            Some((from, to)) if source == self.remote.ip() && from == self.remote.port() && is_ours(to) => {
                Direction::Down
            }
            Some(_) => return None,
            None if packet.fragment().is_none() => return None,
            None if destination == self.remote.ip() => Direction::Up,
            None if source == self.remote.ip() => Direction::Down,
            None => return None,
        };
        Some(way)
    }

    /// Whether the server is on this machine, so that times do not show what waited for what.
    fn is_local(&self) -> bool {
        self.logs
            .last()
            .is_some_and(|(local, _)| local.ip() == self.remote.ip())
    }

    /// Whether a packet belongs to the connection that brought the ticket.
    fn is_of_ticket(&self, direction: Direction, packet: &[u8]) -> bool {
        let main = self.logs.last().map(|(local, _)| self.ports(local));
        let ports = ip::Packet::new(packet).ok().and_then(|packet| packet.ports());
        ports.is_some_and(|(from, to)| Some(Ports::of_packet(direction, from, to)) != main)
    }

    /// The step, or the last one that began where the step did not begin: a broken connection closes in that step.
    fn begun(&self, step: Step) -> Step {
        match self.marks.last() {
            Some(last) if !self.marks.iter().any(|mark| mark.step == step) => last.step,
            _ => step,
        }
    }

    const fn ports(&self, local: &SocketAddr) -> Ports {
        Ports {
            client: local.port(),
            server: self.remote.port(),
        }
    }

    /// The step of the measured connection to which the byte or datagram at `offset` belongs.
    fn step_at(&self, direction: Direction, offset: u64) -> Step {
        let begun = |mark: &&Mark| mark.step != Step::Ticket && mark.position.0[direction] <= offset;
        self.marks
            .iter()
            .rfind(begun)
            .map_or(Step::Connect, |mark| mark.step)
    }

    /// The account of captured packets, which must be in the order in which they passed the interface.
    pub fn account(&self, packets: &[(Direction, &Sniffed)]) -> Account {
        let mut ledger = DeviceLedger::with_describer(self.describer);
        for (local, log) in self.logs {
            ledger.log_spans(self.ports(local), Direction::Up, &log.up);
            ledger.log_spans(self.ports(local), Direction::Down, &log.down);
        }
        let mut account = Account::default();
        let mut steps = Steps::new(self);
        let mut placed: Vec<Placed> = Vec::new();
        let mut spans = Buffer::new();
        for (direction, packet) in packets {
            spans.clear();
            let verdict = ledger.packet(*direction, &packet.bytes, &mut spans);
            let step = steps.step_of(*direction, &packet.bytes, &verdict);
            let cost = &mut account.steps[step as usize];
            let way = &mut cost.ways[*direction];
            way.add_packet(verdict.cause);
            cost.last_packet = Some(packet.at);
            let mut alert = 0;
            if self.is_tls && step == Step::Close {
                // A reset keeps the client from reading what the server sends after the close: its close_notify.
                alert = verdict.unattributed_bytes;
            } else {
                account.unattributed_bytes += u64::from(verdict.unattributed_bytes);
            }
            for span in spans.spans() {
                let len = match span.layer {
                    Layer::Application => span.len.min(alert),
                    Layer::Ip | Layer::Transport | Layer::Security | Layer::Payload => 0,
                };
                alert -= len;
                way.add_span(&Span {
                    len,
                    layer: Layer::Security,
                    ..*span
                });
                way.add_span(&Span {
                    len: span.len - len,
                    ..*span
                });
            }
            placed.push(Placed {
                step,
                time: at_once(*direction, packet.at),
                acknowledges_only: is_acknowledgement(&packet.bytes, spans.spans()),
            });
        }
        let round_trip = match self.is_local() {
            true => Duration::ZERO,
            false => shortest_exchange(&placed),
        };
        for step in Step::ALL {
            account.steps[step as usize].round_trips = trips(&placed, step, round_trip);
        }
        account
    }

    /// The account of the endpoint's log: it has no bytes of IP and transport, and no packets.
    pub fn from_logs(&self) -> Account {
        let mut account = Account::default();
        let main = self.logs.len().saturating_sub(1);
        for (index, (_, log)) in self.logs.iter().enumerate() {
            for (direction, log) in [(Direction::Up, &log.up), (Direction::Down, &log.down)] {
                for (offset, span) in self.spans_of(direction, log) {
                    let step = match index == main {
                        true => self.step_at(direction, offset),
                        false => Step::Ticket,
                    };
                    account.steps[step as usize].ways[direction].add_span(&span);
                }
            }
        }
        account
    }

    /// The spans of a direction with their positions in the flow. The spans of a stream are cut where steps begin.
    fn spans_of(&self, direction: Direction, log: &DirectionLog) -> Vec<(u64, Span)> {
        let datagrams = log.datagrams.iter().zip(0..);
        let of_datagrams = |(datagram, index): (&DatagramLog, u64)| {
            let spans = datagram.spans.iter();
            spans.map(move |span| (index, *span)).collect::<Vec<_>>()
        };
        let mut placed: Vec<(u64, Span)> = datagrams.flat_map(of_datagrams).collect();
        let mut offset = 0;
        for span in &log.stream {
            let end = offset + u64::from(span.len);
            while offset < end {
                let starts = self.marks.iter().map(|mark| mark.position.0[direction]);
                let cut = starts
                    .filter(|start| *start > offset)
                    .min()
                    .map_or(end, |cut| cut.min(end));
                let len = u32::try_from(cut - offset).unwrap_or(u32::MAX);
                placed.push((offset, Span { len, ..*span }));
                offset = cut;
            }
        }
        placed
    }
}

/// Finds the step of each packet, in the order of the packets.
struct Steps<'a> {
    flows: &'a Flows<'a>,
    /// The step of the last packet of the measured connection.
    last: BothWays<Step>,
}

impl<'a> Steps<'a> {
    fn new(flows: &'a Flows<'a>) -> Self {
        let first = flows.marks.iter().find(|mark| mark.step != Step::Ticket);
        Self {
            flows,
            last: BothWays::equal(first.map_or(Step::Connect, |mark| mark.step)),
        }
    }

    fn step_of(&mut self, direction: Direction, packet: &[u8], verdict: &PacketVerdict) -> Step {
        if self.flows.is_of_ticket(direction, packet) {
            return Step::Ticket;
        }
        let place = match verdict.content {
            Content::Stream { start, end, .. } => (start < end).then_some(start),
            Content::Datagram { id, .. } => Some(id.0),
            Content::None => None,
        };
        let found = match place {
            Some(offset) => Some(self.flows.step_at(direction, offset)),
            None => flagged(packet).map(|step| self.flows.begun(step)),
        };
        let step = found.unwrap_or(self.last[direction.reverse()]);
        self.last[direction] = step;
        step
    }
}

/// The step to which the flags of a segment without content assign it.
fn flagged(packet: &[u8]) -> Option<Step> {
    let packet = ip::Packet::new(packet).ok()?;
    if packet.protocol() != ip::Protocol::Tcp {
        return None;
    }
    let flags = Segment::new(packet.payload()).ok()?.flags();
    match flags {
        flags if flags.contains(Flags::SYN) => Some(Step::Connect),
        flags if flags.intersects(Flags::FIN | Flags::RST) => Some(Step::Close),
        _ => None,
    }
}

/// Whether a packet only acknowledges: it has headers of IP and transport alone, and neither opens nor closes.
fn is_acknowledgement(packet: &[u8], spans: &[Span]) -> bool {
    let only_headers = spans
        .iter()
        .all(|span| matches!(span.layer, Layer::Ip | Layer::Transport));
    only_headers && flagged(packet).is_none()
}

const fn at_once(direction: Direction, at: Instant) -> PacketTime {
    PacketTime {
        direction,
        sent_at: at,
        delivered_at: Some(at),
    }
}

/// The shortest round trip that shows what waited for what: a server may take as long to answer.
const LEAST_ROUND_TRIP: Duration = Duration::from_millis(1);

/// An upper bound of the round-trip time: the shortest step with an answer, from its first packet up to its last packet down.
fn shortest_exchange(placed: &[Placed]) -> Duration {
    let exchange = |step: Step| {
        let mut of_step = placed.iter().filter(|packet| packet.step == step);
        let up = of_step.find(|packet| packet.time.direction == Direction::Up)?;
        let down = of_step.rfind(|packet| packet.time.direction == Direction::Down)?;
        Some(down.time.sent_at.saturating_since(up.time.sent_at))
    };
    let all = Step::ALL.into_iter().filter_map(exchange);
    all.min().unwrap_or_default()
}

/// Half the flights on the critical path from the client's first packet of `step` to the last packet that came down.
///
/// At the device, a packet that comes down less than half a round trip after a packet went up was not caused by it. Where the
/// round trip is too short to show that, an acknowledgement causes nothing. Elsewhere a server may have waited for an
/// acknowledgement (RFC 9293, section 3.7.4).
fn trips(placed: &[Placed], step: Step, round_trip: Duration) -> Option<f64> {
    let tells = round_trip >= LEAST_ROUND_TRIP;
    let of_step = placed.iter().filter(|packet| packet.step == step);
    let counted: Vec<&Placed> = of_step
        .filter(|packet| tells || !packet.acknowledges_only)
        .skip_while(|packet| packet.time.direction == Direction::Down)
        .collect();
    let is_answer = |packet: &&Placed| packet.time.direction == Direction::Down && !packet.acknowledges_only;
    let last = counted.iter().rposition(is_answer)?;
    let times = counted.iter().take(last + 1);
    let times: Vec<PacketTime> = times.map(|packet| shifted(packet.time, round_trip / 4)).collect();
    Some(round_trips(flights(&times)))
}

fn shifted(time: PacketTime, margin: Duration) -> PacketTime {
    match time.direction {
        Direction::Up => PacketTime {
            delivered_at: time.delivered_at.map(|at| at + margin),
            ..time
        },
        Direction::Down => PacketTime {
            sent_at: time.sent_at - margin,
            ..time
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Direction, whether it only acknowledges, and when it passed, in milliseconds.
    type Row = (Direction, bool, u64);

    fn trips_of(rows: &[Row], round_trip: u64) -> Option<f64> {
        let placed: Vec<Placed> = rows
            .iter()
            .map(|(direction, acknowledges_only, millis)| Placed {
                step: Step::Message,
                time: at_once(*direction, Instant::from_millis(*millis)),
                acknowledges_only: *acknowledges_only,
            })
            .collect();
        trips(&placed, Step::Message, Duration::from_millis(round_trip))
    }

    #[test]
    fn round_trips_are_counted_from_what_the_client_sent_first() {
        use Direction::{Down, Up};
        let table: [(Option<f64>, u64, &[Row]); 7] = [
            (None, 0, &[]),
            (None, 0, &[(Up, false, 0)]),
            (Some(1.0), 0, &[(Up, false, 0), (Down, false, 5)]),
            // A ticket that came before the request.
            (
                Some(1.0),
                100,
                &[(Down, false, 0), (Up, false, 1), (Down, false, 101)],
            ),
            // A flight of two segments, the first acknowledged before the second came.
            (
                Some(1.0),
                100,
                &[
                    (Up, false, 0),
                    (Down, false, 100),
                    (Up, true, 100),
                    (Down, false, 101),
                ],
            ),
            // A server that waited for an acknowledgement.
            (
                Some(2.0),
                100,
                &[
                    (Up, false, 0),
                    (Down, false, 100),
                    (Up, true, 140),
                    (Down, false, 240),
                ],
            ),
            // The same where there is no distance: it may as well have thought.
            (
                Some(1.0),
                0,
                &[(Up, false, 0), (Down, false, 0), (Up, true, 0), (Down, false, 1)],
            ),
        ];
        for (expected, round_trip, rows) in table {
            assert_eq!(trips_of(rows, round_trip), expected, "{rows:?}");
        }
    }
}
