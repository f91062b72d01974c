//! Real servers that wirecost starts itself.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_live::process::{Launch, Readiness, ServerProcess, libcoap, mosquitto};
use wirecost_live::{EnvironmentError, Side};

use wirecost_live::hosts::server_address;

use crate::compare::Target;
use crate::results::RunFolder;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may take to end by itself.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// Why a server could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TargetError(#[from] pub EnvironmentError);

/// A foreign server that answers.
#[derive(Debug)]
pub struct Foreign {
    process: ServerProcess,
    version: String,
    /// CPU time that it had used when it was ready.
    cpu_when_ready: Option<Duration>,
}

/// What a foreign server has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignReport {
    /// Its program and version.
    pub version: String,
    /// CPU time of the whole server from ready to stopped; `None` where it had died.
    pub cpu: Option<Duration>,
    /// Its resident memory at the end; `None` where it had died.
    pub resident_bytes: Option<u64>,
}

impl Foreign {
    /// Starts the server of a target and waits until it answers; `None` for the built-in ones, which need no
    /// process. The calling thread must outlive the server.
    ///
    /// # Errors
    /// Its program is missing, it dies, or it does not answer.
    pub fn start(
        target: Target,
        side: &Side,
        folder: &RunFolder,
        ipv6: bool,
    ) -> Result<Option<Self>, TargetError> {
        let address = |port| SocketAddr::new(server_address(ipv6), port);
        let (launch, probe, address, version): (Launch, fn(SocketAddr) -> Readiness, _, _) = match target {
            Target::Builtin => return Ok(None),
            Target::Mosquitto => {
                let address = address(1883);
                let launch = mosquitto::launch(folder.path(), address)?;
                (launch, mosquitto::probe, address, mosquitto::version())
            }
            Target::Libcoap => {
                let address = address(5683);
                (
                    libcoap::launch(folder.path(), address)?,
                    libcoap::probe,
                    address,
                    libcoap::version(),
                )
            }
        };
        let program = launch.program.display().to_string();
        let mut process = ServerProcess::start(&launch, side)?;
        process.wait_until_ready(PATIENCE, || probe(address))?;
        let version = format!(
            "{program} {}",
            version.unwrap_or_else(|| "of unknown version".into())
        );
        let cpu_when_ready = process.usage().ok().map(|usage| usage.cpu_time);
        Ok(Some(Self {
            process,
            version,
            cpu_when_ready,
        }))
    }

    /// How the server died, if it did.
    pub fn death(&mut self) -> Option<String> {
        let status = self.process.exit_status()?;
        Some(format!("{} ended during the run with {status}", self.version))
    }

    /// Stops the server; returns what it used, which a dead server can no longer tell.
    pub fn stop(self) -> ForeignReport {
        let usage = self.process.usage().ok();
        // A server that ignores SIGTERM is killed; either way it is gone.
        drop(self.process.stop(STOP_PATIENCE));
        let used = usage.zip(self.cpu_when_ready);
        ForeignReport {
            version: self.version,
            cpu: used.map(|(usage, before)| usage.cpu_time.saturating_sub(before)),
            resident_bytes: usage.map(|usage| usage.resident_bytes),
        }
    }
}
