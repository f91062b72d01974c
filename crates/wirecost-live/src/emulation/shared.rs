//! The link that all devices share, the links of its checks, and their counters.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wirecost_link::{Counters, Hop, Link, LinkConfig};
use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::{HostIndex, MAX_DEVICES};
use wirecost_proto::path::Links;
use wirecost_proto::random::key_of;
use wirecost_proto::{BothWays, Delivery, Direction, Fate, Instant, Path, Rng};
use wirecost_results::link_use::{DirectionUse, LinkUse};

/// The device that checks the link.
pub const LINK_CHECK_HOST: HostIndex = MAX_DEVICES - 1;
/// The device that checks the path itself.
pub const PATH_CHECK_HOST: HostIndex = MAX_DEVICES - 2;
/// The device that checks the link of a hop.
pub const fn check_host(hop: HostIndex) -> HostIndex {
    match hop {
        0 => LINK_CHECK_HOST,
        later => PATH_CHECK_HOST - later,
    }
}
/// The number of devices with their own address: all except those of the checks.
pub const HOSTS: HostIndex = PATH_CHECK_HOST;

/// The link of all addresses on the devices' side except those of the checks.
#[derive(Debug)]
pub struct SharedLink {
    shared: MeteredLink,
    /// The links of the checks, one for each hop.
    checkers: Vec<Link>,
    surveyor: Link,
}

impl SharedLink {
    /// An idle link that counts in `meter`.
    pub fn new(config: LinkConfig, seed: u64, meter: Arc<Meter>) -> Self {
        Self::of_hops(&[Hop::of_all(config)], seed, meter)
    }

    /// Idle links that count in `meter`, and one of the same kind for the check of each.
    pub fn of_hops(hops: &[Hop], seed: u64, meter: Arc<Meter>) -> Self {
        let link = |config, purpose| Link::new(config, Rng::new(seed).purpose(key_of(purpose)));
        Self {
            shared: MeteredLink::of_hops(hops, seed, meter),
            checkers: hops.iter().map(|hop| link(hop.link, "link check")).collect(),
            surveyor: link(LinkConfig::default(), "path check"),
        }
    }

    /// The first of the hosts of checks, which are the highest.
    pub const fn first_check(&self) -> HostIndex {
        PATH_CHECK_HOST - self.checkers.len().saturating_sub(1) as HostIndex
    }

    /// The decisions of each direction of each link.
    pub fn counters(&self) -> Vec<BothWays<Counters>> {
        self.shared.counters()
    }
}

impl Links for SharedLink {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        if host == PATH_CHECK_HOST {
            return Some(&mut self.surveyor);
        }
        let checks = |hop: &HostIndex| check_host(*hop) == host;
        let mut hops = 0..self.checkers.len() as HostIndex;
        // Few links, and mostly one.
        match hops.find(checks) {
            Some(hop) => self
                .checkers
                .get_mut(hop as usize)
                .map(|link| link as &mut dyn Path),
            None => self.shared.link_to(host).map(|link| link as &mut dyn Path),
        }
    }
}

/// One link or several, each of some devices, that publish their counters together.
#[derive(Debug)]
pub struct MeteredLink {
    links: Vec<(Hop, Link)>,
    meter: Arc<Meter>,
    /// The device that the next packet is from or to.
    host: HostIndex,
    /// The link of that device, by index.
    hop: usize,
}

impl MeteredLink {
    /// Idle links that count together in `meter`. The decisions of the first one are those of a link of all devices.
    pub fn of_hops(hops: &[Hop], seed: u64, meter: Arc<Meter>) -> Self {
        let link = |(index, hop): (u64, &Hop)| {
            let rng = Rng::new(seed).purpose(key_of("link"));
            let rng = if index == 0 { rng } else { rng.host(index) };
            (hop.clone(), Link::new(hop.link, rng))
        };
        Self {
            links: (0..).zip(hops).map(link).collect(),
            meter,
            host: 0,
            hop: 0,
        }
    }

    /// The link for a packet from or to this device; `None` if no link is of it.
    pub fn link_to(&mut self, host: HostIndex) -> Option<&mut Self> {
        // Few links, and mostly one.
        if !self.links.get(self.hop)?.0.is_of(host) {
            self.hop = self.links.iter().position(|(hop, _)| hop.is_of(host))?;
        }
        self.host = host;
        Some(self)
    }

    /// The decisions of each direction of each link.
    pub fn counters(&self) -> Vec<BothWays<Counters>> {
        let of = |(_, link): &(Hop, Link)| BothWays::from_fn(|way| *link.counters(way));
        self.links.iter().map(of).collect()
    }
}

impl Path for MeteredLink {
    fn offer(
        &mut self,
        direction: Direction,
        wire_bytes: usize,
        now: Instant,
        deliveries: &mut Vec<Delivery>,
    ) -> Fate {
        let Some((_, link)) = self.links.get_mut(self.hop) else {
            return Fate::Lost;
        };
        self.meter.pass_mark(now);
        let before = link.counters(direction).offered.bytes;
        let fate = link.offer(direction, wire_bytes, now, deliveries);
        let counters = link.counters(direction);
        self.meter.show((self.hop, direction), counters);
        let entered = counters.offered.bytes.saturating_sub(before);
        self.meter
            .count_subscriber((self.hop, direction), self.host, entered);
        fate
    }

    fn translate(
        &mut self,
        direction: Direction,
        end: (Transport, IpAddr),
        port: u16,
        now: Instant,
    ) -> Option<u16> {
        let (_, link) = self.links.get_mut(self.hop)?;
        link.translate(direction, end, port, now)
    }

    fn own_port(&self, end: (Transport, IpAddr), seen: u16) -> u16 {
        let link = self.links.get(self.hop);
        link.map_or(seen, |(_, link)| link.own_port(end, seen))
    }
}

/// The counters of links so far and at a mark, readable from other threads.
#[derive(Debug)]
pub struct Meter {
    /// The gauges of each link, by direction.
    gauges: Vec<[Gauge; 2]>,
    /// The first device that subscribes; [`NOT_TOLD`] where devices that send and subscribers are not told apart.
    first_subscriber: AtomicU64,
    /// The mark, in nanoseconds of the link's clock; [`NO_MARK`] if there is none, or once it has been passed.
    mark_ns: AtomicU64,
    /// The counters when a packet passed the mark.
    at_mark: Mutex<Option<Readings>>,
}

const NO_MARK: u64 = u64::MAX;
const NOT_TOLD: u64 = u64::MAX;

#[derive(Debug, Default)]
struct Gauge {
    packets: AtomicU64,
    bytes: AtomicU64,
    subscriber_bytes: AtomicU64,
    lost: AtomicU64,
    queue_dropped: AtomicU64,
    busy_ns: AtomicU64,
}

/// The counters of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    packets: u64,
    bytes: u64,
    /// `None` where subscribers are not told from the other devices.
    subscriber_bytes: Option<u64>,
    lost: u64,
    queue_dropped: u64,
    busy_ns: u64,
}

/// The counters of each link at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings(Vec<[Reading; 2]>);

/// A meter of one link.
impl Default for Meter {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Meter {
    /// A meter of this many links.
    pub fn new(links: usize) -> Self {
        Self {
            gauges: (0..links).map(|_| Default::default()).collect(),
            first_subscriber: AtomicU64::new(NOT_TOLD),
            mark_ns: AtomicU64::new(NO_MARK),
            at_mark: Mutex::default(),
        }
    }

    /// Counts the bytes of the devices from `first` on apart: they subscribe. Call it before the first packet.
    pub fn tell_subscribers(&self, first: HostIndex) {
        self.first_subscriber.store(first.into(), Ordering::Relaxed);
    }

    fn gauge(&self, (link, way): (usize, Direction)) -> Option<&Gauge> {
        let [up, down] = self.gauges.get(link)?;
        Some(match way {
            Direction::Up => up,
            Direction::Down => down,
        })
    }

    fn count_subscriber(&self, way: (usize, Direction), host: HostIndex, bytes: u64) {
        if u64::from(host) >= self.first_subscriber.load(Ordering::Relaxed)
            && let Some(gauge) = self.gauge(way)
        {
            gauge.subscriber_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn show(&self, way: (usize, Direction), counters: &Counters) {
        let Some(gauge) = self.gauge(way) else {
            return;
        };
        let busy = u64::try_from(counters.busy.as_nanos()).unwrap_or(u64::MAX);
        for (shown, value) in [
            (&gauge.packets, counters.offered.packets),
            (&gauge.bytes, counters.offered.bytes),
            (&gauge.lost, counters.lost),
            (&gauge.queue_dropped, counters.queue_dropped),
            (&gauge.busy_ns, busy),
        ] {
            // Each number stands for itself: a reader between two stores is off by one packet at most.
            shown.store(value, Ordering::Relaxed);
        }
    }

    /// Counts a packet on the real path, where nothing else is known.
    pub(crate) fn count(&self, way: Direction, bytes: usize, now: Instant) {
        self.pass_mark(now);
        if let Some(gauge) = self.gauge((0, way)) {
            gauge.packets.fetch_add(1, Ordering::Relaxed);
            gauge.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Sets the mark: packets that enter from `at` on are after it. There is one mark at a time.
    pub fn mark(&self, at: Instant) {
        let mut at_mark = self.at_mark();
        *at_mark = None;
        self.mark_ns.store(at.as_nanos(), Ordering::Relaxed);
    }

    /// The counters at the mark, or the current ones if no packet has passed it.
    pub fn read_mark(&self) -> Readings {
        let at_mark = self.at_mark().clone();
        at_mark.unwrap_or_else(|| self.read())
    }

    /// Keeps the counters before a packet that enters `now`, if it is the first one after the mark.
    fn pass_mark(&self, now: Instant) {
        if now.as_nanos() < self.mark_ns.load(Ordering::Relaxed) {
            return;
        }
        let mut at_mark = self.at_mark();
        // Another thread may have moved the mark.
        if now.as_nanos() >= self.mark_ns.load(Ordering::Relaxed) {
            self.mark_ns.store(NO_MARK, Ordering::Relaxed);
            *at_mark = Some(self.read());
        }
    }

    fn at_mark(&self) -> MutexGuard<'_, Option<Readings>> {
        // A reading is consistent even if a thread panicked while it held the lock.
        self.at_mark.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counters so far.
    pub fn read(&self) -> Readings {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let is_told = read(&self.first_subscriber) != NOT_TOLD;
        let reading = |gauge: &Gauge| Reading {
            packets: read(&gauge.packets),
            bytes: read(&gauge.bytes),
            subscriber_bytes: is_told.then(|| read(&gauge.subscriber_bytes)),
            lost: read(&gauge.lost),
            queue_dropped: read(&gauge.queue_dropped),
            busy_ns: read(&gauge.busy_ns),
        };
        Readings(
            self.gauges
                .iter()
                .map(|ways| ways.each_ref().map(reading))
                .collect(),
        )
    }
}

impl Readings {
    /// The use of each link between `earlier` and this reading, over `span`.
    pub fn since(&self, earlier: &Self, span: Duration) -> Vec<LinkUse> {
        let before = earlier
            .0
            .iter()
            .copied()
            .chain(std::iter::repeat(Default::default()));
        let used = |([up, down], [up_before, down_before]): (&[Reading; 2], [Reading; 2])| LinkUse {
            up: up.since(&up_before, span),
            down: down.since(&down_before, span),
        };
        self.0.iter().zip(before).map(used).collect()
    }
}

impl Reading {
    fn since(&self, earlier: &Self, span: Duration) -> DirectionUse {
        let busy = Duration::from_nanos(self.busy_ns.saturating_sub(earlier.busy_ns));
        let share = busy.as_secs_f64() / span.as_secs_f64();
        DirectionUse {
            packets: self.packets.saturating_sub(earlier.packets),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            subscriber_bytes: self
                .subscriber_bytes
                .map(|bytes| bytes.saturating_sub(earlier.subscriber_bytes.unwrap_or_default())),
            lost: self.lost.saturating_sub(earlier.lost),
            queue_dropped: self.queue_dropped.saturating_sub(earlier.queue_dropped),
            // Packets in the queue count as soon as they enter it.
            utilisation: (!busy.is_zero() && share.is_finite()).then_some(share.min(1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(link: &mut SharedLink, host: HostIndex, packets: u32) {
        let mut deliveries = Vec::new();
        for _ in 0..packets {
            let path = link.link(host).expect("a link");
            path.offer(Direction::Up, 125, Instant::START, &mut deliveries);
        }
    }

    #[test]
    fn all_devices_share_the_metered_link_and_the_checks_do_not() {
        let mut config = LinkConfig::symmetric(Duration::from_millis(10));
        config.up.rate = Some("10kbit".parse().expect("a rate"));
        config.up.queue = Some(wirecost_link::QueueLimit::Packets(3));
        let meter = Arc::<Meter>::default();
        let mut link = SharedLink::new(config, 1, Arc::clone(&meter));
        let before = meter.read();
        offered(&mut link, 0, 2);
        offered(&mut link, 7, 4);
        offered(&mut link, LINK_CHECK_HOST, 1);
        let used = meter.read().since(&before, Duration::from_secs(1))[0];
        assert_eq!((used.up.packets, used.up.bytes, used.down.packets), (6, 750, 0));
        assert_eq!(link.counters()[0].up.offered.packets, 6);
        // Packets of 125 B take 100 ms each at 10 kbit/s. The first is sent while three wait.
        assert_eq!(used.up.queue_dropped, link.counters()[0].up.queue_dropped);
        assert!(used.up.queue_dropped > 0);
        let kept = 6 - used.up.queue_dropped;
        assert_eq!(used.up.utilisation, Some(kept as f64 / 10.0));
        assert_eq!(used.down.utilisation, None);
        let twice = used.with(&used);
        assert_eq!(
            (twice.up.packets, twice.up.utilisation),
            (12, used.up.utilisation)
        );
    }

    #[test]
    fn bytes_of_subscribers_are_told_from_those_of_senders() {
        let meter = Arc::<Meter>::default();
        let config = LinkConfig::symmetric(Duration::from_millis(10));
        let mut link = SharedLink::new(config, 1, Arc::clone(&meter));
        let before = meter.read();
        let used = |meter: &Meter| meter.read().since(&before, Duration::from_secs(1))[0].up;
        assert_eq!(
            used(&meter).sender_bytes(),
            None,
            "nobody has said who subscribes"
        );
        meter.tell_subscribers(2);
        offered(&mut link, 0, 1);
        offered(&mut link, 1, 2);
        offered(&mut link, 2, 4);
        offered(&mut link, LINK_CHECK_HOST, 8);
        let used = used(&meter);
        assert_eq!(
            (used.sender_bytes(), used.subscriber_bytes),
            (Some(375), Some(500))
        );
    }

    #[test]
    fn packets_from_the_mark_on_are_after_it() {
        let meter = Arc::<Meter>::default();
        let config = LinkConfig::symmetric(Duration::from_millis(10));
        let mut link = SharedLink::new(config, 1, Arc::clone(&meter));
        let mut enters = |millis| {
            let path = link.link(0).expect("a link");
            path.offer(Direction::Up, 100, Instant::from_millis(millis), &mut Vec::new());
        };
        let behind = || {
            let used = meter.read().since(&meter.read_mark(), Duration::from_secs(1))[0];
            (used.up.packets, used.up.bytes)
        };
        meter.mark(Instant::from_millis(20));
        enters(10);
        enters(19);
        assert_eq!(behind(), (0, 0), "none has passed it");
        enters(20);
        enters(21);
        assert_eq!(behind(), (2, 200));
        meter.mark(Instant::from_millis(30));
        enters(29);
        assert_eq!(behind(), (0, 0), "it is another mark");
        enters(31);
        assert_eq!(behind(), (1, 100));
    }
}
