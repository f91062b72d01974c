//! Real servers that wirecost starts.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use wirecost_results::RunFolder;
use wirecost_security::certificate;
use wirecost_stack::Credentials;
use wirecost_stack::target::Target;
use wirecost_stack::target::setting::apache as apache_settings;

use crate::patience::Patience;
use crate::process::folder::{Afterwards, ServerFolder};
use crate::process::setup::Setup;
use crate::process::usage::Usage;
use crate::process::user::secret;
use crate::process::{
    Launch, Readiness, ServerProcess, TlsFiles, apache, caddy, libcoap, mariadb, mosquitto, postgresql,
    rabbitmq,
};
use crate::{EnvironmentError, Side};

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at the processes of a server.
const POLL: Duration = Duration::from_millis(10);
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
    /// How many processes it has when it is ready, at least.
    processes: usize,
}

impl Recipe {
    /// The same of a server whose own program the launch starts by another one.
    fn by_another(self, program: PathBuf) -> Self {
        Self {
            program: Some(program),
            ..self
        }
    }

    /// Its name and version.
    fn named(&self) -> String {
        let program = self.program.as_ref().unwrap_or(&self.launch.program).display();
        let version = self.version.as_deref().unwrap_or("of unknown version");
        format!("{program} {version}")
    }
}

/// What a server gets from the run.
#[derive(Clone, Copy)]
struct Given<'a> {
    ip: IpAddr,
    setup: &'a Setup,
    /// The password between Apache and the database beside it, which is on no link and in no figure.
    password: Option<&'a str>,
}

/// The recipe of a target's server, whose files are in `folder`; `None` for the built-in ones.
fn recipe(
    target: Target,
    folder: &mut ServerFolder,
    credentials: &Credentials,
    given: Given<'_>,
) -> Result<Option<Recipe>, TargetError> {
    let Given { ip, setup, password } = given;
    let at = |port| SocketAddr::new(ip, port);
    let of = |launch, address, probe, version, patience| Recipe {
        launch,
        program: None,
        probe,
        address,
        version,
        patience,
        processes: 1,
    };
    let coap = |build, folder: &mut ServerFolder| {
        let files = &write_tls_files(folder, credentials)?;
        let psk = &credentials.psk;
        let launch = libcoap::launch(folder, at(5683), build, Some(libcoap::Dtls { files, psk }))?;
        let version = libcoap::version(build);
        Ok::<_, TargetError>(of(launch, at(5683), libcoap::probe, version, PATIENCE))
    };
    let recipe = match target {
        Target::Builtin | Target::Running => return Ok(None),
        Target::Mosquitto => {
            let files = write_tls_files(folder, credentials)?;
            let launch = mosquitto::launch(folder, at(1883), Some(&files), setup)?;
            of(launch, at(1883), mosquitto::probe, mosquitto::version(), PATIENCE)
        }
        Target::Rabbitmq => {
            let files = write_tls_files(folder, credentials)?;
            let launch = rabbitmq::launch(folder, ip, Some(&files))?;
            let probe = |address: SocketAddr| rabbitmq::probe(address.ip());
            let (address, version) = (at(rabbitmq::AMQP_PORT), rabbitmq::version());
            of(launch, address, probe, version, rabbitmq::PATIENCE)
        }
        Target::Caddy => {
            let files = write_tls_files(folder, credentials)?;
            let launch = caddy::launch(folder, at(80), Some(&files))?;
            of(launch, at(80), caddy::probe, caddy::version(), PATIENCE)
        }
        Target::Apache => {
            let address = mariadb::address(ip);
            let store = password.map(|password| apache::Store { address, password });
            let launch = apache::launch(folder, at(80), store, setup)?;
            // The first process and its workers.
            let ready: usize = setup.value(apache_settings::WORKERS_READY).parse().unwrap_or(0);
            Recipe {
                processes: 1 + ready,
                ..of(launch, at(80), apache::probe, apache::version(), apache::PATIENCE)
            }
        }
        Target::Postgresql => {
            let address = postgresql::address(ip);
            let launch = postgresql::launch(folder, address, setup)?;
            let (version, patience) = (postgresql::version(), postgresql::PATIENCE);
            of(launch, address, postgresql::probe, version, patience).by_another(postgresql::program()?)
        }
        Target::Mariadb => {
            let address = mariadb::address(ip);
            let launch = mariadb::launch(folder, address, setup, password)?;
            let (version, patience) = (mariadb::version(), mariadb::PATIENCE);
            of(launch, address, mariadb::probe, version, patience).by_another(mariadb::program()?)
        }
        Target::Libcoap => coap(libcoap::Build::Openssl, folder)?,
        Target::LibcoapGnutls => coap(libcoap::Build::Gnutls, folder)?,
    };
    Ok(Some(recipe))
}

/// The name of a server's files in the run's folder.
fn files_of(target: Target) -> String {
    match target {
        Target::LibcoapGnutls => Target::Libcoap.to_string(),
        other => other.to_string(),
    }
}

/// What the database beside a server is set to; `None` if it has none.
fn store_of(target: Target, setup: &Setup) -> Option<Setup> {
    if target != Target::Apache || setup.value(apache_settings::STORE) == apache_settings::NO_STORE {
        return None;
    }
    let connections = setup.value(apache_settings::STORE_CONNECTIONS).to_owned();
    let mut store = Setup::from_target(Target::Mariadb);
    store.settings.insert("max_connections".to_owned(), connections);
    Some(store)
}

/// Writes the run's certificate for a server of another maker. The key is removed with the server.
fn write_tls_files(folder: &mut ServerFolder, credentials: &Credentials) -> Result<TlsFiles, TargetError> {
    let pem = |what: Result<String, certificate::Error>| what.map_err(TargetError::Certificate);
    let certificate = pem(credentials.server.certificates_to_pem())?;
    let private_key = pem(credentials.server.private_key_to_pem())?;
    Ok(TlsFiles {
        certificate: folder.write("server.pem", &certificate, Afterwards::Kept)?,
        private_key: folder.write("server.key", &private_key, Afterwards::Removed)?,
        authority: folder.write("authority.pem", &credentials.authority_pem, Afterwards::Kept)?,
    })
}

/// A foreign server that is ready.
#[derive(Debug)]
pub struct Foreign {
    // Both end before their folders.
    process: ServerProcess,
    /// The database beside it, into which it inserts.
    store: Option<ServerProcess>,
    _folders: Vec<ServerFolder>,
    version: String,
    /// CPU time that it had used when it was ready.
    cpu_when_ready: Option<Duration>,
}

/// The report about a foreign server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignReport {
    /// Its program and version.
    pub version: String,
    /// CPU time of the whole server, with the database beside it, from ready to stopped; `None` if it had died.
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
        if matches!(target, Target::Builtin | Target::Running) {
            return Ok(None);
        }
        let mut folders = Vec::new();
        let of_store = store_of(target, setup);
        let password = of_store.as_ref().map(|_| secret()).transpose()?;
        let mut recipe = |target, setup: &Setup| {
            let mut files =
                ServerFolder::create(folder.path(), &files_of(target)).map_err(TargetError::from)?;
            let given = Given {
                ip: server,
                setup,
                password: password.as_deref(),
            };
            match recipe(target, &mut files, credentials, given) {
                Ok(recipe) => {
                    folders.push(files);
                    Ok(recipe)
                }
                Err(error) => {
                    // The password may be in it already.
                    files.discard();
                    Err(error)
                }
            }
        };
        let Some(own) = recipe(target, setup)? else {
            return Ok(None);
        };
        // Its files are made before the first process starts, so that a missing program leaves none running.
        let of_store = of_store.map(|store| recipe(Target::Mariadb, &store));
        let of_store = of_store.transpose()?.flatten();
        // The database must answer before the server that stores in it starts.
        let store = of_store
            .as_ref()
            .zip(folders.last())
            .map(|(store, folder)| started(store, side, folder, is_over))
            .transpose()?;
        let Some(own_folder) = folders.first() else {
            return Ok(None);
        };
        let process = started(&own, side, own_folder, is_over)?;
        let names = [Some(own), of_store].into_iter().flatten();
        let names: Vec<String> = names.map(|recipe| recipe.named()).collect();
        let mut foreign = Self {
            process,
            store,
            _folders: folders,
            version: names.join(" and "),
            cpu_when_ready: None,
        };
        // What a server takes to start (RabbitMQ: seconds of CPU time) is no part of what a message costs.
        foreign.cpu_when_ready = foreign.usage().map(|usage| usage.cpu_time);
        Ok(Some(foreign))
    }

    /// CPU time, memory and processes so far, with those of the database beside it; `None` once either has ended.
    pub fn usage(&self) -> Option<Usage> {
        let own = self.process.usage().ok()?;
        match &self.store {
            Some(store) => Some(own.and(store.usage().ok()?)),
            None => Some(own),
        }
    }

    /// Its program and version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The ids of its processes: RabbitMQ is a script that starts another program. Empty once it has ended.
    pub fn pids(&self) -> Vec<u32> {
        let all = [Some(&self.process), self.store.as_ref()].into_iter().flatten();
        let pids = all.flat_map(|process| process.pids().unwrap_or_default());
        pids.filter_map(|pid| u32::try_from(pid).ok()).collect()
    }

    /// How the server, or the database beside it, died, if one did.
    pub fn death(&mut self) -> Option<String> {
        let all = [Some(&mut self.process), self.store.as_mut()]
            .into_iter()
            .flatten();
        let status = all.filter_map(ServerProcess::exit_status).next()?;
        Some(format!("{} ended during the run with {status}", self.version))
    }

    /// Stops the server. Returns its usage, which a dead server no longer has.
    pub fn stop(self) -> ForeignReport {
        let usage = self.usage();
        // A server that ignores SIGTERM is killed.
        drop(self.process.stop(STOP_PATIENCE));
        drop(self.store.map(|store| store.stop(STOP_PATIENCE)));
        let used = usage.zip(self.cpu_when_ready);
        ForeignReport {
            version: self.version,
            cpu: used.map(|(usage, before)| usage.cpu_time.saturating_sub(before)),
            resident_bytes: usage.map(|usage| usage.resident_bytes),
        }
    }
}

/// A server that answers.
fn started(
    recipe: &Recipe,
    side: &Side,
    folder: &ServerFolder,
    is_over: &dyn Fn() -> bool,
) -> Result<ServerProcess, TargetError> {
    let mut process = ServerProcess::start_apart(&recipe.launch, side, folder)?;
    let address = recipe.address;
    let patience = || Patience::new(recipe.patience, is_over);
    wait_until_ready(&mut process, patience(), || (recipe.probe)(address))?;
    // A server of many processes answers as soon as there is one.
    let ready = patience().wait(|slice| {
        let is_ready = process.pids().is_ok_and(|pids| pids.len() >= recipe.processes);
        if !is_ready {
            thread::sleep(slice.min(POLL));
        }
        is_ready.then_some(())
    });
    match ready {
        Some(()) => Ok(process),
        None => Err(EnvironmentError::ServerNotReady {
            program: recipe.named(),
            waited: recipe.patience,
            log_tail: process.log_tail(),
        }
        .into()),
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
