//! Names of options that other tools have, and what they are called here.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A name that is not an option of these commands, and the option that is meant.
struct Guess {
    /// Separated by spaces, as the names are.
    commands: &'static str,
    names: &'static str,
    answer: &'static str,
}

macro_rules! guesses {
    ($($commands:literal: $names:literal => $answer:literal;)*) => {
        &[$(Guess { commands: $commands, names: $names, answer: $answer }),*]
    };
}

const GUESSES: &[Guess] = guesses! {
    "run": "--link --rtt --loss --link-rate --size --count -n --stack --target --seed"
        => "--set KEY=VALUE replaces a value of the file: --set link=lte, --set count=10";
    "compare cost nbiot": "--every"
        => "--interval TIME is the time from one reading to the next: --interval 15min";
    "choose what-if": "--interval --period"
        => "--every TIME is the time from one reading to the next: --every 15min";
    "load": "--every --interval"
        => "-r or --rate is the number of messages: --rate 100/s over all devices, --rate 4/h --per-client for each";
    "load": "--message -m"
        => "--payload-template TEXT is the message; -s or --size SIZE its size";
    "compare": "--device --battery --tariff"
        => "wirecost cost FOLDER --device NAME --tariff NAME prices a results folder; wirecost choose does both in one step";
    "cost": "--fleet --clients -c"
        => "--devices N is the number of devices on the data plan";
    "compare load link": "--latency --delay --ping --lag"
        => "--rtt TIME is the delay of both directions together; --up delay=TIME is the delay of one";
    "compare load link": "--jitter"
        => "--delay-variation TIME is the jitter of the link, in each direction";
    "compare load link": "--bandwidth --bw --speed --throughput"
        => "--link-rate RATE is the rate of the link in each direction: --link-rate 1Mbit";
    "compare load link": "--plr --packet-loss --drop"
        => "--loss P is the share of packets lost in each direction: --loss 5%";
    "compare load link": "--network --profile-link --preset"
        => "--link NAME is a link with the values of a network: wirecost links lists them";
    "compare": "--rate -r"
        => "--link-rate RATE is the rate of the link; --interval TIME is the time between messages";
    "link": "--rate -r"
        => "--link-rate RATE is the rate of the link: --link-rate 1Mbit";
    "compare": "--qos"
        => "the name of a stack has the QoS: mqtt-qos0, mqtt-qos1, mqtt5-qos2, coap-non, coap-con";
    "compare": "--topic -t --path"
        => "--resource NAME is the topic of MQTT, and the path of CoAP and HTTP";
    "load": "--topic -t --path"
        => "--resource NAME is the topic, path or address";
    "compare load": "--protocol --proto --stack"
        => "stacks are named without an option: wirecost compare mqtt-qos1,coap-con";
    "compare": "-z --duration -d"
        => "a comparison ends after -n samples per cell; wirecost load has --duration";
    "load": "-z --time"
        => "-d or --duration TIME is how long to send messages: -d 10s";
    "compare": "--samples --repeat --runs --iterations --messages"
        => "-n or --count is the number of samples per cell; --messages-per-connection that of messages of each";
    "load": "--messages --requests-count --iterations"
        => "-n or --count is the number of messages over all devices";
    "load": "--connections --users --vus --devices"
        => "-c or --clients is the number of devices";
    "load": "--requests"
        => "--get fetches the resource instead of sending; -n is the number of messages";
    "compare load probe": "--payload --payload-size --message-size"
        => "-s or --size SIZE is the size of the payload: --size 128B";
    "compare load link merge probe": "--output --output-dir --results"
        => "-o or --out names where the results go";
    "probe": "--tls --tls1.2 --tls1.3"
        => "--tls-version 1.3 selects the version; the scheme of the URL selects TLS: mqtts://, https://";
    "compare load": "--tls --dtls"
        => "the name of a stack has its channel: mqtt-qos1+tls1.3, coap-con+dtls1.2";
};

/// The answer to a name that is no option of `command`.
fn answer(command: &str, name: &str) -> Option<&'static str> {
    let guess = GUESSES
        .iter()
        .find(|guess| has_word(guess.commands, command) && has_word(guess.names, name));
    guess.map(|guess| guess.answer)
}

fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// The same error with the name of the option that is meant, where `words`, the command line, has a name that other tools
/// use.
pub fn answered(mut error: clap::Error, words: &[String]) -> clap::Error {
    let command = words.get(1).map(String::as_str).unwrap_or_default();
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let Some(argument) = text(ContextKind::InvalidArg) else {
        return error;
    };
    let tip = match error.kind() {
        _ if command == "load" && asks_for_qos(words) => {
            Some("-q is --quiet in every command; --qos N is the quality of service")
        }
        ErrorKind::UnknownArgument => {
            let name = argument.split_once('=').map_or(argument, |(name, _)| name);
            answer(command, name)
        }
        ErrorKind::ValueValidation if argument == "--link <NAME|FILE>" => {
            Some("wirecost links lists them; wirecost links NAME --out FILE writes one to start from")
        }
        ErrorKind::InvalidValue if argument == "--json <FILE>" => Some("--json - prints it"),
        ErrorKind::ValueValidation if command == "load" && argument.starts_with("--rate") => {
            let is_link_rate = text(ContextKind::InvalidValue).is_some_and(|value| value.ends_with("bit"));
            is_link_rate
                .then_some("--link-rate RATE is the rate of the link; --rate is that of messages: 100/s")
        }
        _ => None,
    };
    // The advice to write an unknown option after -- is never meant.
    error.remove(ContextKind::Suggested);
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        let tip = StyledStr::from(tip);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Whether a command line has `-q 1` or `-q1`.
fn asks_for_qos(words: &[String]) -> bool {
    let is_qos = |value: &str| matches!(value, "0" | "1" | "2");
    let joined = |word: &String| word.strip_prefix("-q").is_some_and(is_qos);
    let spaced = |pair: &[String]| pair[0] == "-q" && is_qos(&pair[1]);
    words.iter().any(joined) || words.windows(2).any(spaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::program;

    #[test]
    fn no_guess_is_an_option_of_its_command() {
        let program = program();
        for guess in GUESSES {
            for command in guess.commands.split(' ') {
                let command = program.find_subcommand(command).expect("a command");
                for name in guess.names.split(' ') {
                    let is_option = command.get_arguments().any(|argument| {
                        argument
                            .get_long()
                            .is_some_and(|long| format!("--{long}") == name)
                            || argument
                                .get_short()
                                .is_some_and(|short| format!("-{short}") == name)
                    });
                    assert!(!is_option, "{} {name}", command.get_name());
                }
            }
        }
    }
}
