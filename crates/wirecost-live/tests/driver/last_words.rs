//! A peer that sends data and disappears before the device reads.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::activity::Activity;
use wirecost_live::driver::client::ClientLoop;
use wirecost_live::driver::sources::Sources;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::Device;
use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{Buffer, Cause, Endpoint, Input, Instant, Layer, Output, Phase, ResetReason};

use crate::crowd::{Told, What, run};
use crate::rig::loopback;

const LAST_WORDS: &[u8] = b"bye";

/// When it is opened, it lets the peer send and reset, and then sends itself.
struct Late {
    opened: Sender<()>,
    is_gone: Receiver<()>,
    outputs: VecDeque<Output<ResetReason>>,
    received_bytes: usize,
}

impl Endpoint for Late {
    type Command = Infallible;
    type Event = ResetReason;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, _: Instant) -> Result<(), Infallible> {
        match input {
            Input::Opened { flow, .. } => {
                self.opened.send(()).expect("the peer waits");
                self.is_gone.recv().expect("the peer resets");
                self.outputs.push_back(Output::Transmit { flow });
            }
            Input::Received { flow, bytes } => {
                self.received_bytes = bytes.len();
                self.outputs.push_back(Output::Consumed { flow });
            }
            Input::Reset { reason, .. } => self.outputs.push_back(Output::Event(reason)),
            _ => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ResetReason> {
        let (layer, phase, cause) = (Layer::Payload, Phase::Message, Cause::Original);
        let output = self.outputs.pop_front().unwrap_or(Output::Timeout(None));
        match output {
            Output::Transmit { .. } => out.push(b"hello", layer, phase, cause),
            Output::Consumed { .. } => out.cover(self.received_bytes, layer, phase, cause),
            _ => {}
        }
        output
    }
}

/// Connects once and waits for the reset.
#[derive(Default)]
struct UntilReset {
    connected: bool,
    reset: Option<ResetReason>,
}

impl Script<Late> for UntilReset {
    fn event(&mut self, reason: ResetReason, _: Instant) {
        self.reset = Some(reason);
    }

    fn failed(&mut self, reason: ResetReason, _: Instant) {
        panic!("the connection is established: {reason}");
    }

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, _: Context) -> Step<Infallible> {
        match (std::mem::replace(&mut self.connected, true), self.reset) {
            (false, _) => Step::Connect,
            (true, None) => Step::Wait(None),
            (true, Some(_)) => Step::Finished,
        }
    }
}

#[test]
fn data_before_a_reset_is_read_even_if_sending_fails_first() {
    let listener = TcpListener::bind(loopback()).expect("a port is free");
    let remote = listener.local_addr().expect("bound");
    let (opened, is_opened) = channel();
    let (gone, is_gone) = channel();
    let peer = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the device connects");
        is_opened.recv().expect("the device is opened");
        socket.write_all(LAST_WORDS).expect("connected");
        let socket = socket2::Socket::from(socket);
        socket.set_linger(Some(Duration::ZERO)).expect("an open socket");
        drop(socket);
        gone.send(()).expect("the device waits");
    });
    let endpoint = Late {
        opened,
        is_gone,
        outputs: VecDeque::new(),
        received_bytes: 0,
    };
    let device = Device {
        host: 0,
        local: loopback(),
        remote,
        transport: Transport::Stream,
        endpoint,
        script: UntilReset::default(),
    };
    let clients = ClientLoop::new(vec![device], Clock::start(), Arc::new(Activity::new(1))).expect("a loop");
    let report = clients.run().expect("no poll fails").remove(0);
    peer.join().expect("no panic");
    assert_eq!(report.script.reset, Some(ResetReason::ByPeer));
    assert_eq!(report.logs[0].1.down.bytes, LAST_WORDS.len() as u64);
}

#[test]
fn datagrams_before_an_icmp_error_are_received() {
    let peer = UdpSocket::bind(loopback()).expect("a port is free");
    let address = peer.local_addr().expect("bound");
    let mut peer = Some(peer);
    let report = run(
        1,
        Transport::Datagram,
        address,
        Sources::any(),
        |_, what, _| match what {
            What::Begin => Step::Connect,
            What::Told(Told::Opened) => Step::Command(vec![1]),
            What::Sent => match peer.take() {
                // The answer and the ICMP error of the next datagram are both there when the socket is read.
                Some(peer) => {
                    let (_, device) = peer.recv_from(&mut [0]).expect("the device has sent");
                    peer.send_to(&[9], device).expect("the device is there");
                    drop(peer);
                    Step::Command(vec![2])
                }
                None => Step::Wait(None),
            },
            What::Told(Told::Received(_)) => Step::Finished,
            _ => Step::Wait(None),
        },
    );
    let seen = &report.director.devices[0];
    assert_eq!(seen.received(), [9]);
    assert_eq!(seen.count(&What::Told(Told::Reset(ResetReason::Refused))), 1);
}
