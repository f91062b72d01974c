//! One part of a load: its share of the devices, and its loop.

mod activities;
mod clients;
mod director;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::driver::client::{ClientLoop, LoadDevice, Traffic};
use wirecost_live::driver::sources::Sources;
use wirecost_live::emulation::HOSTS;
use wirecost_live::own_sockets::OwnSockets;
use wirecost_live::priority;
use wirecost_proto::Rng;
use wirecost_proto::hosts::device_address;
use wirecost_proto::random::key_of;
use wirecost_scenario::options::load::shared::sockets;
use wirecost_scenario::options::load::{Backoff, LoadOptions};
use wirecost_security::{KeyLog, certificate};
use wirecost_stack::Client;
use wirecost_stack::channels::ClientChannels;

use crate::devices::destination::Destination;
use crate::devices::keys::{KeyLines, key_log, observed_key_log};
use crate::devices::part::PartError;
use crate::devices::part::{FromPart, Inbox};
use crate::devices::shared::SharedEndpoints;
use crate::devices::traffic::observed;
use crate::schedule::clock::Origin;

/// How devices reconnect in a sending phase that does not define a back-off.
pub const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    max: Duration::from_secs(30),
    full_jitter: true,
};

/// The share of one part: any process builds the same loop from it.
#[derive(Clone, Debug)]
pub struct Share {
    /// The options of the load.
    pub options: Arc<LoadOptions>,
    /// Where its devices connect, and whom they trust there.
    pub destination: Destination,
    /// The number of the part, from 0.
    pub number: u32,
    /// Its senders among all senders.
    pub devices: Range<u32>,
    /// Its subscribers among all subscribers.
    pub subscribers: Range<u32>,
    /// How far this machine's clock is ahead of the clock that the part counts on, in nanoseconds: 0 unless the coordinator
    /// is on another machine.
    pub offset_ns: i64,
    /// How far the clocks of two parts may be apart, in nanoseconds: 0 on one machine.
    pub clock_error_ns: u64,
    /// Where the addresses of its sockets are noted, if its packets are counted in this process.
    pub own_sockets: Option<Arc<OwnSockets>>,
}

/// Messages of a part on their way to the coordinator, with the part's number.
pub type Outbox = Sender<(u32, FromPart)>;

impl Share {
    /// The shares of `parts` parts: ranges of devices of nearly the same length.
    pub fn split(options: &Arc<LoadOptions>, destination: &Destination, parts: u32) -> Vec<Self> {
        (0..parts)
            .map(|number| Self::of_part(options, destination, [number, parts]))
            .collect()
    }

    /// The share of one part: its number, from 0, of how many.
    pub fn of_part(options: &Arc<LoadOptions>, destination: &Destination, [number, parts]: [u32; 2]) -> Self {
        let range = |all: u32| {
            // From bounds and not from sizes: the ranges of all parts meet without a gap, whatever remains of the division.
            let upto = |part: u32| (u64::from(all) * u64::from(part) / u64::from(parts)) as u32;
            upto(number)..upto(number + 1)
        };
        Self {
            options: Arc::clone(options),
            destination: destination.clone(),
            number,
            devices: range(options.clients),
            subscribers: range(options.receivers()),
            offset_ns: 0,
            clock_error_ns: 0,
            own_sockets: None,
        }
    }

    /// Runs the part on this thread until it receives `ToPart::Quit`. Its last message is always [`FromPart::Failed`]
    /// or [`FromPart::Finished`].
    pub fn run(&self, inbox: &Arc<Inbox>, outbox: &Outbox) {
        if self.options.is_beside_real_server() {
            priority::favour();
        }
        let of_all = key_log(&self.options);
        let of_observed = self.observed_key_log();
        let last = match self.run_loop(inbox, outbox, [&of_all, &of_observed]) {
            Ok(socket_error) => FromPart::Finished { socket_error },
            Err(error) => FromPart::Failed {
                reason: error.to_string(),
            },
        };
        let mut keys = KeyLines::from_log(&of_all);
        keys.add(KeyLines::from_log(&of_observed));
        let is_enabled = of_all.is_enabled() || of_observed.is_enabled();
        let all_keys = is_enabled.then_some(FromPart::AllKeys);
        // Keys go first: after the last message of a part nobody listens to it.
        let words = keys.pieces().map(FromPart::Keys).chain(all_keys);
        for word in words.chain([last]) {
            // A coordinator that has gone needs no message.
            drop(outbox.send((self.number, word)));
        }
    }

    /// The key log of those devices of the part that are observed, if other devices keep no secrets.
    fn observed_key_log(&self) -> KeyLog {
        if self.devices.start < observed(self.options.clients) {
            observed_key_log(&self.options)
        } else {
            KeyLog::disabled()
        }
    }

    /// Runs the loop with the key logs of all devices, and of those that are observed. Returns the first error of a device that
    /// could not open a socket.
    fn run_loop(
        &self,
        inbox: &Arc<Inbox>,
        outbox: &Outbox,
        [of_all, of_observed]: [&KeyLog; 2],
    ) -> Result<Option<String>, PartError> {
        let clock = Clock::start();
        let endpoints = self.shared_endpoints();
        let channels = self
            .destination
            .channels(&self.options.handshake, clock, of_all)?;
        let observed_channels = self
            .destination
            .channels(&self.options.handshake, clock, of_observed)?;
        let is_observed = |host| of_observed.is_enabled() && host < observed(self.options.clients);
        let own_channels = self.own_channels(clock, |host| match is_observed(host) {
            true => of_observed,
            false => of_all,
        })?;
        let channels_of = |host| {
            if let Some(own) = own_channels.get(&host) {
                own
            } else if is_observed(host) {
                &observed_channels
            } else {
                &channels
            }
        };
        let clients = self.clients(&channels_of, &endpoints)?;
        let transport = self.options.stack.transport();
        let (remote, subscribers) = (self.destination.address, self.destination.subscribers);
        let senders = self.devices.len();
        let device = |(number, endpoint): (usize, Client)| LoadDevice {
            endpoint,
            transport,
            remote: subscribers.filter(|_| number >= senders).unwrap_or(remote),
        };
        let devices = clients.into_iter().enumerate().map(device);
        let traffic = Arc::<Traffic>::default();
        let origin = Origin::from(clock).on_a_clock_behind(self.offset_ns);
        let director = self
            .director(origin, inbox, outbox)?
            .with_traffic(Arc::clone(&traffic))
            .with_shared_endpoints(endpoints);
        let driver = ClientLoop::for_load(devices, director, clock, self.sources());
        let driver = driver
            .map_err(PartError::Setup)?
            .with_traffic(traffic)
            .with_own_sockets(self.own_sockets.clone())
            .with_writing(self.options.writing());
        let waker = driver.waker();
        // A loop that has ended cannot be woken and need not be.
        inbox.wakes_by(move || drop(waker.wake()));
        let alive = FromPart::Alive {
            at_ns: origin.monotonic_ns.saturating_add(clock.now().as_nanos()),
            connected: 0,
            cpu_ns: crate::cpu_ns(),
            intended_ns: 0,
        };
        // Sending fails if the coordinator has gone. Then the loop receives `Quit`, or its process ends.
        drop(outbox.send((self.number, alive)));
        drop(outbox.send((self.number, FromPart::Ready)));
        let report = driver.run().map_err(PartError::Loop)?;
        Ok(report.socket_error.map(|error| error.to_string()))
    }

    /// The channels of each device of the part by its number, where each has a certificate of its own.
    fn own_channels<'k>(
        &self,
        clock: Clock,
        key_log: impl Fn(u32) -> &'k KeyLog,
    ) -> Result<BTreeMap<u32, ClientChannels>, certificate::Error> {
        if !self.destination.has_identity_of_each() {
            return Ok(BTreeMap::new());
        }
        let behind = |number: u32| self.options.clients.saturating_add(number);
        let subscribers = behind(self.subscribers.start)..behind(self.subscribers.end);
        self.devices
            .clone()
            .chain(subscribers)
            .map(|host| {
                Ok((
                    host,
                    self.destination
                        .channels_of(host, &self.options.handshake, clock, key_log(host))?,
                ))
            })
            .collect()
    }

    /// The sources of its sockets: on an emulated link each device has its own address, as long as there are enough.
    fn sources(&self) -> Sources {
        if self.destination.link.is_none() {
            return sources_of(&self.options, self.destination.address, self.count());
        }
        let behind = |number: u32| self.options.clients.saturating_add(number);
        let subscribers = behind(self.subscribers.start)..behind(self.subscribers.end);
        let hosts = self
            .devices
            .clone()
            .chain(subscribers)
            // Beyond them devices share an address, and differ by their ports.
            .map(|number| number % HOSTS);
        let addresses = hosts.filter_map(|host| device_address(host, self.options.ipv6));
        let sources = Sources::new(addresses.collect());
        sources.with_shared_sockets(sockets(&self.options, self.count()))
    }

    /// The number of devices in the part.
    pub(crate) fn count(&self) -> u32 {
        (self.devices.len() + self.subscribers.len()) as u32
    }

    fn shared_endpoints(&self) -> SharedEndpoints {
        let rng = self.rng("shared endpoints").host(u64::from(self.number));
        SharedEndpoints::from_options(&self.options, self.count(), rng)
    }

    pub(crate) fn rng(&self, purpose: &str) -> Rng {
        Rng::new(self.options.seed).purpose(key_of(purpose))
    }
}

/// The sources of sockets for `devices` devices of a load in one loop, towards `address`.
pub fn sources_of(options: &LoadOptions, address: SocketAddr, devices: u32) -> Sources {
    let sources = if options.sources.is_empty() {
        let subscribers = options.receivers();
        Sources::for_target(address, options.clients.saturating_add(subscribers))
    } else {
        Sources::new(options.sources.clone())
    };
    sources.with_shared_sockets(sockets(options, devices))
}
