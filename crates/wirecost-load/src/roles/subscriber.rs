//! Devices that receive: their subscriptions and deliveries.
//!
//! ```text
//! down -> Ready -> SUBSCRIBE, or the session still has it -> SUBACK -> messages, counted one by one
//! ```

use std::sync::Arc;

use wirecost_proto::Instant;
use wirecost_results::figures::{Deliveries, record};
use wirecost_stack::{Arrival, Command, Event, Stamp, Subscription};

use super::track::{ArrivalOrder, Track};
use crate::tracker::MessageTracker;

/// The beginning of the reason when a server refuses a subscription.
pub const SUBSCRIPTION_REFUSED: &str = "subscription refused: ";
/// The most bytes for all tracks of a part.
const TRACK_BYTES: usize = 256 << 20;

/// The settings that all subscribers of a part share.
#[derive(Clone, Copy, Debug)]
pub struct Reception {
    /// Whether payloads begin with a [`Stamp`].
    pub stamped: bool,
    /// The number of senders over all parts: the devices that stamps can name.
    pub senders: u32,
    /// The start of the run's clock on `CLOCK_MONOTONIC`, in nanoseconds.
    pub clock_start_ns: u64,
}

/// The subscribers of a part, which follow its senders.
#[derive(Debug)]
pub struct Subscribers {
    first: usize,
    each: Vec<Subscriber>,
    reception: Reception,
    /// The number of retained messages for each subscriber.
    retained: u32,
    /// The number of tracks that may still be made.
    tracks_left: usize,
}

#[derive(Debug)]
struct Subscriber {
    subscription: Arc<Subscription>,
    state: SubscriptionState,
    /// When its connection came up.
    since: Instant,
    /// Whether the server had kept its session.
    resumed: bool,
    /// By sender; allocated with the first message.
    tracks: Box<[Track]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SubscriptionState {
    /// Never subscribed, and not connected.
    Down,
    /// Connected, and still to subscribe.
    Up,
    /// Waits for the answer to its SUBSCRIBE.
    AwaitSuback,
    /// Subscribed, or its session is.
    Subscribed,
    /// Refused by the server.
    Refused,
}

impl Subscribers {
    /// Subscribers with these subscriptions. `first` is the index of the first one in its part.
    pub fn new(first: usize, subscriptions: Vec<Arc<Subscription>>, reception: Reception) -> Self {
        let new = |subscription| Subscriber {
            subscription,
            state: SubscriptionState::Down,
            since: Instant::START,
            resumed: false,
            tracks: Box::default(),
        };
        Self {
            first,
            each: subscriptions.into_iter().map(new).collect(),
            reception,
            retained: 0,
            tracks_left: TRACK_BYTES / size_of::<Track>(),
        }
    }

    /// A part without subscribers.
    pub fn none() -> Self {
        let reception = Reception {
            stamped: false,
            senders: 0,
            clock_start_ns: 0,
        };
        Self::new(usize::MAX, Vec::new(), reception)
    }

    /// Whether every subscriber has an answer, positive or negative.
    pub fn are_ready(&self) -> bool {
        let is_ready = |one: &Subscriber| {
            matches!(
                one.state,
                SubscriptionState::Subscribed | SubscriptionState::Refused
            )
        };
        self.each.iter().all(is_ready)
    }

    /// Whether a connected subscriber waits for an answer.
    pub fn are_asking(&self) -> bool {
        let is_asking =
            |one: &Subscriber| matches!(one.state, SubscriptionState::Up | SubscriptionState::AwaitSuback);
        self.each.iter().any(is_asking)
    }

    /// Sets how many retained messages every subscriber receives when it subscribes next.
    pub const fn expect_retained(&mut self, messages: u32) {
        self.retained = messages;
    }

    /// The SUBSCRIBE command of a device that still has to subscribe.
    pub fn next(&mut self, device: usize) -> Option<Command> {
        let subscriber = self.of(device)?;
        if subscriber.state != SubscriptionState::Up {
            return None;
        }
        subscriber.state = SubscriptionState::AwaitSuback;
        Some(Command::Subscribe(Arc::clone(&subscriber.subscription)))
    }

    /// Handles an event of a device's endpoint. Events of senders are ignored.
    pub fn event(&mut self, device: usize, event: &Event, tracker: &mut MessageTracker, now: Instant) {
        let Some(subscriber) = self.of(device) else {
            return;
        };
        match event {
            Event::Ready { session_present } => subscriber.came_up(*session_present, now),
            Event::Subscribed => {
                subscriber.state = SubscriptionState::Subscribed;
                tracker.now(now).deliveries.expected += u64::from(self.retained);
            }
            Event::SubscriptionRefused { reason } => {
                subscriber.state = SubscriptionState::Refused;
                let interval = tracker.now(now);
                interval.deliveries.subscriptions_refused += 1;
                interval.reason(&format!("{SUBSCRIPTION_REFUSED}{reason}"));
            }
            Event::Received(arrival) => self.arrived(device, *arrival, tracker, now),
            Event::Closed | Event::Lost { .. } | Event::Rejected { .. } => subscriber.went_down(),
            Event::Established { .. }
            | Event::Acknowledged { .. }
            | Event::Refused { .. }
            | Event::TimedOut { .. }
            | Event::Sent { .. }
            | Event::Other => {}
        }
    }

    fn of(&mut self, device: usize) -> Option<&mut Subscriber> {
        self.each.get_mut(device.checked_sub(self.first)?)
    }

    fn arrived(&mut self, device: usize, arrival: Arrival, tracker: &mut MessageTracker, now: Instant) {
        let reception = self.reception;
        let stamp = arrival.stamp.filter(|stamp| reception.is_of_this_run(stamp, now));
        let place = stamp.and_then(|stamp| self.place(device, stamp));
        let Some(subscriber) = self.of(device) else {
            return;
        };
        let intended = stamp.map(|stamp| reception.intended(&stamp));
        let replayed = arrival.retained || subscriber.was_away_at(intended);
        let is_behind = intended
            .filter(|_| !replayed && place != Some(ArrivalOrder::Duplicate))
            .is_some_and(|intended| tracker.is_delivered_behind(intended, now));
        // A message that was on its way when a phase ended belongs to that phase. A message from a server's store
        // belongs to the phase in which it arrives.
        let interval = match intended.filter(|_| !replayed) {
            Some(intended) => tracker.of_message(intended, now),
            None => tracker.now(now),
        };
        count(&mut interval.deliveries, place, replayed, arrival.duplicate);
        interval.deliveries_behind += u64::from(is_behind);
        // The delay of a message from the server's store measures the store.
        if let Some(intended) = intended.filter(|_| !replayed) {
            record(&mut interval.one_way_delay, now.saturating_since(intended));
        }
    }

    /// The order of a message among those of its sender, as long as there is memory for tracks.
    fn place(&mut self, device: usize, stamp: Stamp) -> Option<ArrivalOrder> {
        let senders = self.reception.senders as usize;
        let left = self.tracks_left;
        let subscriber = self.of(device)?;
        if subscriber.tracks.is_empty() {
            self.tracks_left = left.checked_sub(senders)?;
            self.of(device)?.tracks = vec![Track::default(); senders].into();
        }
        let track = self.of(device)?.tracks.get_mut(stamp.device as usize)?;
        Some(track.note(stamp.message))
    }
}

impl Subscriber {
    const fn came_up(&mut self, session_present: bool, now: Instant) {
        self.since = now;
        self.resumed = session_present;
        if !(session_present && matches!(self.state, SubscriptionState::Subscribed)) {
            self.state = SubscriptionState::Up;
        }
    }

    /// Forgets a pending subscription, which is sent again. Keeps an answered one, in case the session survives.
    fn went_down(&mut self) {
        if self.state != SubscriptionState::Subscribed {
            self.state = SubscriptionState::Down;
        }
    }

    /// Whether a message was intended before the connection that resumed a session.
    fn was_away_at(&self, intended: Option<Instant>) -> bool {
        self.resumed && intended.is_some_and(|intended| intended < self.since)
    }
}

impl Reception {
    /// Whether a stamp belongs to this run: the server may have kept a message of another run, or the payload may have
    /// no stamp.
    const fn is_of_this_run(&self, stamp: &Stamp, now: Instant) -> bool {
        let now_ns = self.clock_start_ns.saturating_add(now.as_nanos());
        let is_in_time = self.clock_start_ns <= stamp.intended_ns && stamp.intended_ns <= now_ns;
        self.stamped && stamp.device < self.senders && is_in_time
    }

    const fn intended(&self, stamp: &Stamp) -> Instant {
        Instant::from_nanos(stamp.intended_ns.saturating_sub(self.clock_start_ns))
    }
}

fn count(deliveries: &mut Deliveries, place: Option<ArrivalOrder>, replayed: bool, marked: bool) {
    deliveries.arrived += 1;
    deliveries.replayed += u64::from(replayed);
    match place {
        Some(ArrivalOrder::InOrder) => {}
        Some(ArrivalOrder::OutOfOrder) => deliveries.out_of_order += 1,
        Some(ArrivalOrder::Duplicate) => deliveries.duplicates += 1,
        // Without numbers there is only the DUP mark, which means that the server may have sent the message before.
        None => deliveries.duplicates += u64::from(marked),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tracker::{Rules, Span};

    const SECOND: Duration = Duration::from_secs(1);

    struct Bench {
        subscribers: Subscribers,
        tracker: MessageTracker,
        now: Instant,
    }

    impl Bench {
        /// One subscriber, the second device of its part.
        fn new(stamped: bool) -> Self {
            Self::of(stamped, true)
        }

        fn of(stamped: bool, answered: bool) -> Self {
            let stack = "mqtt-qos1".parse().expect("a stack");
            let subscription = Subscription::new(stack, "t/#", None, 1).expect("a subscription");
            let reception = Reception {
                stamped,
                senders: 2,
                clock_start_ns: 1_000,
            };
            let rules = Rules {
                answered,
                timeout: SECOND,
                session: false,
                connects: true,
            };
            Self {
                subscribers: Subscribers::new(1, vec![Arc::new(subscription)], reception),
                tracker: MessageTracker::new(rules, 2),
                now: Instant::START + SECOND,
            }
        }

        fn report(&mut self, event: Event) {
            self.subscribers.event(1, &event, &mut self.tracker, self.now);
        }

        fn receive(&mut self, message: u32, intended: Instant, retained: bool) {
            self.report(Event::Received(Arrival {
                stamp: Some(Stamp {
                    device: 1,
                    message,
                    intended_ns: 1_000 + intended.as_nanos(),
                }),
                payload_bytes: 32,
                duplicate: true,
                retained,
            }));
        }

        fn deliveries(&mut self) -> Deliveries {
            self.tracker.now(self.now).deliveries
        }
    }

    #[test]
    fn a_subscriber_subscribes_again_unless_the_session_lives_on() {
        let mut bench = Bench::new(true);
        assert_eq!(bench.subscribers.next(1), None);
        for (session_present, asks) in [(false, true), (true, false), (false, true)] {
            bench.report(Event::Ready { session_present });
            let asked = bench.subscribers.next(1);
            assert_eq!(matches!(asked, Some(Command::Subscribe(_))), asks);
            assert_eq!(bench.subscribers.next(1), None, "once");
            assert_eq!(bench.subscribers.are_ready(), !asks);
            if asks {
                bench.report(Event::Subscribed);
            }
            assert!(bench.subscribers.are_ready());
            bench.report(Event::Closed);
        }
        assert_eq!(bench.subscribers.next(0), None, "senders have no subscriptions");
    }

    #[test]
    fn deliveries_are_counted_by_number_and_timed_by_stamp() {
        let mut bench = Bench::new(true);
        bench.report(Event::Ready {
            session_present: false,
        });
        let intended = bench.now;
        bench.now += Duration::from_millis(5);
        for number in [0, 1, 3, 2, 3] {
            bench.receive(number, intended, false);
        }
        let expected = Deliveries {
            arrived: 5,
            duplicates: 1,
            out_of_order: 1,
            ..Deliveries::default()
        };
        assert_eq!(bench.deliveries(), expected);
        let delays = bench
            .tracker
            .now(bench.now)
            .one_way_delay
            .clone()
            .expect("delays");
        assert_eq!(delays.len(), 5);
        assert!(
            (4_990_000..=5_010_000).contains(&delays.min()),
            "{}",
            delays.min()
        );
    }

    #[test]
    fn messages_from_the_servers_store_are_counted_apart() {
        let mut bench = Bench::new(true);
        let before = bench.now;
        bench.now += Duration::from_millis(100);
        bench.report(Event::Ready {
            session_present: true,
        });
        bench.receive(0, before, false);
        bench.receive(1, before, true);
        bench.receive(2, bench.now, false);
        let deliveries = bench.deliveries();
        assert_eq!((deliveries.arrived, deliveries.replayed), (3, 2));
        let delays = bench.tracker.now(bench.now).one_way_delay.clone();
        assert_eq!(delays.map(|delays| delays.len()), Some(1));
    }

    #[test]
    fn unanswered_messages_after_the_offer_are_behind() {
        for (answered, behind) in [(false, 3), (true, 0)] {
            let mut bench = Bench::of(true, answered);
            let begins = bench.now;
            let span = Span {
                warm_up: Duration::ZERO,
                offered: Some(SECOND),
            };
            bench.tracker.begin(0, begins, span);
            let sent_again = [0, 1, 2, 3, 4, 4];
            for (number, millis) in sent_again
                .into_iter()
                .zip([20, 1_020, 1_021, 1_500, 9_000, 9_000])
            {
                bench.now = begins + Duration::from_millis(millis);
                bench.receive(number, begins, false);
            }
            let received = bench.tracker.take();
            let counts = received.map(|interval| [interval.deliveries.arrived, interval.deliveries_behind]);
            let sum = counts.reduce(|sum, more| [sum[0] + more[0], sum[1] + more[1]]);
            assert_eq!(sum, Some([6, behind]));
        }
    }

    #[test]
    fn without_stamps_only_marks_show_duplicates() {
        let mut bench = Bench::new(false);
        bench.report(Event::Ready {
            session_present: false,
        });
        bench.receive(0, bench.now, false);
        let deliveries = bench.deliveries();
        assert_eq!((deliveries.arrived, deliveries.duplicates), (1, 1));
        assert!(bench.tracker.now(bench.now).one_way_delay.is_none());
    }

    #[test]
    fn a_stamp_of_another_run_does_not_count() {
        let reception = Bench::new(true).subscribers.reception;
        let stamp = |device, intended_ns| Stamp {
            device,
            message: 0,
            intended_ns,
        };
        let now = Instant::from_nanos(50);
        for (device, intended_ns, known) in [
            (1, 1_000, true),
            (1, 1_050, true),
            (2, 1_010, false),
            (0, 999, false),
            (0, 1_051, false),
        ] {
            assert_eq!(reception.is_of_this_run(&stamp(device, intended_ns), now), known);
        }
    }
}
