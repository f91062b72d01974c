//! Devices of a load: many small devices. Only the director keeps their data.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::{Director, Endpoint, Instant};

use super::super::calls::{self, SocketCalls};
use super::super::sources::Sources;
use super::slot::{Slot, Target};
use super::{ClientLoop, InLoad};
use crate::clock::{Clock, thread_cpu_time};
use crate::own_sockets::OwnSockets;
use crate::timerfd::minimize_timer_slack;

/// What the loop needs to know of a device of a load; what it does comes from the director.
#[derive(Debug)]
pub struct LoadDevice<E> {
    /// The protocol that it speaks.
    pub endpoint: E,
    /// The transport of its flow.
    pub transport: Transport,
    /// The server.
    pub remote: SocketAddr,
}

/// The result of a load's loop.
#[derive(Debug)]
pub struct LoopReport<D> {
    /// The director with its counts.
    pub director: D,
    /// The loop's own counts.
    pub counted: Counted,
    /// The first error of opening a socket: no file, port or route is left.
    pub socket_error: Option<io::Error>,
    /// System calls on sockets.
    pub calls: SocketCalls,
    /// CPU time of the thread while the loop ran, in user and kernel.
    pub cpu: Duration,
}

/// The counts of a loop so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Bytes sent to sockets.
    pub sent_bytes: u64,
    /// Bytes received from sockets.
    pub received_bytes: u64,
    /// Datagrams that the kernel refused: lost before the link.
    pub dropped_datagrams: u64,
    /// Busy waiting: CPU time that a sleep would have saved.
    pub awake: Duration,
}

/// The counts of a loop so far, updated before each call of its director.
#[derive(Debug, Default)]
pub struct Traffic {
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
    dropped_datagrams: AtomicU64,
    awake_ns: AtomicU64,
}

impl Traffic {
    /// The counts, as of the last update.
    pub fn counted(&self) -> Counted {
        Counted {
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
            received_bytes: self.received_bytes.load(Ordering::Relaxed),
            dropped_datagrams: self.dropped_datagrams.load(Ordering::Relaxed),
            awake: Duration::from_nanos(self.awake_ns.load(Ordering::Relaxed)),
        }
    }

    /// Adds bytes sent to a socket.
    pub fn add_sent(&self, bytes: usize) {
        self.sent_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds bytes received from a socket.
    pub fn add_received(&self, bytes: usize) {
        self.received_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Replaces all counts.
    pub fn note(&self, counted: &Counted) {
        let awake_ns = u64::try_from(counted.awake.as_nanos()).unwrap_or(u64::MAX);
        self.sent_bytes.store(counted.sent_bytes, Ordering::Relaxed);
        self.received_bytes
            .store(counted.received_bytes, Ordering::Relaxed);
        self.dropped_datagrams
            .store(counted.dropped_datagrams, Ordering::Relaxed);
        self.awake_ns.store(awake_ns, Ordering::Relaxed);
    }
}

impl<E, D> ClientLoop<E, D, InLoad>
where
    E: Endpoint<Error: std::fmt::Display>,
    D: Director<E>,
{
    /// A loop over the devices of a load, numbered in order.
    ///
    /// # Errors
    /// The kernel has no poll instance, timer or event left.
    pub fn for_load(
        devices: impl IntoIterator<Item = LoadDevice<E>>,
        director: D,
        clock: Clock,
        sources: Sources,
    ) -> io::Result<Self> {
        let mut targets = Vec::new();
        let slots = devices.into_iter().map(|device| {
            let target = Target {
                remote: device.remote,
                transport: device.transport,
            };
            Slot::new(device.endpoint, target, &mut targets)
        });
        let mut slots: Vec<Slot<E>> = slots.collect();
        // The vector grows by doubling: of 100,000 devices half of its memory could be unused.
        slots.shrink_to_fit();
        let setting = InLoad {
            sources,
            own: None,
            used: vec![Instant::START; slots.len()],
        };
        Self::build(slots, targets, director, clock, setting)
    }

    /// Notes the addresses of its sockets, if `own` is there.
    #[must_use]
    pub fn with_own_sockets(mut self, own: Option<Arc<OwnSockets>>) -> Self {
        self.setting.own = own;
        self
    }

    /// Publishes the loop's counts in `traffic`, for the director and other threads.
    #[must_use]
    pub fn with_traffic(self, traffic: Arc<Traffic>) -> Self {
        Self { traffic, ..self }
    }

    /// Runs until every device is finished or the director ends the loop, on a thread whose timers fire on time.
    ///
    /// # Errors
    /// Polling failed.
    pub fn run(mut self) -> io::Result<LoopReport<D>> {
        let (before, calls_before) = (thread_cpu_time(), calls::so_far());
        minimize_timer_slack()?;
        self.run_to_end()?;
        self.traffic.note(&self.counted);
        Ok(LoopReport {
            director: self.director,
            counted: self.counted,
            socket_error: self.socket_error,
            calls: calls::so_far().since(calls_before),
            cpu: thread_cpu_time().saturating_sub(before),
        })
    }
}
