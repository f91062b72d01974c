//! One of our endpoints, and frames written by the test.

use wirecost_amqp::codec::{
    Attach, Attribution, Begin, Frame, Framer, Open, Performative, ProtocolHeader, Role, SenderSettleMode,
    Terminus, Transfer, Unit,
};
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};

use crate::pair::FLOW;

pub(crate) struct Harness<E: Endpoint> {
    pub(crate) endpoint: E,
    pub(crate) events: Vec<E::Event>,
    pub(crate) is_closed: bool,
    pub(crate) timeout: Option<Instant>,
    received: Vec<u8>,
    consumed: u64,
    sent: u64,
}

impl<E: Endpoint> Harness<E> {
    pub(crate) fn new(endpoint: E) -> Self {
        let mut harness = Self {
            endpoint,
            events: Vec::new(),
            is_closed: false,
            timeout: None,
            received: Vec::new(),
            consumed: 0,
            sent: 0,
        };
        let peer = "10.0.0.1:1".parse().expect("an address");
        harness.input(Input::Opened { flow: FLOW, peer }, Instant::START);
        harness
    }

    pub(crate) fn input(&mut self, input: Input<'_, E::Command>, now: Instant) {
        assert!(self.endpoint.handle_input(input, now).is_ok());
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => {
                    assert!(!self.is_closed, "nothing is sent after the close");
                    assert_eq!(out.covered(), out.bytes().len() as u64);
                    self.received.extend_from_slice(out.bytes());
                }
                Output::Consumed { .. } => self.consumed += out.covered(),
                Output::Close { .. } => self.is_closed = true,
                Output::Event(event) => self.events.push(event),
                Output::Timeout(at) => {
                    self.timeout = at;
                    return;
                }
            }
        }
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.sent += bytes.len() as u64;
        self.input(Input::Received { flow: FLOW, bytes }, Instant::START);
    }

    /// Sends a frame on channel 0 with `payload` after its performative.
    pub(crate) fn send_frame(&mut self, performative: Performative<'_>, payload: &[u8]) {
        let mut body = Vec::new();
        performative.write(&mut body);
        body.extend_from_slice(payload);
        let mut frame = (body.len() as u32 + 8).to_be_bytes().to_vec();
        frame.extend_from_slice(&[2, 0, 0, 0]);
        frame.extend_from_slice(&body);
        self.send_bytes(&frame);
    }

    pub(crate) fn send_header(&mut self, header: ProtocolHeader) {
        self.send_bytes(&header.bytes());
    }

    /// The frames since the last call: `header` with its protocol id, or the frame's name with details.
    pub(crate) fn received(&mut self) -> Vec<String> {
        let received = std::mem::take(&mut self.received);
        let (mut framer, mut bytes, mut described) = (Framer::new(u32::MAX), received.as_slice(), Vec::new());
        while let Some(unit) = framer.next(&mut bytes).expect("whole frames") {
            described.push(match unit {
                Unit::Header(header) => format!("header {}", header.protocol_id),
                Unit::Frame(frame) => describe(frame),
            });
        }
        assert_eq!(framer.held(), 0);
        described
    }

    /// Whether every sent byte is accounted for.
    pub(crate) fn is_accounted(&self) -> bool {
        self.consumed == self.sent
    }
}

/// A frame's name, and its error condition.
fn describe(frame: Frame<'_>) -> String {
    let body = frame.body().expect("a body");
    let Ok((performative, payload)) = Performative::decode(body) else {
        return "sasl".into();
    };
    let condition = match performative {
        Performative::Close(error) | Performative::End(error) => error,
        Performative::Detach(detach) => detach.error,
        _ => None,
    };
    let detail = match (performative, condition) {
        (_, Some(condition)) => format!(" {}", condition.name),
        (Performative::Flow(flow), _) if flow.handle.is_some() => {
            format!(" {}", flow.link_credit.unwrap_or_default())
        }
        (Performative::Transfer(_), _) => format!(" {}", payload.len()),
        _ => String::new(),
    };
    format!("{}{detail}", performative.name())
}

pub(crate) fn an_open() -> Performative<'static> {
    Performative::Open(Open {
        container_id: "peer",
        hostname: None,
        max_frame_size: 512,
        channel_max: 0,
        idle_time_out: None,
    })
}

pub(crate) fn a_begin(remote_channel: Option<u16>) -> Performative<'static> {
    Performative::Begin(Begin {
        remote_channel,
        next_outgoing_id: 0,
        incoming_window: 100,
        outgoing_window: 100,
        handle_max: u32::MAX,
    })
}

pub(crate) fn an_attach(role: Role) -> Attach<'static> {
    Attach {
        name: "link",
        handle: 0,
        role,
        snd_settle_mode: SenderSettleMode::Unsettled,
        receiver_settles_second: false,
        source: Some(Terminus::at("test")),
        target: Some(Terminus::at("test")),
        initial_delivery_count: Some(0),
        max_message_size: None,
    }
}

pub(crate) fn a_transfer(delivery_id: u32, more: bool) -> Performative<'static> {
    Performative::Transfer(Transfer {
        handle: 0,
        delivery_id: Some(delivery_id),
        delivery_tag: Some(b"t"),
        message_format: Some(0),
        more,
        ..Transfer::default()
    })
}

/// A performative as bytes, for tests that damage it.
pub(crate) fn frame(performative: Performative<'_>) -> Vec<u8> {
    let mut out = Buffer::new();
    performative
        .emit(0, Attribution::MESSAGE, usize::MAX, &mut out)
        .expect("a frame");
    out.bytes().to_vec()
}
