//! The emulated link of a load: all its devices on one side, the target that was started for it on the other.
//!
//! A load over a link runs on a thread of its own, which moves between the two sides: processes and threads live where the
//! thread was that started them. What the rest of the program does stays where it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wirecost_link::{Counters, LinkConfig, Medium};
use wirecost_live::Clock;
use wirecost_live::emulation::{Emulation, EmulationError, EmulationOptions, Left, Meter, capture};
use wirecost_live::recorder::Recorder;
use wirecost_proto::hosts::server_address;
use wirecost_results::environment::Emulator;
use wirecost_results::link::{achieved, link_of};
use wirecost_results::load::{LinkFigures, Load};
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::identity;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_stack::channels::datagram_bytes;

use super::destination::OnLink;
use super::keys::KeyLines;
use super::nanos;
use super::server::{Server, Site};
use crate::context::RunContext;
use crate::error::LoadError;

/// Where captures are, in the results folder.
const FOLDER: &str = "capture";

/// The link of a load, at work.
pub(super) struct LoadLink {
    emulation: Emulation,
    config: LinkConfig,
    round_trips: Vec<Duration>,
    /// The results folder and the key of the load, by which its packets are kept; `None` where they are not recorded.
    capture: Option<(PathBuf, String)>,
}

/// What the link of a load has come to.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// The link asked for.
    pub config: LinkConfig,
    /// What each direction decided.
    pub counters: [Counters; 2],
    /// For the results.
    pub figures: LinkFigures,
    /// Settings of the namespaces that could not be made.
    pub network: Vec<String>,
    /// What was recorded of its packets, where they were to be.
    pub capture: Option<Captured>,
}

/// The packets of a link, on disk.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The file, below the results folder.
    pub name: String,
    /// Why it does not hold everything, if it does not.
    pub cut_short: Option<String>,
}

impl Captured {
    /// Notes the capture in a load, and what is not in it.
    pub(crate) fn note(self, load: &mut Load) {
        let cut_short = self
            .cut_short
            .map(|text| Warning::note(WarningKind::CaptureCutShort, text));
        load.warnings.extend(cut_short);
        load.capture = Some(self.name);
    }
}

impl LoadLink {
    /// Builds both sides, starts the link and checks its delay. The calling thread is anywhere then.
    ///
    /// # Errors
    /// The machine refuses namespaces or raw sockets.
    pub(super) fn start(
        config: &LinkConfig,
        options: &LoadOptions,
        context: &mut RunContext<'_>,
    ) -> Result<Self, EmulationError> {
        let asked = EmulationOptions {
            link: config,
            ipv6: options.ipv6,
            medium: None,
            resident: None,
            sockets_choose: false,
            seed: options.seed,
        };
        let recorder = if options.capture {
            Recorder::create(context.folder).map_err(EmulationError::doing("record packets"))?
        } else {
            Recorder::of_nothing()
        };
        let emulation = Emulation::start(&asked, recorder, Clock::start())?;
        if let Some(remark) = &emulation.remark {
            context.watcher.note(remark);
        }
        let interrupted = context.interrupted;
        let (round_trips, said) = emulation.check(&mut |patience| {
            std::thread::sleep(patience);
            interrupted()
        })?;
        context.watcher.note(&said);
        Ok(Self {
            emulation,
            config: *config,
            round_trips,
            capture: options
                .capture
                .then(|| (context.folder.to_owned(), identity::key(options))),
        })
    }

    /// The clock of the link.
    pub(super) const fn clock(&self) -> Clock {
        self.emulation.clock
    }

    /// What shows what it does, also when it has stopped.
    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.emulation.meter)
    }

    /// Starts the target on its side and moves to the devices' side: what is started from now on lives there.
    ///
    /// # Errors
    /// The target does not start.
    pub(super) fn start_target(
        &self,
        options: &LoadOptions,
        context: &RunContext<'_>,
    ) -> Result<Server, LoadError> {
        self.emulation.server.enter().map_err(EmulationError::from)?;
        let on_link = OnLink {
            datagram_bytes: datagram_bytes(self.config.up.mtu.min(self.config.down.mtu), options.ipv6),
        };
        let site = Site::Link(server_address(options.ipv6), on_link);
        let server = Server::start(
            options,
            context.program,
            context.folder,
            self.clock(),
            site,
            context.interrupted,
        )?;
        self.emulation.device.enter().map_err(EmulationError::from)?;
        Ok(server.behind(self.meter()))
    }

    /// Stops the link, and writes what was recorded of it with what opens it: lines of a key log, and OSCORE contexts.
    ///
    /// # Errors
    /// Its loop failed, its interfaces do not say what they have dropped, or there is no capture to be made.
    pub(super) fn stop(
        self,
        keys: &KeyLines,
        oscore_contexts: Option<&str>,
    ) -> Result<LinkReport, EmulationError> {
        let network = self.emulation.warnings.clone();
        let mut left = self.emulation.stop()?;
        let counters = left.forwarder.links.counters();
        let dropped = left
            .forwarder
            .dropped()
            .map_err(EmulationError::doing("read the interfaces' counters"))?;
        let capture = self.capture.map(|(folder, key)| {
            keep(&folder, &key, oscore_contexts, |path| {
                Ok(capture::write(path, &mut left, keys.text())?.cut_short)
            })
        });
        Ok(LinkReport {
            figures: LinkFigures {
                link: link_of(
                    &self.config,
                    Some(achieved(&self.round_trips, &self.config, &counters)),
                ),
                packet_path: if left.medium == Medium::Tun { "tun" } else { "veth" }.into(),
                emulator: Some(emulator(&left)),
                dropped_packets: dropped,
            },
            config: self.config,
            counters,
            network,
            capture: capture.transpose()?,
        })
    }
}

/// Writes the packets of a link with `write`, and OSCORE contexts that open them, below a results folder.
pub(crate) fn keep(
    folder: &Path,
    key: &str,
    oscore_contexts: Option<&str>,
    write: impl FnOnce(&Path) -> Result<Option<String>, EmulationError>,
) -> Result<Captured, EmulationError> {
    let name = format!("{FOLDER}/{key}.pcapng");
    let path = folder.join(&name);
    fs::create_dir_all(folder.join(FOLDER)).map_err(EmulationError::doing("write the capture"))?;
    let cut_short = match write(&path) {
        Ok(cut_short) => cut_short,
        // A disk that is full before the first packet: figures need no capture.
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

/// OSCORE has no key log: its contexts go into a file that Wireshark reads, one beside each capture, because every load has
/// secrets of its own.
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
