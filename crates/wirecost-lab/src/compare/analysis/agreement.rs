//! Checks whether client and server describe the same bytes in the same way.

use std::collections::BTreeSet;

use wirecost_proto::log::{DatagramLog, DirectionLog, FlowLog};
use wirecost_proto::{Cause, Layer, Phase, Span};
use wirecost_scenario::plan::PlannedCell;

/// How often client and server described the same bytes differently. A server takes a protected object for payload,
/// because it does not take part in the protection. If a device has failed, one side may have ended before it read
/// everything. A device that closes at its last answer (`is_life`) no longer opens datagrams that are on their way to it then.
pub(super) fn disagreements_of(
    client: &FlowLog,
    server: &FlowLog,
    cell: &PlannedCell,
    has_failed: bool,
    is_life: bool,
) -> u64 {
    let opens_all = cell.in_order && !has_failed && !is_life;
    let same = match (cell.stack.is_sealed(), opens_all) {
        (false, _) => is_same,
        (true, true) => is_same_or_hidden_again,
        (true, false) => is_hidden,
    };
    let agree = if has_failed { agree_to_the_end } else { agree };
    let is_unlike = |consumed: &DirectionLog, made: &DirectionLog| {
        !agree(&runs(&consumed.stream), &runs(&made.stream)) || has_unlike_datagram(consumed, made, same)
    };
    let up = match cell.stack.object {
        // The server stores a sealed object and does not look into it: what is security to the client is payload to it.
        true => is_unlike(&as_payload(&server.up), &as_payload(&client.up)),
        false => is_unlike(&server.up, &client.up),
    };
    let down = is_unlike(&client.down, &server.down);
    u64::from(up) + u64::from(down)
}

/// Whether the consumed spans describe a datagram as the made spans do.
type Same = fn(consumed: &[Span], made: &[Span]) -> bool;

fn is_same(consumed: &[Span], made: &[Span]) -> bool {
    runs(consumed) == runs(made)
}

/// Whether the consumed spans say the same, or less for a repeated datagram. A sender whose time-out is shorter than
/// the delay (on a long link, or with a peer that was stopped) repeats data that was not lost, and by then its receiver
/// may have discarded the keys (RFC 9001 section 4.9).
fn is_same_or_hidden_again(consumed: &[Span], made: &[Span]) -> bool {
    let holds_again = made.iter().any(|span| span.cause == Cause::Retransmission);
    is_same(consumed, made) || (holds_again && is_hidden(consumed, made))
}

/// Whether the consumed spans say the same or less: a protected datagram that overtakes the end of the handshake, or
/// that follows the end of the connection, cannot be opened, and its receiver describes its content as transport or
/// application.
fn is_hidden(consumed: &[Span], made: &[Span]) -> bool {
    left_behind(&runs(consumed), &runs(made), says_no_more) == Some(0)
}

/// Bytes that were made and not consumed; `None` if more were consumed than made, or if one of them does not fit.
fn left_behind(consumed: &[Run], made: &[Run], fits: fn(consumed: Run, made: Run) -> bool) -> Option<u64> {
    let mut made = made.iter().copied();
    let mut at = (Layer::Ip, Phase::Connect, 0);
    for run in consumed {
        let mut left = run.2;
        while left > 0 {
            // Both sides cut the same bytes into runs at other places.
            if at.2 == 0 {
                at = made.next()?;
            }
            if !fits(*run, at) {
                return None;
            }
            let common = left.min(at.2);
            left -= common;
            at.2 -= common;
        }
    }
    Some(at.2 + made.map(|run| run.2).sum::<u64>())
}

/// Whether a run describes a byte as its maker did, or says less. A record that stays closed has a header and a tag,
/// whatever it contains.
fn says_no_more(consumed: Run, made: Run) -> bool {
    let is_same = (consumed.0, consumed.1) == (made.0, made.1);
    let is_closed = matches!(consumed.0, Layer::Transport | Layer::Application);
    is_same || is_closed || (consumed.0 == Layer::Security && made.0 == Layer::Security)
}

/// The log with security counted as payload.
fn as_payload(log: &DirectionLog) -> DirectionLog {
    let mut log = log.clone();
    let datagrams = log
        .datagrams
        .iter_mut()
        .flat_map(|datagram| datagram.spans.iter_mut());
    for span in log.stream.iter_mut().chain(datagrams) {
        if span.layer == Layer::Security {
            span.layer = Layer::Payload;
        }
    }
    log
}

/// Whether the consumed bytes of a stream match the made ones. A receiver cannot recognise a retransmission whose
/// original was lost, and may not have consumed everything.
fn agree(consumed: &[Run], made: &[Run]) -> bool {
    let complete = consumed.len().saturating_sub(1);
    let agrees = |(index, (consumed, made)): (usize, (&Run, &Run))| {
        let (layer, phase, bytes) = *consumed;
        let fits = if index < complete {
            bytes == made.2
        } else {
            bytes <= made.2
        };
        (layer, phase) == (made.0, made.1) && fits
    };
    consumed.len() <= made.len() && consumed.iter().zip(made).enumerate().all(agrees)
}

/// The same if the receiver may have ended before: it does not read later bytes, and must not take any of them for
/// payload by mistake.
fn agree_to_the_end(consumed: &[Run], made: &[Run]) -> bool {
    let fits = |consumed: Run, made: Run| consumed.0 != Layer::Payload || made.0 == Layer::Payload;
    left_behind(consumed, made, fits).is_some()
}

/// Whether a consumed datagram differs from the made one.
fn has_unlike_datagram(consumed: &DirectionLog, made: &DirectionLog, same: Same) -> bool {
    let unlike = |datagram: &DatagramLog| {
        let twin = made.datagrams.iter().find(|other| other.bytes == datagram.bytes);
        twin.is_some_and(|twin| !same(&datagram.spans, &twin.spans))
    };
    // A receiver does not open a repeated protected datagram (RFC 9147 section 4.5.1): only its first copy counts.
    let mut seen = BTreeSet::new();
    let mut first_copies = consumed
        .datagrams
        .iter()
        .filter(|datagram| seen.insert(datagram.bytes.as_slice()));
    first_copies.any(unlike)
}

/// Consecutive bytes of one layer and phase.
type Run = (Layer, Phase, u64);

/// Spans without their causes, with neighbours of one kind merged.
fn runs(spans: &[Span]) -> Vec<Run> {
    let mut merged: Vec<Run> = Vec::new();
    for span in spans {
        let len = u64::from(span.len);
        match merged.last_mut() {
            Some(last) if (last.0, last.1) == (span.layer, span.phase) => last.2 += len,
            _ => merged.push((span.layer, span.phase, len)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(layer: Layer, phase: Phase, len: u32) -> Span {
        let cause = Cause::Original;
        Span {
            len,
            layer,
            phase,
            cause,
        }
    }

    #[test]
    fn a_receiver_without_the_keys_may_say_less_but_not_otherwise() {
        let run = |layer, bytes| span(layer, Phase::Message, bytes);
        let made = [
            run(Layer::Security, 5),
            run(Layer::Application, 17),
            run(Layer::Payload, 100),
        ];
        let opaque = [run(Layer::Security, 5), run(Layer::Application, 117)];
        assert!(is_hidden(&opaque, &made) && is_hidden(&made, &made) && !is_same(&opaque, &made));
        let close = [span(Layer::Security, Phase::Close, 24)];
        let closed = [
            run(Layer::Security, 5),
            run(Layer::Application, 2),
            run(Layer::Security, 17),
        ];
        assert!(is_hidden(&closed, &close), "an alert behind the end");
        let wrong = [run(Layer::Security, 5), run(Layer::Payload, 117)];
        assert!(!is_hidden(&wrong, &made));
        assert!(!is_hidden(&opaque[..1], &made), "every byte is described");
        assert!(!is_hidden(
            &[run(Layer::Security, 6), run(Layer::Application, 116)],
            &made
        ));
    }

    #[test]
    fn in_order_only_repeated_data_may_find_no_keys() {
        let made = [
            span(Layer::Transport, Phase::Connect, 40),
            span(Layer::Security, Phase::Connect, 90),
        ];
        let opaque = [span(Layer::Transport, Phase::Connect, 130)];
        assert!(is_same_or_hidden_again(&made, &made));
        assert!(
            !is_same_or_hidden_again(&opaque, &made),
            "the first time its receiver has the keys"
        );
        let again = made.map(|span| Span {
            cause: Cause::Retransmission,
            ..span
        });
        assert!(is_same_or_hidden_again(&opaque, &again));
        let wrong = [span(Layer::Payload, Phase::Message, 130)];
        assert!(!is_same_or_hidden_again(&wrong, &again));
    }

    fn datagram(layer: Layer) -> DatagramLog {
        DatagramLog {
            bytes: b"abc".to_vec(),
            spans: vec![span(layer, Phase::Message, 3)],
        }
    }

    #[test]
    fn only_the_first_copy_of_a_datagram_counts() {
        let log = |datagrams: &[Layer]| DirectionLog {
            datagrams: datagrams.iter().map(|layer| datagram(*layer)).collect(),
            ..DirectionLog::default()
        };
        let made = log(&[Layer::Payload]);
        let again = log(&[Layer::Payload, Layer::Application]);
        assert!(!has_unlike_datagram(&again, &made, is_same));
        let otherwise = log(&[Layer::Application, Layer::Payload]);
        assert!(has_unlike_datagram(&otherwise, &made, is_same));
    }

    #[test]
    fn a_receiver_that_has_ended_mistakes_nothing_for_payload() {
        let run = |layer, phase, bytes| (layer, phase, bytes);
        let (application, payload) = (Layer::Application, Layer::Payload);
        let made = [
            run(application, Phase::Connect, 227),
            run(payload, Phase::Message, 9),
            run(application, Phase::Close, 12),
        ];
        for (consumed, agrees, agrees_to_the_end) in [
            (&[run(application, Phase::Connect, 100)][..], true, true),
            (&made[..], true, true),
            (
                &[
                    run(application, Phase::Connect, 61),
                    run(application, Phase::Close, 187),
                ],
                false,
                true,
            ),
            (&[run(application, Phase::Close, 249)], false, false),
            (
                &[
                    run(application, Phase::Connect, 226),
                    run(payload, Phase::Message, 9),
                ],
                false,
                false,
            ),
        ] {
            assert_eq!(agree(consumed, &made), agrees, "{consumed:?}");
            assert_eq!(
                agree_to_the_end(consumed, &made),
                agrees_to_the_end,
                "{consumed:?}"
            );
        }
    }
}
