//! The devices' side, with the behaviour of the device loop on kernel sockets.
//!
//! - [`endpoint`]: an endpoint's input and output
//! - [`socket`]: a device's socket
//! - [`steps`]: the steps of a script

mod endpoint;
mod socket;
mod steps;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::director::Director;
use wirecost_proto::driver::{Device, DeviceReport, ServiceObserver};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::log::FlowLog;
use wirecost_proto::{Buffer, Direction, Endpoint, FlowId, Input, Instant, ResetReason};

use super::World;
use super::status::EndpointStatus;
use crate::awake::Activity;
use crate::carrier::Carrier;
use crate::queue::Event;
use crate::tap::Tap;

/// A device with the driver's state of it.
#[derive(Debug)]
pub(super) struct DeviceSlot<C> {
    /// Its number on the link.
    host: HostIndex,
    /// Its address; each flow has its own port.
    address: IpAddr,
    /// The number of its server's address.
    server: u32,
    /// The transport of its flows.
    transport: Transport,
    endpoint: C,
    /// Index of its service; `None` if no service listens.
    service: Option<u32>,
    /// Index of the flow whose socket is open.
    socket: Option<u32>,
    /// Flows opened so far; the current one is the last.
    flows: u32,
    /// Bytes of the current flow that the endpoint has transmitted; a datagram counts one byte more.
    transmitted: u64,
    /// What the endpoint has handled lately.
    activity: Activity,
    congested: bool,
    unsent_command: bool,
    finished: bool,
    logs: Vec<(SocketAddr, FlowLog)>,
    status: EndpointStatus,
}

impl<C: Endpoint> DeviceSlot<C> {
    pub(super) fn new(service: Option<u32>, server: u32, device: Device<C, ()>) -> Self {
        Self {
            host: device.host,
            address: device.local.ip(),
            server,
            transport: device.transport,
            endpoint: device.endpoint,
            service,
            socket: None,
            flows: 0,
            transmitted: 0,
            activity: Activity::default(),
            congested: false,
            unsent_command: false,
            finished: false,
            logs: Vec::new(),
            status: EndpointStatus::new(),
        }
    }

    const fn flow_id(&self) -> FlowId {
        FlowId(self.flows.saturating_sub(1))
    }

    /// Logs bytes that the endpoint transmitted.
    fn note_transmitted(&mut self, out: &Buffer) {
        self.transmitted += out.covered() + u64::from(self.transport == Transport::Datagram);
        if let Some((_, log)) = self.logs.last_mut() {
            log.transmitted(Direction::Up, out);
        }
    }

    /// Logs the spans of bytes that the endpoint received.
    fn note_consumed(&mut self, received: &[u8], out: &Buffer) {
        if let Some((_, log)) = self.logs.last_mut() {
            log.consumed(Direction::Down, received, out);
        }
    }

    pub(super) fn into_report(self) -> DeviceReport<()> {
        DeviceReport {
            host: self.host,
            script: (),
            finished: self.finished,
            logs: self.logs,
            cpu: Duration::ZERO,
            error: self.status.error,
        }
    }
}

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Carrier,
    T: Tap,
    O: ServiceObserver<S>,
{
    pub(super) fn wake_device_at(&mut self, index: usize, at: Instant) {
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        let at = slot.status.queue(at, self.network.now);
        if let (Some(at), Ok(device)) = (at, u32::try_from(index)) {
            self.network.queue.push(at, Event::Device { device });
        }
    }

    /// Wakes a device that is due. What its script does at this instant comes before a time-out of the same instant: a client
    /// whose PUBLISH is due when its keep-alive ends sends no PINGREQ (MQTT 5 section 3.1.2.10), as on a machine, where the
    /// keep-alive counts from a send that was a little late.
    pub(super) fn wake_device(&mut self, index: usize) {
        let now = self.network.now;
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        if !slot.status.wake(now) || slot.finished {
            return;
        }
        self.advance(index);
        let Some(slot) = self.devices.get(index).filter(|slot| !slot.finished) else {
            return;
        };
        match slot.status.wanted {
            Some(at) if at <= now => self.device_input(index, Input::Timeout, &[]),
            // The time-out was postponed after this wake-up was queued.
            Some(at) => self.wake_device_at(index, at),
            None => {}
        }
        self.advance(index);
    }

    /// Handles a datagram from the service.
    pub(super) fn device_receives(&mut self, flow: u32, bytes: &[u8]) {
        let Some(index) = self.device_with(flow) else {
            return self.network.refuse_datagram(flow, Direction::Down, bytes);
        };
        self.device_received(index, bytes);
        self.advance(index);
    }

    /// Handles the ICMP error "port unreachable". A connected UDP socket reports the error and stays open. A service's socket is
    /// not connected, so that the kernel does not report the error to it.
    pub(super) fn device_refused(&mut self, flow: u32, direction: Direction) {
        let Some(index) = self.device_with(flow).filter(|_| direction == Direction::Down) else {
            return;
        };
        let reason = ResetReason::Refused;
        self.device_flow_input(index, |flow| Input::Reset { flow, reason });
        self.advance(index);
    }

    /// The device whose open socket belongs to this flow.
    fn device_with(&self, flow: u32) -> Option<usize> {
        let index = self.network.flows.get(flow)?.device as usize;
        let slot = self.devices.get(index)?;
        (slot.socket == Some(flow) && !slot.finished).then_some(index)
    }
}
