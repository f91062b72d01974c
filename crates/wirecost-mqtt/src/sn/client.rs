//! The client: one flow at a time, one exchange at a time.
//!
//! ```text
//! client                              gateway
//!   CONNECT           -->
//!                                 <-- CONNACK
//!   REGISTER          -->                          once for each topic name of other than two bytes
//!                                 <-- REGACK
//!   PUBLISH           -->
//!                                 <-- PUBACK       at QoS 1
//!   PINGREQ           -->                          after keep-alive idle
//!                                 <-- PINGRESP
//!   DISCONNECT        -->
//!                                 <-- DISCONNECT
//! ```
//!
//! At QoS -1 there is nothing but the PUBLISH, with a short topic name or a predefined topic id (section 6.8). A client has one
//! unfinished exchange at most (section 6.6), and sends its message again after [`RETRY_TIME`], [`RETRIES`] times (section 6.13).

mod receive;
mod transmit;

pub(super) use transmit::emit;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, ResetReason, Stamp, TimerTable};

use super::codec::{Message, MessageType, ReturnCode, Topic};
use super::describe::Footprint;
use super::{RETRIES, RETRY_TIME};
use crate::client::PublishTemplate;
use crate::quality::QoS;

/// The configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The client identifier, 1 to [`LONGEST_CLIENT_ID_BYTES`](super::LONGEST_CLIENT_ID_BYTES) bytes.
    pub client_id: String,
    /// The keep-alive in seconds; 0 turns it off.
    pub keep_alive: u16,
    /// Whether every message is sent at QoS -1, without a connection. The QoS of its template is then ignored.
    pub is_connectionless: bool,
    /// The topic name that the client registers as a part of its connect.
    pub registers: Option<String>,
    /// Whether to describe received bytes with [`Output::Consumed`].
    pub describes_received: bool,
    /// How long to wait for the CONNACK; `None` is until the last retransmission has had its time.
    pub connect_timeout: Option<Duration>,
}

impl Config {
    /// A client that connects without keep-alive and registers nothing.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            keep_alive: 0,
            is_connectionless: false,
            registers: None,
            describes_received: true,
            connect_timeout: None,
        }
    }
}

/// A command to the client. A message that cannot be sent yet waits in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a message.
    Publish {
        /// The number that events give back.
        message: u64,
        /// The message.
        template: Arc<PublishTemplate>,
        /// Overwrites the first bytes of the payload. A payload that is shorter than the stamp stays unchanged.
        stamp: Option<Stamp>,
    },
    /// Send DISCONNECT, and close when the gateway has answered. What is not acknowledged is given up.
    Disconnect,
}

/// An event of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client may send messages.
    Connected,
    /// The gateway refused the CONNECT, or the registration that is a part of the connect.
    Rejected {
        /// CONNACK or REGACK.
        by: MessageType,
        /// The reason.
        code: ReturnCode,
    },
    /// The last byte of a message has been handed out. At QoS 0 and -1 nothing else follows.
    Sent {
        /// Its number.
        message: u64,
    },
    /// The gateway accepted a message (PUBACK or PUBCOMP).
    Acknowledged {
        /// Its number.
        message: u64,
    },
    /// The gateway refused a message, or the registration of its topic.
    Refused {
        /// Its number.
        message: u64,
        /// The reason.
        code: ReturnCode,
    },
    /// A message, or the name of its topic, is longer than a message of MQTT-SN can be. It was not sent.
    Unsent {
        /// Its number.
        message: u64,
    },
    /// A message of this type is longer than a message of MQTT-SN can be. The client gave up the connection.
    TooLong(MessageType),
    /// The connection ended before a message was sent or acknowledged.
    Discarded {
        /// Its number.
        message: u64,
    },
    /// The gateway did not answer this message. The client gave up the connection.
    TimedOut(MessageType),
    /// The gateway sent DISCONNECT.
    Disconnected,
    /// The connection is closed in answer to [`Command::Disconnect`].
    Closed,
    /// The flow broke.
    Reset(ResetReason),
}

/// Counters of repeated and of ignored messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages sent again.
    pub retransmissions: u64,
    /// Messages that answer nothing that was asked.
    pub unexpected: u64,
    /// The type of the last one.
    pub last_unexpected: Option<MessageType>,
    /// Datagrams that are not messages.
    pub malformed: u64,
}

/// A message to send.
#[derive(Clone, Debug)]
struct Outgoing {
    message: u64,
    template: Arc<PublishTemplate>,
    stamp: Option<Stamp>,
}

/// What waits for its answer.
#[derive(Clone, Debug)]
enum Exchange {
    Connect,
    Register(String),
    Publish(Outgoing, Topic),
    Release(u64),
    Ping,
    Disconnect,
}

impl Exchange {
    /// The type of the message that waits.
    const fn kind(&self) -> MessageType {
        match self {
            Self::Connect => MessageType::Connect,
            Self::Register(_) => MessageType::Register,
            Self::Publish(..) => MessageType::Publish,
            Self::Release(_) => MessageType::Pubrel,
            Self::Ping => MessageType::Pingreq,
            Self::Disconnect => MessageType::Disconnect,
        }
    }

    /// The number of the user's message.
    const fn message(&self) -> Option<u64> {
        match self {
            Self::Publish(outgoing, _) => Some(outgoing.message),
            Self::Release(message) => Some(*message),
            Self::Connect | Self::Register(_) | Self::Ping | Self::Disconnect => None,
        }
    }
}

/// The next step of the client.
#[derive(Debug)]
enum Action {
    /// Send the message of the exchange, or send it again.
    Exchange {
        again: bool,
    },
    /// Send a message that has no answer.
    Publish(Outgoing, Topic),
    Send(Message<'static>),
    Consumed(FlowId, Footprint),
    Event(Event),
    Close(FlowId),
}

#[derive(Clone, Copy, Debug)]
enum Timer {
    Retry,
    KeepAlive,
    Connack,
}

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}

/// An MQTT-SN client.
#[derive(Debug)]
pub struct Client {
    config: Config,
    now: Instant,
    flow: Option<FlowId>,
    /// Whether the user may send messages.
    is_ready: bool,
    actions: VecDeque<Action>,
    /// The message that was handed out last, until that is reported.
    sent: Option<u64>,
    requests: VecDeque<Outgoing>,
    exchange: Option<Exchange>,
    /// The message id of the exchange, and of the last one where there is none.
    message_id: u16,
    retries: u32,
    topics: BTreeMap<String, u16>,
    timers: TimerTable<3>,
    stats: Stats,
}

impl Client {
    /// A client that connects when its flow opens.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            now: Instant::START,
            flow: None,
            is_ready: false,
            actions: VecDeque::new(),
            sent: None,
            requests: VecDeque::new(),
            exchange: None,
            message_id: 0,
            retries: 0,
            topics: BTreeMap::new(),
            timers: TimerTable::new(),
            stats: Stats::default(),
        }
    }

    /// Counters of repeated and of ignored messages.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    fn opened(&mut self, flow: FlowId) {
        self.flow = Some(flow);
        self.topics.clear();
        if self.config.is_connectionless {
            return self.become_ready();
        }
        self.begin(Exchange::Connect);
        if let Some(patience) = self.config.connect_timeout {
            self.timers.set(Timer::Connack, self.now + patience);
        }
    }

    fn publish(&mut self, outgoing: Outgoing) {
        if outgoing.is_short_enough() {
            self.requests.push_back(outgoing);
        } else {
            self.report(outgoing.too_long());
        }
    }

    fn become_ready(&mut self) {
        self.is_ready = true;
        self.report(Event::Connected);
    }

    fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    /// Sends the first message of an exchange. PUBREL has the message id of its PUBLISH.
    fn begin(&mut self, exchange: Exchange) {
        if matches!(exchange, Exchange::Register(_) | Exchange::Publish(..)) {
            self.message_id = self.message_id.checked_add(1).unwrap_or(1);
        }
        self.exchange = Some(exchange);
        self.retries = 0;
        self.timers.set(Timer::Retry, self.now + RETRY_TIME);
        self.actions.push_back(Action::Exchange { again: false });
    }

    /// Ends the exchange.
    fn finish(&mut self) -> Option<Exchange> {
        self.timers.stop(Timer::Retry);
        self.exchange.take()
    }

    fn disconnect(&mut self) {
        let Some(flow) = self.flow else {
            return;
        };
        self.discard();
        self.is_ready = false;
        if self.config.is_connectionless {
            self.close(flow);
            return;
        }
        self.begin(Exchange::Disconnect);
    }

    /// Closes the flow.
    fn close(&mut self, flow: FlowId) {
        self.forget();
        self.actions.push_back(Action::Close(flow));
        self.report(Event::Closed);
    }

    /// Ends the connection for a reason that `event` names.
    fn fail(&mut self, event: Event) {
        let flow = self.flow;
        self.discard();
        self.forget();
        self.report(event);
        if let Some(flow) = flow {
            self.actions.push_back(Action::Close(flow));
        }
    }

    /// Gives up every message that is not acknowledged.
    fn discard(&mut self) {
        let unfinished = self.finish().and_then(|exchange| exchange.message());
        let waiting = core::mem::take(&mut self.requests);
        for message in unfinished
            .into_iter()
            .chain(waiting.iter().map(|outgoing| outgoing.message))
        {
            self.report(Event::Discarded { message });
        }
    }

    /// Forgets the connection.
    fn forget(&mut self) {
        self.flow = None;
        self.is_ready = false;
        self.exchange = None;
        self.timers = TimerTable::new();
    }

    fn expire(&mut self) {
        let now = self.now;
        if self.timers.expire(Timer::Connack, now) && matches!(self.exchange, Some(Exchange::Connect)) {
            return self.fail(Event::TimedOut(MessageType::Connect));
        }
        if self.timers.expire(Timer::KeepAlive, now) && self.is_ready && self.exchange.is_none() {
            self.begin(Exchange::Ping);
        }
        if !self.timers.expire(Timer::Retry, now) {
            return;
        }
        let Some(exchange) = &self.exchange else {
            return;
        };
        if self.retries < RETRIES {
            self.retries += 1;
            self.stats.retransmissions += 1;
            self.timers.set(Timer::Retry, now + RETRY_TIME);
            self.actions.push_back(Action::Exchange { again: true });
            return;
        }
        match (exchange, self.flow) {
            (Exchange::Disconnect, Some(flow)) => self.close(flow),
            (exchange, _) => {
                let event = Event::TimedOut(exchange.kind());
                self.fail(event);
            }
        }
    }

    /// Starts what waits, as far as the exchange in progress allows it.
    fn advance(&mut self) {
        while self.is_ready && self.exchange.is_none() {
            let Some(first) = self.requests.front() else {
                return;
            };
            let name = first.template.topic().as_str();
            let Some(topic) = self.topic_of(name) else {
                let register = Exchange::Register(name.into());
                return self.begin(register);
            };
            let has_answer = !self.config.is_connectionless && first.template.qos() != QoS::AtMostOnce;
            let Some(outgoing) = self.requests.pop_front() else {
                return;
            };
            if has_answer {
                return self.begin(Exchange::Publish(outgoing, topic));
            }
            self.actions.push_back(Action::Publish(outgoing, topic));
        }
    }

    /// The topic with this name; `None` if it must be registered first.
    fn topic_of(&self, name: &str) -> Option<Topic> {
        match Topic::without_registration(name) {
            short @ Topic::Short(_) => Some(short),
            topic if self.config.is_connectionless => Some(topic),
            _ => self.topics.get(name).copied().map(Topic::Registered),
        }
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        match input {
            Input::Opened { flow, .. } => self.opened(flow),
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::Command(Command::Publish {
                message,
                template,
                stamp,
            }) => self.publish(Outgoing {
                message,
                template,
                stamp,
            }),
            Input::Command(Command::Disconnect) => self.disconnect(),
            Input::Timeout => self.expire(),
            // A reset of an earlier flow does not concern the current one.
            Input::Reset { flow, reason } if self.flow == Some(flow) => {
                self.discard();
                self.forget();
                self.report(Event::Reset(reason));
            }
            Input::Reset { .. }
            | Input::PeerClosed { .. }
            | Input::Congested { .. }
            | Input::Writable { .. } => {}
        }
        self.advance();
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(message) = self.sent.take() {
            return Output::Event(Event::Sent { message });
        }
        while let Some(action) = self.actions.pop_front() {
            if let Some(output) = self.perform(action, out) {
                return output;
            }
        }
        Output::Timeout(self.timers.next())
    }
}
