//! Devices that receive: their subscriptions and deliveries.
//!
//! ```text
//! down -> Ready -> SUBSCRIBE, or the session still has it -> SUBACK -> messages, counted one by one
//! down -> Ready -> GET of the page from the last key on -> its messages, and the next key -> the interval -> GET ...
//! ```

mod polling;

use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_results::figures::{Deliveries, record};
use wirecost_stack::{Arrival, Command, Event, MessagePool, Polled, Stamp, Subscription};

use super::track::{ArrivalOrder, Track};
use crate::devices::tracker::MessageTracker;
use polling::{Poll, Timers};

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
    /// The mark of the run on stamps; 0 where the server is the run's own.
    pub mark: u32,
    /// Whether messages of others are told by the lack of the run's stamp: every message of the run has one, and the server is not
    /// the run's own.
    pub tells_others: bool,
    /// Bytes of the wills of the run's devices, which the server sends without a stamp; `None` without wills.
    pub will_bytes: Option<u64>,
    /// The start of the run's clock on `CLOCK_MONOTONIC`, in nanoseconds.
    pub clock_start_ns: u64,
    /// How far the clock of a sender may be ahead, in nanoseconds: 0 unless senders are on other machines.
    pub clock_error_ns: u64,
    /// How often subscribers ask for messages; `None` if their server pushes them.
    pub poll: Option<Duration>,
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
    timers: Timers,
}

#[derive(Debug)]
struct Subscriber {
    subscription: Arc<Subscription>,
    state: SubscriptionState,
    /// When its connection came up.
    since: Instant,
    /// Whether the server had kept its session.
    resumed: bool,
    /// Where it is in the server's messages, if it polls.
    poll: Option<Poll>,
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
            poll: reception.poll.map(Poll::new),
            tracks: Box::default(),
        };
        Self {
            first,
            each: subscriptions.into_iter().map(new).collect(),
            reception,
            retained: 0,
            tracks_left: TRACK_BYTES / size_of::<Track>(),
            timers: Timers::default(),
        }
    }

    /// A part without subscribers.
    pub fn none() -> Self {
        let reception = Reception {
            stamped: false,
            senders: 0,
            mark: 0,
            tells_others: false,
            will_bytes: None,
            clock_start_ns: 0,
            clock_error_ns: 0,
            poll: None,
        };
        Self::new(usize::MAX, Vec::new(), reception)
    }

    /// Moves the start of the run's clock.
    pub const fn set_clock_start(&mut self, clock_start_ns: u64) {
        self.reception.clock_start_ns = clock_start_ns;
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
        self.each.iter().any(Subscriber::is_asking)
    }

    /// Sets how many retained messages every subscriber receives when it subscribes next.
    pub const fn expect_retained(&mut self, messages: u32) {
        self.retained = messages;
    }

    /// The SUBSCRIBE command of a device that still has to subscribe, or the poll that is due.
    pub fn next(
        &mut self,
        device: usize,
        pool: &MessagePool,
        tracker: &mut MessageTracker,
        now: Instant,
    ) -> Option<Command> {
        let subscriber = self.subscriber(device)?;
        if subscriber.poll.is_some() {
            return subscriber.next_poll(pool, tracker, now);
        }
        if subscriber.state != SubscriptionState::Up {
            return None;
        }
        subscriber.state = SubscriptionState::AwaitSuback;
        Some(Command::Subscribe(Arc::clone(&subscriber.subscription)))
    }

    /// Wakes the devices whose next poll is due. Returns when to call again.
    pub fn wake_due(&mut self, now: Instant, wake: impl FnMut(usize)) -> Option<Instant> {
        self.timers.wake_due(now, wake)
    }

    /// Handles an event of a device's endpoint. Events of senders are ignored.
    pub fn event(&mut self, device: usize, event: &Event, tracker: &mut MessageTracker, now: Instant) {
        let Some(subscriber) = self.subscriber(device) else {
            return;
        };
        match event {
            // Whether the session is there is not known before the CONNACK.
            Event::MaySend => subscriber.came_up(false, now),
            Event::Ready { session_present } if !subscriber.is_asking() => {
                subscriber.came_up(*session_present, now);
            }
            Event::Subscribed => {
                subscriber.state = SubscriptionState::Subscribed;
                tracker.now(now).deliveries.expected += u64::from(self.retained);
            }
            Event::SubscriptionRefused { reason } => subscriber.refused(reason, tracker, now),
            Event::Polled(polled) => self.polled(device, polled, tracker, now),
            Event::Received(arrival) => self.arrived(device, *arrival, tracker, now),
            Event::Closed | Event::Lost { .. } | Event::Rejected { .. } => subscriber.went_down(),
            Event::Established { .. }
            | Event::Acknowledged { .. }
            | Event::Refused { .. }
            | Event::TimedOut { .. }
            | Event::Unanswered { .. }
            | Event::Ready { .. }
            | Event::Sent { .. }
            | Event::Other => {}
        }
    }

    fn subscriber(&mut self, device: usize) -> Option<&mut Subscriber> {
        self.each.get_mut(device.checked_sub(self.first)?)
    }

    /// Takes the messages of a page. What the server had before the first poll is from its store.
    fn polled(&mut self, device: usize, polled: &Polled, tracker: &mut MessageTracker, now: Instant) {
        let Some(subscriber) = self.subscriber(device) else {
            return;
        };
        // Taken before the state changes below.
        let is_first = subscriber.state != SubscriptionState::Subscribed && !subscriber.resumed;
        subscriber.state = SubscriptionState::Subscribed;
        let next = subscriber
            .poll
            .as_mut()
            .map(|poll| poll.answered(polled.next_key, now));
        tracker.now(now).deliveries.empty_polls += u64::from(polled.arrivals.is_empty());
        self.timers.extend(next.map(|next| (next, device)));
        for arrival in &polled.arrivals {
            let arrival = Arrival {
                retained: is_first,
                ..*arrival
            };
            self.arrived(device, arrival, tracker, now);
        }
    }

    fn arrived(&mut self, device: usize, arrival: Arrival, tracker: &mut MessageTracker, now: Instant) {
        let reception = self.reception;
        let stamp = arrival.stamp.map(|stamp| stamp.marked(reception.mark));
        if reception.is_of_others(stamp, &arrival) {
            tracker.now(now).deliveries.of_others += 1;
            return;
        }
        let stamp = stamp.filter(|stamp| reception.is_of_this_run(stamp, now));
        let place = stamp.and_then(|stamp| self.place(device, stamp));
        let Some(subscriber) = self.subscriber(device) else {
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
        let subscriber = self.subscriber(device)?;
        if subscriber.tracks.is_empty() {
            self.tracks_left = left.checked_sub(senders)?;
            self.subscriber(device)?.tracks = vec![Track::default(); senders].into();
        }
        let track = self.subscriber(device)?.tracks.get_mut(stamp.device as usize)?;
        Some(track.note(stamp.message))
    }
}

impl Subscriber {
    /// Whether it is connected, or has sent ahead, and has no answer to its subscription.
    const fn is_asking(&self) -> bool {
        matches!(self.state, SubscriptionState::Up | SubscriptionState::AwaitSuback)
    }

    const fn came_up(&mut self, session_present: bool, now: Instant) {
        self.since = now;
        self.resumed = session_present;
        if let Some(poll) = &mut self.poll {
            self.resumed = poll.came_up();
        }
        if !(session_present && matches!(self.state, SubscriptionState::Subscribed)) {
            self.state = SubscriptionState::Up;
        }
    }

    fn refused(&mut self, reason: &str, tracker: &mut MessageTracker, now: Instant) {
        self.state = SubscriptionState::Refused;
        let interval = tracker.now(now);
        interval.deliveries.subscriptions_refused += 1;
        interval.reason(&format!("{SUBSCRIPTION_REFUSED}{reason}"));
    }

    /// The poll that is due. The first one on a connection is due at once.
    fn next_poll(
        &mut self,
        pool: &MessagePool,
        tracker: &mut MessageTracker,
        now: Instant,
    ) -> Option<Command> {
        let poll = self.poll.as_mut()?;
        match self.state {
            SubscriptionState::Up => self.state = SubscriptionState::AwaitSuback,
            SubscriptionState::Subscribed if poll.is_due(now) => {}
            _ => return None,
        }
        let next_key = poll.begin(now);
        match pool.poll(&self.subscription, next_key) {
            Ok(command) => {
                tracker.now(now).deliveries.polls += 1;
                Some(command)
            }
            Err(error) => {
                self.refused(&error.reason.to_string(), tracker, now);
                None
            }
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
        let latest_ns = now_ns.saturating_add(self.clock_error_ns);
        let earliest_ns = self.clock_start_ns.saturating_sub(self.clock_error_ns);
        let is_in_time = earliest_ns <= stamp.intended_ns && stamp.intended_ns <= latest_ns;
        self.stamped && stamp.device < self.senders && is_in_time
    }

    /// Whether another program sent the message to the same server. The mark tells it, whatever the clocks of agents show.
    fn is_of_others(&self, stamp: Option<Stamp>, arrival: &Arrival) -> bool {
        let is_will = self.will_bytes == Some(arrival.payload_bytes);
        let has_mark = stamp.is_some_and(|stamp| stamp.device < self.senders);
        self.tells_others && !has_mark && !is_will
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
mod tests;
