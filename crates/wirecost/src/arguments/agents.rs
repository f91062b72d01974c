//! The arguments of load agents: of the coordinator, and of `wirecost agent`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use wirecost_proto::units::parse_duration;

/// The agents of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentsAsked {
    /// So many, which somebody else starts.
    Count(u32),
    /// One on each of these hosts, started over SSH.
    Ssh(Vec<String>),
}

/// A text that names no agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentsAskedError {
    /// It is neither a number nor hosts.
    #[error("expected a number from 1 to 1000, or ssh:HOST,HOST")]
    Neither,
    /// A host is named twice.
    #[error("{0} is named twice, and an agent has its host's name")]
    Twice(String),
}

/// The most agents of a load.
const MOST: u32 = 1_000;

impl FromStr for AgentsAsked {
    type Err = AgentsAskedError;

    fn from_str(text: &str) -> Result<Self, AgentsAskedError> {
        let Some(hosts) = text.strip_prefix("ssh:") else {
            let count = text
                .parse::<u32>()
                .ok()
                .filter(|count| (1..=MOST).contains(count));
            return count.map(Self::Count).ok_or(AgentsAskedError::Neither);
        };
        let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        // A host that begins with a hyphen would be an option of ssh.
        if hosts
            .iter()
            .any(|host| host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace))
        {
            return Err(AgentsAskedError::Neither);
        }
        // Two agents on one machine share its CPUs: each would count the other's load as that of another program.
        match (1..hosts.len()).find(|at| hosts[..*at].contains(&hosts[*at])) {
            Some(double) => Err(AgentsAskedError::Twice(hosts[double].clone())),
            None => Ok(Self::Ssh(hosts)),
        }
    }
}

/// The agents of a load, and how they find its coordinator.
#[derive(Clone, Debug, Args)]
pub struct AgentsArguments {
    /// Let N agents on other machines generate the load (wirecost agent); ssh:HOST,HOST starts one on each of these hosts
    #[arg(long, value_name = "N|ssh:HOST,...", requires = "listen")]
    pub agents: Option<AgentsAsked>,

    /// Address on which agents are awaited; a port alone means loopback
    #[arg(long, value_name = "[ADDRESS:]PORT", requires = "agents", value_parser = crate::http::address)]
    pub listen: Option<SocketAddr>,

    /// File for the agents, with the secret of this run; it is removed when all have come
    #[arg(
        long,
        value_name = "FILE",
        default_value = "join.token",
        requires = "agents",
        hide_short_help = true
    )]
    pub join_file: PathBuf,

    /// Address that agents dial, if it is not that of --listen
    #[arg(long, value_name = "HOST:PORT", requires = "agents", hide_short_help = true)]
    pub join_address: Option<String>,

    /// How long to wait for agents
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, allow_hyphen_values = true, requires = "agents", hide_short_help = true)]
    pub agents_wait: Duration,

    /// The most by which the clock of an agent may be uncertain
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = parse_duration, allow_hyphen_values = true, requires = "agents", hide_short_help = true)]
    pub clock_error_max: Duration,
}

/// `wirecost agent`.
#[derive(Debug, Args)]
#[command(
    after_help = "wirecost load URL --agents 2 --listen ADDRESS:PORT writes the join file. Copy it to each machine; it is good for \
    one run, and whoever has it can take part in that run.\n\n\
    Exit codes: 0 the coordinator has no more work, 1 output could not be written, 2 usage, 10 a limit of this machine, 11 no \
    answer from the coordinator, 12 refused by the coordinator, 130 interrupted."
)]
pub struct AgentArguments {
    /// Join file of the run; - reads it from stdin
    #[arg(long, value_name = "FILE")]
    pub join: PathBuf,

    /// Name of this agent in the results; two agents of a run have different names
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_a_number_or_hosts() {
        let asked = |text: &str| text.parse::<AgentsAsked>();
        assert_eq!(asked("2"), Ok(AgentsAsked::Count(2)));
        let hosts = ["a", "root@b"].map(str::to_owned).to_vec();
        assert_eq!(asked("ssh:a,root@b"), Ok(AgentsAsked::Ssh(hosts)));
        for wrong in [
            "0",
            "1001",
            "",
            "-1",
            "ssh:",
            "ssh:a,",
            "ssh:-oProxyCommand=x",
            "ssh:a b",
        ] {
            assert_eq!(asked(wrong), Err(AgentsAskedError::Neither), "{wrong}");
        }
        assert_eq!(asked("ssh:a,b,a"), Err(AgentsAskedError::Twice("a".into())));
    }
}
