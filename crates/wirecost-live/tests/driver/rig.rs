//! A device whose script is a closure, a server that notes its input, and a watchdog for both.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::activity::Activity;
use wirecost_live::driver::Stopper;
use wirecost_live::driver::client::ClientLoop;
use wirecost_live::driver::server::{Finished, ServerLoop};
use wirecost_proto::bare::{self, Client, ClientCommand, ClientEvent, ServerEvent, Transport};
use wirecost_proto::driver::{Device, DeviceReport};
use wirecost_proto::driver::{Service, ServiceObserver};
use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{Instant, ResetReason};

/// The next step, based on the events so far.
type Next = Box<dyn FnMut(Context, &Seen) -> Step<ClientCommand> + Send>;

/// Long enough for any of these tests on a busy machine. A loop that hangs is stopped then.
const WATCHDOG: Duration = Duration::from_secs(60);

/// The events of a script.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<ClientEvent>,
    pub(crate) failed: Option<ResetReason>,
    pub(crate) sent: u32,
}

pub(crate) struct Scripted {
    next: Next,
    pub(crate) seen: Seen,
}

impl Script<Client> for Scripted {
    fn event(&mut self, event: ClientEvent, _: Instant) {
        self.seen.events.push(event);
    }

    fn failed(&mut self, reason: ResetReason, _: Instant) {
        self.seen.failed = Some(reason);
    }

    fn flushed(&mut self, _: Instant) {
        self.seen.sent += 1;
    }

    fn next(&mut self, context: Context) -> Step<ClientCommand> {
        (self.next)(context, &self.seen)
    }
}

pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// Runs one device against `remote` until its script is done.
pub(crate) fn run_device(
    transport: Transport,
    remote: SocketAddr,
    next: impl FnMut(Context, &Seen) -> Step<ClientCommand> + Send + 'static,
) -> DeviceReport<Scripted> {
    let device = Device {
        host: 0,
        local: loopback(),
        remote,
        transport,
        endpoint: Client::new(transport),
        script: Scripted {
            next: Box::new(next),
            seen: Seen::default(),
        },
    };
    let clients = ClientLoop::new(vec![device], Clock::start(), Arc::new(Activity::new(1))).expect("a loop");
    let done = watch(clients.stopper());
    let report = clients.run().expect("no poll fails").remove(0);
    drop(done);
    assert!(report.finished, "the device hangs: {:?}", report.script.seen);
    report
}

/// Stops a loop that is still running when the watchdog fires. Dropping the returned sender cancels the watchdog.
pub(crate) fn watch(stop: Stopper) -> mpsc::Sender<()> {
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        if wait.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
            drop(stop.wake());
        }
    });
    done
}

/// The payloads that arrived.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) payload_bytes: Vec<u64>,
    tell: Option<mpsc::Sender<u64>>,
}

impl ServiceObserver<bare::Server> for Arrived {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: ServerEvent, _: Instant) {
        let ServerEvent::Message { payload_bytes, .. } = event;
        self.payload_bytes.push(payload_bytes);
        if let Some(tell) = &self.tell {
            tell.send(payload_bytes).expect("the test waits for it");
        }
    }
}

/// A server on its own thread.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    arrivals: mpsc::Receiver<u64>,
    stop: Stopper,
    thread: JoinHandle<Finished<bare::Server, Arrived>>,
}

impl Serving {
    /// Serves on `address`. `on_link` has the driver's meaning.
    pub(crate) fn start(transport: Transport, address: SocketAddr, on_link: bool) -> Self {
        let service = Service {
            address,
            transport,
            endpoint: bare::Server::new(transport),
        };
        let (tell, arrivals) = mpsc::channel();
        let observer = Arrived {
            tell: Some(tell),
            ..Arrived::default()
        };
        let server = ServerLoop::new(vec![service], Clock::start(), observer, on_link).expect("listens");
        let stop = server.stopper();
        Self {
            address,
            arrivals,
            stop,
            thread: thread::spawn(move || server.run().expect("no poll fails")),
        }
    }

    /// The payload of the next message.
    pub(crate) fn arrival(&self) -> u64 {
        self.arrivals.recv_timeout(WATCHDOG).expect("a message arrives")
    }

    pub(crate) fn stop(self) -> Finished<bare::Server, Arrived> {
        self.stop.wake().expect("the loop runs");
        self.thread.join().expect("no panic")
    }
}

/// An address without a listening socket, found by listening for a moment.
pub(crate) fn free_address(transport: Transport) -> SocketAddr {
    match transport {
        Transport::Stream => std::net::TcpListener::bind(loopback()).and_then(|socket| socket.local_addr()),
        Transport::Datagram => std::net::UdpSocket::bind(loopback()).and_then(|socket| socket.local_addr()),
    }
    .expect("a port is free")
}

/// A payload of `len` bytes as a command.
pub(crate) fn send(len: usize) -> Step<ClientCommand> {
    Step::Command(ClientCommand::Send {
        message: 0,
        content: vec![0x55; len].into(),
    })
}
