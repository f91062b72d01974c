//! From packets, or from what the endpoint alone knows, to bytes by step, layer and direction.
//!
//! A packet belongs to the step in which the first byte of its content was sent, which is known by its place in the
//! flow, not by a clock. SYN belongs to the connect and FIN to the close; a packet without content belongs to the step
//! of the last packet of the other direction, which it acknowledges.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_cost::{Content, DeviceLedger, PacketTime, PacketVerdict, Ports, Traffic, flights, round_trips};
use wirecost_live::sniffer::Sniffed;
use wirecost_proto::log::{DatagramLog, DirectionLog, FlowLog};
use wirecost_proto::{Buffer, Direction, Instant, Layer, Span};
use wirecost_wire::ip;
use wirecost_wire::tcp::{Flags, Segment};

use super::notes::{Mark, Step};

/// What one step cost, both ways; indexed by `Direction as usize`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepCost {
    /// Device to server, and back.
    pub ways: [Traffic; 2],
    /// Round trips on the critical path to the step's last packet from the server.
    pub round_trips: Option<f64>,
    /// When its last packet passed.
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

/// What is known of the flows.
pub struct Flows<'a> {
    /// The logs by local address; the last one is the measured connection's.
    pub logs: &'a [(SocketAddr, FlowLog)],
    /// The server.
    pub remote: SocketAddr,
    /// Where the steps of the measured connection began, in order.
    pub marks: &'a [Mark],
    /// What tells the spans of datagrams that the endpoint never saw.
    pub describer: fn(&[u8], &mut Buffer),
    /// Whether the flows are streams of TLS records.
    pub is_tls: bool,
}

impl Flows<'_> {
    /// Which way a packet goes, if it is one of these flows'.
    pub fn direction(&self, packet: &[u8]) -> Option<Direction> {
        let packet = ip::Packet::new(packet).ok()?;
        let (source, destination) = (packet.source(), packet.destination());
        // To oneself the addresses tell nothing; ports do.
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

    /// Whether the server is on this machine: then times tell nothing.
    fn is_local(&self) -> bool {
        self.logs
            .last()
            .is_some_and(|(local, _)| local.ip() == self.remote.ip())
    }

    /// Whether a packet is of the connection that brought the ticket.
    fn is_of_ticket(&self, direction: Direction, packet: &[u8]) -> bool {
        let main = self.logs.last().map(|(local, _)| self.ports(local));
        let ports = ip::Packet::new(packet).ok().and_then(|packet| packet.ports());
        ports.is_some_and(|(from, to)| Some(Ports::of_packet(direction, from, to)) != main)
    }

    /// A step, or the last one where it was never begun: a connection that breaks off is closed in that step.
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

    /// The step of the measured connection in which something at `offset` of a direction was sent.
    fn step_at(&self, direction: Direction, offset: u64) -> Step {
        let begun = |mark: &&Mark| mark.step != Step::Ticket && mark.place.0[direction as usize] <= offset;
        self.marks
            .iter()
            .rfind(begun)
            .map_or(Step::Connect, |mark| mark.step)
    }

    /// The account of captured packets, in the order in which they passed.
    pub fn account(&self, packets: &[(Direction, &Sniffed)]) -> Account {
        let mut ledger = DeviceLedger::with_describer(self.describer);
        for (local, log) in self.logs {
            describe(&mut ledger, self.ports(local), log);
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
            let way = &mut cost.ways[*direction as usize];
            way.add_packet(verdict.cause);
            cost.last_packet = Some(packet.at);
            let mut alert = 0;
            if self.is_tls && step == Step::Close {
                // What a reset keeps the client from reading behind its close is the server's close_notify.
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

    /// The account of what the endpoint itself sent and received: nothing of IP, and no packets.
    pub fn spoken(&self) -> Account {
        let mut account = Account::default();
        let main = self.logs.len().saturating_sub(1);
        for (index, (_, log)) in self.logs.iter().enumerate() {
            for (direction, log) in [(Direction::Up, &log.up), (Direction::Down, &log.down)] {
                let way = direction as usize;
                for (offset, span) in self.spans_of(direction, log) {
                    let step = match index == main {
                        true => self.step_at(direction, offset),
                        false => Step::Ticket,
                    };
                    account.steps[step as usize].ways[way].add_span(&span);
                }
            }
        }
        account
    }

    /// The spans of a direction with their places in the flow; those of a stream are cut where steps begin.
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
                let starts = self.marks.iter().map(|mark| mark.place.0[direction as usize]);
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

/// Finds the steps of packets, one after another.
struct Steps<'a> {
    flows: &'a Flows<'a>,
    /// The step of the last packet of the measured connection, by `Direction as usize`.
    last: [Step; 2],
}

impl<'a> Steps<'a> {
    fn new(flows: &'a Flows<'a>) -> Self {
        let first = flows.marks.iter().find(|mark| mark.step != Step::Ticket);
        Self {
            flows,
            last: [first.map_or(Step::Connect, |mark| mark.step); 2],
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
        let step = found.unwrap_or(self.last[direction.reverse() as usize]);
        self.last[direction as usize] = step;
        step
    }
}

fn describe(ledger: &mut DeviceLedger, ports: Ports, log: &FlowLog) {
    for (direction, log) in [(Direction::Up, &log.up), (Direction::Down, &log.down)] {
        ledger.log_spans(ports, direction, log);
    }
}

/// The step that a segment without content belongs to by its flags.
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

/// Whether a packet carries no byte but of IP and transport, and neither opens nor closes: nothing waits for it.
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

/// The shortest round trip that tells what waited for what: within less than this servers think.
const LEAST_ROUND_TRIP: Duration = Duration::from_millis(1);

/// What a round trip takes at most: the shortest step with an answer, from its first packet up to its last one down.
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

/// Half the flights on the critical path from what the client sent first in `step` to the last packet that came down.
///
/// Seen from the device, what comes down less than half a round trip after something went up was not caused by it. Where
/// the round trip is too short to tell, an acknowledgement is taken for the cause of nothing; where it is not, a server
/// may have waited for one (RFC 9293, section 3.7.4).
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
