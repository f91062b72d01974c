//! A minimal driver: non-blocking sockets, polled every millisecond.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant as Clock};

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Layer, Output, Phase, ResetReason};

/// An endpoint with its sockets.
pub(crate) struct Driver<E: Endpoint> {
    pub(crate) endpoint: E,
    pub(crate) events: Vec<E::Event>,
    /// Bytes of each layer and phase that were received and accounted for.
    pub(crate) consumed: BTreeMap<(Layer, Phase), u64>,
    pub(crate) received: u64,
    /// Flows that have closed.
    pub(crate) closed: u32,
    listener: Option<TcpListener>,
    streams: BTreeMap<FlowId, TcpStream>,
    opened: u32,
    start: Clock,
    wakes: Option<Instant>,
}

impl<E: Endpoint> Driver<E> {
    pub(crate) fn new(endpoint: E) -> Self {
        Self {
            endpoint,
            events: Vec::new(),
            consumed: BTreeMap::new(),
            received: 0,
            closed: 0,
            listener: None,
            streams: BTreeMap::new(),
            opened: 0,
            start: Clock::now(),
            wakes: None,
        }
    }

    /// Listens on a free port of the loopback interface. Returns the port.
    pub(crate) fn listen(&mut self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener
            .set_nonblocking(true)
            .expect("a socket that does not block");
        let port = listener.local_addr().expect("an address").port();
        self.listener = Some(listener);
        port
    }

    pub(crate) fn connect(&mut self, port: u16) {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a server that listens");
        self.open(stream);
    }

    fn open(&mut self, stream: TcpStream) {
        stream
            .set_nonblocking(true)
            .expect("a socket that does not block");
        stream.set_nodelay(true).expect("a socket that does not wait");
        let (flow, peer) = (FlowId(self.opened), stream.peer_addr().expect("an address"));
        self.opened += 1;
        self.streams.insert(flow, stream);
        self.input(Input::Opened { flow, peer });
    }

    pub(crate) fn input(&mut self, input: Input<'_, E::Command>) {
        let nanos = self.start.elapsed().as_nanos();
        let now = Instant::from_nanos(u64::try_from(nanos).expect("a short test"));
        assert!(self.endpoint.handle_input(input, now).is_ok());
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => self.write(flow, out.bytes()),
                Output::Consumed { .. } => {
                    for span in out.spans() {
                        *self.consumed.entry((span.layer, span.phase)).or_default() += u64::from(span.len);
                    }
                }
                Output::Close { flow, .. } => {
                    if let Some(stream) = self.streams.get(&flow) {
                        let _ = stream.shutdown(Shutdown::Write);
                    }
                }
                Output::Event(event) => self.events.push(event),
                Output::Timeout(at) => {
                    self.wakes = at;
                    return;
                }
            }
        }
    }

    fn write(&mut self, flow: FlowId, mut bytes: &[u8]) {
        let Some(stream) = self.streams.get_mut(&flow) else {
            return;
        };
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(_) => return,
            }
        }
    }

    /// Runs until `is_done`, and fails after a minute.
    pub(crate) fn run_until(&mut self, mut is_done: impl FnMut(&Self) -> bool) {
        let deadline = Clock::now() + Duration::from_secs(60);
        while !is_done(self) {
            assert!(Clock::now() < deadline, "nothing more happens");
            self.turn();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn turn(&mut self) {
        if let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            self.open(stream);
        }
        let nanos = self.start.elapsed().as_nanos();
        if self.wakes.is_some_and(|at| u128::from(at.as_nanos()) <= nanos) {
            self.input(Input::Timeout);
        }
        let flows: Vec<FlowId> = self.streams.keys().copied().collect();
        flows.into_iter().for_each(|flow| self.read(flow));
    }

    fn read(&mut self, flow: FlowId) {
        let mut bytes = [0; 16_384];
        let Some(stream) = self.streams.get_mut(&flow) else {
            return;
        };
        match stream.read(&mut bytes) {
            Ok(0) => {
                self.input(Input::PeerClosed { flow });
                self.streams.remove(&flow);
                self.closed += 1;
            }
            Ok(len) => {
                self.received += len as u64;
                self.input(Input::Received {
                    flow,
                    bytes: &bytes[..len],
                });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => {
                let reason = ResetReason::ByPeer;
                self.input(Input::Reset { flow, reason });
                self.streams.remove(&flow);
                self.closed += 1;
            }
        }
    }
}
