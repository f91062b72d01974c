//! The target of a load: found at a URL, or started in its own process.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wirecost_files::Input;
use wirecost_live::emulation::Meter;
use wirecost_live::foreign::{Foreign, TargetError};
use wirecost_live::own_sockets::OwnSockets;
use wirecost_live::patience::Patience;
use wirecost_live::process::setup::{BridgeTo, Setup};
use wirecost_live::{Clock, EnvironmentError, Side};
use wirecost_probe::reach::{self, ReachError, Reached, Trial, Unaccepted, Waits};
use wirecost_probe::resolve::ResolveError;
use wirecost_results::RunFolder;
use wirecost_results::setting::texts_of;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};
use wirecost_scenario::options::sending::frame_bytes;
use wirecost_security::certificate;
use wirecost_security::entropy::{Entropy, NoEntropy};
use wirecost_stack::Credentials;
use wirecost_stack::target::Target;
use wirecost_stack::url::Url;

use crate::devices::destination::{Destination, OnLink, Trust};
use crate::devices::population::LAST_WAIT;
use crate::parts::usage::{Arrived, Measured, Used, Watched};
use crate::targets::identities::{self, IdentitiesError};
use crate::targets::sink::{Sink, SinkError, SinkOptions};
use crate::targets::wire::Wire;

/// The loopback address of other makers' servers, in a network namespace of the run.
const FOREIGN_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 78, 0, 1);
/// Where systems keep the certificates of trusted authorities.
const SYSTEM_STORES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];
/// How long a target may take to report its usage. A stopped target reports nothing, and meanwhile the progress display
/// waits.
const USAGE_PATIENCE: Duration = Duration::from_millis(500);
/// How long a target may take to report its arrivals.
const REPORT_PATIENCE: Duration = Duration::from_secs(10);
/// How long the resolver may take.
const RESOLVE_PATIENCE: Duration = Duration::from_secs(10);

/// Where the target runs.
#[derive(Clone, Copy, Debug)]
pub enum Site {
    /// On loopback.
    Loopback,
    /// At this address of an emulated link. The calling thread is on the server's side.
    Link(IpAddr, OnLink),
}

impl Site {
    const fn link(self) -> Option<OnLink> {
        match self {
            Self::Loopback => None,
            Self::Link(_, link) => Some(link),
        }
    }
}

/// Why there is no target.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The counting target failed.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// A name has no address.
    #[error(transparent)]
    Name(#[from] ResolveError),
    /// None of the addresses of a name accepts a connection.
    #[error("no device could connect to {target}: {unaccepted}")]
    Unaccepted {
        /// The target.
        target: String,
        /// The addresses.
        unaccepted: Unaccepted,
    },
    /// The file with authorities is unreadable.
    #[error("cannot read {path}: {reason}")]
    Authorities {
        /// The file.
        path: String,
        /// The cause.
        reason: String,
    },
    /// The certificates of the devices cannot be used.
    #[error(transparent)]
    Identities(#[from] IdentitiesError),
    /// A server of another maker failed.
    #[error(transparent)]
    Foreign(#[from] TargetError),
    /// Certificates and keys cannot be made.
    #[error("cannot make certificates and keys: {0}")]
    Credentials(#[from] certificate::Error),
    /// The system has no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The environment of this process cannot be read.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
}

/// The target of a load.
#[derive(Debug)]
pub struct Server {
    destination: Destination,
    kind: Kind,
    /// The meter of the link to it, if there is one.
    meter: Option<Arc<Meter>>,
    /// The count of packets on the real path.
    wire: Wire,
    /// The servers of other sites, to which it passes on messages.
    others: Vec<Self>,
    /// The addresses of its name that did not accept a connection, in one sentence.
    passed_over: Option<String>,
}

#[derive(Debug)]
enum Kind {
    /// It was already running; nothing else is known of it.
    Found,
    /// The counting target.
    Sink(Box<Sink>),
    /// A server of another maker.
    Foreign(Box<Foreign>),
}

impl Server {
    /// Starts or finds the target, which passes on messages by `bridges`. Stops waiting once the run is over.
    ///
    /// # Errors
    /// [`ServerError`] names the missing part.
    pub fn start(
        options: &LoadOptions,
        bridges: &[BridgeTo],
        program: &Path,
        folder: &Path,
        clock: Clock,
        site: Site,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, ServerError> {
        let mut passed_over = None;
        let (mut destination, kind) = match &options.target {
            LoadTarget::Url(url) => {
                let (destination, reached) = found(options, url, Trial::OfSeveral, is_over)?;
                // A name with several addresses, of which the first ones did not answer, is worth a warning: devices use the one that did.
                passed_over = reached.remark();
                (destination, Kind::Found)
            }
            LoadTarget::Started(Target::Builtin) => start_sink(options, program, clock, site, is_over)?,
            LoadTarget::Started(target) => {
                start_foreign(options, (*target, bridges), folder, clock, site, is_over)?
            }
        };
        destination.link = site.link();
        Ok(Self {
            destination,
            kind,
            meter: None,
            wire: Wire::NotAsked,
            others: Vec::new(),
            passed_over,
        })
    }

    /// The server at a destination that runs already.
    pub(crate) const fn found_at(destination: Destination) -> Self {
        Self {
            destination,
            kind: Kind::Found,
            meter: None,
            wire: Wire::NotAsked,
            others: Vec::new(),
            passed_over: None,
        }
    }

    /// Counts packets on the real path, if the load asks for that: those of `own` sockets, if they are known.
    pub(crate) fn count_wire(&mut self, options: &LoadOptions, own: Option<Arc<OwnSockets>>, clock: Clock) {
        self.wire = Wire::start(options, self.destination.address, own, clock);
    }

    /// Leaves packets uncounted for a reason that the results state.
    pub(crate) fn leave_wire_uncounted(&mut self, why: &str) {
        self.wire = Wire::Uncounted(why.to_owned());
    }

    /// Ends the count of packets on the real path.
    pub(crate) const fn take_wire(&mut self) -> Wire {
        std::mem::replace(&mut self.wire, Wire::NotAsked)
    }

    /// Adds the meter of a link in front of the server.
    #[must_use]
    pub(crate) fn behind(self, meter: Arc<Meter>) -> Self {
        Self {
            meter: Some(meter),
            ..self
        }
    }

    /// Adds the servers of other sites, of which that at `subscribers` is the one of the subscribers.
    #[must_use]
    pub(crate) fn with_others(mut self, others: Vec<Self>, subscribers: Option<SocketAddr>) -> Self {
        self.destination.subscribers = subscribers;
        self.others = others;
        self
    }

    /// Its address and credentials.
    pub const fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Where devices connect: on an emulated link, the address on its server's side.
    pub const fn address(&self) -> SocketAddr {
        self.destination.address
    }

    /// The warning about addresses of its name that did not accept a connection.
    pub(crate) fn passed_over(&self) -> Option<Warning> {
        let text = self.passed_over.clone()?;
        Some(Warning::note(WarningKind::AddressPassedOver, text))
    }

    /// Whether it runs on this machine.
    pub fn is_here(&self) -> bool {
        !matches!(self.kind, Kind::Found) || self.destination.address.ip().is_loopback()
    }

    /// The program and version of a started server of another maker.
    pub fn version(&self) -> Option<&str> {
        match &self.kind {
            Kind::Foreign(foreign) => Some(foreign.version()),
            Kind::Found | Kind::Sink(_) => None,
        }
    }

    /// The processes of a started target.
    pub fn pids(&self) -> Vec<u32> {
        match &self.kind {
            Kind::Found => Vec::new(),
            Kind::Sink(sink) => sink.pids().collect(),
            Kind::Foreign(foreign) => foreign.pids(),
        }
    }

    /// Ends the started processes.
    pub fn stop(self) {
        self.others.into_iter().for_each(Self::stop);
        match self.kind {
            Kind::Found => {}
            // It has reported everything, and ends with this process at the latest.
            Kind::Sink(sink) => drop(sink.stop()),
            Kind::Foreign(foreign) => drop(foreign.stop()),
        }
    }
}

impl Watched for Server {
    fn used(&mut self) -> Option<Used> {
        match &mut self.kind {
            Kind::Found => None,
            Kind::Foreign(foreign) => used_by(foreign),
            Kind::Sink(sink) => {
                let usage = sink.usage(Patience::at_most(USAGE_PATIENCE)).ok()?;
                Some(Used {
                    user_ns: usage.user_ns,
                    system_ns: usage.system_ns,
                    busiest_ns: Some(usage.busiest_process_ns),
                    resident_bytes: usage.resident_bytes,
                    processes: usage.processes,
                })
            }
        }
    }

    fn meter(&self) -> Option<&Meter> {
        let counted = || self.wire.meter().map(|wire| &**wire.meter());
        self.meter.as_deref().or_else(counted)
    }

    fn begin(&mut self, phase: &Measured) {
        if let Kind::Sink(sink) = &mut self.kind {
            // The devices notice a target that has ended.
            drop(sink.begin_phase(phase));
        }
    }

    fn arrived(&mut self, interrupted: &dyn Fn() -> bool) -> Option<Arrived> {
        match &mut self.kind {
            Kind::Found | Kind::Foreign(_) => None,
            Kind::Sink(sink) => {
                let asked = Instant::now();
                let is_over = || interrupted() && asked.elapsed() >= LAST_WAIT;
                let report = sink.report(Patience::new(REPORT_PATIENCE, &is_over)).ok()?;
                Some(report.into())
            }
        }
    }
}

/// Starts the counting target.
fn start_sink(
    options: &LoadOptions,
    program: &Path,
    clock: Clock,
    site: Site,
    is_over: &dyn Fn() -> bool,
) -> Result<(Destination, Kind), ServerError> {
    let subscribers = options.receivers();
    let mut asked = SinkOptions::new(options.stack, options.clients.saturating_add(subscribers));
    asked.stamped = options.is_stamped();
    asked.accept_early_data = options.start == wirecost_security::Start::ZeroRtt;
    asked.nagle = options.nagle;
    asked.response_body = options.http.body_bytes();
    asked.handshake = options.handshake;
    asked.amqp_frame_size = frame_bytes(options.amqp_frame_size);
    if let Site::Link(ip, link) = site {
        // No other server runs there: the port is the protocol's registered one.
        asked.address = SocketAddr::new(ip, options.stack.port());
        asked.link = Some(link);
    } else if options.ipv6 {
        asked.address = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0);
    }
    let sink = Sink::start(program, &asked, clock, is_over)?;
    let portable = sink.credentials().portable().map_err(SinkError::Credentials)?;
    let destination = Destination::own(sink.address(), portable);
    Ok((destination, Kind::Sink(Box::new(sink))))
}

/// Starts a server of another maker, with its files in `folder`.
fn start_foreign(
    options: &LoadOptions,
    (target, bridges): (Target, &[BridgeTo]),
    folder: &Path,
    clock: Clock,
    site: Site,
    is_over: &dyn Fn() -> bool,
) -> Result<(Destination, Kind), ServerError> {
    let setup = Setup {
        settings: texts_of(&options.target_settings()),
        bridges: bridges.to_vec(),
    };
    let credentials = Credentials::generate(clock.epoch(), false)?;
    let (folder, side) = (RunFolder::open(folder), Side::here()?);
    let ip = match site {
        Site::Loopback if options.ipv6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
        Site::Loopback => IpAddr::V4(FOREIGN_ADDRESS),
        Site::Link(ip, _) => ip,
    };
    let foreign = Foreign::start(target, &side, &folder, &credentials, ip, &setup, is_over)?;
    let address = SocketAddr::new(ip, options.stack.port());
    let destination = Destination {
        classical_signatures: target.needs_classical_signatures(),
        ..Destination::own(address, credentials.portable()?)
    };
    let kind = foreign.map_or(Kind::Found, |foreign| Kind::Foreign(Box::new(foreign)));
    Ok((destination, kind))
}

/// The usage of a server of another maker. The processes of one whose first process has died end now: workers of Apache would go on.
fn used_by(foreign: &mut Foreign) -> Option<Used> {
    if foreign.death().is_some() {
        return None;
    }
    let usage = foreign.usage()?;
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Some(Used {
        user_ns: nanos(usage.cpu_time.saturating_sub(usage.system)),
        system_ns: nanos(usage.system),
        busiest_ns: None,
        resident_bytes: usage.resident_bytes,
        processes: u32::try_from(usage.processes).unwrap_or(u32::MAX),
    })
}

/// The server of a URL, and the addresses of its name that did not accept a connection.
pub(crate) fn found(
    options: &LoadOptions,
    url: &Url,
    trial: Trial,
    is_over: &dyn Fn() -> bool,
) -> Result<(Destination, Reached), ServerError> {
    // What this machine lacks is said before the server is asked.
    let identities = identities::gather(options)?;
    let waits = Waits {
        resolver: Patience::new(RESOLVE_PATIENCE, is_over),
        connect: Patience::new(options.connect_timeout, is_over),
    };
    let server = reach::Server {
        host: &url.host,
        port: url.port,
        transport: options.stack.transport(),
    };
    let reached = reach::reach(server, trial, waits).map_err(|error| match error {
        ReachError::Name(error) => ServerError::Name(error),
        ReachError::Unaccepted(unaccepted) => ServerError::Unaccepted {
            target: options.target.to_string(),
            unaccepted,
        },
    })?;
    let destination = Destination {
        address: reached.address,
        authority: url.authority(),
        trust: Trust::Foreign {
            server_name: url.host.clone(),
            authorities: authorities(options)?,
            psk: None,
            identities,
        },
        subscribers: None,
        link: None,
        mark: mark()?,
        classical_signatures: false,
    };
    Ok((destination, reached))
}

/// A mark that another run hardly has.
fn mark() -> Result<u32, NoEntropy> {
    let mut mark = [0; 4];
    Entropy::system().fill(&mut mark)?;
    Ok(u32::from_ne_bytes(mark))
}

/// The file with the authorities that this system trusts, if there is one.
pub fn system_store() -> Option<&'static Path> {
    SYSTEM_STORES.iter().map(Path::new).find(|path| path.is_file())
}

/// The authorities that devices trust; `None` accepts any certificate.
pub(crate) fn authorities(options: &LoadOptions) -> Result<Option<Vec<Vec<u8>>>, ServerError> {
    let needs_any = options.stack.has_handshake();
    trusted_authorities(options.ca.as_deref(), options.insecure, needs_any)
}

/// The certificates of a file, or of the system if any are needed; `None`, which accepts any certificate, if `insecure`.
///
/// # Errors
/// The file is unreadable.
pub fn trusted_authorities(
    ca: Option<&Path>,
    insecure: bool,
    needs_any: bool,
) -> Result<Option<Vec<Vec<u8>>>, ServerError> {
    if insecure {
        return Ok(None);
    }
    let default = || system_store().filter(|_| needs_any);
    let Some(path) = ca.or_else(default) else {
        // Without TLS nothing is verified. With it and no store, an empty list refuses every server, which is safer than to trust any.
        return Ok(Some(Vec::new()));
    };
    let error = |reason: String| ServerError::Authorities {
        path: path.display().to_string(),
        reason,
    };
    let text = Input::Pem.text(path).map_err(|fault| error(fault.to_string()))?;
    let authorities = wirecost_security::certificate::authorities_from_pem(&text);
    authorities.map(Some).map_err(|reason| error(reason.to_string()))
}
