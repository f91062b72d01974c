//! Errors of running a program over the link.

use std::time::Duration;
use std::{fmt, io};

use wirecost_live::EnvironmentError;
use wirecost_live::emulation::EmulationError;
use wirecost_live::process::listening::Listener;
use wirecost_results::ResultsError;

use super::words::UnclosedQuote;

/// Why the run of a program failed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no emulated link, or its recording failed.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// The results folder refused.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Certificates and keys cannot be made.
    #[error("cannot make certificates and keys: {0}")]
    Credentials(#[from] wirecost_security::certificate::Error),
    /// The server's command line cannot be split into words.
    #[error("--server {0}")]
    Words(#[from] UnclosedQuote),
    /// The server's command line is empty.
    #[error("--server names no program")]
    NoServer,
    /// The server's program is not installed.
    #[error("cannot find the server {program} on PATH, /usr/sbin or /usr/local/sbin")]
    ServerNotFound {
        /// The program.
        program: String,
    },
    /// The server ended before it listened.
    #[error(
        "the server {program} ended with {status} before it listened{}",
        last_words(log_tail)
    )]
    ServerEnded {
        /// The program's name.
        program: String,
        /// Exit code or signal.
        status: String,
        /// Its last output lines.
        log_tail: String,
    },
    /// The server runs but does not listen.
    #[error("the server does not listen{} after {} ms{}{}", at(port), waited.as_millis(), elsewhere(found), last_words(log_tail))]
    NotListening {
        /// The port that wirecost waited for.
        port: Option<u16>,
        /// How long wirecost waited.
        waited: Duration,
        /// Its other listening sockets.
        found: Vec<Listener>,
        /// Its last output lines.
        log_tail: String,
    },
    /// The built-in server does not start.
    #[error("the built-in server does not start: {0}")]
    Builtin(String),
    /// The program cannot be run.
    #[error("cannot run {program}: {source}")]
    Program {
        /// The program as the user named it.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A signal asked this process to end before the program had started.
    #[error("ended by signal {0} before the program had started")]
    Interrupted(i32),
    /// A signal asked this process to end while the program ran, whose run is then none.
    #[error("ended by signal {0} while the program ran; the same command with --resume makes its runs again")]
    InterruptedProgram(i32),
}

impl From<EnvironmentError> for LinkError {
    fn from(error: EnvironmentError) -> Self {
        Self::Emulation(error.into())
    }
}

fn at(port: &Option<u16>) -> String {
    port.map_or(String::new(), |port| format!(" at port {port}"))
}

fn elsewhere(found: &[Listener]) -> String {
    if found.is_empty() {
        return ", nor anywhere else".to_owned();
    }
    let found: Vec<String> = found.iter().map(Listener::to_string).collect();
    format!(", only at {}", found.join(", "))
}

fn last_words(log_tail: &str) -> String {
    if log_tail.is_empty() {
        return String::new();
    }
    format!(", its last words: {log_tail}")
}

/// Adds the failed action to a system call's error.
pub(crate) fn doing(what: &'static str) -> impl Fn(io::Error) -> LinkError {
    move |source| LinkError::Emulation(EmulationError::Io { what, source })
}

/// A server that ended before the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDeath {
    /// Exit code or signal.
    pub status: String,
    /// Its last output lines.
    pub log_tail: String,
}

impl fmt::Display for ServerDeath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, last_words) = (&self.status, last_words(&self.log_tail));
        write!(
            f,
            "the server ended with {status} while the program ran{last_words}"
        )
    }
}
