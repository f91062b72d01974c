//! What one part of a load is given, and how its loop is built from it.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::clock::thread_cpu_time;
use wirecost_live::driver::client::{ClientLoop, LoadDevice, Traffic};
use wirecost_live::driver::sources::Sources;
use wirecost_proto::bare::Transport;
use wirecost_proto::random::key_of;
use wirecost_proto::{Instant, Rng};
use wirecost_security::Start;

use super::activities::close::Close;
use super::activities::connect::{Connect, Group};
use super::activities::hold::Hold;
use super::activities::publish::{Publish, Publishing};
use super::activity::{Activity, Kind, Part};
use super::book::{Book, Rules};
use super::destination::Destination;
use super::devices::{Devices, Phases};
use super::fleet::Fleet;
use super::options::{Backoff, LoadOptions, Offer, Payload, Phase, Who};
use super::part::{FromPart, Inbox};
use super::roles::drop_all::DropAll;
use super::roles::expected::{Matching, retained_before};
use super::roles::handshakes::{Handshakes, Handshaking, TICKET_WAIT};
use super::roles::reconnect::Reconnect;
use super::roles::replay::AwaitReplay;
use super::roles::subscriber::{Reception, Subscribers};
use crate::stack::channels::ClientChannels;
use crate::stack::client::{ClientConfig, Session, Will};
use crate::stack::pattern::{Pattern, Values};
use crate::stack::pool::{Carried, PoolConfig};
use crate::stack::{Application, Client, MessagePool, Subscription};

/// How connections come back that are lost while messages are sent, where nothing else is said.
pub const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    max: Duration::from_secs(30),
    full_jitter: true,
};

/// What one part of a load is given: from it, the same loop is built in any process.
#[derive(Clone, Debug)]
pub struct Share {
    /// What is asked for.
    pub options: Arc<LoadOptions>,
    /// Where it goes.
    pub destination: Destination,
    /// The part, from 0.
    pub number: u32,
    /// Its senders among all.
    pub devices: Range<u32>,
    /// Its subscribers among all.
    pub subscribers: Range<u32>,
}

/// Messages of a part on their way to the coordinator, with the part's number.
pub type Outbox = Sender<(u32, FromPart)>;

impl Share {
    /// The shares of so many parts: ranges of devices of nearly the same length.
    pub fn split(options: &Arc<LoadOptions>, destination: &Destination, parts: u32) -> Vec<Self> {
        let subscribers = options.subscribers.as_ref().map_or(0, |some| some.devices);
        let range = |all: u32, part: u32| {
            let upto = |part: u32| (u64::from(all) * u64::from(part) / u64::from(parts)) as u32;
            upto(part)..upto(part + 1)
        };
        (0..parts)
            .map(|number| Self {
                options: Arc::clone(options),
                destination: destination.clone(),
                number,
                devices: range(options.clients, number),
                subscribers: range(subscribers, number),
            })
            .collect()
    }

    /// Runs the part until it is told to quit: one loop on this thread. Whatever happens, the last thing that it says is
    /// [`FromPart::Failed`] or [`FromPart::Finished`].
    pub fn run(&self, inbox: &Arc<Inbox>, outbox: &Outbox) {
        let number = self.number;
        let last = match self.run_loop(inbox, outbox) {
            Ok((dropped_datagrams, socket_error)) => FromPart::Finished {
                cpu_ns: u64::try_from(thread_cpu_time().as_nanos()).unwrap_or(u64::MAX),
                dropped_datagrams,
                socket_error,
            },
            Err(reason) => FromPart::Failed { reason },
        };
        // A coordinator that has gone needs no word.
        drop(outbox.send((number, last)));
    }

    /// Runs the loop: datagrams that never left, and why a socket could not be had.
    fn run_loop(&self, inbox: &Arc<Inbox>, outbox: &Outbox) -> Result<(u64, Option<String>), String> {
        let clock = Clock::start();
        let clients = self.clients(clock)?;
        let transport = self.options.stack.transport();
        let remote = self.destination.address;
        let devices = clients.into_iter().map(|endpoint| LoadDevice {
            endpoint,
            transport,
            remote,
        });
        let traffic = Arc::<Traffic>::default();
        let bytes = Arc::clone(&traffic);
        let socket_bytes = Box::new(move || [bytes.sent(), bytes.received()]);
        let director = self
            .director(clock, inbox, outbox)?
            .with_socket_bytes(socket_bytes);
        let driver = ClientLoop::for_load(
            devices,
            director,
            clock,
            sources_of(&self.options, self.destination.address),
        );
        let driver = driver.map_err(|error| format!("cannot set up a loop: {error}"))?;
        let driver = driver.with_traffic(traffic);
        let waker = driver.waker();
        // A loop that has ended cannot be woken and need not be.
        inbox.wakes_by(move || drop(waker.wake()));
        // Nobody listens where the coordinator has gone: the loop is told to quit, or its process ends.
        drop(outbox.send((self.number, FromPart::Ready)));
        let report = driver
            .run()
            .map_err(|error| format!("the loop failed: {error}"))?;
        let socket_error = report.socket_error.map(|error| error.to_string());
        Ok((report.dropped_datagrams, socket_error))
    }

    fn rng(&self, purpose: &str) -> Rng {
        Rng::new(self.options.seed).purpose(key_of(purpose))
    }

    pub(super) fn director(
        &self,
        clock: Clock,
        inbox: &Arc<Inbox>,
        outbox: &Outbox,
    ) -> Result<Devices, String> {
        let options = &self.options;
        let (senders, subscribers) = (self.devices.len(), self.subscribers.len());
        let rules = Rules {
            answered: options.stack.awaits_answer(payload_bytes(&options.payload)),
            timeout: options.timeout,
            session: options.session_expiry.is_some(),
        };
        let rng = self.rng("back-off").host(u64::from(self.number));
        let pool = self.pool(clock)?;
        let part = Part {
            subscribers: self.subscribers(clock, pool.is_stamped())?,
            matching: Matching::Same(0),
            fleet: Fleet::new(senders + subscribers, options.connect_timeout, rng),
            book: Book::new(rules, senders + subscribers),
            pool,
            first: self.devices.start,
            senders,
            closes_silently: options.stack.transport() == Transport::Datagram
                && options.stack.application != Application::Http3,
            clock_start_ns: clock.monotonic_nanos(Instant::START),
        };
        let (outbox, number) = (outbox.clone(), self.number);
        // Nobody listens where the coordinator has gone.
        let report = Box::new(move |message| drop(outbox.send((number, message))));
        Ok(Devices::new(part, self.phases(), Arc::clone(inbox), report))
    }

    fn pool(&self, clock: Clock) -> Result<MessagePool, String> {
        let options = &self.options;
        let started = Instant::START;
        let payload = match &options.payload {
            Payload::Size(size) => {
                let bytes = usize::try_from(size.bytes()).map_err(|_| format!("{size} is too large"))?;
                Carried::random(bytes, options.seed)
            }
            Payload::File(bytes) => Carried::Bytes(Arc::clone(bytes)),
            Payload::Template(text) => Carried::Text(pattern(text)?),
        };
        let pool = MessagePool::new(PoolConfig {
            stack: options.stack,
            resource: pattern(&options.resource)?,
            authority: self.destination.authority.clone(),
            retain: options.retain,
            payload,
            utc_offset_ns: clock
                .utc_nanos(started)
                .saturating_sub(clock.monotonic_nanos(started)),
            seed: options.seed,
        });
        pool.map_err(|error| error.to_string())
    }

    fn subscribers(&self, clock: Clock, stamped: bool) -> Result<Subscribers, String> {
        let Some(asked) = &self.options.subscribers else {
            return Ok(Subscribers::none());
        };
        let filter = Pattern::of_device(&asked.filter).map_err(|error| error.to_string())?;
        let subscription = |device| {
            let filter = filter.text(&Values::of_device(device));
            let group = asked.shared.as_deref();
            let subscription = Subscription::new(self.options.stack, &filter, group, asked.qos);
            subscription.map(Arc::new).map_err(|error| error.to_string())
        };
        let subscriptions = self.subscribers.clone().map(subscription);
        let reception = Reception {
            stamped,
            senders: self.options.clients,
            clock_start_ns: clock.monotonic_nanos(Instant::START),
        };
        let subscriptions = subscriptions.collect::<Result<_, _>>()?;
        Ok(Subscribers::new(self.devices.len(), subscriptions, reception))
    }

    /// The endpoints of all devices: senders, then subscribers.
    fn clients(&self, clock: Clock) -> Result<Vec<Client>, String> {
        let channels = self.destination.channels(clock)?;
        let identities = Identities::new(&self.options)?;
        let senders = self.devices.clone().map(|device| (device, ""));
        let subscribers = self.subscribers.clone().map(|device| (device, "sub-"));
        senders
            .chain(subscribers)
            .map(|(device, prefix)| self.client(device, prefix, &identities, &channels))
            .collect()
    }

    fn client(
        &self,
        device: u32,
        prefix: &str,
        identities: &Identities,
        channels: &ClientChannels,
    ) -> Result<Client, String> {
        let options = &self.options;
        let of_device = |pattern: &Pattern| pattern.text(&Values::of_device(device));
        let config = ClientConfig {
            client_id: format!("{prefix}{}", of_device(&identities.client_id)),
            keep_alive: options.keep_alive,
            host: device,
            rng: self.rng(prefix).host(u64::from(device)),
            start: options.start,
            connection_close: false,
            session: identities.session(device, options).map(Box::new),
        };
        let resource = of_device(&identities.resource);
        let client = Client::idle(options.stack, &resource, &config, channels);
        client.map_err(|error| error.to_string())
    }

    /// What devices do in each phase.
    fn phases(&self) -> Phases {
        let share = self.clone();
        Box::new(move |index| {
            let phase = share.options.phases.get(index as usize)?;
            Some((share.activity(index, phase)?, warm_up_of(phase)))
        })
    }

    fn activity(&self, index: u32, phase: &Phase) -> Option<Box<dyn Activity>> {
        Some(match phase {
            Phase::Connect { who, rate } => self.connect(index, *who, *rate),
            Phase::Publish(offer) => self.publish(index, offer, Kind::Message),
            Phase::Request(offer) => self.publish(index, offer, Kind::Request),
            Phase::Handshakes { offer, start } => self.handshakes(index, offer, *start),
            Phase::Hold { duration } => Box::new(Hold::new(*duration, BACKOFF)),
            Phase::DropAll { who, reset } => {
                let wills = Matching::of_wills(&self.options, self.devices.clone(), index);
                Box::new(DropAll::new(*who, *reset, wills))
            }
            Phase::Reconnect {
                who,
                backoff,
                timeout,
            } => {
                let retained = retained_before(&self.options, index);
                Box::new(Reconnect::new(*who, *backoff, *timeout, retained))
            }
            Phase::AwaitReplay { timeout } => Box::new(AwaitReplay::new(*timeout)),
            Phase::Close => Box::new(Close::default()),
        })
    }

    fn handshakes(&self, index: u32, offer: &Offer, start: Start) -> Box<dyn Activity> {
        let stack = self.options.stack;
        // The answer to CONNECT or to open comes behind the ticket.
        let is_answered = stack.is_mqtt() || stack.is_amqp();
        let linger = match start {
            Start::Cold => Duration::ZERO,
            _ if is_answered => Duration::ZERO,
            _ => TICKET_WAIT,
        };
        Box::new(Handshakes::new(Handshaking {
            offer: *offer,
            devices: self.devices.clone(),
            of: self.options.clients,
            transport: stack.transport(),
            linger,
            rng: self.arrivals(index),
        }))
    }

    /// The randomness of the arrivals of a phase.
    fn arrivals(&self, index: u32) -> Rng {
        self.rng("arrivals")
            .cell(u64::from(index))
            .host(u64::from(self.number))
    }

    fn connect(&self, index: u32, who: Who, rate: Option<f64>) -> Box<dyn Activity> {
        let subscribers = self.options.subscribers.as_ref().map_or(0, |some| some.devices);
        let first = if who == Who::Senders { 0 } else { subscribers };
        let groups = [
            (
                Who::Senders,
                Group {
                    first: self.devices.len(),
                    places: self.subscribers.clone(),
                },
            ),
            (
                Who::Subscribers,
                Group {
                    first: 0,
                    places: self.devices.start + first..self.devices.end + first,
                },
            ),
        ];
        let groups = groups.into_iter().filter(|(without, _)| *without != who);
        let groups: Vec<Group> = groups.map(|(_, group)| group).collect();
        let of = match who {
            Who::All => self.options.clients + subscribers,
            Who::Senders => self.options.clients,
            Who::Subscribers => subscribers,
        };
        let retained = retained_before(&self.options, index);
        Box::new(Connect::new(rate, &groups, of, retained))
    }

    fn publish(&self, index: u32, offer: &Offer, kind: Kind) -> Box<dyn Activity> {
        let closed = matches!(offer.arrivals, super::options::Arrivals::Closed);
        let at_most = most_in_flight(self.options.stack.application);
        let asked = self.options.inflight.unwrap_or(if closed { 1 } else { u32::MAX });
        Box::new(Publish::new(Publishing {
            offer: *offer,
            devices: self.devices.clone(),
            of: self.options.clients,
            inflight: asked.min(at_most),
            backoff: BACKOFF,
            kind,
            matching: match kind {
                Kind::Message => Matching::in_phase(&self.options, self.devices.clone(), index),
                Kind::Request => Matching::Same(0),
            },
            rng: self.arrivals(index),
        }))
    }
}

/// The most messages that a protocol has on their way at a time.
pub const fn most_in_flight(application: Application) -> u32 {
    match application {
        // RFC 9112, section 9.3.2: requests that change something are not pipelined. RFC 7252, section 4.7: NSTART.
        Application::Http1 | Application::CoapCon => 1,
        // MQTT 5, section 4.9: as many as there are packet identifiers, or fewer where the server says so.
        Application::Mqtt311(1..) | Application::Mqtt5(1..) => 65_535,
        Application::Http3 => 100,
        _ => u32::MAX,
    }
}

/// Patterns of what devices say of themselves.
struct Identities {
    client_id: Pattern,
    resource: Pattern,
    login: Option<(Pattern, Pattern)>,
    will: Option<(Pattern, String)>,
}

impl Identities {
    fn new(options: &LoadOptions) -> Result<Self, String> {
        let of_device = |text: &str| Pattern::of_device(text).map_err(|error| error.to_string());
        let login = options.login.as_ref();
        let will = options.will.as_ref();
        Ok(Self {
            client_id: of_device(&options.client_id)?,
            resource: pattern(&options.resource)?,
            login: login
                .map(|(user, password)| Ok::<_, String>((of_device(user)?, of_device(password)?)))
                .transpose()?,
            will: will
                .map(|will| Ok::<_, String>((of_device(&will.topic)?, will.payload.clone())))
                .transpose()?,
        })
    }

    fn session(&self, device: u32, options: &LoadOptions) -> Option<Session> {
        let of_device = |pattern: &Pattern| pattern.text(&Values::of_device(device));
        let session = Session {
            login: self
                .login
                .as_ref()
                .map(|(user, password)| (of_device(user), of_device(password))),
            will: self.will.as_ref().map(|(topic, payload)| Will {
                topic: of_device(topic),
                payload: payload.clone(),
            }),
            expiry: options.session_expiry,
        };
        (session != Session::default()).then_some(session)
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    text.parse()
        .map_err(|error: crate::stack::pattern::PatternError| error.to_string())
}

fn payload_bytes(payload: &Payload) -> usize {
    match payload {
        Payload::Size(size) => usize::try_from(size.bytes()).unwrap_or(usize::MAX),
        Payload::File(bytes) => bytes.len(),
        Payload::Template(text) => text.len(),
    }
}

fn warm_up_of(phase: &Phase) -> Duration {
    match phase {
        Phase::Publish(offer) | Phase::Request(offer) | Phase::Handshakes { offer, .. } => offer.warm_up,
        _ => Duration::ZERO,
    }
}

/// Where the sockets of a load's devices come from that go to `address`.
pub fn sources_of(options: &LoadOptions, address: SocketAddr) -> Sources {
    let sources = if options.sources.is_empty() {
        let subscribers = options.subscribers.as_ref().map_or(0, |some| some.devices);
        Sources::for_target(address, options.clients.saturating_add(subscribers))
    } else {
        Sources::of(options.sources.clone())
    };
    if options.shared_socket {
        sources.with_shared_socket()
    } else {
        sources
    }
}
