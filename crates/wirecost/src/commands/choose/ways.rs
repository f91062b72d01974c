//! The ways in which a stack can be used. They are cells of one comparison: a connection for each message, or one that is kept;
//! each start that the stack can; the keep-alives of MQTT; the readings that a message carries.

use std::collections::BTreeSet;
use std::time::Duration;

use wirecost_account::Way as Connection;
use wirecost_link::LinkConfig;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::Cell;
use wirecost_scenario::options::compare::{Options, Schedule};
use wirecost_scenario::options::content::Content;
use wirecost_scenario::options::life::MOST_READINGS;
use wirecost_scenario::options::sending::Sending;
use wirecost_scenario::selector::{Selector, SelectorError, of_cells};
use wirecost_security::Start;
use wirecost_stack::Stack;

use crate::arguments::ChooseArguments;
use crate::commands::cost::table::time;
use crate::commands::keep_alive_seconds;
use crate::exit::Failure;

/// The keep-alive of MQTT clients whose users do not say another one.
const USUAL_KEEP_ALIVE: Duration = Duration::from_secs(60);
/// The longest keep-alive of MQTT in whole hours (MQTT 5, 3.1.2.10: at most 65,535 s).
const LONGEST_KEEP_ALIVE: Duration = Duration::from_secs(18 * 3_600);
/// The part of a time-out of an address translator after which a keep-alive is sent.
const BEFORE_TIMEOUT: f64 = 0.9;
/// No keep-alive that is shorter is proposed: a step of the simulation ends when the link was quiet for a second and two round trips.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The keep-alives that are compared: those asked for, otherwise the usual one and the longest that the link allows.
pub fn keep_alives(arguments: &ChooseArguments, link: &LinkConfig) -> Vec<Duration> {
    if !arguments.keep_alive.is_empty() {
        return arguments.keep_alive.clone();
    }
    let longest = longest_keep_alive(link);
    // None is due before the next message.
    let is_never_due =
        interval(arguments, batches(arguments).last().copied().unwrap_or(1)) < USUAL_KEEP_ALIVE;
    let is_another =
        !is_never_due && longest != USUAL_KEEP_ALIVE && longest > SHORTEST_KEEP_ALIVE + link.rtt() * 2;
    [USUAL_KEEP_ALIVE]
        .into_iter()
        .chain(is_another.then_some(longest))
        .collect()
}

/// The longest keep-alive that keeps a TCP connection through the link's address translator.
fn longest_keep_alive(link: &LinkConfig) -> Duration {
    let allowed = |timeout: Duration| Duration::from_secs((timeout.as_secs_f64() * BEFORE_TIMEOUT) as u64);
    link.nat
        .tcp
        .map_or(LONGEST_KEEP_ALIVE, allowed)
        .min(LONGEST_KEEP_ALIVE)
}

/// The readings that messages carry.
fn batches(arguments: &ChooseArguments) -> Vec<u64> {
    let contents = arguments.contents().each();
    let counts: BTreeSet<u64> = contents.iter().map(|content| readings(*content)).collect();
    counts.into_iter().collect()
}

/// The time from one message to the next.
pub fn interval(arguments: &ChooseArguments, readings: u64) -> Duration {
    let every = arguments.every.unwrap_or_default();
    every.saturating_mul(u32::try_from(readings).unwrap_or(u32::MAX))
}

fn readings(content: Content) -> u64 {
    content.batch().map_or(1, |batch| u64::from(batch.readings))
}

/// The ways of all stacks, in the options of a comparison.
pub fn add(arguments: &ChooseArguments, options: Options) -> Result<Options, Failure> {
    let link = options.links.first().copied().unwrap_or_default();
    let keep_alives = keep_alives(arguments, &link);
    let mut seconds = Vec::new();
    for keep_alive in &keep_alives {
        seconds.push(keep_alive_seconds(*keep_alive)?);
    }
    let (first, others) = seconds.split_first().unwrap_or((&0, &[]));
    let mut schedules = Vec::new();
    for readings in batches(arguments) {
        let interval = interval(arguments, readings);
        let lives = Schedule::lives(interval, None);
        let kept: Vec<Schedule> = lives.iter().filter(|life| life.messages > 1).copied().collect();
        schedules.extend(lives);
        for other in others {
            schedules.extend(kept.iter().map(|life| Schedule {
                keep_alive: Some(*other),
                ..*life
            }));
        }
    }
    let options = Options {
        contents: arguments.contents(),
        keep_alive: *first,
        schedules,
        starts: match arguments.start.as_slice() {
            // A handshake of EDHOC is asked for by its name: without one, a context of OSCORE is there from the beginning.
            [] => Start::ALL.into_iter().filter(|start| !start.is_edhoc()).collect(),
            given => given.to_vec(),
        },
        sending: Sending {
            pipelined_connect: arguments.pipelined_connect,
            ..options.sending
        },
        ..options
    };
    let exclude = excluded(arguments, &options).map_err(Failure::internal)?;
    Ok(Options { exclude, ..options })
}

/// The cells that are no ways: starts that a stack cannot, unless they were asked for; messages that do not leave when their last
/// reading is there.
fn excluded(arguments: &ChooseArguments, options: &Options) -> Result<Vec<Selector>, SelectorError> {
    let mut excluded = Vec::new();
    let mut exclude = |conditions: &[(&str, String)]| -> Result<(), SelectorError> {
        let mut selector = Selector::default();
        for (key, value) in conditions {
            selector.require(key, std::slice::from_ref(value), &of_cells())?;
        }
        excluded.push(selector);
        Ok(())
    };
    // A start that was asked for by name is shown as refused, with its reason.
    for stack in options.stacks.iter().filter(|_| arguments.start.is_empty()) {
        for start in &options.starts {
            if stack.cannot_start(*start).is_some() {
                exclude(&[("stack", stack.to_string()), ("start", start.to_string())])?;
            }
        }
    }
    let all = batches(arguments);
    for readings in &all {
        // A batch of ten readings leaves every ten intervals: batches and intervals of others do not belong together.
        for other in all.iter().filter(|other| *other != readings) {
            exclude(&[
                ("readings", readings.to_string()),
                (
                    "interval",
                    DisplayDuration(interval(arguments, *other)).to_string(),
                ),
            ])?;
        }
    }
    Ok(excluded)
}

/// How a cell's stack is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// A connection each, one that is kept, or none.
    pub connection: Connection,
    /// How its connections start.
    pub start: Start,
    /// The time between its keep-alives; `None` where the connection has none, and where all rows have the same.
    pub keep_alive: Option<Duration>,
    /// The readings of a message.
    pub readings: u64,
    /// Whether other rows have another number of readings.
    names_readings: bool,
}

impl Way {
    /// The way of a cell.
    pub fn from_arguments(arguments: &ChooseArguments, link: &LinkConfig, cell: &Cell, stack: Stack) -> Self {
        let connection = Connection::from_cell(cell);
        let is_kept = matches!(connection, Connection::Kept { .. });
        let keep_alives = keep_alives(arguments, link);
        let keep_alive = cell.keep_alive_s.map(Duration::from_secs);
        let keep_alive = keep_alive.or(keep_alives.first().copied());
        Self {
            connection,
            start: cell.start.parse().unwrap_or_default(),
            keep_alive: keep_alive.filter(|_| is_kept && stack.publishes() && keep_alives.len() > 1),
            readings: cell.readings.as_ref().map_or(1, |readings| readings.count.max(1)),
            names_readings: batches(arguments).len() > 1,
        }
    }

    /// Whether a connection carries several messages.
    pub const fn is_kept(&self) -> bool {
        matches!(self.connection, Connection::Kept { .. })
    }

    /// What it is called, but for its start.
    pub fn use_of_connections(&self) -> String {
        let mut text = self.connection.to_string();
        if let Some(keep_alive) = self.keep_alive {
            text += &match keep_alive.is_zero() {
                true => ", no keep-alive".to_owned(),
                false => format!(", keep-alive {}", time(keep_alive)),
            };
        }
        if self.names_readings {
            text += &format!(", {} a message", self.readings);
        }
        text
    }

    /// What it is called.
    pub fn name(&self) -> String {
        match self.start == Start::Cold {
            true => self.use_of_connections(),
            false => format!("{}, {}", self.use_of_connections(), self.start),
        }
    }
}

/// What the words of these ways mean.
pub fn legend(every: Duration, ways: &[&Way]) -> Vec<String> {
    let any = |wanted: &dyn Fn(&Way) -> bool| ways.iter().any(|way| wanted(way));
    let mut legend = Vec::new();
    if any(&Way::is_kept) {
        legend.push(format!(
            "persistent for N: one connection for N messages, of a day, at least 2, at most {MOST_READINGS}"
        ));
    }
    if any(&|way| way.readings > 1) {
        legend.push(format!(
            "N a message: a message leaves when its last reading is there, each {} a reading",
            time(every)
        ));
    }
    if any(&|way| way.start.is_edhoc()) {
        legend.push(
            "edhoc, edhoc-by-value: EDHOC first, by reference to the credentials or with them (RFC 9528, method 3, suite 2)".to_owned(),
        );
    }
    if any(&|way| way.start.needs_earlier()) {
        legend.push(
            "resumed, 0rtt: with the ticket of the connection before, which the server must still take; 0rtt also sends data at once, \
             which an attacker can repeat (RFC 8446, 8)"
                .to_owned(),
        );
    }
    legend
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use wirecost_link::NatTimeouts;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn kept(words: &[&str], tcp: Option<u64>) -> Vec<u64> {
        let words = ["wirecost", "choose"].iter().chain(words);
        let arguments = Arguments::from_words(words.copied().map(OsString::from)).expect("valid");
        let Command::Choose(arguments) = arguments.command else {
            panic!("another command")
        };
        let link = LinkConfig {
            nat: NatTimeouts {
                udp: None,
                tcp: tcp.map(Duration::from_secs),
                ..NatTimeouts::default()
            },
            ..LinkConfig::default()
        };
        let all = keep_alives(&arguments, &link);
        all.iter().map(Duration::as_secs).collect()
    }

    #[test]
    fn a_keep_alive_fits_the_time_out_of_the_translator() {
        assert_eq!(kept(&["--every", "15min"], Some(1_200)), [60, 1_080]);
        assert_eq!(kept(&["--every", "15min"], Some(40)), [60, 36]);
        assert_eq!(kept(&["--every", "15min"], None), [60, 64_800]);
        assert_eq!(
            kept(&["--every", "30s"], Some(1_200)),
            [60],
            "none is due before the next message"
        );
        assert_eq!(
            kept(&["--every", "15min", "--keep-alive", "5min"], Some(1_200)),
            [300]
        );
    }
}
