//! Keep-alives (RFC 9293, section 3.8.4).

use core::time::Duration;

use proto::ResetReason;
use wirecost_proto as proto;

use super::{ACK, DELAY, pattern, trace};
use crate::config::KeepAliveConfig;
use crate::harness::{CLIENT, Faults, Net, SERVER};
use crate::{Config, Event, Granularity};

const IDLE: Duration = Duration::from_secs(300);

/// A connection whose client keeps it alive.
fn kept() -> Net {
    let server = Config {
        granularity: Granularity::Exact,
        ..Config::larmo(1460)
    };
    let client = Config {
        keep_alive: Some(KeepAliveConfig::linux(IDLE)),
        ..server.clone()
    };
    Net::new([client, server], DELAY, Faults::NONE, 0)
}

#[test]
fn an_idle_connection_is_probed_and_its_peer_answers() {
    let mut net = kept();
    net.run_for(Duration::from_secs(1));
    net.write(CLIENT, &pattern(10));
    net.run_for(Duration::from_secs(290));
    let since = net.sent.len();
    net.run_for(Duration::from_secs(320));
    // The probe has the sequence number before the next one, and no data.
    let expected = [(CLIENT, ACK, 10, 1, 0), (SERVER, ACK, 1, 11, 0)].repeat(2);
    assert_eq!(trace(&net)[since..], expected);
    let gap = net.sent[since + 2].at.saturating_since(net.sent[since].at);
    assert_eq!(gap, IDLE + DELAY * 2);
}

#[test]
fn data_postpones_a_keep_alive() {
    let mut net = kept();
    net.run_for(Duration::from_secs(1));
    for _ in 0..4 {
        net.run_for(Duration::from_secs(200));
        net.write(CLIENT, &pattern(10));
    }
    net.run_for(Duration::from_secs(200));
    let probes = net.sent[3..]
        .iter()
        .filter(|sent| sent.from == CLIENT && sent.bytes == 0);
    assert_eq!(probes.count(), 0);
}

#[test]
fn a_peer_that_answers_no_keep_alive_ends_the_connection() {
    let mut net = kept();
    net.run_for(Duration::from_secs(1));
    net.lost = (3..100).collect();
    net.run_for(IDLE + Duration::from_secs(75 * 9));
    assert_eq!(net.sent.len() - 3, 9);
    let events = &net.ends[CLIENT].events;
    assert_eq!(events[..], [Event::Opened, Event::Reset(ResetReason::TimedOut)]);
}
