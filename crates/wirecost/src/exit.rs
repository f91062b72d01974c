//! Exit codes, and failures as a sentence with a hint.

use std::fmt::Display;
use std::io::ErrorKind;

use wirecost_lab::compare::live::RunError;
use wirecost_live::EnvironmentError;
use wirecost_live::emulation::EmulationError;
use wirecost_live::foreign::TargetError;
use wirecost_results::ResultsError;
use wirecost_scenario::ScenarioError;

/// Success.
pub const OK: u8 = 0;
/// A defect of wirecost, or output that could not be written.
pub const INTERNAL: u8 = 1;
/// The command line or the scenario is wrong.
pub const USAGE: u8 = 2;
/// A privilege, limit or port is unavailable.
pub const PRIVILEGE: u8 = 10;
/// The target is unreachable.
pub const UNREACHABLE: u8 = 11;
/// Security, authentication or the protocol was refused.
pub const REFUSED: u8 = 12;
/// Some cells failed; the results are written.
pub const CELLS_FAILED: u8 = 13;
/// The figures of some cells are invalid.
pub const INVALID: u8 = 14;
/// Figures changed, and `diff --gate` allows no change.
pub const CHANGED: u8 = 98;
/// A threshold fails.
pub const THRESHOLD: u8 = 99;
/// Interrupted. The results so far are written.
pub const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    hint: Option<String>,
}

impl Failure {
    /// A failure with an exit code.
    pub fn new(code: u8, message: impl Display) -> Self {
        Self {
            code,
            message: message.to_string(),
            hint: None,
        }
    }

    /// A defect of wirecost, or output that cannot be written.
    pub fn internal(error: impl Display) -> Self {
        Self::new(INTERNAL, error)
    }

    /// The same failure with a hint about the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An invalid command line.
    pub fn usage(message: impl Display) -> Self {
        Self::new(USAGE, message)
    }

    /// An address that cannot be listened on; `flag` names another one.
    pub fn cannot_listen(error: impl Display, kind: ErrorKind, flag: &str) -> Self {
        let hint = match kind {
            ErrorKind::AddrInUse => format!("another program listens there: choose another port with {flag}"),
            ErrorKind::PermissionDenied => {
                format!("ports below 1024 are root's: choose another one with {flag}")
            }
            _ => format!("choose an address of this machine with {flag}"),
        };
        Self::new(PRIVILEGE, format_args!("cannot listen on {error}")).with_hint(hint)
    }

    /// The hint, if there is one.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self {
            code: USAGE,
            hint: error.hint().map(str::to_owned),
            message: error.to_string(),
        }
    }
}

impl From<EnvironmentError> for Failure {
    fn from(error: EnvironmentError) -> Self {
        let code = match &error {
            EnvironmentError::ServerNotFound { .. }
            | EnvironmentError::ServerDied { .. }
            | EnvironmentError::ServerNotReady { .. } => UNREACHABLE,
            _ => PRIVILEGE,
        };
        Self {
            code,
            hint: error.hint(),
            message: error.to_string(),
        }
    }
}

impl From<ResultsError> for Failure {
    fn from(error: ResultsError) -> Self {
        let code = match &error {
            ResultsError::Io { action: "create", .. }
            | ResultsError::Occupied { .. }
            | ResultsError::Busy { .. } => USAGE,
            ResultsError::Io { action: "read", .. } | ResultsError::Format { .. } => USAGE,
            // A disk that is full in the middle of a run is no mistake in the command line.
            ResultsError::Io { .. } => INTERNAL,
        };
        let hint = match &error {
            ResultsError::Io {
                action: "create" | "write",
                source,
                ..
            } => Some(match source.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    "choose a folder that you may write to with --out"
                }
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    "make room on its disk, or choose a folder on another one with --out"
                }
                _ => "choose a folder that can be written to with --out",
            }),
            ResultsError::Io {
                action: "read",
                path,
                source,
            } if source.kind() == ErrorKind::NotFound && path.ends_with("summary.json") => Some(
                "give a results folder: wirecost compare, load, run and nbiot write one, by default in runs/",
            ),
            ResultsError::Occupied { .. } => Some("choose a new folder with --out, or remove this one"),
            ResultsError::Busy { .. } => Some("wait until it has ended, or choose a new folder with --out"),
            _ => None,
        };
        Self {
            code,
            hint: hint.map(str::to_owned),
            message: error.to_string(),
        }
    }
}

impl From<EmulationError> for Failure {
    fn from(error: EmulationError) -> Self {
        match error {
            EmulationError::Environment(error) => error.into(),
            EmulationError::Io { .. } | EmulationError::Panicked(_) => Self::new(INTERNAL, error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Emulation(error) => error.into(),
            RunError::Target(TargetError::Environment(error)) => error.into(),
            RunError::Target(error) => Self::new(INTERNAL, error),
            RunError::Results(error) => error.into(),
            RunError::Unreachable { .. } => Self::new(UNREACHABLE, &error)
                .with_hint("check address and port, or start the server; wirecost probe URL shows every step"),
            RunError::Authorities(_) => {
                Self::usage(error).with_hint("--cacert takes a file of certificates in PEM")
            }
            RunError::Unseen(_) => Self::new(PRIVILEGE, &error).with_hint(
                "sudo, or CAP_NET_RAW, lets wirecost see them; with --rtt a relay behind an emulated link needs neither",
            ),
            RunError::Client(error) => Self::usage(error),
            RunError::OpenFiles { needed, samples, .. } => Self::new(PRIVILEGE, &error).with_hint(format!(
                "raise it: ulimit -n {needed}; or take -n {samples} or shorter lists"
            )),
            RunError::Credentials(_) | RunError::Simulation(_) => Self::new(INTERNAL, error),
        }
    }
}
