//! A client and a server in virtual time, and single endpoints with manual input.

use std::sync::Arc;
use std::time::Duration;

use wirecost_http::client::{Command, Event};
use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Buffer, Direction, Endpoint, FlowId, Input, Instant, Layer, Output, Peer, Span};

pub(crate) type TestPair = Pair<Client, Server, FixedDelay>;

pub(crate) const DELAY: Duration = Duration::from_millis(5);
pub(crate) const FLOW: FlowId = FlowId(0);

/// A pair whose first flow is open.
pub(crate) fn opened(client: ClientConfig, server: ServerConfig) -> TestPair {
    let (client, server) = (Client::new(client), Server::new(server));
    let mut pair = Pair::new(Transport::Stream, client, server, FixedDelay(DELAY));
    pair.open();
    pair
}

pub(crate) fn template(method: Method, path: &str, content: &[u8]) -> Arc<RequestTemplate> {
    let octets = Some("application/octet-stream");
    let template = RequestTemplate::new(method, "wirecost", path, octets, content);
    Arc::new(template.expect("a request"))
}

pub(crate) fn request(message: u64, method: Method, path: &str, content: &[u8]) -> Command {
    let template = template(method, path, content);
    Command::Request { message, template }
}

pub(crate) fn post(message: u64, content: &[u8]) -> Command {
    request(message, Method::Post, "/test", content)
}

/// The client's events in one word each, without times and without the requests reported as sent.
pub(crate) fn words<P>(pair: &Pair<Client, Server, P>) -> Vec<String> {
    let events = pair.client_events.iter().map(|(_, event)| event);
    without_sent(events).map(word).collect()
}

pub(crate) fn without_sent<'a>(events: impl Iterator<Item = &'a Event>) -> impl Iterator<Item = &'a Event> {
    events.filter(|event| !matches!(event, Event::Sent { .. }))
}

pub(crate) fn word(event: &Event) -> String {
    match event {
        Event::Opened => "opened".into(),
        Event::Sent { message } => format!("{message}: sent"),
        Event::Response {
            message,
            status,
            body_bytes,
            ..
        } => format!("{message}: {} {body_bytes}", status.code()),
        Event::Failed { message, reason } => format!("{message}: {reason}"),
        Event::TimedOut { message } => format!("{message}: timed out"),
        Event::Closed => "closed".into(),
        Event::GoneAway => "gone away".into(),
        Event::Reset(reason) => reason.to_string(),
    }
}

/// All bytes sent in one direction, as text.
pub(crate) fn sent(pair: &TestPair, direction: Direction) -> String {
    let chunks = pair.sent.iter().filter(|sent| sent.direction == direction);
    let bytes: Vec<u8> = chunks.flat_map(|sent| sent.bytes.clone()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One endpoint with manual input.
pub(crate) struct Raw<E: Endpoint> {
    pub(crate) endpoint: E,
    pub(crate) now: Instant,
    pub(crate) events: Vec<E::Event>,
    pub(crate) consumed: Vec<Span>,
}

/// The effect of one input: the bytes sent and whether the flow was closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) closed: bool,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("text")
    }

    /// The first line.
    pub(crate) fn line(&self) -> &str {
        self.text().lines().next().unwrap_or("")
    }
}

pub(crate) fn raw_server(config: ServerConfig) -> Raw<Server> {
    Raw::opened(Server::new(config))
}

impl<E: Endpoint<Error = std::convert::Infallible>> Raw<E> {
    pub(crate) fn opened(endpoint: E) -> Self {
        let mut raw = Self {
            endpoint,
            now: Instant::START,
            events: Vec::new(),
            consumed: Vec::new(),
        };
        raw.open(FLOW);
        raw
    }

    pub(crate) fn open(&mut self, flow: FlowId) {
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        self.input(Input::Opened { flow, peer });
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Answer {
        self.send_on(FLOW, bytes)
    }

    pub(crate) fn send_on(&mut self, flow: FlowId, bytes: &[u8]) -> Answer {
        self.input(Input::Received { flow, bytes })
    }

    pub(crate) fn peer_closed(&mut self) -> Answer {
        self.input(Input::PeerClosed { flow: FLOW })
    }

    pub(crate) fn wait(&mut self, duration: Duration) -> Answer {
        self.now += duration;
        self.input(Input::Timeout)
    }

    pub(crate) fn input(&mut self, input: Input<'_, E::Command>) -> Answer {
        let Ok(()) = self.endpoint.handle_input(input, self.now);
        let mut answer = Answer::default();
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => {
                    assert_eq!(out.covered(), out.bytes().len() as u64);
                    if flow == FLOW {
                        answer.bytes.extend_from_slice(out.bytes());
                    }
                }
                Output::Close { flow, .. } => answer.closed |= flow == FLOW,
                Output::Event(event) => self.events.push(event),
                Output::Consumed { .. } => self.consume(out.spans()),
                Output::Timeout(_) => return answer,
            }
        }
    }

    /// Adds spans and merges them like a buffer.
    fn consume(&mut self, spans: &[Span]) {
        let mut merged = Buffer::new();
        for span in self.consumed.iter().chain(spans) {
            merged.cover_span(*span);
        }
        self.consumed = merged.spans().to_vec();
    }

    /// Lengths and layers of the consumed bytes.
    pub(crate) fn layers(&self) -> Vec<(u32, Layer)> {
        self.consumed.iter().map(|span| (span.len, span.layer)).collect()
    }
}
