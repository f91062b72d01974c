//! A running forwarder between two sides, for the bench and the tests of the forwarder.

use std::sync::Arc;
use std::time::Duration;

use wirecost_live::activity::Activity;
use wirecost_live::forwarder::{Finished, Forwarder};
use wirecost_live::recorder::Recorder;
use wirecost_live::timerfd::minimize_timer_slack;
use wirecost_live::{Clock, Side, Topology};
use wirecost_proto::Path;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::path::Links;

/// The device that measures.
pub(crate) const DEVICE: HostIndex = 0;
/// The device whose link has no delay.
pub(crate) const UNDELAYED: HostIndex = 1;

/// The links of both devices, which count their bytes.
pub(crate) struct TwoLinks {
    pub(crate) delayed: Counted,
    undelayed: Counted,
}

/// A link that counts its bytes.
pub(crate) struct Counted {
    delay: FixedDelay,
    pub(crate) bytes: u64,
}

impl Path for Counted {
    fn offer(
        &mut self,
        direction: wirecost_proto::Direction,
        len: usize,
        now: wirecost_proto::Instant,
        deliveries: &mut Vec<wirecost_proto::Delivery>,
    ) -> wirecost_proto::Fate {
        self.bytes += len as u64;
        self.delay.offer(direction, len, now, deliveries)
    }
}

impl Links for TwoLinks {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        match host {
            DEVICE => Some(&mut self.delayed),
            UNDELAYED => Some(&mut self.undelayed),
            _ => None,
        }
    }
}

/// A running forwarder between two sides.
pub(crate) struct Link {
    pub(crate) activity: Arc<Activity>,
    pub(crate) device: Side,
    pub(crate) server: Side,
    pub(crate) clock: Clock,
    stop: Arc<mio::Waker>,
    thread: std::thread::JoinHandle<std::io::Result<Finished<TwoLinks>>>,
    _folder: tempfile::TempDir,
}

impl Link {
    /// A forwarder that delays the packets of [`DEVICE`].
    pub(crate) fn start(topology: Topology, delay: Duration) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let recorder = Recorder::create(folder.path()).map_err(|error| error.to_string())?;
        let counted = |delay| Counted {
            delay: FixedDelay(delay),
            bytes: 0,
        };
        let links = TwoLinks {
            delayed: counted(delay),
            undelayed: counted(Duration::ZERO),
        };
        let (clock, activity) = (Clock::start(), Arc::new(Activity::new(2)));
        let Topology {
            device,
            server,
            device_port,
            server_port,
            ..
        } = topology;
        let forwarder = Forwarder::new(
            [device_port, server_port],
            links,
            recorder,
            clock,
            Arc::clone(&activity),
        )
        .map_err(|error| error.to_string())?;
        let stop = forwarder.stopper();
        let thread = std::thread::spawn(move || {
            minimize_timer_slack()?;
            forwarder.run()
        });
        Ok(Self {
            activity,
            device,
            server,
            clock,
            stop,
            thread,
            _folder: folder,
        })
    }

    /// Stops the forwarder. Returns its results.
    pub(crate) fn stop(self) -> Finished<TwoLinks> {
        self.stop.wake().expect("a forwarder to wake");
        self.thread
            .join()
            .expect("the forwarder ends")
            .expect("a forwarder that did not fail")
    }
}
