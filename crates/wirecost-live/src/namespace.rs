//! Network namespaces as file descriptors, without names or mounts: each is gone with its last descriptor and thread.

use crate::error::{Doing, EnvironmentError, Errno};
use crate::{sys, sysctl};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use wirecost_files::system;

/// A network namespace. Clones are the same namespace. It lives as long as one of them, or a thread or socket in it.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<OwnedFd>);

impl Namespace {
    /// The calling thread's network namespace.
    ///
    /// # Errors
    /// /proc is not mounted, or no descriptor is left.
    pub fn current() -> Result<Self, EnvironmentError> {
        let path = "/proc/thread-self/ns/net";
        let file = system::open(File::options().read(true), path).doing("open", || format!("open {path}"))?;
        Ok(Self(Arc::new(file.into())))
    }

    /// Moves the calling thread into a new network namespace and returns it.
    ///
    /// # Errors
    /// [`EnvironmentError::Namespace`] without CAP_SYS_ADMIN or beyond user.max_net_namespaces.
    pub fn unshare() -> Result<Self, EnvironmentError> {
        sys::unshare(libc::CLONE_NEWNET).map_err(|error| refusal("network", &error))?;
        Self::current()
    }

    /// Whether the calling thread is in this namespace: it has the same inode (namespaces(7)).
    pub(crate) fn is_current(&self) -> bool {
        let identity = |namespace: &Self| {
            let metadata = File::from(namespace.0.try_clone()?).metadata()?;
            io::Result::Ok((metadata.dev(), metadata.ino()))
        };
        let here = Self::current().ok().and_then(|here| identity(&here).ok());
        here.is_some() && here == identity(self).ok()
    }

    /// Moves the calling thread into this namespace unless it is there already. Sockets that it opens later belong to
    /// this namespace. Existing ones stay in theirs.
    ///
    /// # Errors
    /// EPERM without CAP_SYS_ADMIN over the namespace, which may belong to another user namespace.
    pub fn enter(&self) -> Result<(), EnvironmentError> {
        if self.is_current() {
            return Ok(());
        }
        sys::setns(self.as_fd(), libc::CLONE_NEWNET).doing("setns", || "enter a network namespace".into())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Moves the process into a user namespace in which the calling user is root (user_namespaces(7)).
///
/// # Errors
/// [`EnvironmentError::ThreadsRunning`] after a thread has started; [`EnvironmentError::Namespace`] if this machine
/// refuses it.
pub(crate) fn become_root_of_user_namespace() -> Result<(), EnvironmentError> {
    let (user, group) = sys::user_and_group();
    sys::unshare(libc::CLONE_NEWUSER).map_err(|error| match thread_count() {
        threads if threads > 1 && error.raw_os_error() == Some(libc::EINVAL) => {
            EnvironmentError::ThreadsRunning { threads }
        }
        _ => refusal("user", &error),
    })?;
    // An unprivileged process may map its group only after it has given up setgroups (user_namespaces(7)).
    let maps = [
        ("setgroups", "deny".into()),
        ("uid_map", format!("0 {user} 1")),
        ("gid_map", format!("0 {group} 1")),
    ];
    for (file, content) in maps {
        // AppArmor allows the namespace but refuses its capabilities: the first write shows it.
        system::set(format!("/proc/self/{file}"), content).map_err(|error| refusal("user", &error))?;
    }
    Ok(())
}

fn thread_count() -> usize {
    fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

fn refusal(kind: &'static str, error: &io::Error) -> EnvironmentError {
    refused(kind, "unshare", error)
}

/// The error of a system call that failed to create a namespace.
pub(crate) fn refused(kind: &'static str, call: &'static str, error: &io::Error) -> EnvironmentError {
    EnvironmentError::Namespace {
        kind,
        call,
        errno: Errno::from(error),
        restriction: restriction(),
    }
}

/// The setting of this machine that forbids namespaces to ordinary users, as `name=value`.
fn restriction() -> Option<String> {
    const RESTRICTIONS: [(&str, &str); 4] = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        ("kernel.unprivileged_userns_clone", "0"),
        ("user.max_user_namespaces", "0"),
        ("user.max_net_namespaces", "0"),
    ];
    let in_force = |(name, value): &&(&str, &str)| sysctl::read(name).is_ok_and(|found| found == *value);
    let setting = RESTRICTIONS.iter().find(in_force);
    setting.map(|(name, value)| format!("{name}={value}"))
}
