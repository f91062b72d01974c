//! A program behind the emulated link in place of a stack: curl, mosquitto_pub, a client of your own.
//!
//! ```yaml
//! wirecost: 1
//! program: curl -s -d hello http://{server}/test
//! serve: http1
//! ```

use std::path::Path;
use std::time::Duration;

use serde::{Serialize, Serializer};
use wirecost_link::LinkConfig;
use wirecost_proto::random::key_of;
use wirecost_proto::units::DisplayDuration;
use wirecost_proto::{ByteSize, Congestion, Framing};
use wirecost_results::link_text::LinkText;
use wirecost_stack::Stack;

use crate::error::ScenarioError;
use crate::key::Holds::{Flag, Of, Text, Whole, Word};
use crate::key::{SIZE, STACK, TIME, keys, names};
use crate::labels::labels_of_link;
use crate::link;
use crate::link::shape::LINKS;
use crate::node::Node;
use crate::options::compare::Engine;
use crate::selector::{Labels, PROGRAM};
use crate::table::{Table, ValueError, flag, parsed, text, time, whole};

keys! {
    /// The keys of a program.
    pub KEYS {
        must program Text => "Command line, split as in a shell; {server}, {device}, {folder} and {authority} stand for the addresses of both sides, the folder of the run, and the certificate of the authority of a built-in server.";
        may server Text => "Command line of what answers it.";
        may serve Of(&STACK) => "Built-in server that answers it, by the name of a stack.";
        may port Whole(1, 65_535) => "Port that the command of server must open; without it any.";
        may response_body Of(&SIZE) => "Body of the built-in HTTP server's answer to a message.";
        may link Of(&LINKS) => "The emulated link.";
        may count Whole(1, MAX_RUNS as u64) => "How many times the program runs. Default: 10.";
        may timeout Of(&TIME) => "How long a run may take until the program is killed. Default: 10min.";
        may settle Of(&TIME) => "How long the link must be quiet after a run. Default: 300ms.";
        may seed Whole(0, u64::MAX) => "Seed of the link's decisions. Default: 42.";
        may ipv6 Flag => "Whether addresses are those of IPv6. Default: false.";
        may congestion Word(&Congestion::NAMES) => "Congestion control of TCP at both ends of the link, as the machine's kernel has it. Default: cubic.";
        may framing Word(&Framing::NAMES) => "The link layer whose headers are counted beside IP bytes. Default: none.";
        may engine Word(&[Engine::Auto.name(), Engine::Live.name()]) => "A program runs live.";
    }
}

/// How long a program may run if its scenario does not say so.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A program and its link, every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramOptions {
    /// The command line, with the places of a run: `{server}`, `{device}`, `{folder}`, `{authority}`.
    pub command: String,
    /// What answers it; `None` if the program needs no server.
    pub server: Option<ProgramServer>,
    /// The port that a command as server must open; `None` accepts any.
    pub port: Option<u16>,
    /// The body of the built-in HTTP server's answer to a message.
    pub response_body: ByteSize,
    /// The link.
    pub link: LinkConfig,
    /// How many times the program runs.
    pub samples: u32,
    /// How long a run may take until the program is killed.
    pub timeout: Duration,
    /// How long the link must be quiet after a run.
    pub settle: Duration,
    /// Seed of the link's decisions.
    pub seed: u64,
    /// Whether addresses are those of IPv6.
    pub ipv6: bool,
    /// The congestion control of TCP at both ends of the link.
    pub congestion: Congestion,
    /// The link layer whose headers are counted beside the IP bytes.
    pub framing: Framing,
}

/// What a program talks to at the other end of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramServer {
    /// A command line.
    Command(String),
    /// The built-in server of a stack.
    Builtin(Stack),
}

impl ProgramOptions {
    /// The name of the program: the last part of its path.
    pub fn name(&self) -> String {
        program_of(&self.command)
    }

    /// The programs that it runs: itself, and a command as its server.
    pub fn programs(&self) -> Vec<String> {
        let server = match &self.server {
            Some(ProgramServer::Command(line)) => Some(program_of(line)),
            Some(ProgramServer::Builtin(_)) | None => None,
        };
        std::iter::once(self.name()).chain(server).collect()
    }

    /// The dimensions of its cell with their values.
    pub fn labels(&self) -> Labels {
        let own = [(PROGRAM, self.name()), ("engine", Engine::Live.name().to_owned())];
        own.into_iter().chain(labels_of_link(&self.link)).collect()
    }

    /// The key of its cell: 16 hexadecimal digits.
    pub fn key(&self) -> String {
        // Strings, numbers and flags: there is nothing that JSON cannot hold.
        let text = serde_json::to_string(&Resolved::from_options(self)).unwrap_or_default();
        format!("{:016x}", key_of(&(text + env!("CARGO_PKG_VERSION"))))
    }
}

/// The last part of the path of a command line's first word, which is quoted as for a shell.
fn program_of(command: &str) -> String {
    let words = shlex::Shlex::new(command).next();
    // A line that no shell accepts is refused before it is run.
    let word = words.unwrap_or_else(|| command.split_whitespace().next().unwrap_or_default().to_owned());
    let name = Path::new(&word).file_name().and_then(|name| name.to_str());
    name.map_or_else(|| word.clone(), str::to_owned)
}

/// Reads the scenario of a program.
///
/// # Errors
/// A key is unknown, or has no value that it can have.
pub fn read(node: &Node, folder: Option<&Path>) -> Result<ProgramOptions, ScenarioError> {
    let table = Table::new(node, "", &names(KEYS))?;
    let command = table.required(PROGRAM, text)?;
    if command.trim().is_empty() {
        return Err(table.error(PROGRAM, "a command line is expected, e.g. curl http://{server}/"));
    }
    if table.one("engine", parsed::<Engine>)? == Some(Engine::Sim) {
        let why = "a program of another maker cannot run in virtual time";
        return Err(table
            .error("engine", why)
            .with_hint("leave engine out: it runs live"));
    }
    let server = match (table.one("server", text)?, table.one("serve", parsed::<Stack>)?) {
        (Some(_), Some(_)) => {
            return Err(table.error(
                "serve",
                "server says what answers the program: leave out one of them",
            ));
        }
        (Some(line), None) => Some(ProgramServer::Command(line)),
        (None, stack) => stack.map(ProgramServer::Builtin),
    };
    let response_body = table.one("response_body", parsed::<ByteSize>)?;
    let is_http =
        matches!(&server, Some(ProgramServer::Builtin(stack)) if stack.to_string().starts_with("http"));
    if response_body.is_some() && !is_http {
        return Err(table.error(
            "response_body",
            "it is the answer of the built-in HTTP server: add serve: http1",
        ));
    }
    let port = table.one("port", port)?;
    // A built-in server listens at its stack's port, and without a server nobody would wait for one.
    if port.is_some() && !matches!(server, Some(ProgramServer::Command(_))) {
        return Err(table.error("port", "it is the port of a command as server: add server"));
    }
    let links = match table.get("link") {
        Some(node) => link::links(node, "link.", folder)?,
        None => vec![LinkConfig::symmetric(link::DEFAULT_RTT)],
    };
    let [link] = links[..] else {
        return Err(table.error(
            "link",
            format!("a program runs on one link, not on {}", links.len()),
        ));
    };
    Ok(ProgramOptions {
        command,
        server,
        port,
        response_body: response_body.unwrap_or(ByteSize::from_bytes(0)),
        link,
        samples: table.one("count", samples)?.unwrap_or(10),
        timeout: table.one("timeout", timeout)?.unwrap_or(TIMEOUT),
        settle: table.one("settle", time)?.unwrap_or(Duration::from_millis(300)),
        seed: table.one("seed", whole)?.unwrap_or(42),
        ipv6: table.one("ipv6", flag)?.unwrap_or_default(),
        congestion: table.one("congestion", parsed)?.unwrap_or_default(),
        framing: table.one("framing", parsed)?.unwrap_or_default(),
    })
}

fn port(text: &str) -> Result<u16, ValueError> {
    match whole::<u16>(text)? {
        0 => Err(ValueError::form(text, "a port from 1 to 65535")),
        port => Ok(port),
    }
}

fn timeout(text: &str) -> Result<Duration, ValueError> {
    match time(text)? {
        Duration::ZERO => Err(ValueError::form(text, "a time above 0, e.g. 5min")),
        time => Ok(time),
    }
}

/// The most runs of a program: each has namespaces and a capture of its own.
const MAX_RUNS: u32 = 10_000;

fn samples(text: &str) -> Result<u32, ValueError> {
    match whole::<u32>(text)? {
        samples @ 1..=MAX_RUNS => Ok(samples),
        _ => Err(ValueError::form(text, "a number of runs from 1 to 10000")),
    }
}

impl Serialize for ProgramOptions {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Resolved::from_options(self).serialize(to)
    }
}

/// The form in a file.
#[derive(Serialize)]
struct Resolved {
    engine: &'static str,
    program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serve: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
    link: LinkText,
    count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
    settle: String,
    seed: u64,
    ipv6: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<String>,
    framing: String,
}

impl Resolved {
    fn from_options(options: &ProgramOptions) -> Self {
        let (server, serve) = match &options.server {
            Some(ProgramServer::Command(line)) => (Some(line.clone()), None),
            Some(ProgramServer::Builtin(stack)) => (None, Some(stack.to_string())),
            None => (None, None),
        };
        let body = options.response_body;
        Self {
            engine: Engine::Live.name(),
            program: options.command.clone(),
            server,
            serve,
            port: options.port,
            response_body: (body.bytes() > 0).then(|| body.to_string()),
            link: LinkText(options.link),
            count: options.samples,
            timeout: (options.timeout != TIMEOUT).then(|| DisplayDuration(options.timeout).to_string()),
            settle: DisplayDuration(options.settle).to_string(),
            seed: options.seed,
            ipv6: options.ipv6,
            congestion: (options.congestion != Congestion::default()).then(|| options.congestion.to_string()),
            framing: options.framing.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::ScenarioInputs;
    use crate::{Edits, Scenario, Work};

    const TEXT: &str = "wirecost: 1\nname: a post\nprogram: /usr/bin/curl -d a http://{server}/\nserve: http1+tls1.2\n\
        response_body: 50B\nlink: {rtt: 66ms}\ncongestion: reno\nframing: ethernet\ntimeout: 30s\ncount: 3\n";

    fn refusal(text: &str, set: &[String]) -> String {
        let edits = Edits { set, vary: &[] };
        let error = Scenario::read(text, edits, ScenarioInputs::NONE).expect_err(text);
        error.in_file("a.yaml").to_string()
    }

    #[test]
    fn the_scenario_of_a_program_reads_back_as_the_same() {
        let scenario = Scenario::read(TEXT, Edits::default(), ScenarioInputs::NONE).expect("a scenario");
        let Work::Program(options) = &scenario.work else {
            panic!("another kind: {scenario:?}");
        };
        assert_eq!((options.name().as_str(), options.samples), ("curl", 3));
        assert_eq!(options.labels()[PROGRAM], "curl");
        let yaml = scenario.to_yaml();
        let again = Scenario::read(&yaml, Edits::default(), ScenarioInputs::NONE);
        assert_eq!(again.as_ref(), Ok(&scenario), "{yaml}");
    }

    #[test]
    fn a_program_has_the_name_that_its_shell_would_run() {
        for (command, name) in [
            ("/usr/bin/curl -s http://{server}/", "curl"),
            ("'/opt/my tools/a client' --port 1", "a client"),
            ("\"curl\" -s", "curl"),
            ("/opt/my\\ tools/send", "send"),
            ("'curl", "'curl"),
        ] {
            assert_eq!(program_of(command), name, "{command}");
        }
    }

    #[test]
    fn what_a_program_cannot_have_is_refused_at_its_line() {
        for (more, expected) in [
            (
                "engine: sim",
                "a.yaml:11: engine: a program of another maker cannot run in virtual time",
            ),
            ("server: caddy", "leave out one of them"),
            ("port: 80", "add server"),
            ("stack: tcp", "unknown key \"stack\""),
            ("timeout: 0s", "a time above 0"),
            ("count: 3.5", "count"),
            ("thresholds: {}", "unknown key \"thresholds\""),
        ] {
            let text = match more.starts_with("timeout") {
                true => TEXT.replace("timeout: 30s", more),
                false => format!("{TEXT}{more}\n").replace("count: 3\ncount", "count"),
            };
            let said = refusal(&text, &[]);
            assert!(said.contains(expected), "{more}: {said}");
        }
        let set = ["engine=sim".to_owned()];
        assert!(
            refusal(TEXT, &set).contains("--set engine=sim"),
            "{}",
            refusal(TEXT, &set)
        );
        assert!(refusal("wirecost: 1\nprogram: ''\n", &[]).contains("a command line is expected"));
        let nothing_answers = "wirecost: 1\nprogram: curl\nresponse_body: 5B\n";
        assert!(refusal(nothing_answers, &[]).contains("add serve: http1"));
    }
}
