//! Real servers that wirecost starts.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wirecost_results::RunFolder;
use wirecost_security::certificate;
use wirecost_stack::Credentials;
use wirecost_stack::target::Target;

use crate::patience::Patience;
use crate::process::setup::Setup;
use crate::process::usage::Usage;
use crate::process::{
    Launch, Readiness, ServerProcess, TlsFiles, caddy, libcoap, mariadb, mosquitto, postgresql, rabbitmq,
};
use crate::{EnvironmentError, Side};

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may take to end by itself.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// Why a server could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It does not start, or does not answer.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// Its certificate cannot be written as PEM.
    #[error("cannot write the server's certificate: {0}")]
    Certificate(certificate::Error),
    /// One of its files cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// How to start a server, and how to tell that it is ready.
struct Recipe {
    launch: Launch,
    /// The server's own program, where the launch starts it by another one.
    program: Option<PathBuf>,
    probe: fn(SocketAddr) -> Readiness,
    address: SocketAddr,
    version: Option<String>,
    patience: Duration,
}

/// The recipe of a target's server; `None` for the built-in ones.
fn recipe(
    target: Target,
    folder: &RunFolder,
    files: &TlsFiles,
    psk: &str,
    ip: IpAddr,
    setup: &Setup,
) -> Result<Option<Recipe>, EnvironmentError> {
    let (folder, at) = (folder.path(), |port| SocketAddr::new(ip, port));
    let coap = |build| {
        let dtls = Some(libcoap::Dtls { files, psk });
        Ok::<_, EnvironmentError>(Recipe {
            launch: libcoap::launch(folder, at(5683), build, dtls)?,
            program: None,
            probe: libcoap::probe,
            address: at(5683),
            version: libcoap::version(build),
            patience: PATIENCE,
        })
    };
    let recipe = match target {
        Target::Builtin | Target::Running => return Ok(None),
        Target::Mosquitto => Recipe {
            launch: mosquitto::launch(folder, at(1883), Some(files), setup)?,
            program: None,
            probe: mosquitto::probe,
            address: at(1883),
            version: mosquitto::version(),
            patience: PATIENCE,
        },
        Target::Rabbitmq => Recipe {
            launch: rabbitmq::launch(folder, ip, Some(files))?,
            program: None,
            probe: |address| rabbitmq::probe(address.ip()),
            address: at(rabbitmq::AMQP_PORT),
            version: rabbitmq::version(),
            patience: rabbitmq::PATIENCE,
        },
        Target::Caddy => Recipe {
            launch: caddy::launch(folder, at(80), Some(files))?,
            program: None,
            probe: caddy::probe,
            address: at(80),
            version: caddy::version(),
            patience: PATIENCE,
        },
        Target::Postgresql => Recipe {
            launch: postgresql::launch(folder, postgresql::address(ip))?,
            program: Some(postgresql::program()?),
            probe: postgresql::probe,
            address: postgresql::address(ip),
            version: postgresql::version(),
            patience: postgresql::PATIENCE,
        },
        Target::Mariadb => Recipe {
            launch: mariadb::launch(folder, mariadb::address(ip))?,
            program: Some(mariadb::program()?),
            probe: mariadb::probe,
            address: mariadb::address(ip),
            version: mariadb::version(),
            patience: mariadb::PATIENCE,
        },
        Target::Libcoap => coap(libcoap::Build::Openssl)?,
        Target::LibcoapGnutls => coap(libcoap::Build::Gnutls)?,
    };
    Ok(Some(recipe))
}

/// The files with the run's certificate for a server of another maker.
fn tls_files(folder: &RunFolder) -> TlsFiles {
    TlsFiles {
        certificate: folder.file("server.pem"),
        private_key: folder.file("server.key"),
        authority: folder.file("authority.pem"),
    }
}

/// Writes the run's certificate. Only the owner may read the key, which is removed with the server.
fn write_tls_files(files: &TlsFiles, credentials: &Credentials) -> Result<KeyFile, TargetError> {
    let pem = |what: Result<String, certificate::Error>| what.map_err(TargetError::Certificate);
    let key_file = KeyFile(files.private_key.clone());
    let certificate = pem(credentials.server.certificates_to_pem())?;
    write(&files.certificate, &certificate, 0o644)?;
    let private_key = pem(credentials.server.private_key_to_pem())?;
    write(&files.private_key, &private_key, 0o600)?;
    write(&files.authority, &credentials.authority_pem, 0o644)?;
    Ok(key_file)
}

/// A file with a secret that is useless once its server is gone.
#[derive(Debug)]
struct KeyFile(PathBuf);

impl Drop for KeyFile {
    fn drop(&mut self) {
        // A file that was never written need not be removed.
        drop(std::fs::remove_file(&self.0));
    }
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), TargetError> {
    let mut options = OpenOptions::new();
    let opened = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| TargetError::File {
        path: path.to_path_buf(),
        source,
    })
}

/// The servers' own working files below the run's folder, including cookies. Logs and configurations stay.
const WORKING_FILES: [&str; 7] = [
    "mnesia",
    "log",
    ".erlang.cookie",
    ".config",
    ".step",
    postgresql::DATA,
    mariadb::DATA,
];

/// Removes the working files of a server that has gone. Failures do not affect the results.
fn remove_working_files(folder: &Path) {
    for path in WORKING_FILES.map(|name| folder.join(name)) {
        drop(if path.is_dir() {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        });
    }
}

/// A foreign server that is ready.
#[derive(Debug)]
pub struct Foreign {
    process: ServerProcess,
    _key_file: KeyFile,
    folder: PathBuf,
    version: String,
    /// CPU time that it had used when it was ready.
    cpu_when_ready: Option<Duration>,
}

/// The report about a foreign server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignReport {
    /// Its program and version.
    pub version: String,
    /// CPU time of the whole server from ready to stopped; `None` if it had died.
    pub cpu: Option<Duration>,
    /// Its resident memory at the end; `None` if it had died.
    pub resident_bytes: Option<u64>,
}

impl Foreign {
    /// Starts the server of a target, set up so, at an address of `side` and waits until it answers, unless `is_over`;
    /// `None` for the built-in servers, which need no process.
    ///
    /// # Errors
    /// Its program is missing, it dies, or it does not answer.
    pub fn start(
        target: Target,
        side: &Side,
        folder: &RunFolder,
        credentials: &Credentials,
        server: IpAddr,
        setup: &Setup,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, TargetError> {
        let files = tls_files(folder);
        let Some(recipe) = recipe(target, folder, &files, &credentials.psk, server, setup)? else {
            return Ok(None);
        };
        let Recipe {
            launch,
            program,
            probe,
            address,
            version,
            patience,
        } = recipe;
        let key_file = write_tls_files(&files, credentials)?;
        let program = program.as_ref().unwrap_or(&launch.program).display().to_string();
        let mut process = ServerProcess::start(&launch, side)?;
        wait_until_ready(&mut process, Patience::new(patience, is_over), || probe(address))?;
        let version = format!(
            "{program} {}",
            version.unwrap_or_else(|| "of unknown version".into())
        );
        let cpu_when_ready = process.usage().ok().map(|usage| usage.cpu_time);
        Ok(Some(Self {
            process,
            _key_file: key_file,
            folder: folder.path().to_path_buf(),
            version,
            cpu_when_ready,
        }))
    }

    /// CPU time, memory and processes so far; `None` once it has ended.
    pub fn usage(&self) -> Option<Usage> {
        self.process.usage().ok()
    }

    /// Its program and version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The id of its first process.
    pub fn pid(&self) -> Option<u32> {
        u32::try_from(self.process.pid()).ok()
    }

    /// The ids of its processes: RabbitMQ is a script that starts another program. Empty once it has ended.
    pub fn pids(&self) -> Vec<u32> {
        let pids = self.process.pids().unwrap_or_default();
        pids.into_iter()
            .filter_map(|pid| u32::try_from(pid).ok())
            .collect()
    }

    /// How the server died, if it did.
    pub fn death(&mut self) -> Option<String> {
        let status = self.process.exit_status()?;
        Some(format!("{} ended during the run with {status}", self.version))
    }

    /// Stops the server. Returns its usage, which a dead server no longer has.
    pub fn stop(self) -> ForeignReport {
        let usage = self.process.usage().ok();
        // A server that ignores SIGTERM is killed.
        drop(self.process.stop(STOP_PATIENCE));
        remove_working_files(&self.folder);
        let used = usage.zip(self.cpu_when_ready);
        ForeignReport {
            version: self.version,
            cpu: used.map(|(usage, before)| usage.cpu_time.saturating_sub(before)),
            resident_bytes: usage.map(|usage| usage.resident_bytes),
        }
    }
}

/// Waits until a server answers `probe`.
fn wait_until_ready(
    process: &mut ServerProcess,
    patience: Patience<'_>,
    probe: impl Fn() -> Readiness + Send + Sync,
) -> Result<(), EnvironmentError> {
    let mut last = None;
    let ended = patience.wait(|slice| match process.wait_until_ready(slice, &probe) {
        Err(EnvironmentError::ServerNotReady {
            program, log_tail, ..
        }) => {
            last = Some((program, log_tail));
            None
        }
        ended => Some(ended),
    });
    let (program, log_tail) = last.unwrap_or_default();
    ended.unwrap_or(Err(EnvironmentError::ServerNotReady {
        program,
        waited: patience.most(),
        log_tail,
    }))?;
    Ok(())
}
