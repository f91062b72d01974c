//! A coordinator and its agents.

use std::fs;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use boon::{Compiler, Schemas};
use serde_json::Value;
use tempfile::TempDir;
use wirecost_results::agents::{AgentFigures, LoadAgents};
use wirecost_results::load::{Load, LoadSummary};
use wirecost_results::summary::Outcomes;

use crate::common::{self, Said, WIRECOST, eventually, signal, wirecost};
use crate::honesty::ends;

const SCHEMA: &str = include_str!("../../../../schema/load-summary.schema.json");

/// A coordinator that waits for agents, or runs a load with them.
pub(crate) struct Coordinator {
    process: Child,
    home: TempDir,
}

/// The end of a load with agents.
pub(crate) struct Ended {
    pub(crate) said: Said,
    pub(crate) home: TempDir,
}

impl Coordinator {
    /// Starts `wirecost load` with arguments that are separated by blanks, which listens on loopback.
    pub(crate) fn start(arguments: &str) -> Self {
        Self::start_by(|command| {
            command
                .args(["--listen", "127.0.0.1:0"])
                .args(arguments.split_whitespace());
        })
    }

    pub(crate) fn start_by(with: impl FnOnce(&mut Command)) -> Self {
        let home = common::open_folder();
        let mut command = wirecost(home.path());
        command.args(["load", "--json", "summary.json", "--out", "run"]);
        with(&mut command);
        Self::from_command(command, home)
    }

    pub(crate) fn from_command(mut command: Command, home: TempDir) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().expect("the load starts");
        Self { process, home }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn join_file(&self) -> PathBuf {
        self.home.path().join("join.token")
    }

    /// Waits until it has written the join file. Returns its text.
    pub(crate) fn waits(&self) -> String {
        let path = self.join_file();
        eventually("the join file is there", || {
            fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))
        });
        fs::read_to_string(&path).expect("the join file")
    }

    /// Starts an agent with further arguments.
    pub(crate) fn agent(&self, arguments: &[&str]) -> Agent {
        self.waits();
        Agent::start(&self.join_file(), arguments)
    }

    /// Waits until the load has begun.
    pub(crate) fn begun(&self) {
        eventually("the load has begun", || self.home.path().join("run").exists());
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.process.id(), name);
    }

    pub(crate) fn end(self) -> Ended {
        Ended {
            said: common::ended(self.process),
            home: self.home,
        }
    }
}

/// An agent.
pub(crate) struct Agent {
    process: Option<Child>,
    pub(crate) pid: u32,
}

impl Agent {
    pub(crate) fn start(join: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(WIRECOST);
        command.args(["agent", "--join"]).arg(join).args(arguments);
        Self::from_command(command)
    }

    pub(crate) fn from_command(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let process = command.spawn().expect("the agent starts");
        Self {
            pid: process.id(),
            process: Some(process),
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid, name);
    }

    pub(crate) fn end(mut self) -> Said {
        common::ended(self.process.take().expect("it runs"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // A test that failed has not waited for it.
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Ended {
    pub(crate) fn summary(&self) -> LoadSummary {
        let path = self.home.path().join("run/summary.json");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}\n{}", self.said.stderr));
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        compiler.add_resource("load.json", schema).expect("a resource");
        let index = compiler.compile("load.json", &mut schemas).expect("a schema");
        let accepted = schemas.validate(&value, index);
        accepted.unwrap_or_else(|error| panic!("{error:#}\n{text}"));
        serde_json::from_value(value).expect("a summary")
    }

    /// The one load.
    pub(crate) fn load(&self) -> Load {
        let summary = self.summary();
        let [load] = summary.loads.as_slice() else {
            panic!("one load, not {}\n{}", summary.loads.len(), self.said.stderr);
        };
        load.clone()
    }

    /// The outcomes of all phases, which sum to the offered messages.
    pub(crate) fn outcomes(&self) -> Outcomes {
        let mut all = Outcomes::default();
        for phase in &self.load().phases {
            all += phase.outcomes;
        }
        assert_eq!(ends(&all), all.offered, "{all:?}");
        all
    }

    pub(crate) fn agents(&self) -> LoadAgents {
        *self
            .load()
            .agents
            .unwrap_or_else(|| panic!("agents\n{}", self.said.stderr))
    }

    /// The agent that was lost.
    pub(crate) fn lost(&self) -> AgentFigures {
        let agents = self.agents();
        let mut lost = agents.each.into_iter().filter(|agent| agent.lost.is_some());
        let one = lost
            .next()
            .unwrap_or_else(|| panic!("a lost agent\n{}", self.said.stderr));
        assert!(lost.next().is_none(), "one alone");
        one
    }

    /// A busy machine makes the generator late, which belongs into no test: the counts hold all the same.
    pub(crate) fn ended_well(&self) {
        assert!(
            matches!(self.said.code, Some(0 | 14)),
            "{:?}\n{}",
            self.said.code,
            self.said.stderr
        );
        let load = self.load();
        let of_phases = load.phases.iter().flat_map(|phase| &phase.warnings);
        let mut spoiling = load
            .warnings
            .iter()
            .chain(of_phases)
            .filter(|warning| warning.invalidates);
        let is_lateness = |name: &str| matches!(name, "schedule-lag" | "generator-saturated");
        assert!(
            spoiling.all(|warning| is_lateness(warning.kind.name())),
            "{}",
            self.said.stderr
        );
    }
}

/// Passes connections on to the coordinator, each direction after its delay, and keeps what it has passed on.
pub(crate) struct Between {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<u8>>>,
    _accepting: JoinHandle<()>,
}

impl Between {
    /// A way from agents up to the coordinator at `port`, and down to them.
    pub(crate) fn start(listener: TcpListener, port: u16, [up, down]: [Duration; 2]) -> Self {
        let address = listener.local_addr().expect("an address");
        let seen = Arc::<Mutex<Vec<u8>>>::default();
        let kept = Arc::clone(&seen);
        let accepting = thread::spawn(move || {
            for agent in listener.incoming().flatten() {
                let coordinator = TcpStream::connect(("127.0.0.1", port)).expect("a coordinator");
                for stream in [&agent, &coordinator] {
                    stream.set_nodelay(true).expect("an option");
                }
                let both = |stream: &TcpStream| stream.try_clone().expect("a socket");
                pass(both(&agent), both(&coordinator), up, Arc::clone(&kept));
                pass(coordinator, agent, down, Arc::clone(&kept));
            }
        });
        Self {
            address,
            seen,
            _accepting: accepting,
        }
    }

    /// All bytes so far.
    pub(crate) fn seen(&self) -> Vec<u8> {
        self.seen.lock().expect("bytes").clone()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration, seen: Arc<Mutex<Vec<u8>>>) {
    use std::io::{Read as _, Write as _};
    let (sender, pieces) = std::sync::mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (due, piece) in pieces {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    thread::spawn(move || {
        let mut piece = vec![0; 65_536];
        while let Ok(read @ 1..) = from.read(&mut piece) {
            seen.lock().expect("bytes").extend(&piece[..read]);
            if sender
                .send((Instant::now() + delay, piece[..read].to_vec()))
                .is_err()
            {
                return;
            }
        }
    });
}
