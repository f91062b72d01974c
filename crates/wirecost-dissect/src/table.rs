//! Formats a report as a table for a terminal.

use std::fmt::Write as _;

use wirecost_cost::Traffic;
use wirecost_proto::shown::grouped;
use wirecost_proto::units::counted;
use wirecost_proto::{Cause, Layer, PeerText};

use crate::handshakes;
use crate::report::{Group, Report, Section};

/// The most groups with rows of their own. The totals include all groups.
const MAX_ROWS: usize = 40;

/// A column's figure for one direction.
type Value = fn(&Traffic) -> u64;

/// The columns of bytes and packets.
const COLUMNS: [(&str, Value); 7] = [
    ("packets", |way| way.packets()),
    ("ip", |way| way.bytes(Layer::Ip)),
    ("transport", |way| way.bytes(Layer::Transport)),
    ("security", |way| way.bytes(Layer::Security)),
    ("application", |way| way.bytes(Layer::Application)),
    ("payload", |way| way.bytes(Layer::Payload)),
    ("IP bytes", |way| way.wire_bytes()),
];

/// The labels and cells of a row.
struct Row {
    labels: [String; 3],
    cells: Vec<String>,
}

/// The report's bytes by server and protocol, by phase and by cause, then unattributed bytes and warnings. Every line
/// ends with a line feed.
pub fn table(report: &Report) -> String {
    let mut rows = vec![head("server", "protocol")];
    let (shown, rest) = report.groups.split_at(report.groups.len().min(MAX_ROWS));
    shown.iter().for_each(|group| rows.extend(group_rows(group)));
    rows.push(Row::empty());
    rows.push(head("by phase", ""));
    let total = &report.total;
    let phases = [
        ("connect", &total.connect),
        ("message", &total.message),
        ("keep-alive", &total.keep_alive),
        ("close", &total.close),
        ("all", &total.all),
    ];
    for (name, section) in phases {
        rows.extend(section_rows([name.to_owned(), String::new()], section));
    }
    let mut text = drawn(&rows);
    if !rest.is_empty() {
        let _ = writeln!(text, "{} more servers, in the totals only", rest.len());
    }
    causes(&total.all, &mut text);
    handshakes(shown, &mut text);
    frames(report, &mut text);
    left_out(report, &mut text);
    warnings(report, &mut text);
    text
}

impl Row {
    const fn empty() -> Self {
        Self {
            labels: [const { String::new() }; 3],
            cells: Vec::new(),
        }
    }
}

fn head(first: &str, second: &str) -> Row {
    Row {
        labels: [first.to_owned(), second.to_owned(), String::new()],
        cells: COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect(),
    }
}

fn group_rows(group: &Group) -> [Row; 2] {
    let [up, mut down] = section_rows([server(group), group.protocol.clone()], &group.traffic.all);
    let kind = match group.transport {
        "tcp" => "TCP connection",
        _ => "UDP flow",
    };
    down.labels[1] = counted(group.flows, kind);
    [up, down]
}

fn section_rows(labels: [String; 2], section: &Section) -> [Row; 2] {
    let cells = |way: &Traffic| COLUMNS.iter().map(|(_, value)| grouped(value(way))).collect();
    let [first, second] = labels;
    let up = Row {
        labels: [first, second, "up".to_owned()],
        cells: cells(&section.up),
    };
    let down = Row {
        labels: [String::new(), String::new(), "down".to_owned()],
        cells: cells(&section.down),
    };
    [up, down]
}

/// Formats the rows. Every column is as wide as its widest cell.
fn drawn(rows: &[Row]) -> String {
    let label_width = |index: usize| {
        rows.iter()
            .map(|row| chars(&row.labels[index]))
            .max()
            .unwrap_or(0)
    };
    let cell_width = |index: usize| {
        let widths = rows
            .iter()
            .filter_map(|row| row.cells.get(index))
            .map(|cell| chars(cell));
        widths.max().unwrap_or(0)
    };
    let label_widths = [0, 1, 2].map(label_width);
    let cell_widths: Vec<usize> = (0..COLUMNS.len()).map(cell_width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (label, width) in row.labels.iter().zip(label_widths) {
            let _ = write!(line, "{label:<width$}  ");
        }
        for (cell, width) in row.cells.iter().zip(&cell_widths) {
            let _ = write!(line, "{cell:>width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What the handshakes had, by server.
fn handshakes(groups: &[Group], text: &mut String) {
    if groups.iter().all(|group| group.handshakes.is_empty()) {
        return;
    }
    text.push_str(
        "\nhandshakes, each with its bytes of security until the client may send, up + down, in the mean:\n",
    );
    for group in groups {
        handshakes::lines(&server(group), &group.handshakes, text);
    }
}

fn server(group: &Group) -> String {
    group
        .server
        .map_or("other servers".to_owned(), |server| server.to_string())
}

/// The bytes as a sniffer counts them.
fn frames(report: &Report, text: &mut String) {
    let Some(frames) = &report.frames else { return };
    let [up, down] = [frames.up, frames.down].map(|bytes| grouped(bytes as u64));
    let _ = writeln!(
        text,
        "as {} frames, each packet with {} B more: {up} B up, {down} B down",
        frames.framing, frames.header_bytes
    );
}

fn causes(all: &Section, text: &mut String) {
    let sum = |value: Value| grouped(value(&all.up) + value(&all.down));
    let _ = writeln!(
        text,
        "\nby cause: {} B original, {} B acknowledgement, {} B retransmission, {} B probe",
        sum(|way| way.bytes_by_cause(Cause::Original)),
        sum(|way| way.bytes_by_cause(Cause::Acknowledgement)),
        sum(|way| way.bytes_by_cause(Cause::Retransmission)),
        sum(|way| way.bytes_by_cause(Cause::Probe))
    );
}

fn left_out(report: &Report, text: &mut String) {
    if report.unattributed.is_empty() {
        text.push_str("unattributed: nothing\n");
        return;
    }
    text.push_str("unattributed, shown above as application where there is a flow:\n");
    let (shown, rest) = report
        .unattributed
        .split_at(report.unattributed.len().min(MAX_ROWS));
    for entry in shown {
        let _ = writeln!(
            text,
            "  {}: {} B in {}: {}",
            entry.what,
            grouped(entry.bytes),
            counted(entry.packets, "packet"),
            entry.why
        );
    }
    if !rest.is_empty() {
        let packets = rest.iter().map(|entry| entry.packets).sum();
        let bytes = rest.iter().map(|entry| entry.bytes).sum();
        let (bytes, packets) = (grouped(bytes), counted(packets, "packet"));
        let _ = writeln!(text, "  {} more kinds: {bytes} B in {packets}", rest.len());
    }
}

fn warnings(report: &Report, text: &mut String) {
    let offload = &report.offload;
    let mut warn = |packets: u64, what: &str| {
        if packets > 0 {
            let _ = writeln!(text, "warning: {} {what}", counted(packets, "packet"));
        }
    };
    let lacks = format!(
        "larger than the receiver accepts: segmentation offload; the wire had {} more headers, {} B, that this \
         capture lacks",
        grouped(offload.missing_headers),
        grouped(offload.missing_header_bytes)
    );
    warn(offload.oversized_packets, &lacks);
    warn(
        offload.jumbo_packets,
        "above 1,500 B, as on loopback: on Ethernet there would be more headers",
    );
    warn(
        offload.unset_lengths,
        "with a length field of zero, as before segmentation offload: counted with the length of the frame",
    );
    warn(
        offload.partial_checksums,
        "with a checksum that the network card had yet to complete: captured on the sender",
    );
    warn(offload.invalid_checksums, "with a wrong checksum");
    warn(
        report.truncated_packets,
        "truncated by the snap length: counted in full, content not read",
    );
    warn(
        report.lost_packets,
        "lost by the capture itself, as the file says: the figures lack them",
    );
    copies(report, text);
    for unread in &report.unread_blocks {
        let kind = unread.block_type.map_or_else(
            || "of further types".to_owned(),
            |block_type| format!("of type 0x{block_type:08x}"),
        );
        let _ = writeln!(
            text,
            "warning: {} {kind} not read: whatever is in them is not counted",
            counted(unread.blocks, "block")
        );
    }
}

fn copies(report: &Report, text: &mut String) {
    let copies = &report.copies;
    if copies.packets == 0 {
        return;
    }
    let names: Vec<String> = copies
        .interfaces
        .iter()
        .map(|name| PeerText::new(name).to_string())
        .collect();
    let names = names.join(" and ");
    // Each packet is there twice, or some are.
    let which = if copies.packets == report.packets && copies.interfaces.len() == 2 {
        format!("every packet is there twice (interfaces {names}): each counts once")
    } else {
        format!(
            "{} left out, which another interface saw before (interfaces {names}): each packet counts once",
            counted(copies.packets, "packet")
        )
    };
    let _ = writeln!(text, "warning: {which}");
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
