//! Deliveries to our subscribers. If nothing answers messages, the deliveries alone tell the outcomes.

use wirecost_results::figures::Interval;
use wirecost_scenario::options::load::Phase;

use super::Coordinator;

impl Coordinator<'_> {
    /// Settles which unanswered messages were delivered and which were lost, by the subscribers' deliveries. If a part
    /// of the generator has died, its deliveries are unknown.
    pub(super) fn settle_deliveries(&mut self) {
        let options = self.options;
        let has_lost = self.outcome.failure.is_some() || !self.outcome.lost.is_empty();
        // Where messages are answered, the answer is the outcome already; a delivery would count it a second time.
        if options.is_answered() || options.subscribers.is_none() || has_lost {
            return;
        }
        for (index, phase) in (0..).zip(&options.phases) {
            if matches!(phase, Phase::Publish(_)) {
                let mut later = self.received_after(index);
                for warm_up in [true, false] {
                    let own = self
                        .counted
                        .of_phase(index)
                        .filter(|interval| interval.warm_up == warm_up);
                    later = settle(&mut own.collect::<Vec<_>>(), later);
                }
            }
        }
    }

    /// The excess of deliveries that were counted after a phase and before the next offer: messages from a server's
    /// store, and messages that do not carry their intended time.
    fn received_after(&mut self, phase: u32) -> u64 {
        let phases = (0..).zip(&self.options.phases).skip(phase as usize + 1);
        let before_next = phases.take_while(|(_, phase)| !matches!(phase, Phase::Publish(_)));
        before_next
            .map(|(index, _)| {
                let sum = Received::from_intervals(self.counted.of_phase(index).map(|interval| &*interval));
                sum.distinct.saturating_sub(sum.expected)
            })
            .sum()
    }
}

/// Expected and actual deliveries, added up.
#[derive(Default)]
struct Received {
    /// Messages that at least one subscriber expects.
    awaited: u64,
    /// Expected deliveries.
    expected: u64,
    /// Actual deliveries, each message once at each subscriber.
    distinct: u64,
    /// Of these, deliveries after the end of the offer.
    behind: u64,
}

impl Received {
    fn from_intervals<'i>(intervals: impl Iterator<Item = &'i Interval>) -> Self {
        intervals.fold(Self::default(), |sum, interval| {
            let deliveries = &interval.deliveries;
            Self {
                awaited: sum.awaited + interval.awaited,
                expected: sum.expected + deliveries.expected,
                distinct: sum.distinct + deliveries.arrived.saturating_sub(deliveries.duplicates),
                behind: sum.behind + interval.deliveries_behind,
            }
        })
    }
}

/// Settles the messages of `intervals` that subscribers expect. Returns the rest of the deliveries that arrived
/// `later`. Which messages were lost is unknown: the last ones count as lost.
fn settle(intervals: &mut [&mut Interval], later: u64) -> u64 {
    let Received {
        awaited,
        expected,
        distinct,
        behind,
    } = Received::from_intervals(intervals.iter().map(|interval| &**interval));
    if expected == 0 {
        return later;
    }
    let from_later = expected.saturating_sub(distinct).min(later);
    let messages = |deliveries: u64| {
        // Each of several subscribers expects each message, so that deliveries are in proportion to messages. The product of two counts may
        // exceed 64 bits.
        let of_all = u128::from(deliveries.min(expected)) * u128::from(awaited) / u128::from(expected);
        u64::try_from(of_all).unwrap_or(awaited)
    };
    let all = messages(distinct + from_later);
    let mut delivered = all;
    for interval in intervals.iter_mut() {
        let outcomes = &mut interval.outcomes;
        // A message that was lost with its connection before it left is not awaited anywhere, and stays unknown.
        let ended = outcomes.unknown.min(interval.awaited);
        let of_them = ended.min(delivered);
        delivered -= of_them;
        outcomes.unknown -= ended;
        outcomes.delivered += of_them;
        outcomes.lost += ended - of_them;
    }
    // Messages that ended before, as at a counting target, are not settled by these deliveries.
    let worked_off = messages(behind).min(all - delivered);
    let from_the_last = intervals.iter_mut().rev();
    from_the_last.fold(worked_off, |left, interval| interval.work_off(left));
    later - from_later
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval with sent messages, each of which has `times` expected deliveries.
    fn sent(messages: u64, times: u64) -> Interval {
        let mut interval = Interval::default();
        (interval.outcomes.offered, interval.outcomes.unknown) = (messages, messages);
        interval.awaited = messages;
        interval.deliveries.expected = messages * times;
        interval
    }

    fn settled(mut intervals: Vec<Interval>, later: u64) -> (Vec<[u64; 3]>, u64) {
        let mut all: Vec<&mut Interval> = intervals.iter_mut().collect();
        let left = settle(&mut all, later);
        assert!(intervals.iter().all(|interval| interval.outcomes.add_up()));
        let outcomes = intervals.iter().map(|interval| &interval.outcomes);
        let ended = outcomes.map(|outcomes| [outcomes.delivered, outcomes.lost, outcomes.unknown]);
        (ended.collect(), left)
    }

    #[test]
    fn received_messages_are_delivered_and_the_rest_is_lost() {
        let mut seconds = vec![sent(100, 1), sent(100, 1)];
        seconds[1].deliveries.arrived = 151;
        seconds[1].deliveries.duplicates = 1;
        assert_eq!(settled(seconds, 0), (vec![[100, 0, 0], [50, 50, 0]], 0));
    }

    #[test]
    fn a_message_is_delivered_when_every_subscriber_has_it() {
        let mut second = sent(100, 3);
        second.deliveries.arrived = 299;
        assert_eq!(settled(vec![second.clone()], 0).0, [[99, 1, 0]]);
        second.deliveries.arrived = 1_000;
        assert_eq!(
            settled(vec![second], 0).0,
            [[100, 0, 0]],
            "no more than were sent"
        );
    }

    #[test]
    fn late_deliveries_are_worked_off_as_a_share_of_the_expected() {
        let worked_off = |mut seconds: [Interval; 2]| {
            let [first, last] = &mut seconds;
            settle(&mut [first, last], 0);
            seconds.map(|interval| interval.worked_off)
        };
        let mut seconds = [sent(100, 3), sent(100, 3)];
        (seconds[0].deliveries.arrived, seconds[1].deliveries.arrived) = (300, 240);
        seconds[1].deliveries_behind = 90;
        assert_eq!(worked_off(seconds.clone()), [0, 30]);
        // Of the 180 delivered messages, the last 80 belong to the last second.
        seconds[1].deliveries_behind = 450;
        assert_eq!(worked_off(seconds.clone()), [70, 80]);
        seconds[1].deliveries_behind = 5_000;
        assert_eq!(
            worked_off(seconds.clone()),
            [100, 80],
            "no more than were delivered"
        );
        for second in &mut seconds {
            (second.outcomes.delivered, second.outcomes.unknown) = (100, 0);
        }
        assert_eq!(
            worked_off(seconds),
            [0, 0],
            "somebody else has said how they ended"
        );
    }

    #[test]
    fn messages_from_a_servers_store_are_delivered() {
        let mut second = sent(100, 1);
        second.deliveries.arrived = 10;
        assert_eq!(settled(vec![second.clone()], 70), (vec![[80, 20, 0]], 0));
        assert_eq!(settled(vec![second], 95), (vec![[100, 0, 0]], 5));
    }

    #[test]
    fn unsent_and_unawaited_messages_stay_unknown() {
        let mut second = sent(10, 2);
        second.outcomes.offered += 3;
        second.outcomes.unknown += 3;
        second.deliveries.arrived = 20;
        assert_eq!(settled(vec![second], 0).0, [[10, 0, 3]]);
        let nobodys = Interval {
            awaited: 0,
            ..sent(10, 0)
        };
        assert_eq!(settled(vec![nobodys], 7), (vec![[0, 0, 10]], 7));
    }
}
