//! Real servers as child processes: in the server's network namespace, in their own PID namespace, killed with this
//! process however it ends.
//!
//! - [`usage`]: CPU time and memory of a server and its children
//! - [`foreground`]: a program on the device's side, with the user's terminal
//! - [`worker`]: another process of this program
//! - [`listening`]: which sockets listen
//! - [`user`], [`folder`]: who a server runs as, and the folder that is its own
//! - [`mosquitto`], [`libcoap`], [`caddy`], [`apache`], [`rabbitmq`], [`postgresql`], [`mariadb`]: location, configuration and readiness of each server

pub mod apache;
pub mod caddy;
mod contained;
pub mod folder;
pub mod foreground;
pub mod libcoap;
pub mod listening;
pub mod mariadb;
pub mod mosquitto;
pub mod postgresql;
pub mod rabbitmq;
pub mod setup;
pub mod usage;
pub mod user;
pub mod worker;

use crate::error::{Doing, EnvironmentError};
use crate::sys::init::{Slate, pidfd_of};
use crate::sys::process as calls;
use crate::topology::Side;
use contained::{Contained, Container};
use folder::ServerFolder;
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use usage::Usage;
use wirecost_files::Input;
use wirecost_files::output::{self, Existing, SECRET};
use wirecost_proto::PeerText;

/// The variable that names the pipe whose other end the process holds which this one must not outlive: `DESCRIPTOR:INODE`.
const PARENT_PIPE: &str = "WIRECOST_PARENT_PIPE";

/// Ties the life of this process to that of the one that holds the pipe of `WIRECOST_PARENT_PIPE`: a notebook that dies leaves no run
/// behind. A parent-death signal would not do, because it comes when the *thread* ends that started this process.
///
/// # Errors
/// The kernel refuses, or the other process has ended already.
pub fn end_with_parent() -> io::Result<()> {
    let named = std::env::var(PARENT_PIPE).ok();
    let pipe = named.as_deref().and_then(|named| {
        let (fd, inode) = named.split_once(':')?;
        Some((fd.parse().ok()?, inode.parse().ok()?))
    });
    // A process between the two inherits the variable and not the pipe: then it is not meant for this one.
    pipe.map_or(Ok(()), |(fd, inode)| calls::end_with_pipe(fd, inode).map(drop))
}

const TAIL_LINES: usize = 5;
const POLL_MILLISECONDS: i32 = 10;

/// A server to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The path of the program.
    pub program: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// The file of its standard output and error.
    pub log: PathBuf,
}

/// PEM files with a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate.
    pub certificate: PathBuf,
    /// Its private key, of mode 0600.
    pub private_key: PathBuf,
    /// The authority that issued it.
    pub authority: PathBuf,
}

/// A server's answer to a readiness probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It gave the expected answer.
    Ready,
    /// No answer, or another one.
    NotYet,
}

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct ServerProcess {
    name: String,
    log: PathBuf,
    side: Side,
    contained: Contained,
    pidfd: std::os::fd::OwnedFd,
    ended: Option<ExitStatus>,
}

impl ServerProcess {
    /// Starts a server in `side` as the user who called: a command of the user.
    ///
    /// # Errors
    /// The log cannot be written, a namespace is refused, or the program cannot be run.
    pub fn start(launch: &Launch, side: &Side) -> Result<Self, EnvironmentError> {
        Self::start_as(launch, side, None)
    }

    /// Starts a server in `side` as the user of its folder, with that as its working folder.
    ///
    /// # Errors
    /// As [`Self::start`]; that user may not run the program, or the machine refuses to make it that user.
    pub fn start_apart(
        launch: &Launch,
        side: &Side,
        folder: &ServerFolder,
    ) -> Result<Self, EnvironmentError> {
        Self::start_as(launch, side, Some(folder))
    }

    fn start_as(
        launch: &Launch,
        side: &Side,
        folder: Option<&ServerFolder>,
    ) -> Result<Self, EnvironmentError> {
        let name = name_of(&launch.program);
        // A server's output may contain data of its clients.
        let log = owners_file(&launch.log).doing("open", || format!("write {}", launch.log.display()))?;
        let number = folder.and_then(|folder| folder.user().owner());
        let starting = || match number {
            Some(number) => format!("start {} as user {number}", launch.program.display()),
            None => format!("start {}", launch.program.display()),
        };
        // Apache opens its standard error anew.
        folder.map(|folder| folder.give(&launch.log)).transpose()?;
        let mut command = Command::new(&launch.program);
        // A setting in the user's environment, such as RABBITMQ_NODENAME or OPENSSL_CONF, would change the server that is measured.
        command.args(&launch.arguments).env_clear();
        command.envs(launch.environment.iter().cloned());
        // A server that reads the terminal would take the user's keys, or be stopped by SIGTTIN.
        command.stdin(Stdio::null());
        command
            .stdout(log.try_clone().doing("dup", starting)?)
            .stderr(log);
        let becoming = folder.map(ServerFolder::become_server).transpose();
        let becoming = becoming.doing("execve", starting)?;
        let started = Container::new()?.start(command, side, Slate::Clean, becoming)?;
        let contained = match (started, number) {
            // As another user than root the program cannot be reached through a folder that only root may search, such as /root.
            (Err(error), Some(_)) if error.raw_os_error() == Some(libc::EACCES) => {
                return Err(EnvironmentError::ServerOnlyForRoot {
                    program: launch.program.clone(),
                });
            }
            (started, _) => started.doing("execve", starting)?,
        };
        Ok(Self {
            name,
            log: launch.log.clone(),
            side: side.clone(),
            pidfd: pidfd_of(contained.pid()).doing("pidfd_open", starting)?,
            contained,
            ended: None,
        })
    }

    /// The server's process id, as this process sees it.
    pub fn pid(&self) -> i32 {
        self.contained.pid()
    }

    /// How the server ended; `None` while it runs. Its children have ended with it.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.contained.exit_status();
            if self.ended.is_some() {
                // Killing and waiting for a child cannot fail.
                let _ = self.contained.end();
            }
        }
        self.ended
    }

    /// The ids of the server and its children, as this process sees them.
    ///
    /// # Errors
    /// ESRCH or ENOENT once it has ended.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        usage::of_pid_namespace(self.pid(), self.contained.first())
    }

    /// CPU time and memory of the server and its children.
    ///
    /// # Errors
    /// ESRCH or ENOENT once it has ended.
    pub fn usage(&self) -> io::Result<Usage> {
        Usage::of_pid_namespace(self.pid(), self.contained.first())
    }

    /// Calls `probe` in the server's namespace until it is ready. Returns how long that took.
    ///
    /// # Errors
    /// [`EnvironmentError::ServerDied`] as soon as it ends, [`EnvironmentError::ServerNotReady`] after `patience`.
    pub fn wait_until_ready(
        &mut self,
        patience: Duration,
        probe: impl FnMut() -> Readiness + Send,
    ) -> Result<Duration, EnvironmentError> {
        let side = self.side.clone();
        let waiting = || {
            side.enter()?;
            self.poll_until_ready(patience, probe)
        };
        let finished = std::thread::scope(|scope| scope.spawn(waiting).join());
        finished.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn poll_until_ready(
        &mut self,
        patience: Duration,
        mut probe: impl FnMut() -> Readiness,
    ) -> Result<Duration, EnvironmentError> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(status) = self.exit_status() {
                let (program, log_tail) = (self.name.clone(), self.log_tail());
                return Err(EnvironmentError::ServerDied {
                    program,
                    status: status.to_string(),
                    log_tail,
                });
            }
            if probe() == Readiness::Ready {
                return Ok(start.elapsed());
            }
            // Wakes at once when the server dies, instead of after a sleep.
            calls::is_readable(self.pidfd.as_fd(), POLL_MILLISECONDS)
                .doing("poll", || format!("wait for {}", self.name))?;
        }
        let (program, log_tail) = (self.name.clone(), self.log_tail());
        Err(EnvironmentError::ServerNotReady {
            program,
            waited: start.elapsed(),
            log_tail,
        })
    }

    /// The last output lines of the server, joined by ` `.
    pub fn log_tail(&self) -> String {
        tail(&Input::Log.lossy_text(&self.log).unwrap_or_default())
    }

    /// Asks the server to end (SIGTERM), and kills it after `patience`. Returns how it ended.
    ///
    /// # Errors
    /// None for a child of this process.
    pub fn stop(mut self, patience: Duration) -> Result<ExitStatus, EnvironmentError> {
        if let Some(status) = self.exit_status() {
            return Ok(status);
        }
        let stopping = || format!("stop {}", self.name);
        calls::kill(self.pid(), libc::SIGTERM).doing("kill", stopping)?;
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        calls::is_readable(self.pidfd.as_fd(), milliseconds).doing("poll", stopping)?;
        let status = self.contained.end().doing("waitpid", stopping)?;
        Ok(*self.ended.insert(status))
    }
}

impl AsRawFd for ServerProcess {
    /// The descriptor that becomes readable when the server ends (`pidfd_open(2)`).
    fn as_raw_fd(&self) -> RawFd {
        self.pidfd.as_raw_fd()
    }
}

/// A new file that only its owner may read.
fn owners_file(path: &Path) -> io::Result<File> {
    let file = output::own(path, Existing::Replaced, SECRET)?;
    // Opening an existing file keeps its mode.
    file.set_permissions(Permissions::from_mode(SECRET))?;
    Ok(file)
}

fn name_of(program: &Path) -> String {
    program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn tail(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut last: Vec<String> = lines
        .rev()
        .take(TAIL_LINES)
        .map(|line| PeerText::new(line).to_string())
        .collect();
    last.reverse();
    last.join(" | ")
}

/// The environment of every server: no locale, no session, and a folder of its own for what is its user's and what is temporary.
fn plain_environment(home: &Path) -> Vec<(String, String)> {
    let home = home.to_string_lossy().into_owned();
    vec![
        ("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into()),
        ("HOME".into(), home.clone()),
        ("TMPDIR".into(), home),
        ("LANG".into(), "C".into()),
    ]
}

/// The path of `program`: in the folders of PATH, and where a user's PATH has a `bin`, in the `sbin` beside it, where Debian has its
/// servers.
fn find(program: &'static str, package: &'static str) -> Result<PathBuf, EnvironmentError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = |folder: PathBuf| {
        let sbin = folder.ends_with("bin").then(|| folder.with_file_name("sbin"));
        [Some(folder), sbin].into_iter().flatten()
    };
    let folders = std::env::split_paths(&path).flat_map(beside);
    let mut candidates = folders.map(|folder| folder.join(program));
    candidates
        .find(|candidate| candidate.is_file())
        .ok_or(EnvironmentError::ServerNotFound {
            program,
            place: "on PATH, /usr/sbin or /usr/local/sbin",
            package,
        })
}

/// The version that `program` prints with `argument`, whatever its exit code.
fn version_of(program: &Path, argument: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(argument).env_clear();
    command.envs(plain_environment(&std::env::temp_dir()));
    calls::tie_to_thread(&mut command);
    let output = command.output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    version_in(&String::from_utf8_lossy(&text))
}

/// The first word that looks like `2.0.11` or `v4.3.1`.
fn version_in(text: &str) -> Option<String> {
    let looks_right =
        |word: &&str| word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit());
    text.split_whitespace()
        .map(|word| word.trim_start_matches('v'))
        .find(looks_right)
        .map(str::to_string)
}

/// Sends `request` to the server on `address` and reads the first bytes of its answer.
fn exchange<const N: usize>(
    address: SocketAddr,
    timeout: Duration,
    request: &[u8],
) -> io::Result<(TcpStream, [u8; N])> {
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.write_all(request)?;
    let mut answer = [0; N];
    stream.read_exact(&mut answer)?;
    Ok((stream, answer))
}

/// The readiness of a server that must answer `expected`.
fn readiness<T: PartialEq>(answer: io::Result<T>, expected: T) -> Readiness {
    match answer {
        Ok(answer) if answer == expected => Readiness::Ready,
        _ => Readiness::NotYet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_among_other_words() {
        let mosquitto = "mosquitto version 2.0.11\n\nmosquitto is an MQTT v5.0/v3.1.1/v3.1 broker.";
        let libcoap =
            "coap-server-notls: option requires an argument -- 'h'\ncoap-server-notls v4.3.1 -- a small";
        assert_eq!(version_in(mosquitto).as_deref(), Some("2.0.11"));
        assert_eq!(version_in(libcoap).as_deref(), Some("4.3.1"));
        assert_eq!(version_in("no digits here. None"), None);
    }

    #[test]
    fn a_missing_server_names_its_package() {
        let error = find("no-such-server", "its-package").unwrap_err();
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.starts_with("sudo apt-get install its-package"))
        );
    }

    #[test]
    fn keeps_the_last_lines_of_a_log() {
        assert_eq!(tail("a\nb\n\nc\nd\ne\nf\n"), "b | c | d | e | f");
        assert_eq!(tail(""), "");
        assert_eq!(tail("\x1b[2Ja\n"), "\\x1b[2Ja");
    }
}
