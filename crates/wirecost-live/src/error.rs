//! Refusals of the machine: which step, on which object, with which error number, and the remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use wirecost_proto::Congestion;

/// An error number of the kernel, printed by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl From<&io::Error> for Errno {
    fn from(error: &io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(0))
    }
}

impl Errno {
    const NAMES: [(i32, &'static str); 24] = [
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::EINTR, "EINTR"),
        (libc::EIO, "EIO"),
        (libc::ENXIO, "ENXIO"),
        (libc::EBADF, "EBADF"),
        (libc::EAGAIN, "EAGAIN"),
        (libc::ENOMEM, "ENOMEM"),
        (libc::EACCES, "EACCES"),
        (libc::EBUSY, "EBUSY"),
        (libc::EEXIST, "EEXIST"),
        (libc::ENODEV, "ENODEV"),
        (libc::EINVAL, "EINVAL"),
        (libc::ENFILE, "ENFILE"),
        (libc::EMFILE, "EMFILE"),
        (libc::ENOSPC, "ENOSPC"),
        (libc::EROFS, "EROFS"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
        (libc::EADDRINUSE, "EADDRINUSE"),
        (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
        (libc::ENOBUFS, "ENOBUFS"),
        (libc::EUSERS, "EUSERS"),
    ];

    /// Whether the kernel refused for lack of a privilege.
    pub fn is_privilege(self) -> bool {
        matches!(self.0, libc::EPERM | libc::EACCES)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

/// Why the machine cannot provide a live run's environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A namespace was refused.
    #[error(
        "cannot create a {kind} namespace ({call}: {errno}{})",
        restriction_note(restriction)
    )]
    Namespace {
        /// `network`, `user` or `process`.
        kind: &'static str,
        /// The system call that refused.
        call: &'static str,
        /// Its error number.
        errno: Errno,
        /// The setting of this machine that explains it, as `name=value`.
        restriction: Option<String>,
    },
    /// A user namespace was requested after threads had started.
    #[error("cannot create a user namespace with {threads} threads running, expected 1")]
    ThreadsRunning {
        /// The number of threads of this process.
        threads: usize,
    },
    /// A system call failed.
    #[error("cannot {action} ({call}: {errno})")]
    System {
        /// The action and its object: `set the MTU of wirecost0`.
        action: String,
        /// The system call, or the message to the kernel.
        call: &'static str,
        /// Its error number.
        errno: Errno,
    },
    /// The kernel lacks a congestion control.
    #[error("the kernel of this machine has no TCP congestion control {asked}: it has {available}")]
    NoCongestionControl {
        /// The one that was asked for.
        asked: Congestion,
        /// Those that it has, with blanks between them.
        available: String,
    },
    /// The program of a real server is not installed.
    #[error("cannot find {program} {place}")]
    ServerNotFound {
        /// The program's name, or that of the part of it.
        program: &'static str,
        /// Where it was looked for: `in /usr/lib/postgresql`.
        place: &'static str,
        /// The Debian package that provides it.
        package: &'static str,
    },
    /// The program of a real server cannot be run by another user than root.
    #[error("cannot start {}: only root may run it, and a server that wirecost starts is not root", program.display())]
    ServerOnlyForRoot {
        /// The program.
        program: PathBuf,
    },
    /// A server could only be root of the machine.
    #[error(
        "cannot start a server: it would be root of this machine, because wirecost runs as root and may not become another user here"
    )]
    OnlyRoot,
    /// The system has no random bytes.
    #[error("the system has no random bytes")]
    NoRandomness,
    /// A real server ended before it answered.
    #[error("{program} ended with {status} before it was ready{}", tail_note(log_tail))]
    ServerDied {
        /// The program's name.
        program: String,
        /// Exit code or signal.
        status: String,
        /// Its last output lines.
        log_tail: String,
    },
    /// A real server runs but did not answer in time.
    #[error("{program} was not ready after {} ms{}", waited.as_millis(), tail_note(log_tail))]
    ServerNotReady {
        /// The program's name.
        program: String,
        /// How long wirecost waited.
        waited: Duration,
        /// Its last output lines.
        log_tail: String,
    },
}

fn restriction_note(restriction: &Option<String>) -> String {
    restriction
        .as_ref()
        .map(|setting| format!("; {setting}"))
        .unwrap_or_default()
}

fn tail_note(tail: &str) -> String {
    if tail.is_empty() {
        String::new()
    } else {
        format!(", its last words: {tail}")
    }
}

impl EnvironmentError {
    /// Whether more privileges would help. The command line then exits with 10.
    pub fn is_privilege(&self) -> bool {
        match self {
            Self::Namespace { .. } | Self::OnlyRoot => true,
            Self::System { errno, .. } => errno.is_privilege(),
            _ => false,
        }
    }

    /// The remedy, as one line for the reader; `None` if there is none.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Namespace { restriction: Some(setting), .. } => Some(namespace_hint(setting)),
            Self::Namespace { errno: Errno(libc::ENOSPC | libc::EUSERS), .. } => {
                Some("raise user.max_user_namespaces and user.max_net_namespaces: sudo sysctl -w user.max_user_namespaces=15000".into())
            }
            Self::Namespace { .. } => Some("run as root: sudo wirecost ..., or use --engine sim".into()),
            Self::ThreadsRunning { .. } => Some("create the topology before any thread starts".into()),
            Self::System { errno, .. } if errno.is_privilege() => {
                Some("run as root: sudo wirecost ..., or see what is missing: wirecost doctor".into())
            }
            Self::System { errno: Errno(libc::EMFILE), .. } => Some("raise the open-file limit: ulimit -n 65536".into()),
            Self::ServerNotFound { package, .. } => Some(format!("sudo apt-get install {package}, or use --target builtin")),
            Self::ServerOnlyForRoot { .. } => Some("install it in a folder that every user may search, such as /usr/local/bin, or use --target builtin".into()),
            Self::OnlyRoot => Some("run wirecost outside of this user namespace or as an ordinary user, with CAP_CHOWN, CAP_SETUID and CAP_SETGID as root, or use --target builtin".into()),
            Self::NoCongestionControl { asked, .. } => Some(format!("load its module, as root: modprobe tcp_{asked}")),
            Self::NoRandomness => None,
            Self::ServerDied { .. } | Self::ServerNotReady { .. } => Some("use --target builtin to measure without it".into()),
            Self::System { .. } => None,
        }
    }
}

fn namespace_hint(setting: &str) -> String {
    if setting.contains("apparmor") {
        return "sudo wirecost ..., or install the AppArmor profile: \
                wirecost doctor --apparmor > /etc/apparmor.d/wirecost"
            .into();
    }
    let name = setting.split('=').next().unwrap_or(setting);
    let value = if name.contains("max_") { 15_000 } else { 1 };
    format!("sudo wirecost ..., or allow it: sudo sysctl -w {name}={value}")
}

/// Adds the failed action to a system call's error.
pub(crate) trait Doing<T> {
    /// The value, or an [`EnvironmentError::System`] with action and call.
    fn doing(self, call: &'static str, action: impl FnOnce() -> String) -> Result<T, EnvironmentError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, call: &'static str, action: impl FnOnce() -> String) -> Result<T, EnvironmentError> {
        self.map_err(|error| EnvironmentError::System {
            action: action(),
            call,
            errno: Errno::from(&error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_call_the_error_and_the_setting() {
        let error = EnvironmentError::Namespace {
            kind: "network",
            call: "unshare",
            errno: Errno(libc::EPERM),
            restriction: Some("kernel.apparmor_restrict_unprivileged_userns=1".into()),
        };
        assert_eq!(
            error.to_string(),
            "cannot create a network namespace (unshare: EPERM; kernel.apparmor_restrict_unprivileged_userns=1)"
        );
        assert!(error.is_privilege());
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("wirecost doctor --apparmor"))
        );
    }

    #[test]
    fn a_refused_call_keeps_the_failed_action() {
        let refused: io::Result<()> = Err(io::Error::from_raw_os_error(libc::EMFILE));
        let error = refused.doing("socket", || "open a socket".into()).unwrap_err();
        assert_eq!(error.to_string(), "cannot open a socket (socket: EMFILE)");
        assert!(!error.is_privilege());
        assert_eq!(
            error.hint().as_deref(),
            Some("raise the open-file limit: ulimit -n 65536")
        );
    }

    #[test]
    fn an_unknown_error_number_is_printed_as_it_is() {
        assert_eq!(Errno(4095).to_string(), "errno 4095");
    }
}
