//! Progress notifications of a load.

use std::time::Duration;

use wirecost_proto::units::counted;
use wirecost_results::figures::Interval;
use wirecost_results::load::LoopKind;
use wirecost_results::metrics::{Metrics, Usage};
use wirecost_scenario::options::load::{LoadEngine, LoadOptions};

/// A receiver of progress notifications: the live view, the endpoint for Prometheus.
///
/// The coordinator calls from one thread, at the beginning, once a second while the load runs (also when nothing
/// has happened), and at the end. A watcher must return at once: what it draws or serves is its own business.
pub trait Watcher {
    /// A load begins.
    fn begin(&mut self, load: &Announcement);

    /// Something that a person may want to know: the target has started, a phase begins.
    fn note(&mut self, line: &str);

    /// A second is over.
    fn second(&mut self, tick: &Tick<'_>);

    /// The load is over.
    fn end(&mut self);
}

/// What is known of a load before it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Announcement {
    /// The load in a few words: stack, clients, rate.
    pub name: String,
    /// Name of the stack.
    pub stack: String,
    /// What answers: the name of a server, or a URL.
    pub target: String,
    /// Whether it runs in virtual time.
    pub simulated: bool,
    /// Devices that send, or only connect.
    pub clients: u64,
    /// Devices that subscribe.
    pub subscribers: u64,
    /// The number of this load, from 1, and how many loads there are.
    pub position: [usize; 2],
    /// Names of its phases, in order.
    pub phases: Vec<String>,
}

impl Announcement {
    /// What is known of the load at `position` of the loads.
    pub fn of(options: &LoadOptions, position: [usize; 2]) -> Self {
        let clients = options.clients;
        let rate = options.phases.iter().find_map(|phase| phase.rate(clients));
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

/// What has come about since the tick before.
#[derive(Clone, Debug)]
pub struct Tick<'a> {
    /// Since the load began.
    pub elapsed: Duration,
    /// Until it ends, where its phases have known lengths.
    pub remaining: Option<Duration>,
    /// Index of the phase that runs.
    pub phase: usize,
    /// Whether the phase is in its warm-up.
    pub warm_up: bool,
    /// Messages per second that the phase asks for; null in a closed loop and where there are none.
    pub asked_rate: Option<f64>,
    /// How long it took: about a second.
    pub span: Duration,
    /// The sum of what all parts have counted in that time, whichever second it was intended in. The answers in it
    /// are those that came in this second: a stall shows as silence, then as long times.
    pub counted: &'a Interval,
    /// Devices that are connected now.
    pub connected: u64,
    /// CPU and memory of the generator; none in virtual time.
    pub generator: Option<Usage>,
    /// CPU and memory of the target, where it runs on this machine.
    pub target: Option<Usage>,
}

/// Several watchers are one.
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

/// Counts all that happens.
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
