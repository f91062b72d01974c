//! NB-IoT cells as the carrier of packets: the air interface of [`wirecost_nbiot`], and the internet behind it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use wirecost_nbiot::{AirEvent, LossCause, Network, Packet, RrcState, Transmission, UeFacts, UeId};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Delivery, Direction, Fate, Instant};

use crate::carrier::{Carrier, Decision, Offered};

/// What happens to devices and packets in the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellEvent {
    /// A packet has crossed the air.
    Delivered {
        /// The device.
        host: HostIndex,
        /// The packet's number.
        number: u32,
        /// When it arrives at the other side: a packet of the device also crosses the internet.
        arrives: Instant,
    },
    /// A packet is lost.
    Lost {
        /// The device.
        host: HostIndex,
        /// The packet's number.
        number: u32,
        /// Why.
        cause: LossCause,
    },
    /// A device has a connection.
    Connected {
        /// The device.
        host: HostIndex,
        /// When.
        at: Instant,
    },
    /// A device has no connection any more.
    Released {
        /// The device.
        host: HostIndex,
        /// When.
        at: Instant,
    },
    /// A transmission of a recorded device.
    Transmission(Transmission),
}

/// NB-IoT cells whose devices are hosts, and the internet between the cells and the servers.
///
/// A packet of a device crosses the air and then the internet; a packet for a device crosses the internet and then the air.
/// Each device is idle until a packet is offered.
#[derive(Debug)]
pub struct Cells {
    network: Network,
    /// The delay between the cells and the servers, up and down.
    internet: [Duration; 2],
    ues: BTreeMap<HostIndex, UeId>,
    hosts: BTreeMap<UeId, HostIndex>,
    /// Packets for devices that are on the internet, in the order in which they arrive at the cells.
    coming: VecDeque<(Instant, HostIndex, Packet)>,
    /// When the devices that are idle lost their last connection.
    released: BTreeMap<HostIndex, Instant>,
}

impl Cells {
    /// Cells without devices. `internet` is the delay between the cells and the servers, each way.
    pub const fn new(network: Network, internet: Duration) -> Self {
        Self::with_delays(network, [internet, internet])
    }

    /// As [`Cells::new`], with a delay for each direction, up and down.
    pub const fn with_delays(network: Network, internet: [Duration; 2]) -> Self {
        Self {
            network,
            internet,
            ues: BTreeMap::new(),
            hosts: BTreeMap::new(),
            coming: VecDeque::new(),
            released: BTreeMap::new(),
        }
    }

    /// The network of cells.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// The network of cells, for its owner.
    pub const fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// A device arrives, idle. Its place, its gains and what chance does to it follow from its number.
    pub fn arrive(&mut self, host: HostIndex, now: Instant) -> UeId {
        let ue = self.network.arrive(u64::from(host), now);
        self.attach(host, ue);
        ue
    }

    /// Makes a device of the network a host.
    pub fn attach(&mut self, host: HostIndex, ue: UeId) {
        self.ues.insert(host, ue);
        self.hosts.insert(ue, host);
    }

    /// The device of a host.
    pub fn ue(&self, host: HostIndex) -> Option<UeId> {
        self.ues.get(&host).copied()
    }

    /// Whether a device has no connection and no packet.
    pub fn is_idle(&self, host: HostIndex) -> bool {
        let state = self.ue(host).and_then(|ue| self.network.rrc_state(ue));
        state.is_none_or(|state| state == RrcState::Idle)
    }

    /// Until when the way of a device is busy at `now`: `now` while it has a connection or asks for one, or else the end of its
    /// last connection.
    pub fn busy_until(&self, host: HostIndex, now: Instant) -> Instant {
        match self.is_idle(host) {
            true => self.released.get(&host).copied().unwrap_or_default(),
            false => now,
        }
    }

    /// Takes a device out, with the packets that are on their way to it or from it. Returns what it did.
    pub fn remove(&mut self, host: HostIndex, now: Instant) -> Option<UeFacts> {
        let ue = self.ues.remove(&host)?;
        self.hosts.remove(&ue);
        self.released.remove(&host);
        self.network.remove(ue, now)
    }

    /// Takes a packet at its sender. That of a host without a device is dropped.
    pub fn offer(&mut self, packet: &Offered, now: Instant) {
        let Some(ue) = self.ue(packet.host) else {
            return;
        };
        let on_air = Packet {
            token: u64::from(packet.number),
            bytes: u32::try_from(packet.wire_bytes).unwrap_or(u32::MAX),
        };
        match packet.direction {
            Direction::Up => self.network.offer(ue, Direction::Up, on_air, now),
            Direction::Down => {
                let [_, down] = self.internet;
                self.coming.push_back((now + down, packet.host, on_air));
            }
        }
    }

    /// When something happens next, without further calls; `None` where nothing does.
    pub fn next_event(&self) -> Option<Instant> {
        let coming = self.coming.front().map(|(at, ..)| *at);
        coming.into_iter().chain(self.network.next_event()).min()
    }

    /// Lets time go on until `now` and tells `listener` what happens, in order.
    pub fn advance(&mut self, now: Instant, listener: &mut impl FnMut(CellEvent)) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            let Self {
                network,
                internet,
                hosts,
                released,
                ..
            } = self;
            network.advance(at, &mut |event| {
                let Some(event) = translated(event, hosts, internet[0]) else {
                    return;
                };
                if let CellEvent::Released { host, at } = event {
                    released.insert(host, at);
                }
                listener(event);
            });
            while let Some((_, host, packet)) = self.coming.front().copied().filter(|(due, ..)| *due <= at) {
                self.coming.pop_front();
                if let Some(ue) = self.ue(host) {
                    self.network.offer(ue, Direction::Down, packet, at);
                }
            }
        }
    }
}

/// An event of the network in terms of hosts; `None` where the device is not a host any more.
fn translated(event: AirEvent, hosts: &BTreeMap<UeId, HostIndex>, internet: Duration) -> Option<CellEvent> {
    let host_of = |ue: UeId| hosts.get(&ue).copied();
    // Tokens are numbers of packets in a world.
    let number_of = |token: u64| token as u32;
    Some(match event {
        AirEvent::Delivered {
            ue,
            direction,
            token,
            at,
        } => CellEvent::Delivered {
            host: host_of(ue)?,
            number: number_of(token),
            arrives: match direction {
                Direction::Up => at + internet,
                Direction::Down => at,
            },
        },
        AirEvent::Lost { ue, token, cause, .. } => CellEvent::Lost {
            host: host_of(ue)?,
            number: number_of(token),
            cause,
        },
        AirEvent::Connected { ue, at } => CellEvent::Connected {
            host: host_of(ue)?,
            at,
        },
        AirEvent::Released { ue, at } => CellEvent::Released {
            host: host_of(ue)?,
            at,
        },
        AirEvent::Transmission(transmission) => CellEvent::Transmission(transmission),
    })
}

/// One world on the cells: its hosts are the devices that have arrived.
impl Carrier for Cells {
    const HOLDS: bool = true;

    fn offer(&mut self, packet: Offered, now: Instant, _: &mut Vec<Delivery>) -> Fate {
        if self.ue(packet.host).is_none() {
            return Fate::Lost;
        }
        Self::offer(self, &packet, now);
        Fate::Held
    }

    fn busy_until(&self, host: HostIndex, now: Instant) -> Instant {
        Self::busy_until(self, host, now)
    }

    fn next_decision(&self) -> Option<Instant> {
        self.next_event()
    }

    fn decide(&mut self, now: Instant, decisions: &mut Vec<Decision>) {
        self.advance(now, &mut |event| match event {
            CellEvent::Delivered { number, arrives, .. } => decisions.push(Decision {
                number,
                arrives: Some(arrives),
            }),
            CellEvent::Lost { number, .. } => decisions.push(Decision {
                number,
                arrives: None,
            }),
            CellEvent::Connected { .. } | CellEvent::Released { .. } | CellEvent::Transmission(_) => {}
        });
    }
}
