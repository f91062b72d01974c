//! In its steady state, a load allocates nothing per message: not in the pool, the tracker and the director, not in the
//! protocol's client, and not in the counting server.

#[path = "../../wirecost-proto/benches/measure/allocator.rs"]
mod allocator;

use std::sync::Arc;
use std::time::Duration;

use wirecost_load::devices::activities::connect::{Connect, Group};
use wirecost_load::devices::activities::publish::{Publish, Publishing};
use wirecost_load::devices::activity::{Activity, Kind, Part};
use wirecost_load::devices::connections::Connections;
use wirecost_load::devices::part::{FromPart, Inbox, ToPart};
use wirecost_load::devices::population::Devices;
use wirecost_load::devices::roles::subscriber::Subscribers;
use wirecost_load::devices::share::BACKOFF;
use wirecost_load::devices::shared::SharedEndpoints;
use wirecost_load::devices::tracker::{MessageTracker, Rules, Span};
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};
use wirecost_scenario::expected::Matching;
use wirecost_scenario::options::load::{Arrivals, LoadOptions, LoadTarget, Offer, Phase};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ServerChannels};
use wirecost_stack::message::Requests;
use wirecost_stack::pool::{PayloadSource, PoolConfig};
use wirecost_stack::server::Clients;
use wirecost_stack::target::Target;
use wirecost_stack::{Client, ClientConfig, Credentials, Event, MessagePool, Server, Stack};

use allocator::allocations;

const DEVICES: u32 = 3;
const PAYLOAD_BYTES: usize = 128;
/// Messages per second over all devices: fewer than a CoAP endpoint has message ids.
const RATE: f64 = 50.0;
/// Within the next second: each second has its own interval, which its first message allocates.
const MEASURED: [Duration; 2] = [Duration::from_millis(110), Duration::from_millis(910)];
const MEASURED_MESSAGES: u64 = 40;

/// The time until steady state: after EXCHANGE_LIFETIME (RFC 7252 section 4.8.2), CoAP's memory of messages stops
/// growing.
fn warm_up(stack: Stack) -> Duration {
    Duration::from_secs(if stack.is_coap() { 300 } else { 40 })
}

/// A load and its server in virtual time, connected directly.
struct World {
    devices: Devices,
    inbox: Arc<Inbox>,
    /// Messages that the clients have handed out.
    sent: u64,
    clients: Vec<Client>,
    server: Server,
    shares_socket: bool,
    now: Instant,
    out: Buffer,
    /// Datagrams or parts of streams in transit, end to end, and the end of each.
    up: (Vec<u8>, Vec<usize>),
    down: (Vec<u8>, Vec<(FlowId, usize)>),
}

fn options(stack: Stack, shares_socket: bool) -> LoadOptions {
    let publish = Offer {
        arrivals: Arrivals::Open {
            rate: RATE,
            per_client: false,
            poisson: false,
        },
        duration: Some(warm_up(stack) + Duration::from_secs(10)),
        count: None,
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: None,
    };
    LoadOptions {
        clients: DEVICES,
        shared_socket: shares_socket,
        phases: vec![Phase::Publish(publish)],
        ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
    }
}

fn activities(options: &LoadOptions) -> impl Fn(u32) -> Option<(Box<dyn Activity>, Span)> + Send + use<> {
    let [Phase::Publish(offer)] = options.phases[..] else {
        panic!("one phase, of messages");
    };
    move |phase| {
        let activity: Box<dyn Activity> = match phase {
            0 => {
                let places = 0..DEVICES;
                Box::new(Connect::new(None, &[Group { first: 0, places }], DEVICES, 64, 0))
            }
            _ => Box::new(Publish::new(Publishing {
                offer,
                devices: 0..DEVICES,
                of: DEVICES,
                inflight: u32::MAX,
                trace: None,
                backoff: BACKOFF,
                forgotten_after: None,
                per_message: false,
                transport: wirecost_proto::bare::Transport::Stream,
                kind: Kind::Message,
                matching: Matching::Same(0),
                rng: Rng::new(3),
            })),
        };
        Some((activity, Span::default()))
    }
}

fn part(options: &LoadOptions) -> Part {
    let rules = Rules {
        answered: options.stack.awaits_answer(PAYLOAD_BYTES),
        timeout: options.timeout,
        session: false,
        connects: true,
    };
    let pool = MessagePool::new(PoolConfig {
        stack: options.stack,
        resource: "test".parse().expect("a pattern"),
        authority: "server".into(),
        requests: Requests::default(),
        retain: false,
        topics: None,
        user_properties: Arc::default(),
        recorded: None,
        payload: PayloadSource::random(PAYLOAD_BYTES, 1),
        utc_offset_ns: 0,
        seed: 1,
        mark: 0,
    });
    Part {
        subscribers: Subscribers::none(),
        connections: Connections::new(DEVICES as usize, options.connect_timeout, Rng::new(1)),
        tracker: MessageTracker::new(rules, DEVICES as usize),
        pool: pool.expect("the stack carries it"),
        first: 0,
        senders: DEVICES as usize,
        closes_silently: false,
        answers_in_one_datagram: false,
        clock_start_ns: 0,
    }
}

impl World {
    fn new(stack: &str, shares_socket: bool) -> Self {
        let stack: Stack = stack.parse().expect("a stack");
        let options = options(stack, shares_socket);
        let credentials = Credentials::simulated(1).expect("credentials");
        let channels = ClientChannels::new(&credentials, ChannelOptions::default());
        let endpoints = SharedEndpoints::from_options(&options, DEVICES, Rng::new(4));
        let client = |host: u32| {
            let config = ClientConfig {
                host,
                describes_received: false,
                endpoint: endpoints.share(host),
                ..ClientConfig::new(format!("wc-{host:05}"), Rng::new(2).host(host.into()))
            };
            Client::idle(stack, "test", &config, &channels).expect("a client")
        };
        let clients = (0..DEVICES).map(client).collect();
        let channels = ServerChannels::new(credentials, ChannelOptions::default(), DEVICES as usize);
        let server = Server::new(stack, Clients::Devices, &channels, 9).expect("a server");
        let report = Box::new(|_: FromPart| {});
        let phases = Box::new(activities(&options));
        let inbox = Inbox::new();
        let devices = Devices::new(part(&options), phases, Arc::clone(&inbox), report);
        Self {
            devices: devices.with_shared_endpoints(endpoints),
            inbox,
            sent: 0,
            clients,
            server,
            shares_socket,
            now: Instant::START,
            out: Buffer::new(),
            up: Default::default(),
            down: Default::default(),
        }
    }

    fn begin(&mut self, phase: u32, at: Instant) {
        let at_ns = at.as_nanos();
        self.inbox.put(ToPart::Begin {
            phase,
            at_ns,
            shift_ns: 0,
        });
        let goes_on = Director::<Client>::woken(&mut self.devices, self.now);
        assert!(goes_on.is_continue());
    }

    /// Runs until `end`.
    fn run_until(&mut self, end: Instant) {
        loop {
            match Director::<Client>::due(&mut self.devices, self.now) {
                Due::Device(device) => self.turn(device),
                Due::Later(Some(at)) if at <= end => self.now = at,
                Due::Later(_) => return self.now = end,
            }
        }
    }

    fn turn(&mut self, device: usize) {
        loop {
            let context = Context {
                now: self.now,
                link_busy_until: Instant::START,
                cpu: Duration::ZERO,
                transmitted: 0,
                congested: false,
            };
            match Director::<Client>::next(&mut self.devices, device, context) {
                Step::Connect => self.connect(device),
                Step::Command(command) => {
                    let input = Input::Command(command);
                    self.clients[device]
                        .handle_input(input, self.now)
                        .expect("it goes on");
                }
                Step::Wait(_) => return,
                step => panic!("{step:?}"),
            }
            self.carry(device);
        }
    }

    /// The flow of a device at the server: devices that share a socket are one peer.
    fn flow(&self, device: usize) -> FlowId {
        FlowId(if self.shares_socket { 0 } else { device as u32 })
    }

    fn connect(&mut self, device: usize) {
        let peer = "192.0.2.1:1".parse().expect("an address");
        let flow = self.flow(device);
        if device == 0 || !self.shares_socket {
            let opened = Input::Opened { flow, peer };
            self.server.handle_input(opened, self.now).expect("it goes on");
        }
        let opened = Input::Opened {
            flow: FlowId(0),
            peer,
        };
        self.clients[device]
            .handle_input(opened, self.now)
            .expect("it goes on");
    }

    /// Carries bytes both ways until both sides are quiet.
    fn carry(&mut self, device: usize) {
        loop {
            self.poll_client(device);
            Director::<Client>::flushed(&mut self.devices, device, self.now);
            if self.up.1.is_empty() {
                return;
            }
            self.deliver_up(device);
            self.poll_server();
            self.deliver_down();
        }
    }

    fn poll_client(&mut self, device: usize) {
        loop {
            self.out.clear();
            match self.clients[device].poll_output(&mut self.out) {
                Output::Transmit { .. } => {
                    self.up.0.extend_from_slice(self.out.bytes());
                    self.up.1.push(self.up.0.len());
                }
                Output::Event(event) => {
                    self.sent += u64::from(matches!(event, Event::Sent { .. }));
                    Director::<Client>::event(&mut self.devices, device, event, self.now);
                }
                Output::Timeout(_) => return,
                Output::Consumed { .. } | Output::Close { .. } => {}
            }
        }
    }

    fn deliver_up(&mut self, device: usize) {
        let (flow, mut start) = (self.flow(device), 0);
        for end in &self.up.1 {
            let bytes = &self.up.0[start..*end];
            let received = Input::Received { flow, bytes };
            self.server.handle_input(received, self.now).expect("it goes on");
            start = *end;
        }
        self.up.0.clear();
        self.up.1.clear();
    }

    fn poll_server(&mut self) {
        loop {
            self.out.clear();
            match self.server.poll_output(&mut self.out) {
                Output::Transmit { flow } => {
                    self.down.0.extend_from_slice(self.out.bytes());
                    self.down.1.push((flow, self.down.0.len()));
                }
                Output::Timeout(_) => return,
                _ => {}
            }
        }
    }

    fn deliver_down(&mut self) {
        let mut start = 0;
        for (flow, end) in &self.down.1 {
            let bytes = &self.down.0[start..*end];
            let device = match self.shares_socket {
                true => Director::<Client>::route(&mut self.devices, 0, bytes).expect("it is somebody's"),
                false => flow.0 as usize,
            };
            let flow = FlowId(0);
            let received = Input::Received { flow, bytes };
            self.clients[device]
                .handle_input(received, self.now)
                .expect("it goes on");
            start = *end;
        }
        self.down.0.clear();
        self.down.1.clear();
    }
}

/// Asserts that a load in its steady state allocates nothing.
fn assert_none(stack: &str, shares_socket: bool) {
    let mut world = World::new(stack, shares_socket);
    world.begin(0, Instant::from_millis(1_000));
    world.run_until(Instant::from_millis(1_900));
    let begin = Instant::from_millis(2_000);
    let warm_up = warm_up(stack.parse().expect("a stack"));
    world.begin(1, begin);
    world.run_until(begin + warm_up + MEASURED[0]);
    let before = (allocations(), world.sent);
    world.run_until(begin + warm_up + MEASURED[1]);
    let (allocations, sent) = (allocations() - before.0, world.sent - before.1);
    assert_eq!((allocations, sent), (0, MEASURED_MESSAGES), "{stack}");
}

#[test]
fn a_message_allocates_nothing_on_any_stack() {
    for stack in [
        "tcp",
        "udp",
        "mqtt-qos0",
        "mqtt-qos1",
        "mqtt-qos2",
        "mqtt5-qos1",
        "coap-non",
        "coap-con",
        "coap-con+oscore",
        "amqp-settled",
        "amqp-unsettled",
        "http1",
    ] {
        assert_none(stack, false);
    }
}

#[test]
fn a_message_of_devices_on_a_shared_socket_allocates_nothing() {
    for stack in ["coap-non", "coap-con", "coap-con+oscore"] {
        assert_none(stack, true);
    }
}
