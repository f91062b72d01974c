//! Names of options that other tools have, and what they are called here.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A name that is not an option of these commands, and the option that is meant.
struct Guess {
    commands: &'static [&'static str],
    names: &'static [&'static str],
    answer: &'static str,
}

/// The commands with an emulated link.
const WITH_LINK: &[&str] = &["compare", "load", "link"];

const GUESSES: [Guess; 28] = [
    Guess {
        commands: &["run"],
        names: &[
            "--link",
            "--rtt",
            "--loss",
            "--link-rate",
            "--size",
            "--count",
            "-n",
            "--stack",
            "--target",
            "--seed",
        ],
        answer: "--set KEY=VALUE replaces a value of the file: --set link=lte, --set count=10",
    },
    Guess {
        commands: &["compare", "cost", "nbiot"],
        names: &["--every"],
        answer: "--interval TIME is the time from one reading to the next: --interval 15min",
    },
    Guess {
        commands: &["choose", "what-if"],
        names: &["--interval", "--period"],
        answer: "--every TIME is the time from one reading to the next: --every 15min",
    },
    Guess {
        commands: &["load"],
        names: &["--every", "--interval"],
        answer: "-r or --rate is the number of messages: --rate 100/s over all devices, --rate 4/h --per-client for each",
    },
    Guess {
        commands: &["load"],
        names: &["--message", "-m"],
        answer: "--payload-template TEXT is the message; -s or --size SIZE its size",
    },
    Guess {
        commands: &["compare"],
        names: &["--device", "--battery", "--tariff"],
        answer: "wirecost cost FOLDER --device NAME --tariff NAME prices a results folder; wirecost choose does both in one step",
    },
    Guess {
        commands: &["cost"],
        names: &["--fleet", "--clients", "-c"],
        answer: "--devices N is the number of devices on the data plan",
    },
    Guess {
        commands: WITH_LINK,
        names: &["--latency", "--delay", "--ping", "--lag"],
        answer: "--rtt TIME is the delay of both directions together; --up delay=TIME is the delay of one",
    },
    Guess {
        commands: WITH_LINK,
        names: &["--jitter"],
        answer: "--delay-variation TIME is the jitter of the link, in each direction",
    },
    Guess {
        commands: WITH_LINK,
        names: &["--bandwidth", "--bw", "--speed", "--throughput"],
        answer: "--link-rate RATE is the rate of the link in each direction: --link-rate 1Mbit",
    },
    Guess {
        commands: WITH_LINK,
        names: &["--plr", "--packet-loss", "--drop"],
        answer: "--loss P is the share of packets lost in each direction: --loss 5%",
    },
    Guess {
        commands: WITH_LINK,
        names: &["--network", "--profile-link", "--preset"],
        answer: "--link NAME is a link with the values of a network: wirecost links lists them",
    },
    Guess {
        commands: &["compare"],
        names: &["--rate", "-r"],
        answer: "--link-rate RATE is the rate of the link; --interval TIME is the time between messages",
    },
    Guess {
        commands: &["link"],
        names: &["--rate", "-r"],
        answer: "--link-rate RATE is the rate of the link: --link-rate 1Mbit",
    },
    Guess {
        commands: &["compare"],
        names: &["--qos"],
        answer: "the name of a stack has the QoS: mqtt-qos0, mqtt-qos1, mqtt5-qos2, coap-non, coap-con",
    },
    Guess {
        commands: &["compare"],
        names: &["--topic", "-t", "--path"],
        answer: "--resource NAME is the topic of MQTT, and the path of CoAP and HTTP",
    },
    Guess {
        commands: &["load"],
        names: &["--topic", "-t", "--path"],
        answer: "--resource NAME is the topic, path or address",
    },
    Guess {
        commands: &["compare", "load"],
        names: &["--protocol", "--proto", "--stack"],
        answer: "stacks are named without an option: wirecost compare mqtt-qos1,coap-con",
    },
    Guess {
        commands: &["compare"],
        names: &["-z", "--duration", "-d"],
        answer: "a comparison ends after -n samples per cell; wirecost load has --duration",
    },
    Guess {
        commands: &["load"],
        names: &["-z", "--time"],
        answer: "-d or --duration TIME is how long to send messages: -d 10s",
    },
    Guess {
        commands: &["compare"],
        names: &["--samples", "--repeat", "--runs", "--iterations", "--messages"],
        answer: "-n or --count is the number of samples per cell; --messages-per-connection that of messages of each",
    },
    Guess {
        commands: &["load"],
        names: &["--messages", "--requests-count", "--iterations"],
        answer: "-n or --count is the number of messages over all devices",
    },
    Guess {
        commands: &["load"],
        names: &["--connections", "--users", "--vus", "--devices"],
        answer: "-c or --clients is the number of devices",
    },
    Guess {
        commands: &["load"],
        names: &["--requests"],
        answer: "--get fetches the resource instead of sending; -n is the number of messages",
    },
    Guess {
        commands: &["compare", "load", "probe"],
        names: &["--payload", "--payload-size", "--message-size"],
        answer: "-s or --size SIZE is the size of the payload: --size 128B",
    },
    Guess {
        commands: &["compare", "load", "link", "merge", "probe"],
        names: &["--output", "--output-dir", "--results"],
        answer: "-o or --out names where the results go",
    },
    Guess {
        commands: &["probe"],
        names: &["--tls", "--tls1.2", "--tls1.3"],
        answer: "--tls-version 1.3 selects the version; the scheme of the URL selects TLS: mqtts://, https://",
    },
    Guess {
        commands: &["compare", "load"],
        names: &["--tls", "--dtls"],
        answer: "the name of a stack has its channel: mqtt-qos1+tls1.3, coap-con+dtls1.2",
    },
];

/// The answer to a name that is no option of `command`.
fn answer(command: &str, name: &str) -> Option<&'static str> {
    let guess = GUESSES
        .iter()
        .find(|guess| guess.commands.contains(&command) && guess.names.contains(&name));
    guess.map(|guess| guess.answer)
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
        for guess in &GUESSES {
            for command in guess.commands {
                let command = program.find_subcommand(command).expect("a command");
                for name in guess.names {
                    let is_option = command.get_arguments().any(|argument| {
                        argument
                            .get_long()
                            .is_some_and(|long| format!("--{long}") == *name)
                            || argument
                                .get_short()
                                .is_some_and(|short| format!("-{short}") == *name)
                    });
                    assert!(!is_option, "{} {name}", command.get_name());
                }
            }
        }
    }
}
