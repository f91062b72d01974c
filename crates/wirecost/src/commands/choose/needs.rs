//! Requirements: whether they contradict each other, and whether a stack can meet them at all.

use std::time::Duration;

use wirecost_proto::calendar::Period;
use wirecost_results::Cell;
use wirecost_scenario::options::compare::LinkConfig;
use wirecost_scenario::options::content::Contents;
use wirecost_stack::Stack;

use crate::arguments::{By, ChooseArguments, Delivery, Reach};
use crate::commands::cost::table::{number, time};
use crate::exit::Failure;

/// The most decimals of a figure.
const MOST_DECIMALS: usize = 6;

/// Requirements that contradict each other, by name.
pub fn contradiction(arguments: &ChooseArguments, link: &LinkConfig) -> Option<Failure> {
    let needs = |flag: &str, other: &str| {
        Failure::usage(format!("--by {flag} needs {other}"))
            .with_hint(format!("add {other}, or take --by bytes"))
    };
    match arguments.by {
        By::Energy if arguments.device.is_none() => return Some(needs("energy", "--device NAME")),
        By::Money if arguments.tariff.is_none() => return Some(needs("money", "--tariff NAME")),
        _ => {}
    }
    let every = arguments.every.unwrap_or_default();
    if every.is_zero() {
        return Some(
            Failure::usage("--every must be above 0s")
                .with_hint("write the time from one reading to the next, e.g. 5min"),
        );
    }
    if arguments.within.is_some_and(|within| within.is_zero()) {
        return Some(
            Failure::usage("--within must be above 0s")
                .with_hint("write the time within which a reading must have arrived, e.g. 2s"),
        );
    }
    // NaN and inf are numbers to the parser of floats.
    let is_number = |years: f64| years > 0.0 && years.is_finite();
    if arguments.battery_years.is_some_and(|years| !is_number(years)) {
        return Some(
            Failure::usage("--battery-years must be above 0").with_hint("write a number of years, e.g. 5"),
        );
    }
    too_soon(arguments, link).or_else(|| too_few_bytes(arguments, every))
}

/// A latency below the link's own delay.
fn too_soon(arguments: &ChooseArguments, link: &LinkConfig) -> Option<Failure> {
    let within = arguments.within.filter(|within| *within < link.up.delay)?;
    Some(
        Failure::usage(format!(
            "--within {} contradicts the link, whose delay up is {}",
            time(within),
            time(link.up.delay)
        ))
        .with_hint("allow more time, or name a link with a shorter delay"),
    )
}

/// The payload as it was asked for.
fn named(arguments: &ChooseArguments) -> String {
    match arguments.contents() {
        Contents::Sizes(_) => format!("--size {}", arguments.size),
        Contents::Readings(lists) => {
            let batches = lists.batches();
            let texts: Vec<String> = batches.iter().map(ToString::to_string).collect();
            texts.join(" or ")
        }
    }
}

/// Fewer bytes a month than the payload alone has.
fn too_few_bytes(arguments: &ChooseArguments, every: Duration) -> Option<Failure> {
    let contents = arguments.contents().each();
    let each = contents.iter().map(|content| {
        let readings = content.batch().map_or(1, |batch| batch.readings);
        content.payload(arguments.seed).bytes.len() as f64 / f64::from(readings)
    });
    // The smallest of the encodings: only if even that is too much, nothing can meet it.
    let payload = each.reduce(f64::min)? * Period::Month.times(every.as_secs_f64());
    let most = arguments
        .monthly_bytes
        .filter(|most| payload > most.bytes() as f64)?;
    Some(
        Failure::usage(format!(
            "--monthly-bytes {most} contradicts {} every {}: the payload alone has {} B a month",
            named(arguments),
            time(every),
            number(payload.round())
        ))
        .with_hint("allow more bytes, or send smaller readings or fewer"),
    )
}

/// The failure of requirements of which no stack meets all.
pub fn no_stack(arguments: &ChooseArguments) -> Failure {
    let mut named = Vec::new();
    // The default is not named: the user has not asked for it.
    if arguments.delivery != Delivery::AtLeastOnce || arguments.reach.is_empty() {
        named.push(format!("--delivery {}", word(arguments.delivery)));
    }
    if !arguments.reach.is_empty() {
        let words: Vec<String> = arguments.reach.iter().map(|reach| word(*reach)).collect();
        named.push(format!("--reach {}", words.join(",")));
    }
    if let Some(class) = arguments.device_class {
        named.push(format!("--device-class {class}"));
    }
    Failure::usage(format!(
        "{} contradict each other: no stack meets them together",
        named.join(" and ")
    ))
    .with_hint("drop one of them, or name the stacks, to see what each one fails")
}

/// The word of the command line for a value.
pub fn word(value: impl clap::ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Why a stack is out of the question, whatever it costs: the name of each requirement, a colon and why.
pub fn refusals(arguments: &ChooseArguments, stack: Stack) -> Vec<String> {
    let name = stack.to_string();
    let mut refusals = Vec::new();
    let guarantee = guarantee(stack);
    if guarantee < rank(arguments.delivery) {
        let has = ["at most once", "at least once", "exactly once"][guarantee];
        refusals.push(format!("delivery: delivers {has}"));
    }
    let protocol = |reach: Reach| match reach {
        Reach::Mqtt => "mqtt",
        Reach::Coap => "coap",
        Reach::Http => "http",
        Reach::Amqp => "amqp",
    };
    let mut reached = arguments.reach.iter();
    if !arguments.reach.is_empty() && !reached.any(|reach| name.starts_with(protocol(*reach))) {
        refusals.push("reach: the other side does not speak it".to_owned());
    }
    // HTTP/3 has TLS within QUIC, and no suffix says so.
    let is_heavy = name.contains("+tls") || name.starts_with("http") || name.starts_with("amqp");
    if arguments.device_class == Some(1) && is_heavy {
        refusals.push(
            "device-class: too large for a device of class 1 (RFC 7228, 3: no HTTP, no TLS)".to_owned(),
        );
    }
    refusals
}

/// What a row fails by losing readings, unless at most once is enough; `lost`: how many, of how many.
pub fn losses(arguments: &ChooseArguments, lost: (u64, u64)) -> Option<String> {
    let (lost, offered) = lost;
    let is_allowed = arguments.delivery == Delivery::AtMostOnce;
    (lost > 0 && !is_allowed).then(|| format!("delivery: loses {lost} of {offered} readings"))
}

/// How many decimals a figure is written with that misses a limit: two, or as many more as it needs to differ from the limit. "2.00 y,
/// below 2 y" would read like a contradiction.
pub fn decimals(figure: f64, limit: f64) -> usize {
    let differs = |decimals: &usize| {
        let decimals = *decimals;
        format!("{figure:.decimals$}") != format!("{limit:.decimals$}")
    };
    (2..MOST_DECIMALS).find(differs).unwrap_or(MOST_DECIMALS)
}

/// Why the figures of a simulated cell may not be used; `None` where they may.
pub fn invalid(cell: &Cell) -> Option<String> {
    let why = cell.warnings.iter().find(|warning| warning.invalidates);
    let why = why.map_or("its cell is not valid", |warning| &warning.text);
    (!cell.valid).then(|| format!("simulation: {why}"))
}

/// 0 at most once, 1 at least once, 2 exactly once.
fn guarantee(stack: Stack) -> usize {
    match stack.is_answered() {
        false => 0,
        true if stack.to_string().contains("-qos2") => 2,
        true => 1,
    }
}

const fn rank(delivery: Delivery) -> usize {
    match delivery {
        Delivery::AtMostOnce => 0,
        Delivery::AtLeastOnce => 1,
        Delivery::ExactlyOnce => 2,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::arguments::{Arguments, Command};

    #[test]
    fn a_figure_has_the_decimals_that_tell_it_from_its_limit() {
        for (figure, limit, expected) in [
            (1.9, 2.0, 2),
            (1.994, 2.0, 2),
            (1.998, 2.0, 3),
            (1.999_6, 2.0, 4),
            (5.001, 5.0, 3),
            (2.0 - 1e-12, 2.0, MOST_DECIMALS),
        ] {
            assert_eq!(decimals(figure, limit), expected, "{figure}");
        }
    }

    fn asked(words: &[&str]) -> ChooseArguments {
        let words = ["wirecost", "choose", "--every", "5min"].iter().chain(words);
        let arguments = Arguments::from_words(words.copied().map(OsString::from)).expect("valid");
        match arguments.command {
            Command::Choose(arguments) => *arguments,
            other => panic!("{other:?}"),
        }
    }

    fn why(words: &[&str], stack: &str) -> Option<String> {
        let refusals = refusals(&asked(words), stack.parse().expect("a stack"));
        refusals.into_iter().next()
    }

    #[test]
    fn a_guarantee_excludes_the_weaker_ones() {
        let once = ["--delivery", "exactly-once"];
        assert_eq!(why(&once, "mqtt-qos2+tls1.3"), None);
        assert_eq!(
            why(&once, "coap-con").as_deref(),
            Some("delivery: delivers at least once")
        );
        assert_eq!(
            why(&[], "coap-non").as_deref(),
            Some("delivery: delivers at most once")
        );
        assert_eq!(why(&["--delivery", "at-most-once"], "mqtt-qos0"), None);
    }

    #[test]
    fn a_loss_fails_what_must_arrive() {
        let failed = losses(&asked(&[]), (3, 96));
        assert_eq!(failed.as_deref(), Some("delivery: loses 3 of 96 readings"));
        assert_eq!(losses(&asked(&[]), (0, 96)), None);
        assert_eq!(losses(&asked(&["--delivery", "at-most-once"]), (3, 96)), None);
    }

    #[test]
    fn a_cell_that_is_not_valid_fails_with_its_reason() {
        let mut cell = Cell {
            valid: true,
            ..Cell::default()
        };
        assert_eq!(invalid(&cell), None);
        cell.valid = false;
        assert_eq!(
            invalid(&cell).as_deref(),
            Some("simulation: its cell is not valid")
        );
    }

    #[test]
    fn the_other_side_and_the_device_exclude_stacks() {
        assert!(why(&["--reach", "mqtt,coap"], "http3").is_some());
        assert_eq!(why(&["--reach", "mqtt,coap"], "coap-con"), None);
        assert!(why(&["--device-class", "1"], "mqtt-qos1+tls1.3").is_some());
        assert_eq!(why(&["--device-class", "1"], "coap-con+oscore"), None);
    }
}
