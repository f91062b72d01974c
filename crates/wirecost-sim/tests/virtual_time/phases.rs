//! What the link does to one phase's packets counts in no other phase.

use std::time::Duration;

use crate::common::{OwnLinks, PORT, Talker, delay, device, end, settings, world};
use wirecost_cost::Totals;
use wirecost_link::{LinkConfig, Loss, Reorder};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Cause, Direction, Phase, Probability};
use wirecost_sim::{Recording, Tally};

/// A device that sends three messages of 20 kB over a link, as the ledger finds it in the recording.
fn totals(config: LinkConfig, seed: u64) -> Totals {
    let script = Talker {
        bytes: 20_000,
        messages: 3,
        interval: Duration::from_secs(1),
        ..Talker::default()
    };
    let devices = vec![device(0, Transport::Stream, script)];
    let tap = (Recording::new(), Tally::new(|_| 0));
    let finished = world(settings(), devices, OwnLinks::new(1, config, seed), tap).run(end());
    let (recording, tally) = finished.tap;
    let totals = recording.totals_of(&finished.devices[0], &finished.flows, PORT);
    assert_eq!(tally.totals(), std::slice::from_ref(&totals), "seed {seed}");
    totals
}

/// A link of 25 ms each way with something wrong in both directions.
fn impaired(reorder: f64, duplicate: f64, loss: f64) -> LinkConfig {
    let chance = |value| Probability::new(value).expect("a probability");
    let mut config = delay(25);
    for way in [&mut config.up, &mut config.down] {
        way.reorder = Some(Reorder {
            probability: chance(reorder),
            extra_delay: Duration::from_millis(12),
        });
        way.duplicate = chance(duplicate);
        way.loss = Loss::Bernoulli(chance(loss));
    }
    config
}

fn packets(totals: &Totals, phase: Phase, cause: Cause) -> u64 {
    let count = |way| totals.traffic(phase, way).packets_by_cause(cause);
    Direction::ALL.into_iter().map(count).sum()
}

#[test]
fn reordering_moves_nothing_into_the_connect() {
    let whole = totals(delay(25), 1);
    for seed in 0..40 {
        let reordered = totals(impaired(0.15, 0.0, 0.0), seed);
        // A SYN-ACK or its ACK held back for 12 ms is no reason to send it again.
        for way in Direction::ALL {
            let bytes = |totals: &Totals| totals.traffic(Phase::Connect, way).wire_bytes();
            assert_eq!(bytes(&reordered), bytes(&whole), "seed {seed}, {}", way.name());
        }
    }
}

#[test]
fn the_connect_grows_by_its_own_packets_alone() {
    let whole = totals(delay(25), 1);
    let of_connect = |totals: &Totals, cause| packets(totals, Phase::Connect, cause);
    let mut answers = 0;
    for seed in 0..60 {
        let impaired = totals(impaired(0.1, 0.1, 0.05), seed);
        let originals = of_connect(&impaired, Cause::Original);
        assert_eq!(originals, of_connect(&whole, Cause::Original), "seed {seed}");
        // Each SYN and SYN-ACK, sent once or again, arrives twice at most, and is answered as often.
        let sent = originals + of_connect(&impaired, Cause::Retransmission);
        let acknowledged = of_connect(&impaired, Cause::Acknowledgement);
        assert!(acknowledged <= 2 * sent, "seed {seed}: {acknowledged} for {sent}");
        answers += acknowledged;
    }
    // A tenth of 60 SYNs and 60 SYN-ACKs comes twice.
    assert!(answers <= 60 + 30, "{answers}");
}

#[test]
fn a_repeated_segment_of_the_close_is_answered_in_the_close() {
    let whole = totals(delay(25), 1);
    for seed in 0..20 {
        let doubled = totals(impaired(0.0, 1.0, 0.0), seed);
        let answers = packets(&doubled, Phase::Close, Cause::Acknowledgement);
        assert!(
            answers > packets(&whole, Phase::Close, Cause::Acknowledgement),
            "{answers}"
        );
    }
}
