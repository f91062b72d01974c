//! Servers: foreign clients that do not read, or do not close.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Monotonic};

use socket2::SockRef;
use wirecost_live::Clock;
use wirecost_live::activity::Activity;
use wirecost_live::driver::Stopper;
use wirecost_live::driver::client::ClientLoop;
use wirecost_live::driver::server::ServerLoop;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Device, Ended, Service, ServiceObserver};
use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{
    Buffer, Cause, Endpoint, FlowId, Held, Input, Instant, Layer, Output, Phase, ResetReason,
};

use crate::rig::{free_address, loopback, watch};

/// Far more than the kernel buffers for a connection over loopback.
const MUCH: usize = 64 << 20;
/// Less than the minute that a server waits for a client's close, and long enough for the expected events on a busy
/// machine. A test that waits longer fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends back its input. Closes its side at a byte `x`.
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

/// Sends the first client the data of the others.
#[derive(Default)]
struct FanOut {
    first: Option<FlowId>,
    todo: VecDeque<Output<()>>,
    said: VecDeque<Vec<u8>>,
}

impl Endpoint for FanOut {
    type Command = Infallible;
    type Event = ();
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, _: Instant) -> Result<(), Infallible> {
        match (input, self.first) {
            (Input::Opened { flow, .. }, None) => self.first = Some(flow),
            (Input::Received { flow, bytes }, Some(first)) if flow != first => {
                self.said.push_back(bytes.to_vec());
                self.todo.push_back(Output::Transmit { flow: first });
            }
            (Input::Reset { flow, .. }, Some(first)) if flow == first => {
                self.todo.push_back(Output::Event(()));
            }
            _ => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<()> {
        let output = self.todo.pop_front().unwrap_or(Output::Timeout(None));
        if matches!(output, Output::Transmit { .. }) {
            let said = self.said.pop_front().expect("one for each transmit");
            out.push(&said, Layer::Payload, Phase::Message, Cause::Original);
        }
        output
    }
}

/// Reports resets while the loop runs.
struct Telling(Sender<()>);

impl<E: Endpoint<Event = ()>> ServiceObserver<E> for Telling {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, (): (), _: Instant) {
        // A test that has seen enough no longer listens.
        let _ = self.0.send(());
    }
}

/// Counts resets.
pub(crate) struct Resets(pub(crate) u32);

impl ServiceObserver<Echo> for Resets {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, (): (), _: Instant) {
        self.0 += 1;
    }
}

/// A server on its own thread: its address, its stopper, and the number of resets that its endpoint saw.
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

/// A server on its own thread: its address, its stopper, and a receiver of resets.
fn serve_telling<E>(endpoint: E) -> (SocketAddr, Stopper, Receiver<()>)
where
    E: Endpoint<Event = (), Error = Infallible> + Send + 'static,
    E::Command: Send,
{
    let (address, transport) = (free_address(Transport::Stream), Transport::Stream);
    let service = Service {
        address,
        transport,
        endpoint,
    };
    let (telling, told) = mpsc::channel();
    let server = ServerLoop::new(vec![service], Clock::start(), Telling(telling), false).expect("listens");
    let stop = server.stopper();
    thread::spawn(move || server.run().map(drop));
    (address, stop, told)
}

/// Writes until nothing is accepted for a while. Returns the number of accepted bytes.
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
fn a_client_that_does_not_read_is_not_read_from() {
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

#[test]
fn a_client_that_does_not_read_and_resets_is_dropped() {
    let (address, stop, told) = serve_telling(Echo::default());
    let mut client = TcpStream::connect(address).expect("the server listens");
    write_until_stuck(&mut client);
    SockRef::from(&client)
        .set_linger(Some(Duration::ZERO))
        .expect("an open socket");
    drop(client);
    told.recv_timeout(PATIENCE).expect("the server takes the reset");
    stop.wake().expect("the loop runs");
}

#[test]
fn a_reader_that_falls_behind_is_reset_before_memory_fills() {
    let (address, stop, told) = serve_telling(FanOut::default());
    let reader = TcpStream::connect(address).expect("the server listens");
    // The server accepts in the order of the connects.
    let mut writer = TcpStream::connect(address).expect("the server listens");
    writer.write_all(&vec![0; MUCH]).expect("it is read");
    told.recv_timeout(PATIENCE)
        .expect("the server gives the reader up");
    let mut rest = vec![0; 1 << 16];
    let end = loop {
        match (&reader).read(&mut rest) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) => break Some(error.kind()),
        }
    };
    assert_eq!(
        end,
        Some(ErrorKind::ConnectionReset),
        "not an end that could be taken for a whole"
    );
    stop.wake().expect("the loop runs");
}

/// Holds what it has received of each flow.
#[derive(Default)]
struct Keeper {
    held: BTreeMap<FlowId, usize>,
    resets: VecDeque<Output<()>>,
}

impl Endpoint for Keeper {
    type Command = Infallible;
    type Event = ();
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, _: Instant) -> Result<(), Infallible> {
        match input {
            Input::Received { flow, bytes } => *self.held.entry(flow).or_default() += bytes.len(),
            Input::Reset { flow, .. } => {
                self.held.remove(&flow);
                self.resets.push_back(Output::Event(()));
            }
            _ => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, _: &mut Buffer) -> Output<()> {
        self.resets.pop_front().unwrap_or(Output::Timeout(None))
    }

    fn held(&self, flow: FlowId) -> Held {
        Held::incomplete(self.held.get(&flow).copied().unwrap_or_default())
    }
}

/// Tells why the loop ended flows.
struct Ends(Sender<(SocketAddr, usize, Ended)>);

impl<E: Endpoint<Event = ()>> ServiceObserver<E> for Ends {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, (): (), _: Instant) {}

    fn ended(&mut self, peer: SocketAddr, held_bytes: usize, why: Ended) {
        // A test that has seen enough no longer listens.
        let _ = self.0.send((peer, held_bytes, why));
    }
}

/// A server with a budget on its own thread: its address, its stopper, and the flows that it ends.
fn serve_within<E>(
    endpoint: E,
    bytes: usize,
    stall: Duration,
) -> (SocketAddr, Stopper, Receiver<(SocketAddr, usize, Ended)>)
where
    E: Endpoint<Event = (), Error = Infallible, Command = Infallible> + Send + 'static,
{
    let (address, transport) = (free_address(Transport::Stream), Transport::Stream);
    let service = Service {
        address,
        transport,
        endpoint,
    };
    let (ending, ends) = mpsc::channel();
    let server = ServerLoop::new(vec![service], Clock::start(), Ends(ending), false).expect("listens");
    let server = server.with_budget(bytes).with_stall(stall);
    let stop = server.stopper();
    thread::spawn(move || server.run().map(drop));
    (address, stop, ends)
}

#[test]
fn above_the_budget_the_largest_holder_is_reset_and_the_others_stay() {
    let (address, stop, ends) = serve_within(Keeper::default(), 100_000, Duration::from_secs(60));
    let mut clients: Vec<TcpStream> = [30_000, 50_000, 10_000]
        .into_iter()
        .map(|bytes| {
            let mut client = TcpStream::connect(address).expect("the server listens");
            client.write_all(&vec![0; bytes]).expect("it is read");
            client
        })
        .collect();
    clients[0].write_all(&[0; 15_000]).expect("it is read");
    let (peer, held, why) = ends.recv_timeout(PATIENCE).expect("the server ends one");
    assert_eq!(Some(peer), clients[1].local_addr().ok());
    assert_eq!((held, why), (50_000, Ended::LargestHolder));
    let end = clients[1].read(&mut [0]).expect_err("a reset");
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
    assert!(ends.try_recv().is_err());
    stop.wake().expect("the loop runs");
}

#[test]
fn unread_answers_count_for_the_client_that_does_not_read_them() {
    let (address, stop, ends) = serve_within(FanOut::default(), 1 << 20, Duration::from_secs(60));
    let reader = TcpStream::connect(address).expect("the server listens");
    let mut writer = TcpStream::connect(address).expect("the server listens");
    writer.write_all(&vec![0; MUCH / 4]).expect("it is read");
    let (peer, held, why) = ends.recv_timeout(PATIENCE).expect("the server ends one");
    assert_eq!(
        (Some(peer), why),
        (reader.local_addr().ok(), Ended::LargestHolder)
    );
    assert!(held < 2 << 20, "{held} B are held, and the limit is 1 MiB");
    stop.wake().expect("the loop runs");
}

#[test]
fn a_flow_on_which_nothing_moves_ends_if_something_is_unfinished() {
    let stall = Duration::from_millis(200);
    let (address, stop, ends) = serve_within(Keeper::default(), 1 << 20, stall);
    let silent = TcpStream::connect(address).expect("the server listens");
    let mut half = TcpStream::connect(address).expect("the server listens");
    half.write_all(b"half").expect("it is read");
    let (peer, held, why) = ends.recv_timeout(PATIENCE).expect("the server ends one");
    assert_eq!(Some(peer), half.local_addr().ok());
    assert_eq!((held, why), (4, Ended::Stalled(stall)));
    assert!(
        ends.recv_timeout(2 * stall).is_err(),
        "a silent flow holds nothing"
    );
    drop(silent);
    stop.wake().expect("the loop runs");
}

/// A device that waits for its flow to be reset.
#[derive(Default)]
struct Patient {
    has_begun: bool,
    is_reset: bool,
}

impl Script<Echo> for Patient {
    fn event(&mut self, (): (), _: Instant) {
        self.is_reset = true;
    }

    fn failed(&mut self, reason: ResetReason, _: Instant) {
        panic!("the server listens, but {reason}");
    }

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, _: Context) -> Step<Infallible> {
        match (std::mem::replace(&mut self.has_begun, true), self.is_reset) {
            (false, _) => Step::Connect,
            (true, false) => Step::Wait(None),
            (true, true) => Step::Finished,
        }
    }
}

/// A client must not keep all its answers for a server that never reads.
#[test]
fn a_server_that_never_reads_is_reset_before_memory_fills() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let remote = listener.local_addr().expect("bound");
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the device connects");
        let piece = vec![0; 1 << 20];
        // The end of the connection shows that the client has given up.
        (0..4 * MUCH / piece.len())
            .take_while(|_| socket.write_all(&piece).is_ok())
            .count()
            * piece.len()
    });
    let device = Device {
        host: 0,
        local: loopback(),
        remote,
        transport: Transport::Stream,
        endpoint: Echo::default(),
        script: Patient::default(),
    };
    let clients = ClientLoop::new(vec![device], Clock::start(), Arc::new(Activity::new(1))).expect("a loop");
    let done = watch(clients.stopper());
    let report = clients.run().expect("no poll fails").remove(0);
    drop(done);
    assert!(report.finished, "the device holds whatever comes");
    assert!(server.join().expect("no panic") < 4 * MUCH);
}
