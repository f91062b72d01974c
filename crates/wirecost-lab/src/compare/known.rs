//! The simulations that differ from measurements of the kernel by more than docs/agreement.md allows. Their cells have
//! a warning.

use std::time::Duration;

use wirecost_link::{DirectionConfig, LinkConfig, QueueLimit};
use wirecost_proto::Direction;
use wirecost_proto::bare::Transport;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::plan::PlannedCell;
use wirecost_stack::{Application, Stack};

/// One or several rows of docs/agreement.md that do not agree, with one cause.
struct Difference {
    /// Whether it applies to a stack.
    concerns: fn(Stack) -> bool,
    /// Whether it applies to messages with this payload in bytes on this link.
    holds: fn(u64, &LinkConfig) -> bool,
    /// The size of the difference.
    text: &'static str,
}

const DIFFERENCES: [Difference; 6] = [
    Difference {
        concerns: is_over_tcp,
        holds: |bytes, link| bytes >= 1_000_000 && is_any(link, |way| way.rate.is_none()),
        text: "the machine's microseconds per packet, which virtual time leaves out, make messages of 1 MB without a rate take up \
               to 1.04 times as long live at an RTT of 50 ms and more and up to 1.27 times below, those of 5 MB up to 1.3 and 2.6 \
               times",
    },
    Difference {
        concerns: is_over_tcp,
        holds: |bytes, link| {
            (100_000..1_000_000).contains(&bytes) && is_near(link) && is_any(link, |way| way.rate.is_none())
        },
        text: "the machine's microseconds per packet make messages of 100 kB to 1 MB without a rate take up to 1.09 times as long \
               live at an RTT of 5 to 10 ms",
    },
    Difference {
        concerns: |stack| is_over_tcp(stack) && stack.application != Application::Tcp,
        holds: |bytes, link| (95_000..=101_000).contains(&bytes) && is_any(link, |way| way.rate.is_none()),
        text: "100 kB fill the first three windows but for a segment, and live the last segments often wait for one acknowledgment \
               more: medians are up to 1.38 times as long",
    },
    Difference {
        concerns: is_over_tcp,
        holds: |bytes, link| bytes >= 20_000 && is_any(link, has_tiny_queue),
        text: "behind a queue of 2 or 3 packets, microseconds decide which packets are dropped: messages of 20 kB and more take 0.91 \
               to 1.07 times as long live in their median, 0.90 to 1.14 times in their 95th percentile",
    },
    Difference {
        concerns: is_over_tcp,
        holds: |bytes, link| bytes >= 100_000 && is_any(link, |way| way.reorder.is_some()),
        text: "under reordering, the times of messages of 100 kB are distributed otherwise live: medians are within 1 %, 95th \
               percentiles within 8 %",
    },
    Difference {
        concerns: |stack| stack.application == Application::Http3,
        holds: |bytes, link| bytes >= 20_000 && is_any(link, |way| way.reorder.is_some()),
        text: "under reordering, HTTP/3 takes 1.03 to 1.15 times as long live for messages of 20 kB and more",
    },
];

fn is_over_tcp(stack: Stack) -> bool {
    stack.transport() == Transport::Stream
}

/// Whether the round trip is so short that the machine's processing time matters.
fn is_near(link: &LinkConfig) -> bool {
    link.rtt() < Duration::from_millis(25)
}

fn is_any(link: &LinkConfig, holds: fn(&DirectionConfig) -> bool) -> bool {
    Direction::ALL.iter().any(|way| holds(link.direction(*way)))
}

fn has_tiny_queue(way: &DirectionConfig) -> bool {
    way.rate.is_some() && matches!(way.queue, Some(QueueLimit::Packets(..=3)))
}

/// The warnings about a simulated cell.
pub(super) fn warnings<'a>(
    planned: &'a PlannedCell,
    link: &'a LinkConfig,
) -> impl Iterator<Item = Warning> + 'a {
    let bytes = planned.payload.len() as u64;
    let known = DIFFERENCES
        .iter()
        .filter(move |difference| (difference.concerns)(planned.stack) && (difference.holds)(bytes, link));
    known.map(|difference| Warning {
        kind: WarningKind::DiffersFromKernel,
        text: format!("not as the kernel does: {} (docs/agreement.md)", difference.text),
        // The run is not at fault for a difference that is known and named: the reader of the figure decides whether it matters.
        invalidates: false,
    })
}

#[cfg(test)]
mod tests {
    use wirecost_link::Loss;

    use super::*;

    /// How many differences concern a message over TCP.
    fn known(bytes: u64, change: fn(&mut DirectionConfig)) -> usize {
        let mut link = LinkConfig::symmetric(Duration::from_millis(25));
        change(&mut link.up);
        change(&mut link.down);
        let tcp: Stack = "tcp".parse().expect("a stack");
        let holds = |difference: &&Difference| (difference.concerns)(tcp) && (difference.holds)(bytes, &link);
        DIFFERENCES.iter().filter(holds).count()
    }

    #[test]
    fn only_cells_that_were_measured_to_differ_have_a_warning() {
        let rate = |way: &mut DirectionConfig| way.rate = "1mbit".parse().ok();
        let tiny: fn(&mut DirectionConfig) = |way| {
            way.rate = "1mbit".parse().ok();
            way.queue = Some(QueueLimit::Packets(3));
        };
        let lossy: fn(&mut DirectionConfig) = |way| {
            way.rate = "1mbit".parse().ok();
            way.loss = Loss::Bernoulli("10%".parse().expect("a probability"));
        };
        assert_eq!(known(300_000, |_| {}), 0);
        assert_eq!(known(1_000_000, |_| {}), 1);
        assert_eq!(known(1_000_000, rate), 0);
        assert_eq!(known(10_000, tiny), 0);
        assert_eq!(known(20_000, tiny), 1);
        assert_eq!(known(50_000, lossy), 0);
    }
}
