//! Formats the comparison of two hosts for a terminal.

use std::fmt::Write as _;
use std::time::Duration;

use wirecost_proto::shown::{grouped, time};
use wirecost_proto::units::counted;

use super::{AtOneHost, ClockOffset, HostClocks, Hosts, Passage};

const HEAD: [&str; 7] = [
    "",
    "at both",
    "sender only",
    "receiver only",
    "transit p50",
    "p99",
    "longest",
];

/// What arrived, what did not, how long it took, and what the clocks say. `names` are those of both captures. Every line ends
/// with a line feed.
pub fn table(hosts: &Hosts, names: [&str; 2]) -> String {
    let [first, second] = names;
    let rows = [
        HEAD.map(str::to_owned),
        row(format!("up    {first} to {second}"), &hosts.up),
        row(format!("down  {second} to {first}"), &hosts.down),
    ];
    let mut text = String::new();
    for row in &rows {
        let width = |index: usize| {
            rows.iter()
                .map(|row| row[index].chars().count())
                .max()
                .unwrap_or(0)
        };
        let _ = write!(text, "{:<1$}", row[0], width(0));
        for (index, cell) in row.iter().enumerate().skip(1) {
            let _ = write!(text, "  {cell:>0$}", width(index));
        }
        text.push('\n');
    }
    match &hosts.clock {
        HostClocks::Steady(offset) => steady(offset, second, &mut text),
        HostClocks::Set { at_least_ns } => set(*at_least_ns, &mut text),
    }
    let [of_first, of_second] = hosts.others;
    if of_first + of_second > 0 {
        let _ = writeln!(
            text,
            "left out: {} of {first} and {of_second} of {second}, of other traffic, without a time, or of a time that the other capture does not have",
            counted(of_first, "packet")
        );
    }
    if hosts.is_cut_differently() && hosts.clock.offset().is_some() {
        text.push_str(
            "note: packets of the receiver alone are segments that were cut or joined on the way (segmentation offload): compare the\n\
             payload of the tables below, not the packets\n",
        );
    }
    text
}

fn row(name: String, way: &Passage) -> [String; 7] {
    let span =
        |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), |nanos| time(Duration::from_nanos(nanos)));
    [
        name,
        grouped(way.both),
        alone(way.sender_only),
        alone(way.receiver_only),
        span(way.transit.and_then(|transit| transit.p50_ns)),
        span(way.transit.and_then(|transit| transit.p99_ns)),
        span(way.transit.map(|transit| transit.max_ns)),
    ]
}

fn alone(counted: AtOneHost) -> String {
    match counted.packets {
        0 => "0".to_owned(),
        packets => format!("{} ({} B)", grouped(packets), grouped(counted.bytes)),
    }
}

fn steady(clock: &ClockOffset, second: &str, text: &mut String) {
    let span = |nanos: i64| time(Duration::from_nanos(nanos.unsigned_abs()));
    let side = if clock.ahead_ns < 0 { "behind" } else { "ahead" };
    let drift = match clock.drift_ns_per_s.round() as i64 {
        0 => String::new(),
        gained @ 1.. => format!(", gaining {} a second", span(gained)),
        lost => format!(", losing {} a second", span(lost)),
    };
    let _ = writeln!(
        text,
        "clocks: {second} is {} {side}{drift}; this and each transit within {}, half of the shortest way there and back",
        span(clock.ahead_ns),
        span(clock.within_ns)
    );
}

fn set(at_least_ns: u64, text: &mut String) {
    let _ = writeln!(
        text,
        "warning: a clock was set by {} or more during the captures, or changed its rate: how long packets took is unknown, and packets of one\n         capture alone may be of a time that the other does not have",
        time(Duration::from_nanos(at_least_ns))
    );
}
