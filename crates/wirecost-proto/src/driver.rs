//! What a driver takes and what it leaves, on kernel sockets and in virtual time alike.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use crate::bare::Transport;
use crate::hosts::HostIndex;
use crate::log::FlowLog;
use crate::{Endpoint, Instant};

/// Bytes that may wait for a flow's socket before commands are withheld.
pub const UNSENT_LIMIT: usize = 64 * 1024;

/// A device to be run.
#[derive(Debug)]
pub struct Device<E, S> {
    /// Its number on the link.
    pub host: HostIndex,
    /// Its address; each flow has a port of its own.
    pub local: SocketAddr,
    /// The server.
    pub remote: SocketAddr,
    /// What its flow runs on.
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

/// What a device has left.
#[derive(Debug)]
pub struct DeviceReport<S> {
    /// Its number on the link.
    pub host: HostIndex,
    /// Its script, with what it noted.
    pub script: S,
    /// Whether the script came to its end.
    pub finished: bool,
    /// What its endpoint said of the bytes, by the flow's local address.
    pub logs: Vec<(SocketAddr, FlowLog)>,
    /// CPU time of endpoint and socket calls.
    pub cpu: Duration,
    /// Why its endpoint ended, if it did.
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
    /// What its flows run on.
    pub transport: Transport,
    /// The endpoint.
    pub endpoint: E,
}

/// Takes what the endpoints report.
pub trait Observer<E: Endpoint> {
    /// Takes an event of a service, by its index, caused by input from `peer` (none for a timer's).
    fn event(&mut self, service: usize, peer: Option<SocketAddr>, event: E::Event, now: Instant);

    /// Whether an event is the arrival of a message that a server works on before it answers. Only a simulated server with a
    /// service time asks.
    fn is_work(&self, _event: &E::Event) -> bool {
        false
    }
}

/// What a flow has left.
#[derive(Debug)]
pub struct FlowReport {
    /// The service, by index.
    pub service: usize,
    /// The other side.
    pub peer: SocketAddr,
    /// What the endpoint said of the bytes; empty unless it was asked for.
    pub log: FlowLog,
    /// CPU time of endpoint and socket calls that input of the flow has caused, where logs were asked for. What a
    /// timer causes is no single flow's.
    pub cpu: Duration,
}
