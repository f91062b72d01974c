//! What explains a figure that surprises: retransmissions, padding, connections that were made again, and keep-alive.

use wirecost_results::all_in::Parts;
use wirecost_results::{Cell, Section};

use crate::names::{Names, distinct};
use crate::number::{grouped, trimmed, whole_bytes};

/// A smaller share of a figure does not explain it.
const LEAST: f64 = 0.05;

/// What explains a figure of a cell, and its size.
type Reason = (f64, String);

/// One line for each explanation that applies to any of the cells, with the stacks and their figures. Of several cells of
/// a stack it tells the largest figure.
pub(crate) fn lines(names: &Names, cells: &[Cell]) -> Vec<String> {
    let line = |what: &str, why: &str, of: &dyn Fn(&Cell) -> Option<Reason>| {
        let reasons = cells
            .iter()
            .filter_map(|cell| Some((names.label(cell), of(cell)?)));
        let reasons: Vec<(String, Reason)> = reasons.collect();
        let told = distinct(reasons.iter().map(|(label, _)| label))
            .into_iter()
            .map(|label| {
                let own = reasons.iter().filter(|(other, _)| other == label);
                let up_to = if own.clone().count() > 1 { "up to " } else { "" };
                let largest = own.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
                largest.map_or_else(String::new, |(label, (_, text))| format!("{label} {up_to}{text}"))
            });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| format!("{what}: {}{why}", told.join(", ")))
    };
    // A reader asks why anything was retransmitted on a link without loss.
    let early = if cells.iter().all(is_lossless) {
        "; the link lost nothing: they left before the answer could arrive"
    } else {
        ""
    };
    let kept = |cell: &Cell| keep_alive(cell).filter(|_| cells.len() > 1);
    let explanations = [
        line("retransmissions", early, &|cell| {
            share_of_cause(cell, "retransmission")
        }),
        line("padding", "", &|cell| share_of_cause(cell, "probe")),
        line("reconnects", "", &made_again),
        // The conclusion tells it of a single stack.
        line("keep-alive within all-in", "", &kept),
    ];
    explanations.into_iter().flatten().collect()
}

/// The bytes of a cause among those of the connection and of a message: `2,775 of 5,381 B of the connection`.
fn share_of_cause(cell: &Cell, cause: &str) -> Option<Reason> {
    let of = |sections: [&Option<Section>; 2], what: &str| {
        let sections = || sections.into_iter().flatten();
        let all: f64 = sections()
            .map(|section| section.up.wire.mean + section.down.wire.mean)
            .sum();
        let caused = sections().filter_map(|section| section.by_cause.get(cause));
        let caused: f64 = caused.map(|bytes| bytes.up + bytes.down).sum();
        (caused > all * LEAST).then(|| {
            let size = caused;
            let caused = grouped(caused.round() as u64);
            (size, format!("{caused} of {} of {what}", whole_bytes(all)))
        })
    };
    // Of one connection, as the connect is: a device that has connected again has several closes.
    let close = cell.close_of_a_connection();
    let parts = [
        of([&cell.connect, &close], "the connection"),
        of([&cell.message, &None], "the message"),
    ];
    let parts: Vec<Reason> = parts.into_iter().flatten().collect();
    let size = parts.iter().map(|(size, _)| size).sum();
    let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    (!parts.is_empty()).then(|| (size, texts.join(" and ")))
}

/// How many connections a device made, where it made more than one: a server or a network ends one that is silent.
fn made_again(cell: &Cell) -> Option<Reason> {
    let connects = cell.connect.as_ref()?.samples;
    let devices = cell.outcomes.offered / cell.messages_per_connection.max(1);
    (devices > 0 && connects > devices).then(|| {
        let each = connects as f64 / devices as f64;
        (
            each,
            format!("{} per device, as the earlier one had ended", trimmed(each, 1)),
        )
    })
}

fn keep_alive(cell: &Cell) -> Option<Reason> {
    let Parts {
        message, keep_alive, ..
    } = Parts::from_cell(cell)?;
    (keep_alive > message * LEAST).then(|| (keep_alive, format!("{} a message", whole_bytes(keep_alive))))
}

fn is_lossless(cell: &Cell) -> bool {
    let link = &cell.link;
    let achieved = link.achieved.as_ref();
    let dropped = achieved.map_or(0, |achieved| {
        achieved.queue_dropped_up.unwrap_or_default() + achieved.queue_dropped_down.unwrap_or_default()
    });
    let loses = |way: &wirecost_results::summary::LinkDirection| way.loss > 0.0 || way.corrupt > 0.0;
    let lost = achieved.map_or(0.0, |achieved| {
        achieved.loss_up.unwrap_or_default() + achieved.loss_down.unwrap_or_default()
    });
    !loses(&link.up) && !loses(&link.down) && dropped == 0 && lost == 0.0
}

#[cfg(test)]
mod tests {
    use wirecost_results::summary::{Bytes, CauseBytes, Count};

    use super::*;

    fn section(samples: u64, up: f64, down: f64) -> Section {
        let bytes = |mean| Bytes {
            wire: Count {
                mean,
                sum: (mean * samples as f64) as u64,
                ..Count::default()
            },
            ..Bytes::default()
        };
        Section {
            samples,
            up: bytes(up),
            down: bytes(down),
            ..Section::default()
        }
    }

    fn cell() -> Cell {
        let mut connect = section(10, 3_000.0, 2_300.0);
        let repeats = CauseBytes {
            up: 1_775.0,
            down: 1_000.0,
        };
        connect.by_cause.insert("retransmission".into(), repeats);
        Cell {
            stack: "coap-con+dtls1.3".into(),
            target: "builtin".into(),
            start: "cold".into(),
            connect: Some(connect),
            message: Some(section(40, 200.0, 50.0)),
            close: Some(section(10, 81.0, 0.0)),
            ..Cell::default()
        }
    }

    #[test]
    fn retransmissions_are_told_with_the_figure_that_holds_them() {
        let lines = lines(&Names::default(), &[cell()]);
        assert_eq!(lines.len(), 1);
        let told =
            "retransmissions: coap-con+dtls1.3 2,775 of 5,381 B of the connection; the link lost nothing";
        assert!(lines[0].starts_with(told), "{lines:?}");
    }

    #[test]
    fn on_a_lossy_link_retransmissions_are_not_called_early() {
        let mut lossy = cell();
        lossy.link.down.loss = 0.01;
        let lines = lines(&Names::default(), &[lossy]);
        assert!(lines[0].ends_with("of the connection"), "{lines:?}");
    }

    #[test]
    fn connections_made_again_and_keep_alive_explain_all_in() {
        let mut kept = cell();
        kept.connect = Some(section(30, 300.0, 100.0));
        kept.messages_per_connection = 4;
        kept.outcomes.offered = 40;
        kept.keep_alive = Some(section(10, 100.0, 100.0));
        let other = Cell {
            stack: "udp".into(),
            ..Cell::default()
        };
        let lines = lines(&Names::default(), &[kept, other]);
        let expected = [
            "reconnects: coap-con+dtls1.3 3 per device, as the earlier one had ended",
            "keep-alive within all-in: coap-con+dtls1.3 50 B a message",
        ];
        assert_eq!(lines, expected);
    }
}
