use wirecost_proto::{Buffer, Endpoint, Input, Output, Peer};

use super::*;

fn accepting() -> ServerOptions {
    ServerOptions {
        accept_early_data: true,
        ..server_options()
    }
}

fn early_bytes(pair: &BarePair) -> Vec<usize> {
    let early = |(_, event): &(Instant, Event<bare::ServerEvent>)| match event {
        Event::EarlyData { bytes, .. } => Some(*bytes),
        _ => None,
    };
    pair.server_events.iter().filter_map(early).collect()
}

#[test]
fn early_data_leaves_with_the_first_flight_and_is_marked() {
    let mut pair = with_ticket(Start::ZeroRtt, client_options(Versions::Tls13), accepting());
    pair.open_flow(FlowId(1));
    assert_eq!(pair.sent, [], "the first flight waits for the command");
    let opened = Event::Inner(bare::ClientEvent::Opened);
    assert_eq!(pair.client_events.last().map(|(_, event)| event), Some(&opened));
    pair.command(send(&[7; 128]));
    assert_eq!(pair.sent.len(), 1, "one flight");
    assert_eq!(bytes_of(&pair.sent, |span| span.layer == Layer::Payload), 128);
    settle(&mut pair);
    assert_eq!(early_bytes(&pair), [132]);
    assert_eq!(messages(&pair).len(), 1);
    assert_eq!(client_starts(&pair), [Start::ZeroRtt]);
    assert_eq!(server_starts(&pair), [Start::ZeroRtt]);
    pair.command(send(&[7; 5]));
    settle(&mut pair);
    assert_eq!(messages(&pair).len(), 2);
    assert_eq!(early_bytes(&pair), [132], "what comes later is not early");
}

#[test]
fn without_a_command_the_first_flight_leaves_at_once() {
    let mut pair = with_ticket(Start::ZeroRtt, client_options(Versions::Tls13), accepting());
    pair.open_flow(FlowId(1));
    assert_eq!(pair.next_step(), Some(pair.now));
    settle(&mut pair);
    assert_eq!(client_starts(&pair), [Start::ZeroRtt]);
    assert_eq!(early_bytes(&pair), []);
}

#[test]
fn a_message_beyond_the_limit_waits_for_the_handshake() {
    let mut pair = with_ticket(Start::ZeroRtt, client_options(Versions::Tls13), accepting());
    pair.open_flow(FlowId(1));
    pair.command(send(&[7; 10_000]));
    pair.command(send(&[7; 10_000]));
    pair.command(send(&[7; 10]));
    settle(&mut pair);
    assert_eq!(early_bytes(&pair).iter().sum::<usize>(), 10_004);
    let lengths: Vec<u64> = messages(&pair).iter().map(|(_, len)| *len).collect();
    assert_eq!(lengths, [10_000, 10_000, 10]);
}

#[test]
fn a_close_with_the_early_data_waits_for_the_handshake() {
    let mut pair = with_ticket(Start::ZeroRtt, client_options(Versions::Tls13), accepting());
    pair.open_flow(FlowId(1));
    pair.command(send(&[7; 10]));
    pair.command(ClientCommand::Close);
    settle(&mut pair);
    assert_eq!(messages(&pair).len(), 1);
    assert_eq!(client_faults(&pair), []);
    assert_eq!(server_faults(&pair), []);
}

#[test]
fn a_ticket_without_early_data_resumes_only() {
    let mut pair = with_ticket(Start::ZeroRtt, client_options(Versions::Tls13), server_options());
    pair.open_flow(FlowId(1));
    let fault = Fault::Start {
        asked: Start::ZeroRtt,
        granted: Start::Resumed,
    };
    assert_eq!(client_faults(&pair), [fault]);
    assert_eq!(pair.sent, []);
}

#[test]
fn a_client_without_a_ticket_fails_instead_of_starting_cold() {
    for start in [Start::Resumed, Start::ZeroRtt] {
        let options = ClientOptions {
            start,
            ..client_options(Versions::Tls13)
        };
        let mut pair = bare_pair(options, accepting());
        // The first connection ends before it brings a ticket.
        pair.open();
        pair.reset(FlowId(0), wirecost_proto::ResetReason::ByPeer);
        pair.open_flow(FlowId(1));
        let fault = Fault::Start {
            asked: start,
            granted: Start::Cold,
        };
        assert_eq!(client_faults(&pair).last(), Some(&fault));
    }
}

/// Client and server without a path between them. The server cannot know the content of the records that it skips, so
/// the two ends describe them differently.
struct Wire {
    client: Client<bare::Client>,
    server: Server<bare::Server>,
    now: Instant,
    /// How far the server's clock is ahead.
    server_ahead: Duration,
    flow: FlowId,
    up: Vec<Span>,
    client_starts: Vec<Start>,
    messages: Vec<u64>,
    early: usize,
    consumed: u64,
}

impl Wire {
    fn new(client: Client<bare::Client>, server: Server<bare::Server>) -> Self {
        Self {
            client,
            server,
            now: Instant::START,
            server_ahead: Duration::ZERO,
            flow: FlowId(0),
            up: Vec::new(),
            client_starts: Vec::new(),
            messages: Vec::new(),
            early: 0,
            consumed: 0,
        }
    }

    fn open(&mut self, flow: u32) {
        self.flow = FlowId(flow);
        let (flow, peer) = (self.flow, Peer::from(([192, 0, 2, 1], 1)));
        self.give_server(Input::Opened { flow, peer });
        self.client
            .handle_input(Input::Opened { flow, peer }, self.now)
            .expect("it goes on");
    }

    fn give_server(&mut self, input: Input<'_, std::convert::Infallible>) {
        let now = self.now + self.server_ahead;
        self.server.handle_input(input, now).expect("it goes on");
    }

    fn command(&mut self, command: ClientCommand) {
        self.drain_client();
        self.client
            .handle_input(Input::Command(command), self.now)
            .expect("it goes on");
        self.carry();
    }

    fn drain_client(&mut self) -> Vec<u8> {
        let (mut all, mut out) = (Vec::new(), Buffer::new());
        loop {
            out.clear();
            match self.client.poll_output(&mut out) {
                Output::Timeout(_) => return all,
                Output::Event(Event::Established { start, .. }) => self.client_starts.push(start),
                Output::Transmit { .. } => {
                    self.up.extend(out.spans());
                    all.extend_from_slice(out.bytes());
                }
                _ => {}
            }
        }
    }

    fn drain_server(&mut self) -> Vec<u8> {
        let (mut all, mut out) = (Vec::new(), Buffer::new());
        loop {
            out.clear();
            match self.server.poll_output(&mut out) {
                Output::Timeout(_) => return all,
                Output::Event(Event::EarlyData { bytes, .. }) => self.early += bytes,
                Output::Event(Event::Inner(bare::ServerEvent::Message { payload_bytes, .. })) => {
                    self.messages.push(payload_bytes);
                }
                Output::Transmit { .. } => all.extend_from_slice(out.bytes()),
                Output::Consumed { .. } => self.consumed += out.covered(),
                _ => {}
            }
        }
    }

    fn carry(&mut self) {
        let flow = self.flow;
        loop {
            let up = self.drain_client();
            if !up.is_empty() {
                let received = Input::Received { flow, bytes: &up };
                self.give_server(received);
            }
            let down = self.drain_server();
            if !down.is_empty() {
                let received = Input::Received { flow, bytes: &down };
                self.client.handle_input(received, self.now).expect("it goes on");
            } else if up.is_empty() {
                return;
            }
        }
    }
}

#[test]
fn refused_early_data_is_sent_again_after_the_handshake() {
    let options = ClientOptions {
        start: Start::ZeroRtt,
        ..client_options(Versions::Tls13)
    };
    let inner = || bare::Client::new(Transport::Stream);
    let mut wire = Wire::new(
        client(options, inner()),
        server(accepting(), bare::Server::new(Transport::Stream)),
    );
    wire.open(0);
    wire.carry();
    // RFC 8446 section 4.2.10: early data is refused if the ticket's age differs from the expected one.
    wire.now += Duration::from_secs(1);
    wire.server_ahead = Duration::from_secs(100);
    wire.up.clear();
    wire.consumed = 0;
    wire.open(1);
    wire.command(send(&[7; 128]));
    wire.carry();
    assert_eq!(wire.client_starts, [Start::Cold, Start::Resumed]);
    assert_eq!(wire.messages, [128]);
    assert_eq!(wire.early, 0);
    let payload = |cause: Cause| {
        let of = wire
            .up
            .iter()
            .filter(move |span| span.layer == Layer::Payload && span.cause == cause);
        of.map(|span| span.len).sum::<u32>()
    };
    assert_eq!(payload(Cause::Original), 128);
    assert_eq!(payload(Cause::Retransmission), 128);
    let sent: u64 = wire.up.iter().map(|span| u64::from(span.len)).sum();
    assert_eq!(wire.consumed, sent, "skipped records are accounted for");
}
