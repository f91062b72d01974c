//! The server of the program: a command, or a built-in server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wirecost_live::driver::Stopper;
use wirecost_live::driver::server::ServerLoop;
use wirecost_live::emulation::{Emulation, join};
use wirecost_live::priority::{self, Duty};
use wirecost_live::process::listening::{Listener, listeners};
use wirecost_live::signals::Relay;
use wirecost_live::timerfd::minimize_timer_slack;
use wirecost_live::{EnvironmentError, Launch, Readiness, ServerProcess};
use wirecost_proto::driver::Service;
use wirecost_proto::hosts::server_address;
use wirecost_results::RunFolder;
use wirecost_security::KeyLog;
use wirecost_stack::channels::{ChannelOptions, ServerChannels, datagram_bytes};
use wirecost_stack::secret::PASSWORD_VARIABLE;
use wirecost_stack::server::{Clients, Discard};
use wirecost_stack::{Credentials, Server, Stack};

use super::error::{ServerDeath, doing};
use super::words::{AUTHORITY, Places, split};
use super::{LinkError, Options, ServerChoice, keys, look};

/// The output of the server's command, in the results folder.
const LOG: &str = "server.log";
/// How long a server may take to end by itself.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait for a server before checking for signals.
const SLICE: Duration = Duration::from_millis(100);
/// How many equal readings show that a server has opened all its ports.
const STEADY_LOOKS: u32 = 5;

/// The server of the program.
pub enum Serving {
    /// None. The kernel answers echo requests.
    Nothing,
    /// A command.
    Command {
        /// The command line.
        line: String,
        /// Its process.
        process: ServerProcess,
        /// How it ended, once that has been reported.
        death: Option<ServerDeath>,
    },
    /// A built-in server.
    Builtin {
        /// Its stack.
        stack: Stack,
        /// Stops it.
        stop: Stopper,
        /// Its thread.
        thread: JoinHandle<io::Result<()>>,
        /// The secrets of its connections.
        key_log: KeyLog,
    },
}

impl Serving {
    /// Starts the server on its side.
    ///
    /// # Errors
    /// There is no such program, or the machine refuses it.
    pub fn start(
        options: &Options,
        emulation: &Emulation,
        folder: &RunFolder,
        places: &Places,
        key_log: Option<&Path>,
    ) -> Result<Self, LinkError> {
        match &options.server {
            None => Ok(Self::Nothing),
            Some(ServerChoice::Command(line)) => {
                let launch = launch(line, places, folder, key_log)?;
                Ok(Self::Command {
                    line: line.clone(),
                    process: ServerProcess::start(&launch, &emulation.server)?,
                    death: None,
                })
            }
            Some(ServerChoice::Builtin(stack)) => builtin(*stack, options, emulation, folder),
        }
    }

    /// Waits until the server listens on an address that the program can reach. `note` receives a line each second.
    ///
    /// # Errors
    /// It ends, or does not listen in time, or a signal asks this process to end.
    pub fn wait(
        &mut self,
        options: &Options,
        relay: &Relay,
        note: &mut dyn FnMut(&str),
    ) -> Result<(), LinkError> {
        let Self::Command { process, line, .. } = self else {
            return Ok(());
        };
        let mut watch = Watch::new(options);
        let (mut waited, mut told) = (Duration::ZERO, 0);
        while waited < options.patience {
            match process.wait_until_ready(SLICE, || watch.look()) {
                Ok(_) => return Ok(()),
                // Waited for in slices, so that a signal is noticed within one of them.
                Err(EnvironmentError::ServerNotReady { waited: slice, .. }) => waited += slice,
                Err(EnvironmentError::ServerDied {
                    program,
                    status,
                    log_tail,
                }) => {
                    return Err(LinkError::ServerEnded {
                        program,
                        status,
                        log_tail,
                    });
                }
                Err(error) => return Err(error.into()),
            }
            look(relay, Duration::ZERO)?;
            if waited.as_secs() > told {
                told = waited.as_secs();
                note(&waiting(line, options, told));
            }
        }
        Err(LinkError::NotListening {
            port: options.port,
            waited,
            found: watch.found,
            log_tail: process.log_tail(),
        })
    }

    /// How the server ended, on the first call after its end.
    pub fn death(&mut self) -> Option<ServerDeath> {
        let Self::Command { process, death, .. } = self else {
            return None;
        };
        let status = process.exit_status().filter(|_| death.is_none())?;
        *death = Some(ServerDeath {
            status: status.to_string(),
            log_tail: process.log_tail(),
        });
        death.clone()
    }

    /// The server's process, if it has one.
    pub fn pid(&self) -> Option<i32> {
        match self {
            Self::Command { process, .. } => Some(process.pid()),
            Self::Nothing | Self::Builtin { .. } => None,
        }
    }

    /// A description of the server.
    pub fn description(&self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Command { line, .. } => Some(line.clone()),
            Self::Builtin { stack, .. } => Some(format!("built-in {stack}")),
        }
    }

    /// The secrets of a built-in server.
    pub fn secrets(&self) -> String {
        match self {
            Self::Builtin { key_log, .. } => key_log.text(),
            Self::Nothing | Self::Command { .. } => String::new(),
        }
    }

    /// Ends the server. A command that ignores SIGTERM is killed.
    pub fn stop(self) {
        match self {
            Self::Nothing => {}
            Self::Command { process, .. } => drop(process.stop(STOP_PATIENCE)),
            Self::Builtin { stop, thread, .. } => {
                drop(stop.wake());
                // Its traffic has been recorded, however its loop ended.
                drop(thread.join());
            }
        }
    }
}

/// What the user reads while the server has not listened for `seconds`.
fn waiting(line: &str, options: &Options, seconds: u64) -> String {
    let port = options
        .port
        .map_or_else(|| "a port".to_owned(), |port| format!("port {port}"));
    let patience = options.patience.as_secs();
    format!("waiting until {line:?} listens on {port}: {seconds} s of {patience} s")
}

/// Watches listening sockets in the server's namespace.
struct Watch {
    server: IpAddr,
    port: Option<u16>,
    found: Vec<Listener>,
    agreed: u32,
}

impl Watch {
    fn new(options: &Options) -> Self {
        Self {
            server: server_address(options.ipv6),
            port: options.port,
            found: Vec::new(),
            agreed: 0,
        }
    }

    fn look(&mut self) -> Readiness {
        let found = listeners();
        self.agreed = if found == self.found { self.agreed + 1 } else { 0 };
        self.found = found;
        let serves = self
            .found
            .iter()
            .any(|listener| listener.serves(self.server, self.port));
        // Without a named port any listener counts, and a server may open several, one after the other.
        let enough = if self.port.is_some() { 0 } else { STEADY_LOOKS };
        if serves && self.agreed >= enough {
            Readiness::Ready
        } else {
            Readiness::NotYet
        }
    }
}

/// The server's command, with the environment of this process except for wirecost's own variables.
fn launch(
    line: &str,
    places: &Places,
    folder: &RunFolder,
    key_log: Option<&Path>,
) -> Result<Launch, LinkError> {
    // A path with blanks stays one word.
    let mut words = split(line)?.into_iter().map(|word| places.fill(&word));
    let program = words.next().ok_or(LinkError::NoServer)?;
    let ours = std::env::vars_os().filter_map(|(name, value)| {
        let pair = (name.into_string().ok()?, value.into_string().ok()?);
        // A command that the user names need not learn the broker's password, and may not write into a key log of another run.
        let is_ours = pair.0 == PASSWORD_VARIABLE || (key_log.is_some() && pair.0 == keys::VARIABLE);
        (!is_ours).then_some(pair)
    });
    let logged = key_log.map(|path| {
        let path = path.display().to_string();
        (keys::VARIABLE.to_owned(), path)
    });
    Ok(Launch {
        program: locate(&program).ok_or(LinkError::ServerNotFound { program })?,
        arguments: words.collect(),
        environment: ours.chain(logged).collect(),
        log: folder.file(LOG),
    })
}

/// The path of a program: as given if it is a path, or else on PATH or in Debian's folders for servers.
fn locate(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(program.into()).filter(|path: &PathBuf| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Starts a built-in server on its own thread. Returns when it listens.
fn builtin(
    stack: Stack,
    options: &Options,
    emulation: &Emulation,
    folder: &RunFolder,
) -> Result<Serving, LinkError> {
    let credentials = Credentials::generate(emulation.clock.epoch(), options.keys)?;
    if stack.has_handshake() {
        // The program has to trust the server's certificate: `{authority}` of its command line is this file.
        folder.write(AUTHORITY, credentials.authority_pem.as_bytes())?;
    }
    let key_log = credentials.key_log.clone();
    let channel_options = ChannelOptions {
        datagram_bytes: datagram_bytes(options.mtu(), options.ipv6),
        response_body: options.response_body,
        ..ChannelOptions::default()
    };
    let channels = ServerChannels::new(credentials, channel_options, 0);
    let (side, clock, seed) = (emulation.server.clone(), emulation.clock, options.seed);
    let address = SocketAddr::new(server_address(options.ipv6), stack.port());
    // Without a sign of readiness the program could start before the socket listens.
    let (ready, readiness) = mpsc::channel();
    let thread = thread::spawn(move || {
        side.enter().map_err(io::Error::other)?;
        minimize_timer_slack()?;
        priority::raise(Duty::Host);
        let service = Service {
            address,
            transport: stack.transport(),
            endpoint: Server::new(stack, Clients::Anyone { stored_bytes: None }, &channels, seed)
                .map_err(io::Error::other)?,
        };
        let server = ServerLoop::new(vec![service], clock, Discard, false)?;
        // The receiver lives as long as the run.
        drop(ready.send(server.stopper()));
        server.run().map(drop)
    });
    match readiness.recv() {
        Ok(stop) => Ok(Serving::Builtin {
            stack,
            stop,
            thread,
            key_log,
        }),
        Err(_) => Err(join("server", thread).map_or_else(
            |error| LinkError::Builtin(error.to_string()),
            |()| doing("start the server")(io::ErrorKind::Other.into()),
        )),
    }
}
