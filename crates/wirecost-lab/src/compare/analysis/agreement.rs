//! Whether client and server say the same of the same bytes.

use std::collections::BTreeSet;

use wirecost_proto::log::{DirectionLog, FlowLog};
use wirecost_proto::{Layer, Phase, Span};

use crate::compare::plan::PlannedCell;

/// How often client and server said something else of the same bytes. To a server a protected object is payload: it is no
/// participant.
pub(super) fn disagreements_of(client: &FlowLog, server: &FlowLog, cell: &PlannedCell) -> u64 {
    let same = if cell.stack.is_sealed() && !cell.in_order {
        is_hidden
    } else {
        is_same
    };
    let up = match cell.stack.object {
        true => disagreement(&as_payload(&server.up), &as_payload(&client.up), same),
        false => disagreement(&server.up, &client.up, same),
    };
    let down = disagreement(&client.down, &server.down, same);
    u64::from(up) + u64::from(down)
}

fn is_same(consumed: &[Run], made: &[Run]) -> bool {
    consumed == made
}

/// Whether what was consumed says the same, or less: a protected datagram that overtakes the end of the handshake, or comes
/// behind the end of the connection, cannot be opened, and its receiver calls transport or application what it cannot see.
fn is_hidden(consumed: &[Run], made: &[Run]) -> bool {
    let mut made = made.iter().copied();
    let mut at = (Layer::Ip, Phase::Connect, 0);
    for run in consumed {
        let mut left = run.2;
        while left > 0 {
            if at.2 == 0 {
                let Some(next) = made.next() else { return false };
                at = next;
            }
            if !says_no_more(*run, at) {
                return false;
            }
            let common = left.min(at.2);
            left -= common;
            at.2 -= common;
        }
    }
    at.2 == 0 && made.next().is_none()
}

/// Whether a run says of a byte what its maker said of it, or less. A record that stays closed has a header and a tag
/// whatever is in it.
fn says_no_more(consumed: Run, made: Run) -> bool {
    let is_same = (consumed.0, consumed.1) == (made.0, made.1);
    let is_closed = matches!(consumed.0, Layer::Transport | Layer::Application);
    is_same || is_closed || (consumed.0 == Layer::Security && made.0 == Layer::Security)
}

/// The log with security taken for payload.
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

/// Whether what was consumed differs from what was made. A receiver cannot know a retransmission whose original
/// was lost, and may not have consumed everything.
fn disagreement(consumed: &DirectionLog, made: &DirectionLog, same: fn(&[Run], &[Run]) -> bool) -> bool {
    let (consumed_runs, made_runs) = (runs(&consumed.stream), runs(&made.stream));
    let complete = consumed_runs.len().saturating_sub(1);
    let agrees = |(index, (consumed, made)): (usize, (&Run, &Run))| {
        let (layer, phase, bytes) = *consumed;
        let fits = if index < complete {
            bytes == made.2
        } else {
            bytes <= made.2
        };
        (layer, phase) == (made.0, made.1) && fits
    };
    let mut pairs = consumed_runs.iter().zip(&made_runs).enumerate();
    let streams_agree = consumed_runs.len() <= made_runs.len() && pairs.all(agrees);
    let unlike = |datagram: &wirecost_proto::log::DatagramLog| {
        let twin = made.datagrams.iter().find(|other| other.bytes == datagram.bytes);
        twin.is_some_and(|twin| !same(&runs(&datagram.spans), &runs(&twin.spans)))
    };
    // A protected datagram that comes again is not opened again (RFC 9147 section 4.5.1): only its first copy tells.
    let mut seen = BTreeSet::new();
    let mut first_copies = consumed
        .datagrams
        .iter()
        .filter(|datagram| seen.insert(datagram.bytes.as_slice()));
    !streams_agree || first_copies.any(unlike)
}

/// Bytes on end of one layer and phase.
type Run = (Layer, Phase, u64);

/// Spans without their causes, neighbours of one kind merged.
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
    use wirecost_proto::Cause;
    use wirecost_proto::log::DatagramLog;

    #[test]
    fn a_receiver_without_the_keys_may_say_less_but_nothing_else() {
        let run = |layer, bytes| (layer, Phase::Message, bytes);
        let made = [
            run(Layer::Security, 5),
            run(Layer::Application, 17),
            run(Layer::Payload, 100),
        ];
        let opaque = [run(Layer::Security, 5), run(Layer::Application, 117)];
        assert!(is_hidden(&opaque, &made) && is_hidden(&made, &made) && !is_same(&opaque, &made));
        let close = [(Layer::Security, Phase::Close, 24)];
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

    fn datagram(layer: Layer) -> DatagramLog {
        let span = Span {
            len: 3,
            layer,
            phase: Phase::Message,
            cause: Cause::Original,
        };
        DatagramLog {
            bytes: b"abc".to_vec(),
            spans: vec![span],
        }
    }

    #[test]
    fn only_the_first_copy_of_a_datagram_tells() {
        let log = |datagrams: &[Layer]| DirectionLog {
            datagrams: datagrams.iter().map(|layer| datagram(*layer)).collect(),
            ..DirectionLog::default()
        };
        let made = log(&[Layer::Payload]);
        let again = log(&[Layer::Payload, Layer::Application]);
        assert!(!disagreement(&again, &made, is_same));
        let otherwise = log(&[Layer::Application, Layer::Payload]);
        assert!(disagreement(&otherwise, &made, is_same));
    }
}
