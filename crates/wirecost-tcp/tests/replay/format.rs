//! The text of a trace.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A host: the client's packets go up (`>`), the server's down (`<`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) const ALL: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "client" | ">" => Self::Client,
            "server" | "<" => Self::Server,
            _ => panic!("neither client nor server: {text}"),
        }
    }
}

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Connect,
    Write(usize),
    Read(usize),
    Eager,
    Shutdown,
    Close,
    Abort,
}

/// What the link does to a packet out of the ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not enter the queue, so that it takes no time of the line.
    Drop,
    Lose,
    Hold(Duration),
    Again(Duration),
}

/// A segment, as a trace tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) at: Duration,
    pub(crate) from: Side,
    pub(crate) flags: String,
    pub(crate) sequence: u32,
    pub(crate) bytes: u32,
    pub(crate) acknowledgment: u32,
    /// As in the header; shown, not compared.
    pub(crate) window: u16,
    /// The options but timestamps, which are named on SYNs only; what became of the packet is not here.
    pub(crate) options: String,
}

impl Packet {
    /// What is compared: all but the time, and PSH where it is not asked for.
    pub(crate) fn compared(&self, push: bool) -> String {
        let flags: String = self.flags.chars().filter(|flag| push || *flag != 'P').collect();
        format!(
            "{flags} {}+{} {}{}",
            self.sequence, self.bytes, self.acknowledgment, self.options
        )
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.from {
            Side::Client => '>',
            Side::Server => '<',
        };
        let milliseconds = self.at.as_secs_f64() * 1e3;
        write!(
            f,
            "{milliseconds:10.3} {direction} {} win {}",
            self.compared(true),
            self.window
        )
    }
}

/// A trace, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) delay: Duration,
    /// Bits per second.
    pub(crate) rate: Option<f64>,
    /// What the hosts' clocks of ticks have counted at the start.
    pub(crate) phase: Duration,
    pub(crate) tolerance: Duration,
    pub(crate) until: Duration,
    pub(crate) push: bool,
    /// Whether both sides run after each packet.
    pub(crate) beside: bool,
    /// Whether data may be in a SYN.
    pub(crate) fast_open: bool,
    /// Whether small segments wait for the acknowledgment of earlier ones.
    pub(crate) nagle: bool,
    /// Whether the congestion control is that of RFC 5681 instead of cubic.
    pub(crate) reno: bool,
    pub(crate) lazy: Vec<Side>,
    pub(crate) faults: BTreeMap<(Side, usize), Vec<Fault>>,
    pub(crate) actions: Vec<(Duration, Side, Act)>,
    pub(crate) packets: Vec<Packet>,
}

impl Trace {
    pub(crate) fn parse(text: &str) -> Self {
        let (head, packets) = text.split_once("\npackets\n").expect("a line `packets`");
        let mut trace = Self {
            tolerance: Duration::from_millis(1),
            ..Self::default()
        };
        for line in head.lines() {
            let line = line.split('#').next().unwrap_or_default();
            trace.directive(&line.split_whitespace().collect::<Vec<_>>());
        }
        trace.actions.sort_by_key(|(at, ..)| *at);
        trace.packets = packets.lines().map(packet).collect();
        trace
    }

    fn directive(&mut self, words: &[&str]) {
        match *words {
            [] => {}
            ["delay", time] => self.delay = duration(time),
            ["phase", time] => self.phase = duration(time),
            ["rate", rate] => self.rate = Some(bits_per_second(rate)),
            ["tolerance", time] => self.tolerance = duration(time),
            ["until", time] => self.until = duration(time),
            ["push"] => self.push = true,
            ["beside"] => self.beside = true,
            ["fast-open"] => self.fast_open = true,
            ["nagle"] => self.nagle = true,
            ["congestion", "reno"] => self.reno = true,
            ["lazy", side] => self.lazy.push(Side::parse(side)),
            // What the queue has dropped, it dropped by the captured times: the replay takes over which packets these were.
            ["queue", _] => {}
            ["drop", side, packets] => self.fault(side, packets, Fault::Drop),
            ["lose", side, packets] => self.fault(side, packets, Fault::Lose),
            ["hold", side, packets, time] => self.fault(side, packets, Fault::Hold(duration(time))),
            ["again", side, packets, time] => self.fault(side, packets, Fault::Again(duration(time))),
            ["at", time, side, ref act @ ..] => {
                self.actions
                    .push((duration(time), Side::parse(side), parse_act(act)));
            }
            _ => panic!("not a line of a trace: {words:?}"),
        }
    }

    fn fault(&mut self, side: &str, packets: &str, fault: Fault) {
        for range in packets.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            for ordinal in number(first)..=number(last) {
                let faults = self.faults.entry((Side::parse(side), ordinal));
                faults.or_default().push(fault);
            }
        }
    }
}

fn parse_act(words: &[&str]) -> Act {
    match *words {
        ["connect"] => Act::Connect,
        ["write", bytes] => Act::Write(number(bytes)),
        ["read", bytes] => Act::Read(number(bytes)),
        ["eager"] => Act::Eager,
        ["shutdown"] => Act::Shutdown,
        ["close"] => Act::Close,
        ["abort"] => Act::Abort,
        _ => panic!("no action: {words:?}"),
    }
}

fn packet(line: &str) -> Packet {
    let (line, rest) = line.split_once(" win ").expect("a window");
    // The window comes first, what became of the packet last.
    let (window, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let end = [
        " dropped", " lost", " held", " again", "dropped", "lost", "held", "again",
    ];
    let end = end
        .iter()
        .filter_map(|fate| rest.find(fate))
        .min()
        .unwrap_or(rest.len());
    let options = if end == 0 {
        String::new()
    } else {
        format!(" {}", &rest[..end])
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let [time, from, flags, sequence, acknowledgment] = words[..] else {
        panic!("not a packet: {line}");
    };
    let (sequence, bytes) = sequence.split_once('+').expect("sequence+length");
    Packet {
        at: Duration::from_secs_f64(time.parse::<f64>().expect("milliseconds") / 1e3),
        from: Side::parse(from),
        flags: flags.to_string(),
        sequence: sequence.parse().expect("a sequence number"),
        bytes: bytes.parse().expect("a length"),
        acknowledgment: acknowledgment.parse().expect("an acknowledgment number"),
        window: window.parse().expect("a window"),
        options,
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

fn bits_per_second(text: &str) -> f64 {
    let megabits = text.strip_suffix("mbit").expect("a rate in mbit");
    let megabits: f64 = megabits.parse().unwrap_or_else(|_| panic!("not a rate: {text}"));
    megabits * 1e6
}

fn duration(text: &str) -> Duration {
    let (value, seconds) = match text.strip_suffix("ms") {
        Some(value) => (value, 1e-3),
        None => (text.strip_suffix('s').expect("a time in ms or s"), 1.0),
    };
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("not a time: {text}"));
    Duration::from_secs_f64(value * seconds)
}
