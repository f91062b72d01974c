//! The emulated link of a load: all its devices on one side, the target that was started for it on the other.
//!
//! A load over a link runs on a thread of its own, which moves between the network namespaces of the two sides:
//! processes and threads live in the namespace of the thread that starts them. The rest of the program stays in its own
//! namespace.
//!
//! `outside`: a relay to a target that runs already; `capture_label`: the phases of captured packets.

pub(crate) mod capture_label;
pub(crate) mod outside;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wirecost_files::output::own_folder;
use wirecost_link::{Counters, LinkConfig, Medium};
use wirecost_live::Clock;
use wirecost_live::emulation::{Emulation, EmulationError, EmulationOptions, Left, Meter, capture};
use wirecost_live::process::setup::BridgeTo;
use wirecost_live::recorder::{Recorder, Selection};
use wirecost_proto::hosts::site_address;
use wirecost_proto::{BothWays, Instant};
use wirecost_results::environment::Emulator;
use wirecost_results::link::{achieved, link_of};
use wirecost_results::load::{HopFigures, LinkFigures, Load, WireUse, WireWay};
use wirecost_results::traffic::LoadTraffic;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::load::LoadTarget;
use wirecost_scenario::options::load::sites::{Bridge, Placement, SiteLink};
use wirecost_stack::channels::datagram_bytes;
use wirecost_stack::target::Target;

use crate::context::RunContext;
use crate::devices::destination::OnLink;
use crate::devices::keys::KeyLines;
use crate::devices::traffic::{self, MAX_PACKETS, recorded};
use crate::error::LoadError;
use crate::link::capture_label::PhaseLabels;
use crate::link::outside::Outside;
use crate::nanos;
use crate::targets::server::{Server, Site};

/// The folder of captures in the results folder.
const FOLDER: &str = "capture";

/// The running link of a load.
pub(super) struct LoadLink {
    emulation: Emulation,
    /// The link of the devices that send.
    config: LinkConfig,
    /// The echoes of each link.
    round_trips: Vec<Vec<Duration>>,
    /// The target that runs elsewhere, with its relay; `None` if wirecost starts the target on the link.
    outside: Option<Outside>,
    ipv6: bool,
    /// The results folder and the key of the load, which name the capture; `None` if packets are not recorded.
    capture: Option<(PathBuf, String)>,
    /// Whether the capture gets the secrets of the connections.
    keeps_keys: bool,
    /// The load's devices, if the first of them are observed.
    observed_of: Option<u32>,
}

/// The report of a load's link.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// The configuration.
    pub config: LinkConfig,
    /// The decisions of each direction.
    pub counters: BothWays<Counters>,
    /// The link of each hop between sites.
    pub hops: Vec<HopFigures>,
    /// The figures for the results.
    pub figures: LinkFigures,
    /// Network settings that the namespaces refused.
    pub network: Vec<String>,
    /// The capture, if packets were recorded.
    pub capture: Option<Captured>,
    /// What the first devices did; `None` if devices share addresses, or sent nothing.
    pub traffic: Option<LoadTraffic>,
}

/// A capture of a link on disk.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The file, below the results folder.
    pub name: String,
    /// Why the capture is incomplete, if it is.
    pub cut_short: Option<String>,
}

/// What the links of a load have done.
pub(crate) struct Decided {
    /// The decisions on the link of the devices that send.
    pub(crate) of_senders: BothWays<Counters>,
    /// The echoes of that link's check.
    pub(crate) echoes: Vec<Duration>,
    /// The link of each hop between sites.
    pub(crate) hops: Vec<HopFigures>,
}

impl Decided {
    /// From the decisions and the echoes of each link, in the order of [`LoadOptions::hops`].
    pub(crate) fn from_options(
        options: &LoadOptions,
        counters: &[BothWays<Counters>],
        echoes: &[Vec<Duration>],
    ) -> Self {
        let of_senders = options
            .hops()
            .iter()
            .position(|hop| hop.is_of(0))
            .unwrap_or_default();
        let counters = |index: usize| counters.get(index).copied().unwrap_or_default();
        let echoes = |index: usize| echoes.get(index).cloned().unwrap_or_default();
        let links = options.sites.iter().flat_map(|sites| &sites.links);
        let figures = |(index, link): (usize, &SiteLink)| {
            let counters = counters(index);
            let BothWays { up, down } = counters.map(|way| WireWay {
                packets: way.offered.packets,
                bytes: way.offered.bytes,
            });
            HopFigures {
                hop: link.name(),
                used: WireUse { up, down },
                link: link_of(
                    &link.config,
                    Some(achieved(&echoes(index), &link.config, &counters)),
                ),
            }
        };
        Self {
            of_senders: counters(of_senders),
            echoes: echoes(of_senders),
            hops: links.enumerate().map(figures).collect(),
        }
    }
}

impl Captured {
    /// Notes the capture in a load, and the missing packets.
    pub(crate) fn note(self, load: &mut Load) {
        let cut_short = self
            .cut_short
            .map(|text| Warning::note(WarningKind::CaptureCutShort, text));
        load.warnings.extend(cut_short);
        load.capture = Some(self.name);
    }
}

impl LoadLink {
    /// Builds both sides, starts the link and checks its delay. Afterwards the calling thread may be on either side.
    ///
    /// # Errors
    /// The machine refuses namespaces or raw sockets.
    pub(super) fn start(
        config: &LinkConfig,
        (options, key): (&LoadOptions, &str),
        outside: Option<Outside>,
        context: &mut RunContext<'_>,
    ) -> Result<Self, EmulationError> {
        // The relay listens in the place of the target, with an address of its family.
        let ipv6 = options.ipv6 || outside.as_ref().is_some_and(Outside::is_ipv6);
        let asked = EmulationOptions {
            hops: &options.hops(),
            sites: placement_of(options).map_or(1, |placement| placement.servers.len() as u8),
            ipv6,
            medium: None,
            resident: None,
            sockets_choose: false,
            congestion: options.congestion,
            seed: options.seed,
        };
        let is_observed = traffic::is_observed(options);
        let recorder = recorder(options, context.folder).map_err(EmulationError::doing("record packets"))?;
        let emulation = Emulation::start(&asked, recorder, Clock::start())?;
        if is_observed {
            emulation.meter.tell_subscribers(options.clients);
        }
        if let Some(remark) = &emulation.remark {
            context.watcher.note(remark);
        }
        let interrupted = context.interrupted;
        let checked = emulation.check(&mut |patience| {
            std::thread::sleep(patience);
            interrupted()
        })?;
        let names = options
            .sites
            .iter()
            .flat_map(|sites| &sites.links)
            .map(SiteLink::name);
        for ((_, said), name) in checked.iter().zip(names.map(Some).chain(std::iter::repeat(None))) {
            let said = name.map_or_else(|| said.clone(), |name| format!("{name}: {said}"));
            context.watcher.note(&said);
        }
        let round_trips = checked.into_iter().map(|(round_trips, _)| round_trips).collect();
        if outside.is_some() {
            context.watcher.note(&format!(
                "a relay on the emulated link stands in the place of {}: bytes and packets are those between device and relay",
                options.target
            ));
        }
        Ok(Self {
            emulation,
            config: *config,
            round_trips,
            outside,
            ipv6,
            capture: options
                .capture
                .then(|| (context.folder.to_owned(), key.to_owned())),
            keeps_keys: options.keeps_keys(),
            observed_of: is_observed.then_some(options.clients),
        })
    }

    /// The clock of the link.
    pub(super) const fn clock(&self) -> Clock {
        self.emulation.clock
    }

    /// The meter of the link. It stays readable after the link has stopped.
    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.emulation.meter)
    }

    /// The target that runs elsewhere, if it does.
    pub(super) const fn outside(&self) -> Option<&Outside> {
        self.outside.as_ref()
    }

    /// Starts the target, or the relay to it, on its side, and moves to the devices' side: later threads and processes live there.
    ///
    /// # Errors
    /// The target does not start.
    pub(super) fn start_target(
        &self,
        options: &LoadOptions,
        context: &RunContext<'_>,
    ) -> Result<Server, LoadError> {
        let on_link = OnLink {
            datagram_bytes: datagram_bytes(self.config.up.mtu.min(self.config.down.mtu), self.ipv6),
        };
        if let Some(outside) = &self.outside {
            let destination = outside.stand_on(&self.emulation.server, on_link)?;
            self.emulation.device.enter().map_err(EmulationError::from)?;
            return Ok(Server::found_at(destination).behind(self.meter()));
        }
        let placement = placement_of(options);
        let further = placement
            .iter()
            .flat_map(|placement| (1..placement.servers.len() as u8).rev());
        // A broker that passes on messages connects to the others as it starts.
        let further = further.map(|site| self.start_at(site, options, context, on_link));
        let further = further.collect::<Result<Vec<Server>, LoadError>>()?;
        let server = self.start_at(0, options, context, on_link)?;
        self.emulation.device.enter().map_err(EmulationError::from)?;
        let of_subscribers = placement.map(|placement| placement.of_subscribers);
        let subscribers = of_subscribers.filter(|site| *site > 0);
        let subscribers = subscribers.map(|site| self.address_at(site, options));
        Ok(server.with_others(further, subscribers).behind(self.meter()))
    }

    fn address_at(&self, site: u8, options: &LoadOptions) -> SocketAddr {
        SocketAddr::new(site_address(site, self.ipv6), options.stack.port())
    }

    /// Starts the server of a site on its side.
    fn start_at(
        &self,
        site: u8,
        options: &LoadOptions,
        context: &RunContext<'_>,
        on_link: OnLink,
    ) -> Result<Server, LoadError> {
        let side = match site {
            0 => Some(&self.emulation.server),
            later => self.emulation.further.get(usize::from(later) - 1),
        };
        let side = side.unwrap_or(&self.emulation.server);
        side.enter().map_err(EmulationError::from)?;
        let placement = placement_of(options);
        let name = placement
            .as_ref()
            .and_then(|placement| placement.servers.get(usize::from(site)));
        let own = options
            .sites
            .as_ref()
            .zip(name)
            .and_then(|(sites, name)| sites.named(name));
        let mut of_site = options.clone();
        let mut folder = context.folder.to_owned();
        // The first site has the target of the load itself, with the folder that it has always had.
        if let (Some(own), true) = (own, site > 0) {
            let target = own.servers.first().copied().unwrap_or(Target::Builtin);
            (of_site.target, of_site.settings) = (LoadTarget::Started(target), own.settings.clone());
            folder.push(&own.name);
            let made = own_folder(&folder).map_err(io::Error::from);
            made.map_err(EmulationError::doing("make the folder of a server"))?;
        }
        let index = |name: &String| {
            placement
                .as_ref()?
                .servers
                .iter()
                .position(|server| server == name)
        };
        let bridge = |bridge: &Bridge| {
            Some(BridgeTo {
                name: bridge.to.clone(),
                address: self.address_at(u8::try_from(index(&bridge.to)?).ok()?, options),
                topic: bridge.topic.clone(),
                qos: bridge.qos,
            })
        };
        let bridges = own.iter().flat_map(|own| &own.bridges).filter_map(bridge);
        let server = Server::start(
            &of_site,
            &bridges.collect::<Vec<BridgeTo>>(),
            context.program,
            &folder,
            self.clock(),
            Site::Link(site_address(site, self.ipv6), on_link),
            context.interrupted,
        )?;
        Ok(server)
    }

    /// Stops the link, reads what its first devices did in the `times` of the load, and writes its capture with the secrets
    /// (lines of a key log, and OSCORE contexts) and the phase of each packet.
    ///
    /// # Errors
    /// The link's loop failed, its interfaces do not report their drops, its packets cannot be read back, or the capture cannot
    /// be written.
    pub(super) fn stop(
        self,
        options: &LoadOptions,
        keys: &KeyLines,
        oscore_contexts: Option<&str>,
        labels: &PhaseLabels,
        times: Option<[Instant; 2]>,
    ) -> Result<LinkReport, EmulationError> {
        let network = self.emulation.warnings.clone();
        // Before anything is read back: packets are still on their way until the loop has ended.
        let mut left = self.emulation.stop()?;
        let counters = left.forwarder.links.counters();
        let dropped = left
            .forwarder
            .dropped()
            .map_err(EmulationError::doing("read the interfaces' counters"))?;
        let observed = self.observed_of.zip(times).map(|(clients, times)| {
            recorded::read(&mut left.forwarder.recording, keys.text(), clients, times)
        });
        let observed = observed.transpose();
        let traffic = observed.map_err(EmulationError::doing("read the recorded packets back"))?;
        // The devices' packets are read with the secrets in any case; the file has them only if they are to be kept.
        let capture_keys = if self.keeps_keys { keys.text() } else { "" };
        let capture = self.capture.map(|(folder, key)| {
            keep(&folder, &key, oscore_contexts, |path| {
                Ok(capture::write(path, &mut left, capture_keys, &|at| labels.at(at))?.cut_short)
            })
        });
        let decided = Decided::from_options(options, &counters, &self.round_trips);
        Ok(LinkReport {
            figures: LinkFigures {
                link: link_of(
                    &self.config,
                    Some(achieved(&decided.echoes, &self.config, &decided.of_senders)),
                ),
                packet_path: if left.medium == Medium::Tun { "tun" } else { "veth" }.into(),
                emulator: Some(emulator(&left)),
                dropped_packets: dropped,
                relay: self.outside.as_ref().map(|outside| outside.address().to_string()),
            },
            config: self.config,
            counters: decided.of_senders,
            hops: decided.hops,
            network,
            capture: capture.transpose()?,
            traffic: traffic.flatten(),
        })
    }
}

/// Where the servers of a load with sites are.
fn placement_of(options: &LoadOptions) -> Option<Placement> {
    options.sites.as_ref()?.place().ok()
}

/// The recorder of a link: of all packets for a capture, otherwise of the first devices, if they can be told from others.
fn recorder(options: &LoadOptions, folder: &Path) -> io::Result<Recorder> {
    if options.capture {
        return Recorder::create(folder);
    }
    if !traffic::is_observed(options) {
        return Ok(Recorder::of_nothing());
    }
    let selection = Selection {
        devices: traffic::observed(options.clients),
        // One more says that the observation ends early.
        packets: MAX_PACKETS as u64 + 1,
    };
    Ok(Recorder::create(folder)?.keeping(selection))
}

/// Writes a capture with `write`, and the OSCORE contexts that decrypt it, below a results folder.
pub(crate) fn keep(
    folder: &Path,
    key: &str,
    oscore_contexts: Option<&str>,
    write: impl FnOnce(&Path) -> Result<Option<String>, EmulationError>,
) -> Result<Captured, EmulationError> {
    let name = format!("{FOLDER}/{key}.pcapng");
    let path = folder.join(&name);
    let made = own_folder(&folder.join(FOLDER)).map_err(io::Error::from);
    made.map_err(EmulationError::doing("write the capture"))?;
    let cut_short = match write(&path) {
        Ok(cut_short) => cut_short,
        // The disk is full. The figures do not need the capture.
        Err(EmulationError::Io { source, .. }) if path.exists() => {
            Some(format!("the capture is cut short: {source}"))
        }
        Err(error) => return Err(error),
    };
    let unwritten = oscore_contexts.and_then(|contexts| keep_contexts(folder, key, contexts).err());
    let unwritten = unwritten.map(|error| format!("the capture has no OSCORE contexts: {error}"));
    Ok(Captured {
        name,
        cut_short: cut_short.or(unwritten),
    })
}

/// Writes the OSCORE contexts of a capture to a file that Wireshark reads. OSCORE has no key log format, and every load
/// has its own secrets.
fn keep_contexts(folder: &Path, key: &str, contexts: &str) -> Result<(), ResultsError> {
    let name = format!("{FOLDER}/{key}.oscore_contexts");
    RunFolder::open(folder).write_secret(&name, contexts.as_bytes())
}

/// How the link kept its deadlines.
fn emulator(left: &Left) -> Emulator {
    let forwarder = &left.forwarder;
    let lateness = &forwarder.lateness;
    Emulator {
        packets: lateness.len(),
        lateness_p50_ns: lateness.quantile(0.5),
        lateness_p99_ns: lateness.quantile(0.99),
        lateness_max_ns: lateness.max(),
        cpu_ns: nanos(forwarder.statistics.cpu),
        head_start_ns: nanos(forwarder.head_start),
        priority: forwarder.priority.to_string(),
        idle_cpus: forwarder.idle_cpus.to_string(),
    }
}
