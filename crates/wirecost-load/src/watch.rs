//! Progress notifications of a load.

use std::time::Duration;

use wirecost_proto::units::counted;
use wirecost_results::figures::Interval;
use wirecost_results::load::LoopKind;
use wirecost_results::metrics::{Metrics, Usage};
use wirecost_results::warning::Warning;
use wirecost_scenario::options::load::{LoadEngine, LoadOptions};

/// A receiver of progress notifications: the live view, the endpoint for Prometheus.
///
/// The coordinator calls from one thread, at the beginning, once a second while the load runs (also when nothing has
/// happened), and at the end. A watcher must return at once.
pub trait Watcher {
    /// A load begins.
    fn begin(&mut self, load: &Announcement);

    /// An event of interest to a user: the target has started, a phase begins.
    fn note(&mut self, line: &str);

    /// A second is over.
    fn second(&mut self, tick: &Tick<'_>);

    /// The load is over.
    fn end(&mut self);
}

/// The facts about a load that are known before it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Announcement {
    /// A short name of the load: stack, clients, rate.
    pub name: String,
    /// Name of the stack.
    pub stack: String,
    /// The target: the name of a server, or a URL.
    pub target: String,
    /// Whether it runs in virtual time.
    pub simulated: bool,
    /// Devices that send, or only connect.
    pub clients: u64,
    /// Devices that subscribe.
    pub subscribers: u64,
    /// The number of this load, from 1, and the number of loads.
    pub position: [usize; 2],
    /// Names of its phases, in order.
    pub phases: Vec<String>,
}

impl Announcement {
    /// The announcement of the load at `position`.
    pub fn from_options(options: &LoadOptions, position: [usize; 2]) -> Self {
        let clients = options.own_clients();
        let rate = options.phases.iter().find_map(|phase| options.own_rate(phase));
        let rate = match (rate, options.loop_kind()) {
            (Some(rate), _) => format!("{rate}/s"),
            (None, LoopKind::Saturation) => "as fast as it goes".to_owned(),
            (None, LoopKind::Closed) => "closed loop".to_owned(),
            (None, LoopKind::None | LoopKind::Open) => "no messages".to_owned(),
        };
        Self {
            name: format!("{}, {}, {rate}", options.stack, counted(clients.into(), "client")),
            stack: options.stack.to_string(),
            target: options.target.to_string(),
            simulated: options.engine == LoadEngine::Sim,
            clients: u64::from(clients),
            subscribers: u64::from(options.receivers()),
            position,
            phases: options
                .phases
                .iter()
                .map(|phase| phase.name().to_owned())
                .collect(),
        }
    }
}

/// The progress since the last tick.
#[derive(Clone, Debug)]
pub struct Tick<'a> {
    /// The time since the load began.
    pub elapsed: Duration,
    /// The remaining time, if its phases have known lengths.
    pub remaining: Option<Duration>,
    /// The index of the running phase.
    pub phase: usize,
    /// Whether the phase is in its warm-up.
    pub warm_up: bool,
    /// The phase's intended messages per second; `None` in a closed loop and in phases without messages.
    pub asked_rate: Option<f64>,
    /// The length of the tick: about a second.
    pub span: Duration,
    /// The sum of all parts' counts in this time, whichever second a message was intended in. Its answers arrived in
    /// this second: a stall shows as silence first, and then as long times.
    pub counted: &'a Interval,
    /// The number of connected devices.
    pub connected: u64,
    /// CPU and memory of the generator; `None` in virtual time.
    pub generator: Option<Usage>,
    /// CPU and memory of the target, if it runs on this machine.
    pub target: Option<Usage>,
    /// The reasons for which figures of the phase would be INVALID if it ended now.
    pub limits: &'a [Warning],
}

/// Several watchers act as one.
impl<W: Watcher + ?Sized> Watcher for Vec<Box<W>> {
    fn begin(&mut self, load: &Announcement) {
        self.iter_mut().for_each(|watcher| watcher.begin(load));
    }

    fn note(&mut self, line: &str) {
        self.iter_mut().for_each(|watcher| watcher.note(line));
    }

    fn second(&mut self, tick: &Tick<'_>) {
        self.iter_mut().for_each(|watcher| watcher.second(tick));
    }

    fn end(&mut self) {
        self.iter_mut().for_each(|watcher| watcher.end());
    }
}

/// Counts every tick.
impl Watcher for Metrics {
    fn begin(&mut self, load: &Announcement) {
        Metrics::begin(self, &load.stack, &load.target, load.clients, &load.phases);
    }

    fn note(&mut self, _: &str) {}

    fn second(&mut self, tick: &Tick<'_>) {
        let usage = [tick.generator, tick.target];
        Metrics::second(self, tick.phase, tick.counted, tick.connected, usage);
    }

    fn end(&mut self) {
        Metrics::end(self);
    }
}

/// A watcher that ignores all notifications.
impl Watcher for () {
    fn begin(&mut self, _: &Announcement) {}

    fn note(&mut self, _: &str) {}

    fn second(&mut self, _: &Tick<'_>) {}

    fn end(&mut self) {}
}
