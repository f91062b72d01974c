//! Detects a target that is not running: no connection at all, or every datagram comes back.

use std::time::Duration;

use wirecost_live::limits::way_out_of;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_proto::endpoint::ResetReason;
use wirecost_results::figures::Interval;
use wirecost_scenario::options::load::Phase;

use super::Coordinator;
use crate::parts::outcome::{NoConnection, Obstacle};

impl Coordinator<'_> {
    /// Ends a datagram phase without a server, after the time that a connect may take.
    pub(super) fn look_in_time(&mut self, index: u32, phase: &Phase, lasted: Duration) {
        let is_exchange = matches!(phase, Phase::Publish(_) | Phase::Request(_));
        if is_exchange && lasted >= self.options.connect_timeout {
            self.look_for_target(index, phase);
        }
    }

    /// Ends the load after a phase that has shown that no server is running.
    pub(super) fn look_for_target(&mut self, index: u32, phase: &Phase) {
        let connects = matches!(phase, Phase::Connect { .. } | Phase::Handshakes { .. });
        // Cut off, even a server that runs may have answered nothing yet.
        if self.outcome.interrupted || !(connects || phase.offer().is_some()) {
            return;
        }
        let takes_exchange = self.options.stack.has_connect(self.options.start);
        let intervals = self.counted.in_phase(index);
        let found = match connects {
            true => unconnected(intervals),
            // Its connect phase has been judged already: here messages that are not answered are no sign of an absent server.
            false if takes_exchange => None,
            false => unanswered(intervals),
        };
        self.outcome.no_connection = found;
    }
}

/// Why every connect failed.
fn unconnected<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Option<NoConnection> {
    let mut sum = Interval::default();
    intervals.for_each(|interval| sum.add(interval));
    let is_alone = sum.connects.attempted > 0 && sum.connects.established == 0;
    is_alone.then(|| {
        let reason = sum.reasons.into_iter().max_by_key(|(_, times)| *times);
        let reason = reason.map_or_else(|| "no answer".into(), |(reason, _)| reason);
        // Without a free port or file descriptor no packet has left: the fault is this machine's, whatever the server does.
        let lacks = [ResetReason::NoPort, ResetReason::NoFile];
        let lack = lacks.into_iter().find(|lack| reason == lack.to_string());
        NoConnection {
            obstacle: match lack {
                Some(_) => Obstacle::Machine,
                None if sum.connects.refused > 0 => Obstacle::Server,
                None => Obstacle::NoAnswer,
            },
            hint: match lack {
                Some(lack) => way_out_of(lack),
                None => of_server(&reason).map(str::to_owned),
            },
            reason,
        }
    })
}

/// What to do about a reason that an MQTT server gives.
fn of_server(reason: &str) -> Option<&'static str> {
    let reason = reason.strip_prefix("CONNACK ")?;
    let is = |code: ReasonCode| reason.contains(code.name());
    if is(ReasonCode::UseAnotherServer) || is(ReasonCode::ServerMoved) {
        return Some("name the server that it refers to in the URL");
    }
    is(ReasonCode::UnsupportedProtocolVersion)
        .then_some("the server speaks another version of MQTT: wirecost probe --mqtt 5 or 3.1.1 shows which; a scenario names it by its stack, mqtt5-qos1 or mqtt-qos1")
}

/// Why no server has received a datagram: in each second with datagrams, ICMP reported a closed port, and no other
/// answer arrived. It looks no further than the first second with datagrams for which that is not so: it is asked each second.
fn unanswered<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Option<NoConnection> {
    let refused = ResetReason::Refused.to_string();
    let is_refused = |interval: &&Interval| interval.reasons.contains_key(&refused);
    let mut any = false;
    let mut intervals = intervals.peekable();
    while let Some(interval) = intervals.next() {
        // One byte from the server proves that it is there, also if ICMP errors for other datagrams arrive.
        let came = interval.socket_bytes[1] + interval.outcomes.delivered + interval.deliveries.arrived;
        // The ICMP error for a datagram at the end of a second arrives in the next second.
        let comes_back =
            interval.sent == 0 || is_refused(&interval) || intervals.peek().is_some_and(&is_refused);
        if came > 0 || !comes_back {
            return None;
        }
        any |= interval.sent > 0;
    }
    any.then_some(NoConnection {
        obstacle: Obstacle::NoAnswer,
        reason: refused,
        hint: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(sent: u64, refused: bool, bytes: u64) -> Interval {
        let mut interval = Interval {
            sent,
            socket_bytes: [100, bytes],
            ..Interval::default()
        };
        if refused {
            interval.reason("connection refused");
        }
        interval
    }

    fn is_alone(seconds: &[Interval]) -> bool {
        unanswered(seconds.iter()).is_some()
    }

    #[test]
    fn a_target_that_rejects_every_datagram_is_not_running() {
        assert!(is_alone(&[second(10, true, 0), second(10, true, 0)]));
        assert!(
            is_alone(&[second(10, false, 0), second(0, true, 0)]),
            "it comes back a second later"
        );
    }

    #[test]
    fn a_target_that_answered_or_is_silent_is_running() {
        assert!(
            !is_alone(&[second(10, true, 0), second(10, true, 4)]),
            "it answered"
        );
        assert!(
            !is_alone(&[second(10, false, 0), second(9, false, 0), second(9, true, 0)]),
            "it has gone"
        );
        assert!(!is_alone(&[second(10, false, 0)]), "it is silent");
        assert!(!is_alone(&[second(0, false, 0)]), "nothing was sent");
        let mut counted = second(10, true, 0);
        counted.outcomes.delivered = 1;
        assert!(!is_alone(&[counted]), "it counted");
    }

    #[test]
    fn the_first_second_whose_datagrams_do_not_come_back_is_enough() {
        let seconds = vec![second(10, false, 4); 3_600];
        let mut looked_at = 0;
        let found = unanswered(seconds.iter().inspect(|_| looked_at += 1));
        assert_eq!((found, looked_at), (None, 2), "each second of a load asks again");
    }

    #[test]
    fn a_lack_of_ports_is_the_machines_and_a_moved_server_has_a_way_out() {
        let mut interval = Interval::default();
        interval.connects.attempted = 1;
        interval.reason(&ResetReason::NoPort.to_string());
        let why = unconnected([&interval].into_iter()).expect("a reason, because no device connected");
        assert_eq!(why.obstacle, Obstacle::Machine);
        assert!(why.hint.is_some_and(|hint| hint.contains("ip_local_port_range")));
        let mut interval = Interval::default();
        (interval.connects.attempted, interval.connects.refused) = (1, 1);
        interval.reason("CONNACK 0x9d Server moved, with a reference to \"other\"");
        let why = unconnected([&interval].into_iter()).expect("a reason, because no device connected");
        assert_eq!(why.obstacle, Obstacle::Server);
        assert!(why.hint.is_some_and(|hint| hint.contains("refers to")));
    }

    #[test]
    fn a_single_connection_proves_a_running_target() {
        let mut interval = Interval::default();
        interval.connects.attempted = 10;
        interval.reason("connection refused");
        let why = unconnected([&interval].into_iter()).expect("a reason, because no device connected");
        assert_eq!(
            (why.obstacle, why.reason.as_str()),
            (Obstacle::NoAnswer, "connection refused")
        );
        interval.connects.established = 1;
        assert_eq!(unconnected([&interval].into_iter()), None);
        assert_eq!(unconnected([&Interval::default()].into_iter()), None);
    }
}
