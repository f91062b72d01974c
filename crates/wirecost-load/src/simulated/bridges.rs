//! Bridges between the built-in brokers of sites, in virtual time.
//!
//! ```text
//! broker of a site -> Taker, in memory -> Outbox -> client with the broker's address -> link -> broker of another site
//! ```
//!
//! - [`Station`]: a site's server; a subscriber within it takes the messages that it passes on
//! - [`Bridge`]: the client that publishes them at the other site
//! - [`Directed`]: a load's devices, and behind them the bridges

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use wirecost_mqtt::client::{self, Client as Subscriber, Config, PublishTemplate};
use wirecost_mqtt::codec::{SubscriptionOptions, Text};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, ResetReason};
use wirecost_stack::message::Template;
use wirecost_stack::server::ServerEvent;
use wirecost_stack::{Command, Event, Outgoing, Server};

use super::counted::Counted;
use crate::devices::population::Devices;
use crate::targets::sink::counter::Counter;

/// Messages without an acknowledgment, as many as a bridge of Mosquitto has by default (`max_inflight_messages`).
const IN_FLIGHT: usize = 20;
/// The flow of a subscriber at its own end.
const ONLY: FlowId = FlowId(0);

/// Messages that a broker passes on to one other broker.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Arc<PublishTemplate>>,
    /// Whether the bridge must be asked for its next step.
    is_awake: bool,
}

pub(super) type SharedOutbox = Rc<RefCell<Outbox>>;

/// A broker's own subscriber for one bridge.
pub(super) struct Taker {
    /// Its flow at the broker, which no device can have.
    flow: FlowId,
    subscriber: Subscriber,
    filters: Vec<(String, QoS)>,
    outbox: SharedOutbox,
}

impl Taker {
    /// The subscriber of the bridge with this number to these topics.
    pub(super) fn new(number: u32, filters: Vec<(String, QoS)>, outbox: SharedOutbox) -> Self {
        let config = Config {
            client_id: Text::new(&format!("bridge-{number}")).unwrap_or_default().into(),
            keep_alive: 0,
            describes_received: false,
            ..Config::default()
        };
        Self {
            flow: FlowId(u32::MAX - number),
            subscriber: Subscriber::new(config),
            filters,
            outbox,
        }
    }

    /// Takes an event of the subscriber at `now`.
    fn event(&mut self, event: client::Event, now: Instant) {
        match event {
            client::Event::Connected { .. } => {
                for (filter, qos) in &self.filters {
                    let options = SubscriptionOptions::of_qos(*qos);
                    if let Ok(subscribe) = client::Command::subscribe(filter, options) {
                        // The client of one flow in memory has no error of its own.
                        let _ = self.subscriber.handle_input(Input::Command(subscribe), now);
                    }
                }
            }
            client::Event::MessageReceived(message) => {
                let template = PublishTemplate::new(&message.topic, message.qos, message.payload);
                if let Ok(template) = template {
                    let mut outbox = self.outbox.borrow_mut();
                    outbox.waiting.push_back(Arc::new(template));
                    outbox.is_awake = true;
                }
            }
            _ => {}
        }
    }
}

/// The server of a site with the subscribers of its bridges.
pub(super) struct Station {
    server: Server,
    takers: Vec<Taker>,
    /// Whether its arrivals are those of the load: the server of the devices that send.
    is_first: bool,
    has_begun: bool,
    now: Instant,
    address: SocketAddr,
    between: Buffer,
}

impl Station {
    pub(super) fn new(server: Server, address: SocketAddr, is_first: bool, takers: Vec<Taker>) -> Self {
        Self {
            server,
            takers,
            is_first,
            has_begun: false,
            now: Instant::START,
            address,
            between: Buffer::new(),
        }
    }

    /// Connects the subscribers, before the first device does.
    fn begin(&mut self, now: Instant) {
        self.has_begun = true;
        let peer = self.address;
        for taker in &mut self.takers {
            let opened = Input::Opened {
                flow: taker.flow,
                peer,
            };
            let Ok(()) = self.server.handle_input(opened, now);
            let _ = taker
                .subscriber
                .handle_input(Input::Opened { flow: ONLY, peer }, now);
        }
    }

    /// Gives the server what its subscribers have to say. Returns whether it was anything.
    fn exchange(&mut self) -> bool {
        let mut has_input = false;
        for taker in &mut self.takers {
            loop {
                self.between.clear();
                match taker.subscriber.poll_output(&mut self.between) {
                    Output::Transmit { .. } => {
                        let bytes = self.between.bytes();
                        let input = Input::Received {
                            flow: taker.flow,
                            bytes,
                        };
                        let Ok(()) = self.server.handle_input(input, self.now);
                        has_input = true;
                    }
                    Output::Event(event) => taker.event(event, self.now),
                    Output::Consumed { .. } | Output::Close { .. } => {}
                    Output::Timeout(_) => break,
                }
            }
        }
        has_input
    }
}

impl Endpoint for Station {
    type Command = Infallible;
    type Event = ServerEvent;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        if !self.has_begun {
            self.begin(now);
        }
        self.server.handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ServerEvent> {
        loop {
            let output = self.server.poll_output(out);
            let flow = match &output {
                Output::Transmit { flow } | Output::Consumed { flow } | Output::Close { flow, .. } => {
                    Some(*flow)
                }
                // What a subscriber had to say may make the server transmit at once: its time-out is known only after that.
                Output::Timeout(_) if self.exchange() => {
                    out.clear();
                    continue;
                }
                // A bridged message has been counted where its device sent it; at a second broker it would count again.
                Output::Event(event) if !self.is_first && event.message().is_some() => {
                    out.clear();
                    continue;
                }
                Output::Timeout(_) | Output::Event(_) => None,
            };
            let taker = flow.and_then(|flow| self.takers.iter_mut().find(|taker| taker.flow == flow));
            let Some(taker) = taker else {
                return output;
            };
            if matches!(output, Output::Transmit { .. }) {
                let bytes = out.bytes();
                let _ = taker
                    .subscriber
                    .handle_input(Input::Received { flow: ONLY, bytes }, self.now);
            }
            out.clear();
        }
    }
}

/// Counts what arrives at the server of the devices that send.
pub(super) struct Arrivals(pub(super) Counter);

impl ServiceObserver<Station> for Arrivals {
    fn event(&mut self, station: usize, peer: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        self.0.event(station, peer, event, now);
    }

    fn is_work(&self, event: &ServerEvent) -> bool {
        self.0.is_work(event)
    }
}

/// The client by which a broker passes on messages.
pub(super) struct Bridge {
    outbox: SharedOutbox,
    state: State,
    /// Messages without an acknowledgment, with their numbers.
    in_flight: VecDeque<(u64, Arc<PublishTemplate>)>,
    sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Down,
    Connecting,
    Up,
    /// The other broker does not take it.
    Refused,
}

impl Bridge {
    /// A bridge that connects when it is asked first.
    pub(super) fn new(outbox: SharedOutbox) -> Self {
        outbox.borrow_mut().is_awake = true;
        Self {
            outbox,
            state: State::Down,
            in_flight: VecDeque::new(),
            sent: 0,
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Ready { .. } => self.state = State::Up,
            Event::Acknowledged { message }
            | Event::Refused { message, .. }
            | Event::TimedOut { message }
            | Event::Unanswered { message } => {
                self.done(*message, true);
            }
            Event::Sent { message } => self.done(*message, false),
            Event::Rejected { .. } => self.state = State::Refused,
            Event::Closed | Event::Lost { .. } => self.lost(),
            _ => {}
        }
    }

    /// Forgets a message that was answered, or that is not answered and has left.
    fn done(&mut self, message: u64, is_answered: bool) {
        self.in_flight.retain(|(number, template)| {
            *number != message || !is_answered && template.qos() != QoS::AtMostOnce
        });
    }

    /// The connection has ended: what was not acknowledged is sent again on the next one.
    fn lost(&mut self) {
        self.state = State::Down;
        let mut outbox = self.outbox.borrow_mut();
        outbox.is_awake = true;
        while let Some((_, template)) = self.in_flight.pop_back() {
            outbox.waiting.push_front(template);
        }
    }

    fn next(&mut self, context: Context) -> Step<Command> {
        match self.state {
            State::Down => {
                self.state = State::Connecting;
                return Step::Connect;
            }
            // Mosquitto's bridge stops at this number as well: without it, a slow link between brokers would have no queue in front.
            State::Up if !context.congested && self.in_flight.len() < IN_FLIGHT => {}
            State::Up | State::Connecting | State::Refused => return Step::Wait(None),
        }
        let Some(template) = self.outbox.borrow_mut().waiting.pop_front() else {
            return Step::Wait(None);
        };
        let message = self.sent;
        self.sent += 1;
        self.in_flight.push_back((message, Arc::clone(&template)));
        Step::Command(Command::Transmit {
            message,
            outgoing: Outgoing::from(Template::Mqtt(template)),
        })
    }
}

/// The devices of a load, and behind them the bridges between its brokers.
pub(super) struct Directed {
    devices: Devices,
    /// The number of the first bridge among the devices of the world.
    first: usize,
    bridges: Vec<Bridge>,
}

impl Directed {
    pub(super) const fn new(devices: Devices, first: usize, bridges: Vec<Bridge>) -> Self {
        Self {
            devices,
            first,
            bridges,
        }
    }

    fn bridge(&mut self, device: usize) -> Option<&mut Bridge> {
        self.bridges.get_mut(device.checked_sub(self.first)?)
    }
}

/// The director of the devices alone, for calls that name no endpoint.
fn own(devices: &mut Devices) -> &mut dyn Director<Counted> {
    devices
}

impl Director<Counted> for Directed {
    fn event(&mut self, device: usize, event: Event, now: Instant) {
        match self.bridge(device) {
            Some(bridge) => bridge.event(&event),
            None => own(&mut self.devices).event(device, event, now),
        }
    }

    fn failed(&mut self, device: usize, reason: ResetReason, now: Instant) {
        match self.bridge(device) {
            Some(bridge) => bridge.lost(),
            None => own(&mut self.devices).failed(device, reason, now),
        }
    }

    fn flushed(&mut self, device: usize, now: Instant) -> bool {
        match self.bridge(device) {
            Some(_) => true,
            None => own(&mut self.devices).flushed(device, now),
        }
    }

    fn next(&mut self, device: usize, context: Context) -> Step<Command> {
        let is_over = self.devices.is_over();
        match self.bridge(device) {
            Some(_) if is_over => Step::Finished,
            Some(bridge) => bridge.next(context),
            None => own(&mut self.devices).next(device, context),
        }
    }

    fn due(&mut self, now: Instant) -> Due {
        let is_awake = |bridge: &Bridge| std::mem::take(&mut bridge.outbox.borrow_mut().is_awake);
        match self.bridges.iter().position(is_awake) {
            Some(bridge) => Due::Device(self.first + bridge),
            None => own(&mut self.devices).due(now),
        }
    }

    fn woken(&mut self, now: Instant) -> ControlFlow<()> {
        own(&mut self.devices).woken(now)
    }

    fn ended(&mut self, device: usize, error: &dyn Display, now: Instant) {
        match self.bridge(device) {
            Some(bridge) => bridge.state = State::Refused,
            None => own(&mut self.devices).ended(device, error, now),
        }
    }

    fn awaited(&self, device: usize) -> Option<u32> {
        let devices: &dyn Director<Counted> = &self.devices;
        (device < self.first).then(|| devices.awaited(device)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use wirecost_stack::Credentials;
    use wirecost_stack::channels::{ChannelOptions, ServerChannels};
    use wirecost_stack::server::Clients;

    use super::*;

    /// What the two ends of a flow say to one another until both are silent.
    fn talk(publisher: &mut Subscriber, station: &mut Station, flow: FlowId, now: Instant) {
        let mut out = Buffer::new();
        let mut is_talking = true;
        while is_talking {
            is_talking = false;
            loop {
                out.clear();
                match publisher.poll_output(&mut out) {
                    Output::Timeout(_) => break,
                    Output::Transmit { .. } => {
                        let input = Input::Received {
                            flow,
                            bytes: out.bytes(),
                        };
                        let Ok(()) = station.handle_input(input, now);
                        is_talking = true;
                    }
                    _ => {}
                }
            }
            loop {
                out.clear();
                match station.poll_output(&mut out) {
                    Output::Timeout(_) => break,
                    Output::Transmit { flow: to } => {
                        assert_eq!(to, flow, "what is for a subscriber within stays there");
                        let input = Input::Received {
                            flow: ONLY,
                            bytes: out.bytes(),
                        };
                        let Ok(()) = publisher.handle_input(input, now);
                        is_talking = true;
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_broker_passes_on_what_a_bridge_asks_for() {
        let credentials = Credentials::simulated(1).expect("credentials");
        let rng = wirecost_proto::Rng::new(1);
        let channels = ServerChannels::simulated(credentials, ChannelOptions::default(), 0, rng);
        let stack = "mqtt-qos1".parse().expect("a stack");
        let server = Server::new(stack, Clients::Devices, &channels, 1).expect("a server");
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1)), 1883);
        let outbox = SharedOutbox::default();
        let filters = vec![("sensors/#".to_owned(), QoS::AtLeastOnce)];
        let taker = Taker::new(0, filters, Rc::clone(&outbox));
        let mut station = Station::new(server, address, true, vec![taker]);
        let (flow, now) = (FlowId(3), Instant::START);
        let mut publisher = Subscriber::new(Config::default());
        let Ok(()) = station.handle_input(Input::Opened { flow, peer: address }, now);
        let Ok(()) = publisher.handle_input(
            Input::Opened {
                flow: ONLY,
                peer: address,
            },
            now,
        );
        talk(&mut publisher, &mut station, flow, now);
        for topic in ["sensors/7", "others/7"] {
            let template =
                PublishTemplate::new(topic, QoS::AtLeastOnce, b"21.5".to_vec()).expect("a message");
            let publish = Input::Command(client::Command::Publish(Arc::new(template)));
            let Ok(()) = publisher.handle_input(publish, now);
            talk(&mut publisher, &mut station, flow, now);
        }
        let waiting: Vec<String> = outbox
            .borrow()
            .waiting
            .iter()
            .map(|message| message.topic().to_string())
            .collect();
        assert_eq!(waiting, ["sensors/7"]);
        assert!(outbox.borrow().is_awake);
    }
}
