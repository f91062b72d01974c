//! `wirecost link`: any program behind the emulated, recorded link.
//!
//! Stdout belongs to the program. wirecost writes to stderr, and if possible only after the program has ended.

use std::io::ErrorKind;
use std::process::ExitCode;

use wirecost_lab::link_run::{self, CAPTURE, Finished, LinkError, LinkSummary, Options, ServerChoice};
use wirecost_results::RunFolder;
use wirecost_scenario::options::compare::LinkConfig;
use wirecost_stack::{Application, Channel, Stack};

use super::folder::of_run;
use super::link_flags::emulated;
use super::object::files::{self, Readers};
use super::{pcap, serve};
use crate::arguments::{LinkRunArguments, of_flags};
use crate::exit::{self, Failure};
use crate::output;

/// The exit code of shells if a program cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of shells if a program is missing.
const NOT_FOUND: u8 = 127;

/// Runs the command.
pub fn run(arguments: &LinkRunArguments) -> Result<ExitCode, Failure> {
    let why = "stdout belongs to the program that is run";
    output::refuse_stdout("--json", arguments.json.as_deref(), why)?;
    let options = options(arguments)?;
    options.validate().map_err(|refusal| of_flags("link", &refusal))?;
    let out = of_run(arguments.out.as_deref())?;
    let folder = RunFolder::create_with(&out, &["capture"])?;
    let quiet = arguments.quiet;
    let mut note = |line: &str| {
        if !quiet || line.starts_with("warning: ") {
            output::note(line);
        }
    };
    let finished = link_run::run(&options, &folder, &mut note);
    let Finished { summary, failure, .. } = finished.map_err(|error| {
        folder.remove_if_nothing_measured();
        failed(error, &folder)
    })?;
    conclude(arguments, &folder, &summary)?;
    if let Some(failure) = failure {
        output::note(format_args!("error: {failure}"));
        output::note("hint: make room on the disk of the results folder, or choose another with --out");
        return Ok(ExitCode::from(match summary.exit_code {
            // The program's own failure is what a script asks for first.
            exit::OK => exit::INVALID,
            code => code,
        }));
    }
    Ok(ExitCode::from(summary.exit_code))
}

fn options(arguments: &LinkRunArguments) -> Result<Options, Failure> {
    Ok(Options {
        link: link(arguments)?,
        ipv6: arguments.ipv6,
        medium: arguments.packet_path.medium(),
        seed: arguments.seed,
        settle: arguments.settle,
        server: server(arguments)?,
        port: arguments.port,
        patience: arguments.server_timeout,
        command: arguments.command.clone(),
        keys: !arguments.no_keys,
        key_log: arguments.keylog.clone(),
        congestion: arguments.congestion,
        framing: arguments.framing,
        output: None,
        time_limit: None,
        response_body: 0,
    })
}

/// The link. Lists are for comparisons.
fn link(arguments: &LinkRunArguments) -> Result<LinkConfig, Failure> {
    let links = emulated(&arguments.link)?;
    match links.as_slice() {
        [link] => Ok(*link),
        links => Err(Failure::usage(format!(
            "a program runs on one link, and these lists make {}: give one --link, one --rtt, one --loss, one --link-rate",
            links.len()
        ))),
    }
}

fn server(arguments: &LinkRunArguments) -> Result<Option<ServerChoice>, Failure> {
    if let Some(command) = &arguments.server {
        return Ok(Some(ServerChoice::Command(command.clone())));
    }
    let Some(protocol) = arguments.serve else {
        return Ok(None);
    };
    let plain = serve::stack_of(protocol);
    let channel = match (arguments.tls, arguments.dtls) {
        // HTTP/3 includes TLS (RFC 9114, section 3.1).
        (true, _) if plain.application == Application::Http3 => Channel::Plain,
        (true, _) => Channel::Tls13,
        (_, true) => Channel::Dtls13,
        _ => Channel::Plain,
    };
    if channel != Channel::Plain && !plain.application.can_run_over(channel) {
        let flag = if arguments.tls { "--tls" } else { "--dtls" };
        return Err(Failure::usage(format!("{flag} cannot carry {plain}")).with_hint(
            "TLS carries tcp, mqtt, amqp and http1; DTLS carries udp and coap; http3 has TLS always",
        ));
    }
    Ok(Some(ServerChoice::Builtin(Stack { channel, ..plain })))
}

/// Prints the results to stderr, and writes them to the requested files.
fn conclude(arguments: &LinkRunArguments, folder: &RunFolder, summary: &LinkSummary) -> Result<(), Failure> {
    let internal = |error: &dyn std::error::Error| Failure::new(exit::INTERNAL, error);
    let value = serde_json::to_value(summary).map_err(|error| internal(&error))?;
    let page = wirecost_report::link::report(&value).map_err(|error| internal(&error))?;
    let reported = folder.write_secret("report.html", page.as_bytes());
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(summary);
        let text = text.map_err(|error| internal(&error))?;
        files::write(path, (text + "\n").as_bytes(), Readers::Owner)?;
    }
    // After the JSON file: a full results folder must not keep it from being written elsewhere.
    reported?;
    if arguments.quiet {
        return Ok(());
    }
    output::note(format_args!("\n{}", ending(summary)));
    if summary.fates.is_empty()
        && let Some(name) = named_this_machine(&summary.command)
    {
        output::note(format_args!(
            "hint: behind the link {name} is the device itself; write {{server}} for the server, which --server or --serve starts"
        ));
    }
    output::note(pcap::table(&folder.file(CAPTURE), &summary.report));
    output::note(format_args!("report:  {}", folder.file("report.html").display()));
    output::note(format_args!("capture: {}", folder.file(CAPTURE).display()));
    Ok(())
}

/// The word of a command by which it calls its own machine.
fn named_this_machine(command: &[String]) -> Option<&'static str> {
    ["localhost", "127.0.0.1", "[::1]", "::1"]
        .into_iter()
        .find(|name| {
            // The name may stand in a URL, an option or a list: any sign that no host name has ends it.
            let ends =
                |letter: char| !(letter.is_alphanumeric() || matches!(letter, '.' | '-' | ':' | '[' | ']'));
            let is_host = |part: &str| match part.strip_prefix(name) {
                Some("") => true,
                Some(rest) => rest
                    .strip_prefix(':')
                    .is_some_and(|port| port.bytes().all(|digit| digit.is_ascii_digit())),
                None => false,
            };
            command.iter().any(|word| word.split(ends).any(is_host))
        })
}

/// How the program ended, and what happened to its packets on the link.
fn ending(summary: &LinkSummary) -> String {
    let seconds = summary.duration_ns as f64 / 1e9;
    let ended = match summary.signal {
        Some(signal) => format!("ended by signal {signal}"),
        None => format!("ended with {}", summary.exit_code),
    };
    let fates: Vec<String> = summary
        .fates
        .iter()
        .map(|(fate, packets)| format!("{packets} {fate}"))
        .collect();
    let packets = if fates.is_empty() {
        "no packets".to_owned()
    } else {
        format!("packets {}", fates.join(", "))
    };
    let program = summary.command.first().map(String::as_str).unwrap_or_default();
    format!("{program} {ended} after {seconds:.3} s; {packets}")
}

/// Says why a program could not be run behind the link.
pub fn failed(error: LinkError, folder: &RunFolder) -> Failure {
    let log = || format!("what it said is in {}", folder.file("server.log").display());
    let message = error.to_string();
    match error {
        LinkError::Emulation(error) => error.into(),
        LinkError::Results(error) => error.into(),
        LinkError::Words(_) | LinkError::NoServer => Failure::usage(message)
            .with_hint("write the command as for a shell: --server 'mosquitto -c FILE'"),
        LinkError::ServerNotFound { .. } => Failure::new(exit::UNREACHABLE, message)
            .with_hint("install it, or give its path, or use a built-in server: --serve mqtt"),
        LinkError::ServerEnded { .. } => Failure::new(exit::UNREACHABLE, message).with_hint(log()),
        LinkError::NotListening { .. } => Failure::new(exit::UNREACHABLE, message).with_hint(
            "let it listen on {server} or on every address, name its port with --port, or give it more time with \
             --server-timeout",
        ),
        LinkError::Program { source, .. } => not_run(message, source.kind()),
        LinkError::Interrupted(signal) | LinkError::InterruptedProgram(signal) => {
            // As a shell reports a command that a signal ended.
            Failure::new(u8::try_from(128 + signal).unwrap_or(exit::INTERRUPTED), message)
        }
        LinkError::Builtin(_) | LinkError::Credentials(_) => Failure::new(exit::INTERNAL, message),
    }
}

fn not_run(message: String, why: ErrorKind) -> Failure {
    match why {
        ErrorKind::NotFound => Failure::new(NOT_FOUND, message)
            .with_hint("CMD is a program and its arguments; for a line of shell write: -- sh -c '...'"),
        _ => Failure::new(NOT_EXECUTABLE, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_names_its_own_machine_is_seen() {
        for (words, name) in [
            ("mosquitto_pub -h localhost -p 1883", Some("localhost")),
            ("curl http://127.0.0.1:8080/a", Some("127.0.0.1")),
            ("curl --url=http://[::1]:80/", Some("[::1]")),
            ("client --host=localhost:1883", Some("localhost")),
            ("mosquitto_pub -h 192.0.2.2 -t localhost-7", None),
            ("curl http://127.0.0.11/", None),
            ("curl http://localhost.example/", None),
        ] {
            let command: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(named_this_machine(&command), name, "{words}");
        }
    }
}
