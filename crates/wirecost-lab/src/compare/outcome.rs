//! The measured messages of devices. Each message ends in exactly one outcome.

use std::time::Duration;

use wirecost_cost::Traffic;
use wirecost_proto::{BothWays, Instant};
use wirecost_results::summary::Outcomes;
use wirecost_scenario::plan::PlannedCell;

use super::analysis::DeviceMeasurement;
use super::sampler::{End, Mark};

wirecost_proto::named! {
    /// How a message ended.
    ///
    /// Named as in results files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Outcome {
        /// Acknowledged by the server in time.
        Acknowledged => "acknowledged",
        /// Refused by the server.
        Refused => "refused",
        /// Not sent.
        Failed => "failed",
        /// Acknowledged after the time-out.
        Late => "late",
        /// Sent, without any reply.
        Unknown => "unknown",
        /// Delivered by the link, if nothing answers.
        Delivered => "delivered",
        /// Not delivered by the link, if nothing answers.
        Lost => "lost",
    }
}

impl Outcome {
    /// The outcome of a cell's message; `None` as a message means that its device never reached it.
    pub(super) fn from_planned(
        planned: &PlannedCell,
        message: Option<&Message<'_>>,
        timeout: Duration,
    ) -> Self {
        match message {
            None => Self::Failed,
            Some(message) if planned.stack.is_answered() => Self::of_answered(message, timeout),
            Some(message) => Self::of_unanswered(message),
        }
    }

    fn of_answered(message: &Message<'_>, timeout: Duration) -> Self {
        match message.mark.end {
            Some((at, End::Acknowledged)) if at <= message.mark.intended + timeout => Self::Acknowledged,
            Some((_, End::Acknowledged)) => Self::Late,
            Some((_, End::Refused)) => Self::Refused,
            Some((_, End::Unknown)) | None => Self::Unknown,
        }
    }

    fn of_unanswered(message: &Message<'_>) -> Self {
        match (message.mark.end, message.arrival) {
            // A block-wise message has answers, even if the stack requests none.
            (Some((_, End::Refused)), _) => Self::Refused,
            (_, Some(_)) => Self::Delivered,
            // An unanswered earlier transfer holds it back (RFC 7252, section 4.7: NSTART).
            (_, None) if !message.is_sent() => Self::Failed,
            (_, None) => Self::Lost,
        }
    }
}

/// The outcomes of a cell, over every message that its devices were to send.
pub(super) fn outcomes(
    planned: &PlannedCell,
    devices: &[&DeviceMeasurement],
    messages_per_device: u64,
    timeout: Duration,
) -> Outcomes {
    let mut outcomes = Outcomes::default();
    // By the number asked for and not by those sent: a message that was never sent has an outcome as well.
    for device in devices {
        let mut messages = messages(device);
        for _ in 0..messages_per_device {
            count(
                &mut outcomes,
                Outcome::from_planned(planned, messages.next().as_ref(), timeout),
            );
        }
    }
    outcomes
}

fn count(outcomes: &mut Outcomes, outcome: Outcome) {
    outcomes.offered += 1;
    let slot = match outcome {
        Outcome::Acknowledged => &mut outcomes.acknowledged,
        Outcome::Refused => &mut outcomes.refused,
        Outcome::Failed => &mut outcomes.failed,
        Outcome::Late => &mut outcomes.late,
        Outcome::Unknown => &mut outcomes.unknown,
        Outcome::Delivered => &mut outcomes.delivered,
        Outcome::Lost => &mut outcomes.lost,
    };
    *slot += 1;
}

/// One measured message of a device.
pub(super) struct Message<'a> {
    /// The device's notes about it.
    pub(super) mark: &'a Mark,
    /// When the link had delivered its last payload byte.
    pub(super) arrival: Option<Instant>,
    /// Half the flights on its critical path.
    pub(super) round_trips: Option<f64>,
    /// Its packets and bytes.
    pub(super) traffic: &'a BothWays<Traffic>,
}

/// The measured messages of a device, without the warm-up message.
pub(super) fn messages<'a>(device: &'a DeviceMeasurement) -> impl Iterator<Item = Message<'a>> {
    let script = &device.report.script;
    let first = script.timing().first_measured();
    let marks = script.notes().messages.iter().enumerate().skip(first);
    marks.map(|(index, mark)| Message {
        mark,
        arrival: device.arrivals.get(index).copied().flatten(),
        round_trips: device.message_round_trips.get(index).copied().flatten(),
        traffic: &device.messages[index],
    })
}

impl Message<'_> {
    /// Whether any of it entered the link. A message that shared all its packets with another has none of its own.
    pub(super) fn is_sent(&self) -> bool {
        let has_packets = self.traffic.up.packets() > 0;
        let is_answered = matches!(self.mark.end, Some((_, End::Acknowledged)));
        has_packets || is_answered || self.arrival.is_some()
    }

    /// The end of the response time: the acknowledgement, or the arrival if nothing answers.
    pub(super) fn response(&self, answered: bool) -> Option<Instant> {
        match (answered, self.mark.end) {
            (false, _) => self.arrival,
            (true, Some((at, End::Acknowledged))) => Some(at),
            (true, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wirecost_proto::{ByteSize, Cause, Rng};
    use wirecost_stack::Stack;
    use wirecost_stack::media::Payload;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn cell(stack: &str) -> PlannedCell {
        PlannedCell {
            conditions: String::new(),
            stack: stack.parse::<Stack>().expect("a stack"),
            start: wirecost_security::Start::Cold,
            content: ByteSize::from_bytes(8).into(),
            payload: Payload::from(&Arc::from([0; 8].as_slice())),
            link: 0,
            schedule: wirecost_scenario::options::compare::Schedule::default(),
            in_order: true,
            not_run: None,
            port: 1_883,
            sees_one_end: false,
            rng: Rng::new(1),
        }
    }

    fn outcome(stack: &str, end: Option<(u64, End)>, arrived: bool, packets: u64) -> Outcome {
        let at = Instant::from_millis;
        let mark = Mark {
            intended: at(1_000),
            actual: at(1_000),
            sent: None,
            end: end.map(|(millis, end)| (at(millis), end)),
            cpu: Duration::ZERO,
            transmitted_before: 0,
            connection: 0,
        };
        let mut traffic = BothWays::<Traffic>::default();
        (0..packets).for_each(|_| traffic.up.add_packet(Cause::Original));
        let arrival = arrived.then_some(at(1_010));
        let message = Message {
            mark: &mark,
            arrival,
            round_trips: None,
            traffic: &traffic,
        };
        Outcome::from_planned(&cell(stack), Some(&message), TIMEOUT)
    }

    #[test]
    fn an_answered_message_ends_as_its_answer_says() {
        let of = |end| outcome("mqtt-qos1", end, true, 1);
        assert_eq!(of(Some((31_000, End::Acknowledged))), Outcome::Acknowledged);
        assert_eq!(of(Some((31_001, End::Acknowledged))), Outcome::Late);
        assert_eq!(of(Some((2_000, End::Refused))), Outcome::Refused);
        assert_eq!(of(Some((61_000, End::Unknown))), Outcome::Unknown);
        assert_eq!(of(None), Outcome::Unknown);
    }

    #[test]
    fn an_unanswered_message_ends_as_the_link_says() {
        assert_eq!(outcome("udp", None, true, 1), Outcome::Delivered);
        assert_eq!(outcome("udp", None, false, 1), Outcome::Lost);
        assert_eq!(outcome("coap-non", None, false, 0), Outcome::Failed);
        assert_eq!(
            outcome("coap-non", Some((2_000, End::Refused)), true, 2),
            Outcome::Refused
        );
    }

    #[test]
    fn a_message_that_its_device_never_reached_has_failed() {
        assert_eq!(
            Outcome::from_planned(&cell("tcp"), None, TIMEOUT),
            Outcome::Failed
        );
    }

    #[test]
    fn every_outcome_counts_once() {
        let all = [
            Outcome::Acknowledged,
            Outcome::Refused,
            Outcome::Failed,
            Outcome::Late,
            Outcome::Unknown,
            Outcome::Delivered,
            Outcome::Lost,
        ];
        let mut outcomes = Outcomes::default();
        all.iter().for_each(|outcome| count(&mut outcomes, *outcome));
        assert_eq!(outcomes.offered, 7);
        assert!(outcomes.add_up());
    }
}
