//! A running emulated link that all devices share: both sides, the forwarder between them, and the check of its delay.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wirecost_link::{DirectionConfig, Hop, LinkConfig, Medium};
use wirecost_proto::Congestion;
use wirecost_proto::hosts::{HostIndex, site_address, site_check_address};

use crate::activity::Activity;
use crate::check::EchoPlan;
use crate::driver::Stopper;
use crate::forwarder::{self, Between, Forwarder};
use crate::port::PacketPort;
use crate::recorder::Recorder;
use crate::timerfd::minimize_timer_slack;
use crate::{Clock, Side, Topology, TopologyConfig, check};

pub mod capture;
pub mod echo;
mod error;
mod shared;
pub mod variation;
pub mod verdict;

pub use error::EmulationError;
pub use shared::{
    HOSTS, LINK_CHECK_HOST, Meter, MeteredLink, PATH_CHECK_HOST, Readings, SharedLink, check_host,
};

/// How often a thread checks whether to end.
const TICK: Duration = Duration::from_millis(20);

/// The options of an emulated link.
#[derive(Clone, Copy, Debug)]
pub struct EmulationOptions<'a> {
    /// The links, each with its devices.
    pub hops: &'a [Hop],
    /// Whether the check uses IPv6.
    pub ipv6: bool,
    /// The sites with servers, each in a namespace of its own.
    pub sites: u8,
    /// How packets leave the namespaces; `None` prefers TUN.
    pub medium: Option<Medium>,
    /// The device whose address is used by a program that binds to none.
    pub resident: Option<HostIndex>,
    /// Whether sockets choose their congestion control themselves.
    pub sockets_choose: bool,
    /// The congestion control of both sides.
    pub congestion: Congestion,
    /// Seed of the link's decisions.
    pub seed: u64,
}

/// Both sides and the running link. Dropping it stops it.
#[derive(Debug)]
pub struct Emulation {
    /// The clock of all times.
    pub clock: Clock,
    /// The devices' namespace.
    pub device: Side,
    /// The server's namespace.
    pub server: Side,
    /// The namespaces of the servers of further sites.
    pub further: Vec<Side>,
    /// The state shared with the forwarder.
    pub activity: Arc<Activity>,
    /// The link's counters.
    pub meter: Arc<Meter>,
    /// How packets leave the sides.
    pub medium: Medium,
    /// A remark about the packets' path for the user: information, not a fault.
    pub remark: Option<String>,
    /// Settings that were refused, one line each.
    pub warnings: Vec<String>,
    hops: Vec<Hop>,
    ipv6: bool,
    stop: Stopper,
    forwarding: Option<JoinHandle<io::Result<forwarder::Finished<SharedLink>>>>,
}

/// The result of a stopped link.
pub struct Left {
    /// The clock of all times.
    pub clock: Clock,
    /// How packets left the sides.
    pub medium: Medium,
    /// Packets, links, statistics.
    pub forwarder: forwarder::Finished<SharedLink>,
}

impl Emulation {
    /// Builds both sides and starts the link between them. Call it while the process has one thread, or after
    /// [`crate::topology::prepare`].
    ///
    /// # Errors
    /// The machine refuses namespaces, or has no descriptor left.
    pub fn start(
        options: &EmulationOptions<'_>,
        recorder: Recorder,
        clock: Clock,
    ) -> Result<Self, EmulationError> {
        let mtus = options
            .hops
            .iter()
            .map(|hop| hop.link.up.mtu.min(hop.link.down.mtu));
        // One interface carries packets of all links: what fits into the narrowest path fits everywhere.
        let mtu = mtus.min().unwrap_or(DirectionConfig::default().mtu);
        let topology = Topology::create(&TopologyConfig {
            mtu: mtu.into(),
            medium: options.medium,
            resident: options.resident,
            sockets_choose: options.sockets_choose,
            congestion: options.congestion,
            sites: options.sites,
            ..TopologyConfig::default()
        })?;
        let activity = Arc::new(Activity::new(options.resident.map_or(0, |host| host + 1)));
        let meter = Arc::new(Meter::new(options.hops.len()));
        let links = SharedLink::of_hops(options.hops, options.seed, Arc::clone(&meter));
        let (further, further_ports): (Vec<Side>, Vec<PacketPort>) = topology.further.into_iter().unzip();
        let mut ports = vec![topology.device_port, topology.server_port];
        ports.extend(further_ports);
        let forwarder = Forwarder::new(ports, links, recorder, clock, Arc::clone(&activity));
        let forwarder = forwarder.map_err(EmulationError::doing("set up the link"))?;
        let forwarder = forwarder.with_links_between(between(options.hops));
        let stop = forwarder.stopper();
        let forwarding = thread::spawn(move || {
            // Timers of the kernel fire up to 50 us late to save wake-ups: each packet would be so late.
            minimize_timer_slack()?;
            forwarder.run()
        });
        Ok(Self {
            clock,
            device: topology.device,
            server: topology.server,
            further,
            activity,
            meter,
            medium: topology.medium,
            remark: topology.veth_reason,
            warnings: topology.warnings,
            hops: options.hops.to_vec(),
            ipv6: options.ipv6,
            stop,
            forwarding: Some(forwarding),
        })
    }

    /// Compensates for the delay of the path itself, and checks the delay of each link. Returns the round-trip times of the
    /// received echoes of each, and a line for each with the configured and the measured delay. Stops once `is_over`, which
    /// receives the time that the check may take.
    ///
    /// # Errors
    /// A raw socket is refused.
    pub fn check(
        &self,
        is_over: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<(Vec<Duration>, String)>, EmulationError> {
        let path = echo::plan(&LinkConfig::default(), PATH_CHECK_HOST, self.ipv6);
        let plans: Vec<(Side, EchoPlan)> = (0..).zip(&self.hops).map(|hop| self.check_of(hop)).collect();
        let (side, clock, activity) = (self.device.clone(), self.clock, Arc::clone(&self.activity));
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            side.enter().map_err(io::Error::other)?;
            // As for the link itself: the check measures what it does.
            minimize_timer_slack()?;
            // First without a link: what the path itself takes is not to be added to the delay that is asked for (docs/decisions/0009).
            activity.set_head_start(check::head_start(&check::echo(&path, &clock, &told)?));
            let echoes = plans.iter().map(|(side, plan)| {
                side.enter().map_err(io::Error::other)?;
                check::echo(plan, &clock, &told)
            });
            echoes.collect()
        });
        while !thread.is_finished() {
            if is_over(TICK) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let checked: Vec<Vec<Duration>> = join("link check", thread)?;
        let said = |(round_trips, hop): (Vec<Duration>, &Hop)| {
            let said = echo::asked_and_achieved(&hop.link, &round_trips, self.ipv6);
            (round_trips, said)
        };
        Ok(checked.into_iter().zip(&self.hops).map(said).collect())
    }

    /// How the link of a hop is checked, and from which side.
    fn check_of(&self, (index, hop): (HostIndex, &Hop)) -> (Side, EchoPlan) {
        let plan = echo::plan(&hop.link, check_host(index), self.ipv6);
        let server = |site: u8| match site {
            0 => Some(&self.server),
            later => self.further.get(usize::from(later) - 1),
        };
        match hop.servers() {
            Some(([from, to], _)) => {
                let plan = EchoPlan {
                    device: site_check_address(from, self.ipv6),
                    server: site_address(to, self.ipv6),
                    ..plan
                };
                (server(from).unwrap_or(&self.server).clone(), plan)
            }
            None => (self.device.clone(), plan),
        }
    }

    /// Stops the link. Packets in transit are dropped.
    ///
    /// # Errors
    /// Its loop failed.
    pub fn stop(mut self) -> Result<Left, EmulationError> {
        // A loop that has ended cannot be woken and need not be.
        drop(self.stop.wake());
        let forwarding = self.forwarding.take();
        let forwarding = forwarding.ok_or(EmulationError::Panicked("link"))?;
        Ok(Left {
            clock: self.clock,
            medium: self.medium,
            forwarder: join("link", forwarding)?,
        })
    }
}

/// The hops between servers, each with its sites and the hosts whose links its packets cross.
fn between(hops: &[Hop]) -> Vec<Between> {
    let of = |(index, hop): (HostIndex, &Hop)| {
        let (sites, host) = hop.servers()?;
        let check = check_host(index);
        Some(Between { sites, host, check })
    };
    (0..).zip(hops).filter_map(of).collect()
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // A loop that has ended cannot be woken and need not be.
        drop(self.stop.wake());
    }
}

/// The result of a thread.
///
/// # Errors
/// It failed, or panicked.
pub fn join<T>(what: &'static str, thread: JoinHandle<io::Result<T>>) -> Result<T, EmulationError> {
    match thread.join() {
        Ok(result) => result.map_err(EmulationError::doing(what)),
        Err(_) => Err(EmulationError::Panicked(what)),
    }
}
