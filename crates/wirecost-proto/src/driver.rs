//! The input and the output of drivers, on kernel sockets and in virtual time.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::num::NonZeroUsize;
use core::time::Duration;

use crate::bare::Transport;
use crate::hosts::HostIndex;
use crate::log::FlowLog;
use crate::{Congestion, Endpoint, Instant};

/// The number of bytes that may wait for a flow's socket before the driver withholds commands.
pub const UNSENT_LIMIT: usize = 64 * 1024;

/// How a driver hands the bytes of a flow to TCP, and TCP to the network. The default is one write per output of the endpoint, sent at
/// once, with CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writing {
    /// The most bytes of one write; `None`: an output is one write.
    pub chunk: Option<NonZeroUsize>,
    /// Whether small segments wait for acknowledgments: Nagle's algorithm (RFC 9293, section 3.7.4), without `TCP_NODELAY`.
    pub nagle: bool,
    /// The congestion control of both ends on a link; elsewhere that of the machine applies.
    pub congestion: Congestion,
}

impl Writing {
    /// The next write of `bytes`.
    pub fn next<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let most = self.chunk.map_or(usize::MAX, NonZeroUsize::get);
        bytes.get(..most).unwrap_or(bytes)
    }
}

/// A device for a driver to run.
#[derive(Debug)]
pub struct Device<E, S> {
    /// Its number on the link.
    pub host: HostIndex,
    /// Its address; each flow has its own port.
    pub local: SocketAddr,
    /// The server.
    pub remote: SocketAddr,
    /// The transport of its flow.
    pub transport: Transport,
    /// Its endpoint.
    pub endpoint: E,
    /// Its script.
    pub script: S,
}

impl<E, S> Device<E, S> {
    /// The device without its script, and the script.
    pub fn apart(self) -> (Device<E, ()>, S) {
        let device = Device {
            host: self.host,
            local: self.local,
            remote: self.remote,
            transport: self.transport,
            endpoint: self.endpoint,
            script: (),
        };
        (device, self.script)
    }
}

/// The results of a device.
#[derive(Debug)]
pub struct DeviceReport<S> {
    /// Its number on the link.
    pub host: HostIndex,
    /// Its script, with the script's notes.
    pub script: S,
    /// Whether the script has finished.
    pub finished: bool,
    /// The spans of its endpoint, by the flow's local address.
    pub logs: Vec<(SocketAddr, FlowLog)>,
    /// The CPU time of endpoint and socket calls.
    pub cpu: Duration,
    /// The error that ended its endpoint, if one did.
    pub error: Option<String>,
}

impl DeviceReport<()> {
    /// The same with the device's script.
    pub fn with<S>(self, script: S) -> DeviceReport<S> {
        DeviceReport {
            host: self.host,
            script,
            finished: self.finished,
            logs: self.logs,
            cpu: self.cpu,
            error: self.error,
        }
    }
}

/// A server endpoint and where it listens.
#[derive(Debug)]
pub struct Service<E> {
    /// Address and port.
    pub address: SocketAddr,
    /// The transport of its flows.
    pub transport: Transport,
    /// The endpoint.
    pub endpoint: E,
}

/// Handles the events of service endpoints.
pub trait ServiceObserver<E: Endpoint> {
    /// Handles an event of a service, identified by its index. Input from `peer` caused it; `None`: a timer did.
    fn event(&mut self, service: usize, peer: Option<SocketAddr>, event: E::Event, now: Instant);

    /// The driver ended a flow, which held this many bytes. Only a live driver with a limit calls this.
    fn ended(&mut self, _peer: SocketAddr, _held_bytes: usize, _why: Ended) {}

    /// Whether an event is the arrival of a message that takes the server's service time. Only a simulated server with a
    /// service time calls this.
    fn is_work(&self, _event: &E::Event) -> bool {
        false
    }
}

/// Why a driver ended a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All flows together held more than the driver's limit, and none held more than this one.
    LargestHolder,
    /// The flow had an incomplete message or unread answers, and nothing moved for this time.
    Stalled(Duration),
    /// No further connection could be opened, and the peer had not said anything for this time.
    Silent(Duration),
}

/// The results of a flow.
#[derive(Debug)]
pub struct FlowReport {
    /// The service, by index.
    pub service: usize,
    /// The other side.
    pub peer: SocketAddr,
    /// The spans of the endpoint; empty unless logs were requested.
    pub log: FlowLog,
    /// The CPU time of endpoint and socket calls that input of the flow caused, if logs were requested. Calls that a timer
    /// caused belong to no single flow.
    pub cpu: Duration,
}
