//! Paths that lose datagrams, and servers that forget.
//!
//! Over such a path the two ends cannot agree on every byte: an end without keys does not know the content of a
//! packet. [`Plain`] removes the spans, so that the pair does not compare them.

use std::convert::Infallible;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{
    Buffer, Cause, Delivery, Direction, Endpoint, Fate, FlowId, Input, Instant, Layer, Output, Path, Phase,
    Rng,
};
use wirecost_security::Start;
use wirecost_security::layer::Event;

use super::rig::{DELAY, Parts, post, reconnected};
use crate::client;
use crate::http3::{Client, Server};

/// Loses datagrams at random with a fixed probability.
pub(super) struct Lossy {
    rng: Rng,
    percent: u64,
}

impl Path for Lossy {
    fn offer(
        &mut self,
        direction: Direction,
        len: usize,
        now: Instant,
        deliveries: &mut Vec<Delivery>,
    ) -> Fate {
        if self.rng.next_below(100) < self.percent {
            return Fate::Lost;
        }
        FixedDelay(DELAY).offer(direction, len, now, deliveries)
    }
}

/// An endpoint that gives all its bytes the same span.
pub(super) struct Plain<E> {
    pub(super) endpoint: E,
    /// Retransmitted payload bytes.
    resent: u64,
    /// How far its clock is ahead.
    ahead: Duration,
}

impl<E> Plain<E> {
    fn new(endpoint: E) -> Self {
        Self {
            endpoint,
            resent: 0,
            ahead: Duration::ZERO,
        }
    }
}

impl<E: Endpoint<Error = Infallible>> Endpoint for Plain<E> {
    type Command = E::Command;
    type Event = E::Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, E::Command>, now: Instant) -> Result<(), Infallible> {
        self.endpoint.handle_input(input, now + self.ahead)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<E::Event> {
        let mut inner = Buffer::new();
        let output = match self.endpoint.poll_output(&mut inner) {
            Output::Timeout(at) => Output::Timeout(at.map(|at| at - self.ahead)),
            output => output,
        };
        let resent = inner
            .spans()
            .iter()
            .filter(|span| span.cause == Cause::Retransmission);
        let payload = resent.filter(|span| span.layer == Layer::Payload);
        if !inner.bytes().is_empty() {
            self.resent += payload.map(|span| u64::from(span.len)).sum::<u64>();
        }
        out.push_with(Layer::Transport, Phase::Message, Cause::Original, |bytes| {
            bytes.extend_from_slice(inner.bytes());
        });
        if inner.bytes().is_empty() {
            let covered = usize::try_from(inner.covered()).expect("a datagram");
            out.cover(covered, Layer::Transport, Phase::Message, Cause::Original);
        }
        output
    }
}

pub(super) type LossyPair = Pair<Plain<Client>, Plain<Server>, Lossy>;

fn lossy(start: Start, percent: u64, seed: u64) -> LossyPair {
    plain(&Parts::new(start), percent, seed)
}

pub(super) fn plain(parts: &Parts, percent: u64, seed: u64) -> LossyPair {
    let client = Client::new(parts.client_config(seed)).expect("a client");
    let path = Lossy {
        rng: Rng::new(seed),
        percent,
    };
    let (client, server) = (Plain::new(client), Plain::new(parts.server(seed)));
    Pair::new(Transport::Datagram, client, server, path)
}

fn answered(events: &[(Instant, Event<client::Event>)]) -> usize {
    let is_answer = |event: &Event<client::Event>| matches!(event, Event::Inner(client::Event::Response { status, .. }) if status.code() == 204);
    events.iter().filter(|(_, event)| is_answer(event)).count()
}

#[test]
fn every_post_is_answered_despite_loss() {
    for (percent, seeds) in [(5, 0..6), (20, 6..12)] {
        for seed in seeds {
            let mut pair = lossy(Start::Cold, percent, seed);
            pair.open();
            pair.command(post(1, 128));
            pair.drive_for(Duration::from_secs(9));
            pair.command(post(2, 100_000));
            pair.drive_for(Duration::from_secs(60));
            let late = pair
                .client_events
                .iter()
                .map(|(_, event)| event)
                .collect::<Vec<_>>();
            assert_eq!(
                answered(&pair.client_events),
                2,
                "{percent} % seed {seed}: {late:?}"
            );
        }
    }
}

#[test]
fn lost_data_is_sent_again_as_retransmission() {
    let mut pair = lossy(Start::Cold, 20, 3);
    pair.open();
    pair.command(post(1, 100_000));
    pair.drive_for(Duration::from_secs(60));
    // At least about one fifth of the content must be sent twice.
    assert!(pair.client.resent > 10_000, "{} B sent again", pair.client.resent);
}

#[test]
fn a_forgotten_session_is_a_fault() {
    let mut pair = lossy(Start::ZeroRtt, 0, 1);
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    pair.command(client::Command::Close);
    pair.drive_for(Duration::from_secs(1));
    pair.client_events.clear();
    // Another server of the same name, which knows neither the ticket nor the session.
    let mut parts = Parts::new(Start::ZeroRtt);
    parts.server.accept_early_data = true;
    pair.server = Plain::new(parts.server(2));
    pair.open_flow(FlowId(1));
    pair.command(post(1, 128));
    pair.drive_for(Duration::from_secs(3));
    let failed = |event: &Event<client::Event>| {
        matches!(
            event,
            Event::Failed {
                fault: wirecost_security::layer::Fault::Start {
                    granted: Start::Cold,
                    ..
                },
                ..
            }
        )
    };
    assert!(
        pair.client_events.iter().any(|(_, event)| failed(event)),
        "{:?}",
        pair.client_events
    );
}

/// A ticket of an implausible age resumes, but allows no early data (RFC 8446 section 8.3).
#[test]
fn refused_early_data_follows_the_handshake() {
    let mut pair = lossy(Start::ZeroRtt, 0, 1);
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    pair.command(client::Command::Close);
    pair.drive_for(Duration::from_secs(1));
    pair.client_events.clear();
    pair.server.ahead = Duration::from_secs(300);
    let opened = pair.now;
    pair.open_flow(FlowId(1));
    pair.command(post(1, 128));
    pair.command(post(2, 3_000));
    pair.drive_for(Duration::from_secs(3));
    let start = pair.client_events.iter().find_map(|(at, event)| match event {
        Event::Established { start, .. } => Some((*at, *start)),
        _ => None,
    });
    assert_eq!(start, Some((opened + DELAY * 2, Start::Resumed)));
    assert_eq!(answered(&pair.client_events), 2, "{:?}", pair.client_events);
    assert!(pair.client.resent >= 128, "{} B", pair.client.resent);
}

#[test]
fn an_unanswered_handshake_times_out() {
    let mut pair = lossy(Start::Cold, 100, 1);
    pair.open();
    pair.command(post(1, 1));
    pair.drive_for(Duration::from_secs(30));
    let at = Instant::START + Duration::from_secs(10);
    let flow = FlowId(0);
    let fault = wirecost_security::layer::Fault::TimedOut { protocol: "QUIC" };
    assert_eq!(pair.client_events, [(at, Event::Failed { flow, fault })]);
}

#[test]
fn a_connection_that_falls_silent_ends_after_the_idle_timeout() {
    let mut rig = reconnected(super::rig::rig(Start::Cold));
    rig.drive_for(Duration::from_secs(90));
    let last = rig.client_events.last().map(|(_, event)| event.clone());
    let timed_out = client::Event::Reset(wirecost_proto::ResetReason::TimedOut);
    assert_eq!(last, Some(Event::Inner(timed_out)));
    assert_eq!(rig.server.connections(), 0);
    assert_eq!(rig.next_step(), None, "nothing is left to wait for");
}

#[test]
fn a_late_response_fails_only_its_request() {
    let mut rig = super::rig::rig(Start::Cold);
    rig.open();
    rig.command(super::rig::get(1, "/long-poll/a?timeout=30"));
    rig.drive_for(Duration::from_secs(40));
    rig.command(post(2, 1));
    rig.drive_for(Duration::from_secs(5));
    let heard: Vec<_> = rig
        .client_events
        .iter()
        .skip(2)
        .map(|(_, event)| event.clone())
        .collect();
    let expected = [
        client::Event::Sent { message: 1 },
        client::Event::TimedOut { message: 1 },
        client::Event::Sent { message: 2 },
    ];
    assert_eq!(heard[..3], expected.map(Event::Inner));
    assert_eq!(answered(&rig.client_events), 1);
}
