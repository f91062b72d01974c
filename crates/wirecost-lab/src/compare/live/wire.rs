//! What carries or watches the packets of a live run: the forwarder of the emulated link, or the observer of the real path.

use std::io;
use std::time::Duration;

use wirecost_live::driver::Stopper;
use wirecost_live::forwarder::Forwarder;
use wirecost_live::observer::Observer;
use wirecost_live::recorder::Recording;
use wirecost_live::timerfd::minimize_timer_slack;
use wirecost_scenario::plan::DeviceLinks;

/// Between the devices and the server.
pub(super) enum Wire {
    /// The emulated link.
    Emulated(Box<Forwarder<DeviceLinks>>),
    /// The real path. The links are placeholders: nothing passes them.
    Real(Box<Observer>, DeviceLinks),
}

/// The packets of a run, and how they were carried.
pub struct Seen {
    /// The packets.
    pub recording: Recording,
    /// The links, with their counters; without any packet on the real path.
    pub links: DeviceLinks,
    /// Packets that the machine dropped or did not show.
    pub dropped: u64,
    /// How the forwarder worked; `None` on the real path.
    pub forwarder: Option<Worked>,
    /// What the user should know of the path.
    pub notes: Vec<String>,
}

/// How the forwarder worked.
#[derive(Clone, Debug)]
pub struct Worked {
    /// CPU time of its thread.
    pub cpu: Duration,
    /// How long before their time packets were handed over, to compensate for the path itself.
    pub head_start: Duration,
    /// The priority of its thread.
    pub priority: String,
    /// What idle CPUs did.
    pub idle_cpus: String,
}

impl Wire {
    /// Stops it from any thread.
    pub(super) fn stopper(&self) -> Stopper {
        match self {
            Self::Emulated(forwarder) => forwarder.stopper(),
            Self::Real(observer, _) => observer.stopper(),
        }
    }

    /// Carries or watches until it is stopped.
    pub(super) fn run(self) -> io::Result<Seen> {
        minimize_timer_slack()?;
        match self {
            Self::Emulated(forwarder) => {
                let finished = forwarder.run()?;
                Ok(Seen {
                    dropped: finished.dropped()?,
                    forwarder: Some(Worked {
                        cpu: finished.statistics.cpu,
                        head_start: finished.head_start,
                        priority: finished.priority.to_string(),
                        idle_cpus: finished.idle_cpus.to_string(),
                    }),
                    recording: finished.recording,
                    links: finished.links,
                    notes: Vec::new(),
                })
            }
            Self::Real(observer, links) => {
                let observed = observer.run()?;
                let divided = observed.divided.map(|(largest, mtu)| {
                    format!(
                        "the interface divides packets of up to {largest} B into packets of {mtu} B; each is counted once, \
                         before it is divided"
                    )
                });
                let interface = observed
                    .interface
                    .map(|name| format!("packets were recorded on {name}"));
                Ok(Seen {
                    recording: observed.recording,
                    links,
                    dropped: observed.dropped,
                    forwarder: None,
                    notes: interface.into_iter().chain(divided).collect(),
                })
            }
        }
    }
}
