//! The options of a program's run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use wirecost_link::{LinkConfig, Medium};
use wirecost_proto::units::DisplayDuration;
use wirecost_proto::{Congestion, Framing};
use wirecost_scenario::options::compare::below_ipv6;
use wirecost_scenario::options::refusal::{Checked, Refusal};
use wirecost_stack::Stack;
use wirecost_wire::ipv6;

/// The most bytes that a program may write into the file of its output.
pub const MOST_OUTPUT: u64 = 10_000_000;
/// The longest settle time.
const LONGEST_SETTLE: Duration = Duration::from_secs(3_600);

/// A program and its link, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The link.
    pub link: LinkConfig,
    /// Whether `{server}` and `{device}` are IPv6 addresses.
    pub ipv6: bool,
    /// How packets leave the namespaces; `None` prefers TUN.
    pub medium: Option<Medium>,
    /// Seed of the link's decisions.
    pub seed: u64,
    /// How long the link must be quiet before it ends.
    pub settle: Duration,
    /// The server; `None` if the program needs none.
    pub server: Option<ServerChoice>,
    /// The port that the server must open; `None` accepts any.
    pub port: Option<u16>,
    /// How long the server may take to listen.
    pub patience: Duration,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Whether the capture holds the secrets of its connections.
    pub keys: bool,
    /// A key log that one of the programs writes.
    pub key_log: Option<PathBuf>,
    /// The congestion control of TCP at both ends.
    pub congestion: Congestion,
    /// The link layer whose headers are counted beside the IP bytes.
    pub framing: Framing,
    /// A file for what the program says, which then has no input; `None` leaves it those of this process. A program that says more than
    /// [`MOST_OUTPUT`] is killed.
    pub output: Option<PathBuf>,
    /// How long the program may run until it is killed; `None` sets no end.
    pub time_limit: Option<Duration>,
    /// The body of the built-in HTTP server's answer to a message, in bytes.
    pub response_body: usize,
}

/// The server of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerChoice {
    /// A command line, split like in a shell.
    Command(String),
    /// The built-in server of a stack.
    Builtin(Stack),
}

impl Options {
    /// Checks the options before anything is built.
    ///
    /// # Errors
    /// The first invalid option.
    pub fn validate(&self) -> Checked {
        self.link
            .validate()
            .map_err(|error| Refusal::new("link", error.to_string()))?;
        let mtu = self.mtu();
        if self.ipv6 && mtu < ipv6::MIN_MTU {
            return Err(Refusal::new("ipv6", below_ipv6(mtu)));
        }
        if self.settle > LONGEST_SETTLE {
            let got = DisplayDuration(self.settle);
            return Err(Refusal::new("settle", format!("must be at most 1 h, got {got}")));
        }
        Ok(())
    }

    /// The MTU of both sides' interfaces, in bytes of an IP packet.
    pub fn mtu(&self) -> u16 {
        self.link.up.mtu.min(self.link.down.mtu)
    }
}
