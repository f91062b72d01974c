//! Endpoints on sockets.

use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

/// A single-threaded loop that polls the sockets in turn and accounts all bytes.
pub(crate) struct Loop<E: Endpoint> {
    pub(crate) endpoint: E,
    pub(crate) streams: Vec<Option<TcpStream>>,
    pub(crate) events: Vec<E::Event>,
    began: std::time::Instant,
    pub(crate) received: u64,
    pub(crate) consumed: u64,
}

impl<E: Endpoint<Error = Infallible>> Loop<E> {
    pub(crate) fn new(endpoint: E) -> Self {
        Self {
            endpoint,
            streams: Vec::new(),
            events: Vec::new(),
            began: std::time::Instant::now(),
            received: 0,
            consumed: 0,
        }
    }

    pub(crate) fn open(&mut self, stream: TcpStream) {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        let (flow, peer) = (FlowId(self.streams.len() as u32), stream.peer_addr().unwrap());
        self.streams.push(Some(stream));
        self.input(Input::Opened { flow, peer });
    }

    pub(crate) fn input(&mut self, input: Input<'_, E::Command>) {
        let now = Instant::from_nanos(self.began.elapsed().as_nanos() as u64);
        let Ok(()) = self.endpoint.handle_input(input, now);
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => self.write(flow, out.bytes()),
                Output::Consumed { .. } => self.consumed += out.covered(),
                Output::Close { flow, .. } => {
                    if let Some(stream) = &self.streams[flow.0 as usize] {
                        let _ = stream.shutdown(std::net::Shutdown::Write);
                    }
                }
                Output::Event(event) => self.events.push(event),
                Output::Timeout(_) => return,
            }
        }
    }

    fn write(&mut self, flow: FlowId, mut bytes: &[u8]) {
        let Some(stream) = &mut self.streams[flow.0 as usize] else {
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

    /// Polls every socket once.
    pub(crate) fn turn(&mut self) {
        let mut bytes = [0; 10_000];
        for index in 0..self.streams.len() {
            let flow = FlowId(index as u32);
            let Some(stream) = &mut self.streams[index] else {
                continue;
            };
            match stream.read(&mut bytes) {
                Ok(0) => {
                    self.input(Input::PeerClosed { flow });
                    self.streams[index] = None;
                }
                Ok(len) => {
                    self.received += len as u64;
                    let bytes = &bytes[..len];
                    self.input(Input::Received { flow, bytes });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.streams[index] = None,
            }
        }
        self.input(Input::Timeout);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A server in a thread.
pub(crate) struct Running<E: Endpoint> {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(E, usize)>,
}

impl<E: Endpoint<Error = Infallible> + Send + 'static> Running<E>
where
    E::Event: Send,
{
    pub(crate) fn start(endpoint: E) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut server = Loop::new(endpoint);
            while !until.load(Ordering::Relaxed) {
                if let Ok((stream, _)) = listener.accept() {
                    server.open(stream);
                }
                server.turn();
            }
            assert_eq!(server.received, server.consumed);
            let connections = server.streams.len();
            (server.endpoint, connections)
        });
        Self {
            address,
            stop,
            thread,
        }
    }

    /// Stops it. Returns the server and the number of connections.
    pub(crate) fn stop(self) -> (E, usize) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
