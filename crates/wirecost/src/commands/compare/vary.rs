//! `--vary KEY=V1,V2,...`: the values of one dimension of the matrix.

use wirecost_scenario::link;
use wirecost_scenario::table::{Read, ValueError, parsed, readings, time};
use wirecost_stack::name::nearest_of;

use crate::arguments::CompareArguments;
use crate::exit::Failure;

/// Puts the values of a dimension into its arguments.
type Apply = fn(&mut CompareArguments, &[&str]) -> Result<(), ValueError>;

/// The dimensions of the matrix, by the names of their flags.
const DIMENSIONS: [(&str, Apply); 13] = [
    ("size", |arguments, values| {
        set(&mut arguments.size, values, parsed)
    }),
    ("readings", |arguments, values| {
        set(&mut arguments.readings.readings, values, readings)
    }),
    ("encoding", |arguments, values| {
        set(&mut arguments.readings.encoding, values, parsed)
    }),
    ("compression", |arguments, values| {
        set(&mut arguments.readings.compression, values, parsed)
    }),
    ("link", |arguments, values| {
        let named =
            |name: &&str| link::named_or_file(name).map_err(|error| ValueError::Refused(error.to_string()));
        arguments.link.link = values.iter().map(named).collect::<Result<_, _>>()?;
        Ok(())
    }),
    ("rtt", |arguments, values| {
        set(&mut arguments.link.rtt, values, time)
    }),
    ("loss", |arguments, values| {
        set(&mut arguments.link.loss, values, link::loss)
    }),
    ("link-rate", |arguments, values| {
        set(&mut arguments.link.rate, values, link::rate)
    }),
    ("mtu", |arguments, values| {
        set(&mut arguments.link.mtu, values, link::mtu)
    }),
    ("stack", |arguments, values| {
        set(&mut arguments.stacks, values, parsed)
    }),
    ("start", |arguments, values| {
        set(&mut arguments.start, values, parsed)
    }),
    ("interval", |arguments, values| {
        set(&mut arguments.interval, values, time)
    }),
    ("messages-per-connection", |arguments, values| {
        set(&mut arguments.messages_per_connection, values, parsed)
    }),
];

/// Other common names of dimensions.
const OTHERWISE: [(&str, &str); 6] = [
    ("rate", "link-rate"),
    ("bandwidth", "link-rate"),
    ("latency", "rtt"),
    ("delay", "rtt"),
    ("payload", "size"),
    ("batch", "readings"),
];

/// Puts what `--vary` asks for in place of the defaults of the flags.
pub(super) fn apply(arguments: &mut CompareArguments) -> Result<(), Failure> {
    let mut varied: Vec<String> = Vec::new();
    for dimension in std::mem::take(&mut arguments.vary) {
        let Some((key, values)) = dimension.split_once('=') else {
            let message = format!("--vary takes KEY=VALUE,..., got {dimension:?}");
            return Err(Failure::usage(message).with_hint("for example --vary size=16B,1kB"));
        };
        // The keys of scenarios name the link's settings link.rtt and so on.
        let key = match key.trim() {
            "link.rate" => "link-rate",
            "link.name" => "link",
            key => key.trim_start_matches("link."),
        };
        let Some((_, apply)) = DIMENSIONS.iter().find(|(name, _)| *name == key) else {
            return Err(unknown(key));
        };
        // The second list would replace the first.
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
        apply(arguments, &values).map_err(|why| Failure::usage(format!("--vary {key}: {why}")))?;
        varied.push(key.to_owned());
    }
    let has_readings = arguments.readings.lists().is_given();
    if has_readings && (is_given(arguments, "size") || varied.iter().any(|key| key == "size")) {
        let message = "a size and readings both say what messages carry: leave out one of them";
        return Err(Failure::usage(message));
    }
    Ok(())
}

/// Whether the flag of a dimension has been typed.
fn is_given(arguments: &CompareArguments, key: &str) -> bool {
    let name = match key {
        "stack" => "stacks".to_owned(),
        key => key.replace('-', "_"),
    };
    arguments.given.has(&name)
}

fn unknown(key: &str) -> Failure {
    let names = DIMENSIONS.map(|(name, _)| name);
    let meant = OTHERWISE
        .iter()
        .find(|(other, _)| *other == key)
        .map(|(_, name)| *name);
    let meant = meant.or_else(|| nearest_of(key, names));
    let meant = meant.map(|name| format!(" (did you mean {name}?)"));
    Failure::usage(format!(
        "cannot vary {key:?}{}; the keys are {}",
        meant.unwrap_or_default(),
        names.join(", ")
    ))
}

fn set<T>(list: &mut Vec<T>, values: &[&str], read: Read<T>) -> Result<(), ValueError> {
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
            "--vary size=16B,1kB --vary link.rtt=5ms,100ms --vary loss=0%,5% --vary link.rate=1Mbit --vary mtu=1280B \
             --vary stack=udp,coap-con --vary start=cold,resumed --vary interval=1s,60s \
             --vary messages-per-connection=1,10",
        );
        apply(&mut arguments).expect("known keys");
        assert_eq!(
            arguments.size.len() * arguments.link.rtt.len() * arguments.link.loss.len(),
            8
        );
        assert_eq!((arguments.link.rate.len(), arguments.link.mtu[0]), (1, 1_280));
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
            text.starts_with("cannot vary \"jitter\"; the keys are size, readings, "),
            "{text}"
        );
        let text = unknown("sizes").to_string();
        assert!(text.contains("(did you mean size?)"), "{text}");
    }
}
