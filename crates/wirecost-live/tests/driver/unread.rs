//! Servers: foreign clients that do not read, or do not close.

use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Monotonic};

use wirecost_live::Clock;
use wirecost_live::driver::Stopper;
use wirecost_live::driver::server::ServerLoop;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Observer, Service};
use wirecost_proto::{Buffer, Cause, Endpoint, FlowId, Input, Instant, Layer, Output, Phase};

use crate::rig::free_address;

/// Far more than the kernel keeps for a connection over loopback.
const MUCH: usize = 64 << 20;

/// Sends back what it receives; closes its side at a byte `x`.
#[derive(Default)]
pub(crate) struct Echo {
    todo: Vec<Output<()>>,
    bytes: Vec<u8>,
}

impl Endpoint for Echo {
    type Command = Infallible;
    type Event = ();
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, _: Instant) -> Result<(), Infallible> {
        match input {
            Input::Received { flow, bytes } => {
                self.bytes.extend_from_slice(bytes);
                self.todo.push(Output::Transmit { flow });
                if bytes.contains(&b'x') {
                    self.close(flow);
                }
            }
            Input::PeerClosed { flow } => self.close(flow),
            Input::Reset { .. } => self.todo.push(Output::Event(())),
            _ => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<()> {
        let Some(output) = (!self.todo.is_empty()).then(|| self.todo.remove(0)) else {
            return Output::Timeout(None);
        };
        if matches!(output, Output::Transmit { .. }) {
            out.push(
                &std::mem::take(&mut self.bytes),
                Layer::Payload,
                Phase::Message,
                Cause::Original,
            );
        }
        output
    }
}

impl Echo {
    fn close(&mut self, flow: FlowId) {
        self.todo.push(Output::Close { flow, reset: false });
    }
}

/// Counts resets.
pub(crate) struct Resets(pub(crate) u32);

impl Observer<Echo> for Resets {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, (): (), _: Instant) {
        self.0 += 1;
    }
}

/// A server on a thread of its own: its address, what stops it, and the resets that its endpoint was told of.
fn serve(linger: Duration) -> (SocketAddr, Stopper, JoinHandle<u32>) {
    let (address, transport) = (free_address(Transport::Stream), Transport::Stream);
    let service = Service {
        address,
        transport,
        endpoint: Echo::default(),
    };
    let server = ServerLoop::new(vec![service], Clock::start(), Resets(0), false).expect("listens");
    let server = server.with_linger(linger);
    let stop = server.stopper();
    let thread = thread::spawn(move || server.run().expect("no poll fails").observer.0);
    (address, stop, thread)
}

/// Writes until nothing is taken for a while; returns the bytes that were.
fn write_until_stuck(client: &mut TcpStream) -> usize {
    client.set_nonblocking(true).expect("an open socket");
    let (chunk, mut taken, mut last) = (vec![0; 1 << 16], 0, Monotonic::now());
    while taken < MUCH && last.elapsed() < Duration::from_secs(1) {
        match client.write(&chunk) {
            Ok(written) => {
                taken += written;
                last = Monotonic::now();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    }
    client.set_nonblocking(false).expect("an open socket");
    taken
}

#[test]
fn a_client_that_does_not_read_is_not_read_until_it_does() {
    let (address, stop, thread) = serve(Duration::from_secs(60));
    let mut client = TcpStream::connect(address).expect("the server listens");
    let written = write_until_stuck(&mut client);
    assert!(
        written < MUCH,
        "the server keeps {written} B for a client that does not read"
    );
    client.shutdown(std::net::Shutdown::Write).expect("connected");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the server closes too");
    assert_eq!(answer.len(), written);
    stop.wake().expect("the loop runs");
    assert_eq!(thread.join().expect("no panic"), 0);
}

#[test]
fn a_client_that_does_not_close_is_reset_after_a_while() {
    let (address, stop, thread) = serve(Duration::from_millis(200));
    let mut client = TcpStream::connect(address).expect("the server listens");
    client.write_all(b"x").expect("connected");
    let mut answer = Vec::new();
    client
        .read_to_end(&mut answer)
        .expect("the server closes its side");
    assert_eq!(answer, b"x");
    let reset = (0..10_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        client.write_all(b".").is_err()
    });
    assert!(reset);
    stop.wake().expect("the loop runs");
    assert_eq!(thread.join().expect("no panic"), 1);
}
