//! The layout of the help: `--help` shows the options that most users need, `--help-all` every option with details.

use clap::{Arg, ArgAction, Command};

/// The options of a command under one heading, in order.
struct Group {
    heading: &'static str,
    /// Options that `--help` shows.
    common: &'static [&'static str],
    /// Options that only `--help-all` shows.
    further: &'static [&'static str],
}

const LINK: Group = Group {
    heading: "Link",
    common: &["link", "rtt", "link_rate", "loss", "up", "down"],
    further: &[
        "loss_burst",
        "queue",
        "delay_variation",
        "reorder",
        "duplicate",
        "corrupt",
        "mtu",
        "nat_timeout",
        "nat",
    ],
};

const CHOOSE: &[Group] = &[
    Group {
        heading: "Readings",
        common: &["size", "readings", "every", "file"],
        further: &["encoding", "compression", "keep_alive", "start"],
    },
    Group {
        heading: "Requirements",
        common: &["within", "delivery", "reach", "battery_years", "monthly_bytes"],
        further: &["device_class"],
    },
    Group {
        heading: "Energy and money",
        common: &["device", "battery", "tariff", "devices", "per"],
        further: &["self_discharge"],
    },
    LINK,
    Group {
        heading: "Measurement",
        common: &["by", "verify"],
        further: &["count", "seed"],
    },
    Group {
        heading: "Results",
        common: &["explain", "out", "json", "quiet"],
        further: &[],
    },
];

const WHAT_IF: &[Group] = &[
    Group {
        heading: "Capture",
        common: &["keylog", "client", "every"],
        further: &["keep_alive"],
    },
    LINK,
    Group {
        heading: "Results",
        common: &["out", "json", "quiet"],
        further: &["seed"],
    },
];

const COMPARE: &[Group] = &[
    Group {
        heading: "Messages",
        common: &["size", "readings", "interval", "messages_per_connection"],
        further: &["encoding", "compression", "payload_file"],
    },
    Group {
        heading: "Connections and server",
        common: &["start", "target"],
        further: &["cacert", "insecure", "i_own_this_target"],
    },
    LINK,
    Group {
        heading: "Measurement",
        common: &["vary"],
        further: &["jobs"],
    },
    Group {
        heading: "Modelled NB-IoT cell (--link nbiot)",
        common: &["cell_load", "coupling_loss"],
        further: &["cell_profile", "sequence"],
    },
    Group {
        heading: "Devices that share a link",
        common: &[],
        further: &["shared_link", "clients", "spread"],
    },
    Group {
        heading: "Results",
        common: &["out", "json", "per", "resume", "quiet"],
        further: &["rows", "resume_changed", "record_hosts", "no_keys", "no_color"],
    },
];

const LOAD: &[Group] = &[
    Group {
        heading: "Messages",
        common: &[
            "clients", "rate", "duration", "count", "find_max", "size", "resource", "qos",
        ],
        further: &[
            "readings",
            "encoding",
            "compression",
            "per_client",
            "poisson",
            "spread",
            "ramp",
            "warmup",
            "closed_loop",
            "inflight",
            "timeout",
            "payload_file",
            "payload_template",
            "chunk",
            "request_headers",
            "response_body",
            "get",
            "retain",
        ],
    },
    Group {
        heading: "Connections",
        common: &[
            "start",
            "connection",
            "connect_rate",
            "connect_only",
            "reconnect_storm",
        ],
        further: &[
            "connect_timeout",
            "nagle",
            "backoff",
            "no_jitter",
            "back_within",
            "keep_alive",
            "session_expiry",
            "client_id",
            "user",
            "password",
            "password_file",
            "will_topic",
            "will_payload",
            "cacert",
            "insecure",
        ],
    },
    Group {
        heading: "Subscribers",
        common: &["subscribers", "filter", "poll"],
        further: &["shared", "subscribe_qos", "late_subscribers", "replay"],
    },
    Group {
        heading: "Target and generator",
        common: &["server", "engine", "agents", "listen", "i_own_this_target"],
        further: &[
            "join_file",
            "join_address",
            "agents_wait",
            "clock_error_max",
            "service_time",
            "workers",
            "repeat",
            "seed",
            "ipv6",
            "source",
            "shared_socket",
            "threads",
            "processes",
        ],
    },
    Group {
        heading: "Link between devices and target; each of these options adds it",
        common: LINK.common,
        further: LINK.further,
    },
    Group {
        heading: "Results",
        common: &["out", "json", "junit", "capture", "resume", "quiet"],
        further: &["resume_changed", "no_keys", "profile", "prometheus", "no_color"],
    },
];

const LINK_RUN: &[Group] = &[
    Group {
        heading: "Server on the other side",
        common: &["server", "serve", "tls", "dtls"],
        further: &["port", "server_timeout"],
    },
    LINK,
    Group {
        heading: "Measurement",
        common: &["seed"],
        further: &["ipv6", "settle", "packet_path"],
    },
    Group {
        heading: "Results",
        common: &["out", "json", "quiet"],
        further: &["keylog", "no_keys"],
    },
];

const RUN: &[Group] = &[
    Group {
        heading: "Scenario",
        common: &[
            "set",
            "vary",
            "engine",
            "shard",
            "print_resolved",
            "i_own_this_target",
        ],
        further: &["jobs"],
    },
    Group {
        heading: "Agents of a load",
        common: &["agents", "listen"],
        further: &["join_file", "join_address", "agents_wait", "clock_error_max"],
    },
    Group {
        heading: "Results",
        common: &["out", "json", "junit", "resume", "quiet"],
        further: &["per", "rows", "resume_changed", "prometheus", "no_color"],
    },
];

const PROBE: &[Group] = &[
    Group {
        heading: "Message",
        common: &["size", "qos", "get"],
        further: &["mqtt", "client_id"],
    },
    Group {
        heading: "Connection",
        common: &["start", "timeout", "user", "password", "password_file"],
        further: &["ipv4", "ipv6"],
    },
    Group {
        heading: "Security",
        common: &["cacert", "insecure", "tls_version", "psk"],
        further: &["cert", "key", "no_resumption", "connection_id"],
    },
    Group {
        heading: "Results",
        common: &["out", "json"],
        further: &["no_keys"],
    },
];

const SERVE: &[Group] = &[
    Group {
        heading: "Address and clients",
        common: &["listen", "open", "user", "connections"],
        further: &["max_held"],
    },
    Group {
        heading: "Security",
        common: &["tls", "dtls", "psk", "oscore", "cert", "key", "ca_out"],
        further: &["client_ca", "accept_0rtt", "keylog"],
    },
    Group {
        heading: "Output",
        common: &["quiet"],
        further: &[],
    },
];

/// The commands with groups.
const GROUPS: [(&str, &[Group]); 8] = [
    ("choose", CHOOSE),
    ("what-if", WHAT_IF),
    ("compare", COMPARE),
    ("run", RUN),
    ("link", LINK_RUN),
    ("load", LOAD),
    ("probe", PROBE),
    ("serve", SERVE),
];

/// The program with its options in groups, and with the options of the help itself.
pub fn arranged(program: Command) -> Command {
    let mut program = program.disable_help_flag(true);
    for (name, groups) in GROUPS {
        program = program.mut_subcommand(name, |command| grouped(command, groups));
    }
    let option = |name: &'static str, action| {
        let option = Arg::new(name).long(name).action(action);
        option.global(true).help_heading("Help")
    };
    program
        .arg(option("help", ArgAction::HelpShort).short('h').help("Print help"))
        .arg(option("help-all", ArgAction::HelpLong).help("Print help with every option and all details"))
}

/// Puts the options of a command under their headings, with those that have this heading by themselves. Options of no group stay
/// where they are.
fn grouped(mut command: Command, groups: &[Group]) -> Command {
    let mut place = 0;
    for group in groups {
        let of_rows = |is_further: bool| {
            let belongs = move |option: &&Arg| {
                option.get_help_heading() == Some(group.heading)
                    && option.is_hide_short_help_set() == is_further
            };
            let names = command.get_arguments().filter(belongs);
            names
                .map(|option| option.get_id().to_string())
                .collect::<Vec<_>>()
        };
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let common = [own(group.common), of_rows(false)].concat();
        let further = [own(group.further), of_rows(true)].concat();
        let all = common.into_iter().map(|name| (name, false));
        for (name, is_further) in all.chain(further.into_iter().map(|name| (name, true))) {
            place += 1;
            command = command.mut_arg(name, |option| {
                let option = option.help_heading(group.heading).display_order(place);
                option.hide_short_help(is_further)
            });
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::program;

    /// The most lines of a command's `--help`.
    const MOST_LINES: usize = 100;

    #[test]
    fn every_option_of_a_large_command_has_a_heading() {
        let program = program();
        for (name, _) in GROUPS {
            let command = program.find_subcommand(name).expect("a command");
            let options = command
                .get_opts()
                .chain(command.get_arguments().filter(|one| !one.is_positional()));
            let stray: Vec<&str> = options
                .filter(|option| option.get_help_heading().is_none() && !option.is_hide_set())
                .map(|option| option.get_id().as_str())
                .collect();
            assert_eq!(stray, Vec::<&str>::new(), "{name}");
        }
    }

    #[test]
    fn the_help_of_every_command_fits_a_hundred_lines() {
        let mut program = program();
        program.build();
        for command in program.get_subcommands() {
            let text = command.clone().render_help().to_string();
            let lines = text.lines().count();
            assert!(lines < MOST_LINES, "{} has {lines} lines", command.get_name());
            if !command.is_hide_set() && command.get_name() != "help" {
                assert!(text.contains("--help-all"), "{}", command.get_name());
            }
        }
    }

    #[test]
    fn the_whole_help_has_every_option() {
        let mut program = program();
        program.build();
        for (name, _) in GROUPS {
            let command = program.find_subcommand(name).expect("a command");
            let text = command.clone().render_long_help().to_string();
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                if let Some(long) = option.get_long() {
                    assert!(text.contains(&format!("--{long}")), "{name} --{long}");
                }
            }
        }
    }
}
