//! Watches the flow of a probed endpoint: it counts the bytes, and keeps the first bytes of the answer, by which an answer in
//! another protocol is recognised.

use std::collections::VecDeque;

use wirecost_proto::bare::Transport;
use wirecost_proto::{BothWays, Buffer, Direction, Endpoint, Input, Instant, Output};
use wirecost_stack::Command;

use super::event::{Event, ProbeEvent, StreamPosition};

/// The number of first bytes that are kept.
const FIRST_BYTES: usize = 64;

/// An endpoint whose flow is watched.
pub(super) struct Monitor<E> {
    inner: E,
    transport: Transport,
    position: StreamPosition,
    /// What had been sent before the current input.
    sent_before: u64,
    first_bytes: Vec<u8>,
    first_sent: Vec<u8>,
    /// Events that come before those of the endpoint.
    before: VecDeque<ProbeEvent>,
    /// Events that come after those of the endpoint.
    after: VecDeque<ProbeEvent>,
}

impl<E> Monitor<E> {
    /// Watches `inner`.
    pub(super) const fn new(inner: E, transport: Transport) -> Self {
        Self {
            inner,
            transport,
            position: StreamPosition(BothWays { up: 0, down: 0 }),
            sent_before: 0,
            first_bytes: Vec::new(),
            first_sent: Vec::new(),
            before: VecDeque::new(),
            after: VecDeque::new(),
        }
    }

    /// Whether the server sent back what it received. Both sides of AMQP begin with the same 8 bytes.
    fn is_echo(&self) -> bool {
        self.first_bytes.len() > 8 && self.first_bytes == self.first_sent
    }

    fn pass(&mut self, direction: Direction, bytes: usize) {
        self.position.0[direction] += match self.transport {
            Transport::Stream => bytes as u64,
            Transport::Datagram => 1,
        };
    }

    fn note<C>(&mut self, input: &Input<'_, C>) {
        match input {
            Input::Opened { .. } => {
                self.position = StreamPosition::default();
                self.first_bytes.clear();
                self.first_sent.clear();
                self.before.push_back(ProbeEvent::Opened);
            }
            Input::Received { bytes, .. } => {
                self.pass(Direction::Down, bytes.len());
                if self.first_bytes.is_empty() {
                    self.before.push_back(ProbeEvent::Heard);
                }
                let was_echo = self.is_echo();
                let room = FIRST_BYTES.saturating_sub(self.first_bytes.len());
                self.first_bytes.extend(bytes.iter().take(room));
                if self.is_echo() && !was_echo {
                    self.before.push_back(ProbeEvent::Echoed);
                }
            }
            Input::PeerClosed { .. } => self.after.push_back(ProbeEvent::PeerClosed),
            Input::Reset { reason, .. } => self.after.push_back(ProbeEvent::Reset(*reason)),
            Input::Congested { .. } | Input::Writable { .. } | Input::Command(_) | Input::Timeout => {}
        }
    }

    /// An event of the current input. Its position leaves out what the endpoint sends in answer to the input.
    fn event(&self, kind: ProbeEvent) -> Event {
        Event {
            kind,
            position: StreamPosition(BothWays {
                up: self.sent_before,
                ..self.position.0
            }),
            first_bytes: self.first_bytes.clone(),
        }
    }
}

impl<E: Endpoint<Command = Command, Event = ProbeEvent>> Endpoint for Monitor<E> {
    type Command = Command;
    type Event = Event;
    type Error = E::Error;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), E::Error> {
        self.note(&input);
        self.sent_before = self.position.0.up;
        self.inner.handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(kind) = self.before.pop_front() {
            return Output::Event(self.event(kind));
        }
        match self.inner.poll_output(out) {
            Output::Timeout(at) => match self.after.pop_front() {
                Some(kind) => Output::Event(self.event(kind)),
                None => Output::Timeout(at),
            },
            Output::Event(kind) => Output::Event(self.event(kind)),
            Output::Transmit { flow } => {
                let bytes = out.bytes();
                let room = FIRST_BYTES.saturating_sub(self.first_sent.len());
                if self.first_bytes.is_empty() {
                    self.first_sent.extend(bytes.iter().take(room));
                }
                self.pass(Direction::Up, bytes.len());
                Output::Transmit { flow }
            }
            Output::Close { flow, reset } => {
                self.after.push_back(ProbeEvent::Closing);
                Output::Close { flow, reset }
            }
            Output::Consumed { flow } => Output::Consumed { flow },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use wirecost_proto::{Cause, FlowId, Layer, Phase, ResetReason};

    use super::*;

    /// Answers everything that it receives by the same number of bytes.
    #[derive(Default)]
    struct Echo(VecDeque<usize>);

    impl Endpoint for Echo {
        type Command = Command;
        type Event = ProbeEvent;
        type Error = Infallible;

        fn handle_input(&mut self, input: Input<'_, Command>, _: Instant) -> Result<(), Infallible> {
            if let Input::Received { bytes, .. } = input {
                self.0.push_back(bytes.len());
            }
            Ok(())
        }

        fn poll_output(&mut self, out: &mut Buffer) -> Output<ProbeEvent> {
            let Some(bytes) = self.0.pop_front() else {
                return Output::Timeout(None);
            };
            out.push(&vec![0; bytes], Layer::Payload, Phase::Message, Cause::Original);
            Output::Transmit { flow: FlowId(0) }
        }
    }

    fn events(monitor: &mut Monitor<Echo>, inputs: &[Input<'_, Command>]) -> Vec<Event> {
        let mut events = Vec::new();
        for input in inputs {
            monitor
                .handle_input(input.clone(), Instant::START)
                .expect("infallible");
            loop {
                match monitor.poll_output(&mut Buffer::new()) {
                    Output::Timeout(_) => break,
                    Output::Event(event) => events.push(event),
                    _ => {}
                }
            }
        }
        events
    }

    #[test]
    fn what_comes_back_as_it_was_sent_is_an_echo() {
        let bytes = b"more than 8 bytes";
        let mut monitor = Monitor::new(Echo::default(), Transport::Stream);
        monitor.first_sent = bytes.to_vec();
        let received = [Input::Received {
            flow: FlowId(0),
            bytes,
        }];
        let events = events(&mut monitor, &received);
        assert!(events.iter().any(|event| event.kind == ProbeEvent::Echoed));
    }

    #[test]
    fn a_stream_is_counted_in_bytes_and_datagrams_in_datagrams() {
        let flow = FlowId(0);
        let reason = ResetReason::ByPeer;
        let inputs = [
            Input::Received { flow, bytes: b"HTTP" },
            Input::Received { flow, bytes: b"/1.1" },
            Input::Reset { flow, reason },
        ];
        for (transport, position) in [(Transport::Stream, [8, 8]), (Transport::Datagram, [2, 2])] {
            let mut monitor = Monitor::new(Echo::default(), transport);
            let [heard, event] = &events(&mut monitor, &inputs)[..] else {
                panic!("two events");
            };
            assert_eq!(
                (&heard.kind, heard.first_bytes.as_slice()),
                (&ProbeEvent::Heard, &b"HTTP"[..])
            );
            assert_eq!(event.position, StreamPosition(position.into()));
            assert_eq!(event.first_bytes, b"HTTP/1.1");
            assert_eq!(event.kind, ProbeEvent::Reset(reason));
        }
    }
}
