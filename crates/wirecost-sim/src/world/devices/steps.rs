//! The steps of a device's script.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::director::Director;
use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::log::FlowLog;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Endpoint, Input, Phase, ResetReason};

use super::super::World;
use crate::carrier::Carrier;
use crate::network::Network;
use crate::network::flow::{Body, Flow};
use crate::tap::Tap;

/// The ports that Linux gives to sockets that ask for none (net.ipv4.ip_local_port_range), without the upper end.
const EPHEMERAL_PORTS: std::ops::Range<u16> = 32_768..60_999;
/// The random stream of a host's first port.
const FIRST_PORT: u64 = 0x7369_6d02;
/// The random stream of the first IP identifications of a host's flows.
const IDENTIFICATIONS: u64 = 0x7369_6d03;

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Carrier,
    T: Tap,
    O: ServiceObserver<S>,
{
    /// Carries out the script's steps until it waits.
    pub(in crate::world) fn advance(&mut self, index: usize) {
        let now = self.network.now;
        while let Some(slot) = self.devices.get_mut(index) {
            if slot.finished {
                return;
            }
            if slot.status.error.is_some() {
                return self.finish(index);
            }
            let context = Context {
                now,
                link_busy_until: self.network.busy_until(index as u32, slot.host),
                cpu: Duration::ZERO,
                transmitted: slot.transmitted,
                congested: slot.congested,
            };
            match self.director.next(index, context) {
                Step::Connect => self.connect(index),
                Step::Command(command) => {
                    slot.unsent_command = true;
                    self.device_input(index, Input::Command(command), &[]);
                }
                Step::Abort { reset } => self.abort(index, reset),
                Step::Wait(at) => {
                    return at.map_or((), |at| self.wake_device_at(index, at));
                }
                Step::Finished => return self.finish(index),
            }
        }
    }

    fn abort(&mut self, index: usize, reset: bool) {
        if self.devices.get(index).is_none_or(|slot| slot.socket.is_none()) {
            return;
        }
        if reset {
            self.close_flow(index, true);
        }
        self.close_socket(index);
        let reason = ResetReason::Local;
        self.device_flow_input(index, |flow| Input::Reset { flow, reason });
    }

    fn finish(&mut self, index: usize) {
        self.close_socket(index);
        if let Some(slot) = self.devices.get_mut(index) {
            slot.finished = true;
            self.running -= 1;
        }
    }

    fn connect(&mut self, index: usize) {
        self.close_socket(index);
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        let (transport, number) = (slot.transport, slot.flows);
        let client = SocketAddr::new(slot.address, self.network.port(slot.host, number));
        let rng = self.network.settings.rng.host(u64::from(slot.host));
        let first = rng.purpose(IDENTIFICATIONS).at(u64::from(number));
        let flow = self.network.open(Flow {
            device: index as u32,
            host: slot.host,
            client,
            seen_port: client.port(),
            server: slot.server,
            service: slot.service,
            server_end: None,
            body: match transport {
                Transport::Stream => Body::Stream(Box::default()),
                Transport::Datagram => Body::Datagram { is_open: true },
            },
            phase: match transport {
                Transport::Stream => Phase::Connect,
                Transport::Datagram => Phase::Message,
            },
            in_flight: 0,
            identifications: [first as u16, (first >> 16) as u16].into(),
        });
        slot.flows += 1;
        slot.transmitted = 0;
        slot.socket = Some(flow);
        if self.network.settings.keeps_logs {
            slot.logs.push((client, FlowLog::new(transport)));
        }
        match transport {
            Transport::Stream => self.network.connect(flow),
            Transport::Datagram => self.opened(index),
        }
    }
}

impl<L: Carrier, T: Tap> Network<L, T> {
    /// The port of a device's flow: the first port is random, and each further flow has the next one.
    fn port(&self, host: u32, number: u32) -> u16 {
        let ports = u64::from(EPHEMERAL_PORTS.end - EPHEMERAL_PORTS.start);
        let mut rng = self.settings.rng.host(u64::from(host)).purpose(FIRST_PORT);
        let offset = (rng.next_below(ports) + u64::from(number)) % ports;
        EPHEMERAL_PORTS.start + offset as u16
    }
}
