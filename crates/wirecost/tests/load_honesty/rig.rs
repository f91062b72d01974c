//! A target in a separate process, which the test may stop and kill, and loads of it.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use wirecost_results::load::{Load, LoadSummary};
use wirecost_results::summary::Outcomes;

use crate::common::{WIRECOST, eventually, signal, wirecost};

/// A counting target.
pub(crate) struct Target {
    process: Child,
    orders: ChildStdin,
    words: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

impl Target {
    /// A target for a stack on any port.
    pub(crate) fn start(stack: &str) -> Self {
        Self::at(stack, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// A target for a stack at an address.
    pub(crate) fn at(stack: &str, address: SocketAddr) -> Self {
        let mut command = Command::new(WIRECOST);
        command
            .arg("load-target")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().expect("the target starts");
        let orders = process.stdin.take().expect("its input");
        let words = BufReader::new(process.stdout.take().expect("its output"));
        let mut target = Self {
            process,
            orders,
            words,
            address,
        };
        let options = json!({
            "stack": stack, "address": address, "connections": 100, "cpu": null, "stamped": true,
            "accept_early_data": false,
        });
        let shard = json!({"options": options, "shares_port": false, "credentials": null});
        let ready = target.ask(&shard.to_string());
        assert_eq!(ready["kind"], "ready", "{ready}");
        let text = ready["address"].as_str().expect("an address");
        target.address = text.parse().expect("an address");
        target
    }

    fn ask(&mut self, order: &str) -> Value {
        writeln!(self.orders, "{order}").expect("an order");
        let mut line = String::new();
        self.words.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Messages that have arrived.
    pub(crate) fn messages(&mut self) -> u64 {
        self.ask("usage")["messages"].as_u64().expect("a count")
    }

    /// The URL of this target.
    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.process.id(), name);
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A running load, in its own folder.
pub(crate) struct Loading {
    process: Child,
    home: TempDir,
}

/// The results of a load.
pub(crate) struct Loaded {
    pub(crate) code: Option<i32>,
    pub(crate) summary: LoadSummary,
    pub(crate) stderr: String,
}

impl Loading {
    /// Starts `wirecost load` with arguments that are separated by blanks.
    pub(crate) fn start(arguments: &str) -> Self {
        let home = TempDir::new().expect("a folder");
        let mut command = wirecost(home.path());
        command
            .args(["load", "--json", "summary.json", "--quiet"])
            .args(arguments.split(' '));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let process = command.spawn().expect("the load starts");
        Self { process, home }
    }

    /// Waits until it has its results folder: it handles signals before that.
    pub(crate) fn begun(&self) {
        eventually("the load has begun", || self.home.path().join("runs").exists());
    }

    pub(crate) fn interrupt(&self) {
        signal(self.process.id(), "INT");
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> Loaded {
        let said = crate::common::ended(self.process);
        let path = self.home.path().join("summary.json");
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), said.stderr));
        Loaded {
            code: said.code,
            summary: serde_json::from_str(&text).expect("a summary"),
            stderr: said.stderr,
        }
    }
}

/// Runs `wirecost load` to its end.
pub(crate) fn load(arguments: &str) -> Loaded {
    Loading::start(arguments).end()
}

impl Loaded {
    /// The one load.
    pub(crate) fn only(&self) -> &Load {
        let [load] = self.summary.loads.as_slice() else {
            panic!("one load, not {}\n{}", self.summary.loads.len(), self.stderr);
        };
        load
    }

    /// The outcomes of all phases, which sum to the offered messages.
    pub(crate) fn outcomes(&self) -> Outcomes {
        let mut all = Outcomes::default();
        for phase in self.only().phases.iter() {
            all += phase.outcomes;
        }
        assert_eq!(ends(&all), all.offered, "{all:?}");
        all
    }

    /// Messages that left.
    pub(crate) fn sent(&self) -> u64 {
        self.only().phases.iter().map(|phase| phase.sent).sum()
    }
}

/// The parts of the outcomes together.
pub(crate) const fn ends(outcomes: &Outcomes) -> u64 {
    outcomes.acknowledged
        + outcomes.refused
        + outcomes.failed
        + outcomes.late
        + outcomes.unknown
        + outcomes.delivered
        + outcomes.lost
}
