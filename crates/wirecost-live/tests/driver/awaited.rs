//! How many datagrams the loop reads from a socket if the number of expected datagrams is known.

use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::thread;

use wirecost_live::Clock;
use wirecost_live::driver::client::{ClientLoop, LoadDevice};
use wirecost_live::driver::sources::Sources;
use wirecost_proto::bare::Transport;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Instant, ResetReason};

use crate::crowd::{Pipe, Told};
use crate::rig::{loopback, watch};

const MESSAGES: u8 = 100;
/// A datagram that no device waits for.
const STRAY: u8 = 255;

/// One device that sends a number when the previous one has come back, and expects nothing else.
#[derive(Default)]
struct OneAnswer {
    has_begun: bool,
    is_open: bool,
    sent: u8,
    answered: u8,
    strays: u32,
}

impl Director<Pipe> for OneAnswer {
    fn event(&mut self, _: usize, event: Told, _: Instant) {
        match event {
            Told::Opened => self.is_open = true,
            Told::Received(bytes) if bytes == [self.answered] => self.answered += 1,
            Told::Received(bytes) => {
                assert_eq!(bytes, [STRAY]);
                self.strays += 1;
            }
            told => panic!("{told:?}"),
        }
    }

    fn failed(&mut self, _: usize, reason: ResetReason, _: Instant) {
        panic!("{reason}");
    }

    fn flushed(&mut self, _: usize, _: Instant) -> bool {
        false
    }

    fn next(&mut self, _: usize, _: Context) -> Step<Vec<u8>> {
        if self.answered == MESSAGES {
            return Step::Finished;
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            return Step::Connect;
        }
        if !self.is_open || self.sent > self.answered {
            return Step::Wait(None);
        }
        self.sent += 1;
        Step::Command(vec![self.answered])
    }

    fn due(&mut self, _: Instant) -> Due {
        match self.has_begun {
            true => Due::Later(None),
            false => Due::Device(0),
        }
    }

    fn woken(&mut self, _: Instant) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn awaited(&self, _: usize) -> Option<u32> {
        Some(u32::from(self.sent - self.answered))
    }
}

/// Answers each datagram with the result of `answers` for its number.
fn answering(answers: fn(u8) -> Vec<u8>) -> SocketAddr {
    let socket = UdpSocket::bind(loopback()).expect("a port is free");
    let address = socket.local_addr().expect("bound");
    thread::spawn(move || {
        let mut datagram = [0];
        while let Ok((1, peer)) = socket.recv_from(&mut datagram) {
            for answer in answers(datagram[0]) {
                socket.send_to(&[answer], peer).expect("loopback");
            }
            if datagram[0] + 1 == MESSAGES {
                return;
            }
        }
    });
    address
}

fn run(remote: SocketAddr) -> (OneAnswer, u64) {
    let device = LoadDevice {
        endpoint: Pipe::default(),
        transport: Transport::Datagram,
        remote,
    };
    let devices = ClientLoop::for_load([device], OneAnswer::default(), Clock::start(), Sources::any());
    let devices = devices.expect("a loop");
    let done = watch(devices.waker());
    let report = devices.run().expect("no poll fails");
    drop(done);
    (report.director, report.calls.reads)
}

#[test]
fn the_loop_reads_no_further_than_the_expected_answer() {
    let (director, reads) = run(answering(|number| vec![number]));
    assert_eq!((director.answered, director.strays), (MESSAGES, 0));
    assert_eq!(reads, u64::from(MESSAGES));
}

#[test]
fn a_datagram_before_the_answer_does_not_hide_it() {
    let (director, _) = run(answering(|number| vec![STRAY, number]));
    assert_eq!((director.answered, director.strays), (MESSAGES, MESSAGES.into()));
}

#[test]
fn a_datagram_after_an_answer_waits_for_the_next_one() {
    let (director, _) = run(answering(|number| vec![number, STRAY]));
    assert_eq!(director.answered, MESSAGES);
    assert!(
        director.strays < MESSAGES.into(),
        "the last one is behind the last answer"
    );
}
