//! The two modes of a devices' loop: the emulated link with logs, or a load without.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::log::FlowLog;
use wirecost_proto::script::Context;
use wirecost_proto::{Buffer, Direction, Instant};

use super::super::sources::{Origin, Sources};
use crate::activity::{Activity, OpenedFlow};
use crate::clock::{Clock, thread_cpu_time};
use crate::own_sockets::OwnSockets;

/// The mode of a loop, and the records of its devices.
pub(super) trait Setting {
    /// Whether each input has its own time and its own write to the kernel. Otherwise a turn has one time, and its
    /// output is written together.
    const EXACT: bool;
    /// The most steps of a device before other devices have their turn.
    const STEPS_PER_TURN: usize;
    /// How many devices' sockets are read before the first of them is written to. Consecutive writes keep a target
    /// awake that would otherwise fall asleep in between, and waking it is most of the cost of a write.
    const HEARD_TOGETHER: usize;
    /// The loop waits busily for deadlines that are closer than this.
    const AWAKE_BEFORE: Duration;

    /// The origin of a device's sockets.
    fn origin(&self, device: usize) -> Origin;

    /// The context of the director's decisions.
    fn context(&self, device: usize, now: Instant, congested: bool) -> Context;

    /// How many sockets datagram devices share; 0 if each has its own.
    fn shared_sockets(&self) -> usize {
        0
    }

    /// A turn begins.
    fn begin(&mut self) {}

    /// The turn of a device ends.
    fn charge(&mut self, _device: usize) {}

    /// Whether [`Setting::opened`] needs the addresses of sockets, which takes a system call for each.
    fn needs_addresses(&self) -> bool {
        Self::EXACT
    }

    /// A device has a flow on a socket with this address.
    fn opened(&mut self, _device: usize, _address: SocketAddr, _transport: Transport) {}

    /// A device sends or has received.
    fn used(&mut self, _device: usize, _now: Instant) {}

    /// A device's endpoint has transmitted this.
    fn transmitted(&mut self, _device: usize, _out: &Buffer) {}

    /// A device's endpoint has identified the bytes that it received.
    fn consumed(&mut self, _device: usize, _received: &[u8], _out: &Buffer) {}
}

/// Devices on the emulated link: the loop logs what their bytes are, and measures their CPU time.
#[derive(Debug)]
pub struct OnLink {
    pub(super) activity: Arc<Activity>,
    pub(super) clock: Clock,
    pub(super) devices: Vec<Noted>,
    /// Bytes of memory for the logged datagrams of a flow's direction.
    pub(super) log_bytes: usize,
    /// CPU time of the thread when the turn began.
    pub(super) lap: Duration,
}

/// The log of a device.
#[derive(Debug)]
pub(super) struct Noted {
    pub(super) host: HostIndex,
    pub(super) local: SocketAddr,
    pub(super) logs: Vec<(SocketAddr, FlowLog)>,
    pub(super) cpu: Duration,
}

impl Setting for OnLink {
    const EXACT: bool = true;
    const STEPS_PER_TURN: usize = usize::MAX;
    const HEARD_TOGETHER: usize = 1;
    /// The forwarder needs the CPU.
    const AWAKE_BEFORE: Duration = Duration::ZERO;

    fn origin(&self, device: usize) -> Origin {
        Origin::Link(self.devices[device].local)
    }

    fn context(&self, device: usize, now: Instant, congested: bool) -> Context {
        let noted = &self.devices[device];
        Context {
            now,
            link_busy_until: self.activity.last(noted.host),
            cpu: noted.cpu,
            transmitted: noted.logs.last().map_or(0, |(_, log)| log.up.bytes),
            congested,
        }
    }

    fn begin(&mut self) {
        self.lap = thread_cpu_time();
    }

    fn charge(&mut self, device: usize) {
        self.devices[device].cpu += thread_cpu_time().saturating_sub(self.lap);
    }

    fn opened(&mut self, device: usize, address: SocketAddr, transport: Transport) {
        let log = FlowLog::bounded(transport, self.log_bytes);
        self.devices[device].logs.push((address, log));
        self.activity.open(OpenedFlow {
            at: self.clock.now(),
            host: self.devices[device].host,
            local: address,
        });
    }

    fn transmitted(&mut self, device: usize, out: &Buffer) {
        if let Some((_, log)) = self.devices[device].logs.last_mut() {
            log.transmitted(Direction::Up, out);
        }
    }

    fn consumed(&mut self, device: usize, received: &[u8], out: &Buffer) {
        if let Some((_, log)) = self.devices[device].logs.last_mut() {
            log.consumed(Direction::Down, received, out);
        }
    }
}

/// Devices of a load: only the director keeps their data.
#[derive(Debug)]
pub struct InLoad {
    pub(super) sources: Sources,
    /// Where the addresses of sockets are noted, if somebody needs them.
    pub(super) own: Option<Arc<OwnSockets>>,
    /// When each device last sent or received.
    pub(super) used: Vec<Instant>,
}

impl Setting for InLoad {
    const EXACT: bool = false;
    const STEPS_PER_TURN: usize = 256;
    const HEARD_TOGETHER: usize = 32;
    /// The time of a timer, a sleep and a wake-up on a virtual machine: 7 us of CPU, and the median of 17 us by which a
    /// message after a sleep is late.
    const AWAKE_BEFORE: Duration = Duration::from_micros(20);

    fn origin(&self, device: usize) -> Origin {
        self.sources.origin(device)
    }

    fn context(&self, device: usize, now: Instant, congested: bool) -> Context {
        Context {
            now,
            link_busy_until: self.used.get(device).copied().unwrap_or(Instant::START),
            cpu: Duration::ZERO,
            transmitted: 0,
            congested,
        }
    }

    fn shared_sockets(&self) -> usize {
        self.sources.shared_sockets()
    }

    fn used(&mut self, device: usize, now: Instant) {
        if let Some(used) = self.used.get_mut(device) {
            *used = now;
        }
    }

    fn needs_addresses(&self) -> bool {
        self.own.is_some()
    }

    fn opened(&mut self, _: usize, address: SocketAddr, _: Transport) {
        if let Some(own) = &self.own {
            own.note(address);
        }
    }
}
