//! Both sides of the link and the forwarder between them, at work.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wirecost_link::{Link, LinkConfig};
use wirecost_live::activity::Activity;
use wirecost_live::check;
use wirecost_live::driver::Stopper;
use wirecost_live::forwarder::{self, Forwarder};
use wirecost_live::recorder::Recorder;
use wirecost_live::signals::{Caught, Relay};
use wirecost_live::timerfd::minimize_timer_slack;
use wirecost_live::{Clock, Medium, Side, Topology, TopologyConfig};
use wirecost_proto::hosts::{HostIndex, MAX_DEVICES};
use wirecost_proto::path::Links;
use wirecost_proto::random::key_of;
use wirecost_proto::{Path, Rng};

use super::error::doing;
use super::{LinkError, Options};
use crate::compare::live::{RunError, echo};
use crate::results::RunFolder;

/// The device that the program is.
pub const RESIDENT: HostIndex = 0;
/// The device from which the link is checked.
pub(super) const CHECKER: HostIndex = MAX_DEVICES - 1;
/// The device from which the path itself is checked.
pub(super) const SURVEYOR: HostIndex = MAX_DEVICES - 2;
/// How often ends are looked for.
const TICK: Duration = Duration::from_millis(20);

/// The link of the program, beside those of the checks.
pub struct ProgramLinks {
    /// What every address of the device's side shares but those of the checks.
    pub program: Link,
    checker: Link,
    surveyor: Link,
}

impl ProgramLinks {
    fn new(config: LinkConfig, seed: u64) -> Self {
        let link = |config, purpose| Link::new(config, Rng::new(seed).purpose(key_of(purpose)));
        Self {
            program: link(config, "link"),
            checker: link(config, "link check"),
            surveyor: link(LinkConfig::default(), "path check"),
        }
    }
}

impl Links for ProgramLinks {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        Some(match host {
            CHECKER => &mut self.checker,
            SURVEYOR => &mut self.surveyor,
            _ => &mut self.program,
        })
    }
}

/// Both sides and the link at work.
pub struct Stage {
    /// The clock of all times.
    pub clock: Clock,
    /// Where the program lives.
    pub device: Side,
    /// Where its server lives.
    pub server: Side,
    /// What the forwarder lets the others know.
    pub activity: Arc<Activity>,
    /// How packets leave the sides.
    pub medium: Medium,
    stop: Stopper,
    forwarding: JoinHandle<io::Result<forwarder::Finished<ProgramLinks>>>,
}

/// What is left when the link has stopped.
pub struct Left {
    /// The clock of all times.
    pub clock: Clock,
    /// How packets left the sides.
    pub medium: Medium,
    /// Packets, links, statistics.
    pub forwarder: forwarder::Finished<ProgramLinks>,
}

impl Stage {
    /// Builds both sides and starts the link between them.
    ///
    /// # Errors
    /// The machine refuses namespaces, or the folder's file system the recording.
    pub fn build(
        options: &Options,
        folder: &RunFolder,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, LinkError> {
        let topology = Topology::create(&TopologyConfig {
            mtu: options.mtu().into(),
            medium: options.medium,
            resident: Some(RESIDENT),
            ..TopologyConfig::default()
        })?;
        topology.veth_reason.iter().for_each(|reason| note(reason));
        topology
            .warnings
            .iter()
            .for_each(|line| note(&format!("warning: {line}")));
        let clock = Clock::start();
        let activity = Arc::new(Activity::new(RESIDENT + 1));
        let recorder = Recorder::create(folder.path()).map_err(doing("record packets"))?;
        let ports = [topology.device_port, topology.server_port];
        let links = ProgramLinks::new(options.link, options.seed);
        let forwarder = Forwarder::new(ports, links, recorder, clock, Arc::clone(&activity));
        let forwarder = forwarder.map_err(doing("set up the link"))?;
        let stop = forwarder.stopper();
        let forwarding = thread::spawn(move || {
            minimize_timer_slack()?;
            forwarder.run()
        });
        Ok(Self {
            clock,
            device: topology.device,
            server: topology.server,
            activity,
            medium: topology.medium,
            stop,
            forwarding,
        })
    }

    /// Lets the forwarder make up for what the path itself takes, and checks the link's delay; returns the median
    /// round-trip time, if any echo came back.
    ///
    /// # Errors
    /// A raw socket is refused, or a signal asks us to end.
    pub fn check(
        &self,
        options: &Options,
        relay: &Relay,
        note: &mut dyn FnMut(&str),
    ) -> Result<Option<Duration>, LinkError> {
        let (link, ipv6) = (&options.link, options.ipv6);
        let path = echo::plan(&LinkConfig::default(), SURVEYOR, ipv6);
        let plan = echo::plan(link, CHECKER, ipv6);
        let (side, clock, activity) = (self.device.clone(), self.clock, Arc::clone(&self.activity));
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            side.enter().map_err(io::Error::other)?;
            minimize_timer_slack()?;
            activity.set_head_start(check::head_start(&check::echo(&path, &clock, &told)?));
            check::echo(&plan, &clock, &told)
        });
        while !thread.is_finished() {
            if let Err(interrupted) = look(relay, TICK) {
                stop.store(true, Ordering::Relaxed);
                drop(thread.join());
                return Err(interrupted);
            }
        }
        let mut round_trips = join("link check", thread)?;
        note(&echo::asked_and_achieved(link, &round_trips, ipv6));
        round_trips.sort_unstable();
        Ok(round_trips.get(round_trips.len() / 2).copied())
    }

    /// Stops the link; packets on their way are dropped.
    ///
    /// # Errors
    /// Its loop failed.
    pub fn stop(self) -> Result<Left, LinkError> {
        // A loop that has ended by itself cannot be woken and need not be.
        drop(self.stop.wake());
        Ok(Left {
            clock: self.clock,
            medium: self.medium,
            forwarder: join("link", self.forwarding)?,
        })
    }
}

/// Waits for `patience`, or less; an error where a signal asks us to end.
pub(super) fn look(relay: &Relay, patience: Duration) -> Result<(), LinkError> {
    match relay.next(patience).map_err(doing("take signals"))? {
        Some(Caught::Asked { signal, .. }) => Err(LinkError::Interrupted(signal)),
        Some(Caught::ChildEnded) | None => Ok(()),
    }
}

pub(super) fn join<T>(what: &'static str, thread: JoinHandle<io::Result<T>>) -> Result<T, LinkError> {
    match thread.join() {
        Ok(result) => result.map_err(doing(what)),
        Err(_) => Err(RunError::Panicked(what).into()),
    }
}
