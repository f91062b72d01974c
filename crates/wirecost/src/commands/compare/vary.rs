//! `--vary KEY=V1,V2,...`: the values of one dimension of the matrix.

use wirecost_scenario::link;
use wirecost_scenario::table::{Read, parsed, time};
use wirecost_stack::name::nearest_of;

use crate::arguments::CompareArguments;
use crate::exit::Failure;

/// The dimensions of the matrix, named like their options.
const DIMENSIONS: [&str; 9] = [
    "size",
    "rtt",
    "loss",
    "rate",
    "mtu",
    "stack",
    "start",
    "interval",
    "messages-per-connection",
];

/// Sets the values of a dimension in its argument.
fn assign(arguments: &mut CompareArguments, dimension: &str, values: &[&str]) -> Result<(), Failure> {
    let link = &mut arguments.link;
    let set = match dimension {
        "size" => set(&mut arguments.size, values, parsed),
        "rtt" => set(&mut link.shape.rtt, values, time),
        "loss" => set(&mut link.shape.loss, values, link::loss),
        "rate" => set(&mut link.rate, values, link::rate),
        "mtu" => set(&mut link.shape.mtu, values, link::mtu),
        "stack" => set(&mut arguments.stacks, values, parsed),
        "start" => set(&mut arguments.start, values, parsed),
        "interval" => set(&mut arguments.interval, values, time),
        _ => set(&mut arguments.messages_per_connection, values, parsed),
    };
    set.map_err(|why| Failure::usage(format!("--vary {dimension}: {why}")))
}

/// Replaces the defaults of arguments by the values of `--vary`.
pub(super) fn apply(arguments: &mut CompareArguments) -> Result<(), Failure> {
    let mut varied: Vec<String> = Vec::new();
    for dimension in std::mem::take(&mut arguments.vary) {
        let Some((key, values)) = dimension.split_once('=') else {
            let message = format!("--vary takes KEY=VALUE,..., got {dimension:?}");
            return Err(Failure::usage(message).with_hint("for example --vary size=16B,1kB"));
        };
        // Scenario keys of the link have the prefix link.
        let key = key.trim().trim_start_matches("link.");
        if !DIMENSIONS.contains(&key) {
            return Err(unknown(key));
        }
        if varied.iter().any(|other| other == key) {
            return Err(Failure::usage(format!(
                "--vary {key} is given twice: list all its values in one"
            )));
        }
        if is_given(arguments, key) {
            let flag = match key {
                "stack" => "the list of stacks".to_owned(),
                key => format!("--{key}"),
            };
            return Err(Failure::usage(format!(
                "--vary {key} and {flag} both say what is to be compared: name all values in one of them"
            )));
        }
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        assign(arguments, key, &values)?;
        varied.push(key.to_owned());
    }
    Ok(())
}

/// Whether the user typed the option of a dimension.
fn is_given(arguments: &CompareArguments, key: &str) -> bool {
    let name = match key {
        "stack" => "stacks".to_owned(),
        key => key.replace('-', "_"),
    };
    arguments.given.contains(&name)
}

fn unknown(key: &str) -> Failure {
    let meant = nearest_of(key, DIMENSIONS).map(|name| format!(" (did you mean {name}?)"));
    Failure::usage(format!(
        "cannot vary {key:?}{}; the keys are {}",
        meant.unwrap_or_default(),
        DIMENSIONS.join(", ")
    ))
}

fn set<T>(list: &mut Vec<T>, values: &[&str], read: Read<T>) -> Result<(), String> {
    *list = values.iter().map(|value| read(value)).collect::<Result<_, _>>()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};

    fn compare(line: &str) -> CompareArguments {
        let words = ["wirecost", "compare"].into_iter().chain(line.split(' '));
        match Arguments::from_words(words).expect("a command").command {
            Command::Compare(arguments) => *arguments,
            other => panic!("another command: {other:?}"),
        }
    }

    #[test]
    fn every_dimension_takes_a_list() {
        let mut arguments = compare(
            "--vary size=16B,1kB --vary link.rtt=5ms,100ms --vary loss=0%,5% --vary rate=1Mbit --vary mtu=1280B \
             --vary stack=udp,coap-con --vary start=cold,resumed --vary interval=1s,60s \
             --vary messages-per-connection=1,10",
        );
        apply(&mut arguments).expect("known keys");
        assert_eq!(
            arguments.size.len() * arguments.link.shape.rtt.len() * arguments.link.shape.loss.len(),
            8
        );
        assert_eq!(
            (arguments.link.rate.len(), arguments.link.shape.mtu[0]),
            (1, 1_280)
        );
        assert_eq!((arguments.stacks.len(), arguments.start.len()), (2, 2));
        assert_eq!(arguments.interval.len(), 2);
        assert_eq!(arguments.messages_per_connection, [1, 10]);
    }

    #[test]
    fn a_dimension_whose_flag_is_given_is_refused() {
        for (line, key) in [
            ("--size 2B --vary size=1B", "size"),
            ("--rtt 5ms --vary link.rtt=6ms", "rtt"),
            (
                "--messages-per-connection 2 --vary messages-per-connection=3",
                "messages-per-connection",
            ),
            ("tcp --vary stack=coap-con", "stack"),
        ] {
            let refused = apply(&mut compare(line)).expect_err("two lists").to_string();
            assert!(refused.starts_with(&format!("--vary {key} and ")), "{refused}");
        }
        assert!(apply(&mut compare("tcp --size 2B --vary loss=1%")).is_ok());
    }

    #[test]
    fn an_unknown_dimension_names_the_nearest_one() {
        let text = unknown("jitter").to_string();
        assert!(
            text.starts_with("cannot vary \"jitter\"; the keys are size, rtt"),
            "{text}"
        );
        let text = unknown("sizes").to_string();
        assert!(text.contains("(did you mean size?)"), "{text}");
    }
}
