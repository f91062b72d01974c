//! The devices' loop: one thread, one poll instance, any number of devices.
//!
//! A device is an endpoint with a [`Script`]. The loop gives the endpoint its input, carries its output to the
//! device's socket, and asks the script what to do next whenever something has happened or a time has come.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mio::event::Event;
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token, Waker};
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Device, DeviceReport};
use wirecost_proto::log::FlowLog;
use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{Buffer, Direction, Endpoint, FlowId, Input, Output, ResetReason};

use super::stream::{Readable, State, Stream, reason_of};
use super::wakes::Wakes;
use super::{READ_BYTES, datagram};
use crate::activity::Activity;
use crate::clock::{Clock, thread_cpu_time};
use crate::timerfd::TimerFd;

/// Runs devices until all are finished or until it is stopped.
pub struct ClientLoop<E: Endpoint, S> {
    clock: Clock,
    activity: Arc<Activity>,
    poll: Poll,
    timer: TimerFd,
    stop: Arc<Waker>,
    finished: Arc<AtomicU64>,
    slots: Vec<Slot<E, S>>,
    running: usize,
    wakes: Wakes,
    out: Buffer,
}

struct Slot<E, S> {
    device: Device<E, S>,
    socket: Socket,
    /// Flows opened so far; the current one is the last.
    flows: u32,
    congested: bool,
    unsent_command: bool,
    finished: bool,
    logs: Vec<(SocketAddr, FlowLog)>,
    cpu: Duration,
    error: Option<String>,
}

enum Socket {
    None,
    Stream(Stream),
    Datagram(UdpSocket),
}

const TIMER_TOKEN: Token = Token(usize::MAX - 1);
const STOP_TOKEN: Token = Token(usize::MAX - 2);

impl<E, S> ClientLoop<E, S>
where
    E: Endpoint<Error: std::fmt::Display>,
    S: Script<E>,
{
    /// A loop over `devices`.
    ///
    /// # Errors
    /// The kernel has no poll instance, timer or event to give.
    pub fn new(devices: Vec<Device<E, S>>, clock: Clock, activity: Arc<Activity>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut timer = TimerFd::new().map_err(io::Error::other)?;
        poll.registry()
            .register(&mut timer, TIMER_TOKEN, Interest::READABLE)?;
        let stop = Arc::new(Waker::new(poll.registry(), STOP_TOKEN)?);
        let slots: Vec<Slot<E, S>> = devices.into_iter().map(Slot::new).collect();
        Ok(Self {
            clock,
            activity,
            poll,
            timer,
            stop,
            finished: Arc::new(AtomicU64::new(0)),
            running: slots.len(),
            slots,
            wakes: Wakes::default(),
            out: Buffer::new(),
        })
    }

    /// Wakes the loop to stop it, from any thread.
    pub fn stopper(&self) -> Arc<Waker> {
        Arc::clone(&self.stop)
    }

    /// How many devices are finished, to be watched from any thread.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.finished)
    }

    /// Runs until every device is finished or the stopper wakes it.
    ///
    /// # Errors
    /// Polling failed.
    pub fn run(mut self) -> io::Result<Vec<DeviceReport<S>>> {
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; READ_BYTES];
        for index in 0..self.slots.len() {
            self.wakes.want(index, self.clock.now());
        }
        loop {
            self.run_due();
            // Asked after what was due: the last device may have finished there, and nothing would wake the poll.
            if self.running == 0 {
                return Ok(self.into_reports());
            }
            if let Some(next) = self.wakes.next() {
                self.timer.arm(&self.clock, next)?;
            }
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            self.timer.take_expiry()?;
            for event in &events {
                match event.token() {
                    STOP_TOKEN => return Ok(self.into_reports()),
                    TIMER_TOKEN => {}
                    Token(index) => self.handle_ready(index, event, &mut buffer),
                }
            }
        }
    }

    fn into_reports(self) -> Vec<DeviceReport<S>> {
        self.slots.into_iter().map(Slot::into_report).collect()
    }

    fn run_due(&mut self) {
        let now = self.clock.now();
        while let Some(index) = self.wakes.due(now) {
            if self.slots[index].finished {
                continue;
            }
            self.charged(index, |this| {
                this.input(index, Input::Timeout);
                this.advance(index);
            });
        }
    }

    /// Runs `work` and charges its CPU time to a device.
    fn charged(&mut self, index: usize, work: impl FnOnce(&mut Self)) {
        let before = thread_cpu_time();
        work(self);
        self.slots[index].cpu += thread_cpu_time().saturating_sub(before);
    }

    fn handle_ready(&mut self, index: usize, event: &Event, buffer: &mut [u8]) {
        if self.slots.get(index).is_none_or(|slot| slot.finished) {
            return;
        }
        self.charged(index, |this| {
            if event.is_writable() || event.is_error() {
                this.handle_writable(index);
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                this.handle_readable(index, buffer);
            }
            this.advance(index);
        });
    }

    fn handle_writable(&mut self, index: usize) {
        let Socket::Stream(stream) = &mut self.slots[index].socket else {
            return;
        };
        if stream.state == State::Connecting {
            match stream.finish_connect() {
                Ok(true) => self.opened(index),
                Ok(false) => return,
                Err(reason) => return self.lost(index, reason, true),
            }
        }
        self.flush(index);
    }

    fn handle_readable(&mut self, index: usize, buffer: &mut [u8]) {
        loop {
            let slot = &mut self.slots[index];
            let flow = slot.flow();
            let readable = match &mut slot.socket {
                Socket::None => return,
                Socket::Stream(stream) if stream.state == State::Connecting || stream.fin_received => return,
                Socket::Stream(stream) => stream.read(buffer),
                Socket::Datagram(socket) => receive(socket, buffer),
            };
            match readable {
                Readable::Bytes(len) => self.received(index, flow, &buffer[..len]),
                Readable::Nothing => return,
                Readable::PeerClosed => self.input(index, Input::PeerClosed { flow }),
                Readable::Reset(reason) => return self.lost(index, reason, false),
            }
            self.drop_closed(index);
        }
    }

    fn received(&mut self, index: usize, flow: FlowId, bytes: &[u8]) {
        self.input_of(index, Input::Received { flow, bytes }, bytes);
    }

    /// Drops a stream whose two directions are closed.
    fn drop_closed(&mut self, index: usize) {
        if matches!(&self.slots[index].socket, Socket::Stream(stream) if stream.is_closed()) {
            self.close_socket(index);
        }
    }

    fn opened(&mut self, index: usize) {
        let slot = &self.slots[index];
        let (flow, peer) = (slot.flow(), slot.device.remote);
        self.input(index, Input::Opened { flow, peer });
    }

    /// The flow is gone; `unopened` where it was never usable.
    fn lost(&mut self, index: usize, reason: ResetReason, unopened: bool) {
        let flow = self.slots[index].flow();
        // A connected UDP socket survives the ICMP error that it reports.
        if matches!(self.slots[index].socket, Socket::Stream(_)) {
            self.close_socket(index);
        }
        if unopened {
            let now = self.clock.now();
            self.slots[index].device.script.failed(reason, now);
        }
        self.input(index, Input::Reset { flow, reason });
    }

    /// The peer takes no more: what it had said before is read, and then the flow is gone.
    fn read_out(&mut self, index: usize, refusal: ResetReason) {
        let mut buffer = vec![0; READ_BYTES];
        let flow = self.slots[index].flow();
        let reason = loop {
            let Socket::Stream(stream) = &mut self.slots[index].socket else {
                return;
            };
            match stream.read(&mut buffer) {
                Readable::Bytes(len) => self.received(index, flow, &buffer[..len]),
                Readable::Reset(reason) => break reason,
                Readable::Nothing | Readable::PeerClosed => break refusal,
            }
        };
        self.lost(index, reason, false);
    }

    fn close_socket(&mut self, index: usize) {
        match std::mem::replace(&mut self.slots[index].socket, Socket::None) {
            Socket::None => {}
            // Deregistering can only fail for a socket that is not registered.
            Socket::Stream(mut stream) => drop(self.poll.registry().deregister(&mut stream.socket)),
            Socket::Datagram(mut socket) => drop(self.poll.registry().deregister(&mut socket)),
        }
    }

    fn input(&mut self, index: usize, input: Input<'_, E::Command>) {
        self.input_of(index, input, &[]);
    }

    /// Gives the endpoint an input and carries out what it says. `received` are the bytes of the input, if any.
    fn input_of(&mut self, index: usize, input: Input<'_, E::Command>, received: &[u8]) {
        let now = self.clock.now();
        if self.slots[index].error.is_some() {
            return;
        }
        if let Err(error) = self.slots[index].device.endpoint.handle_input(input, now) {
            self.slots[index].error = Some(error.to_string());
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        loop {
            out.clear();
            match self.slots[index].device.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => self.transmit(index, &out),
                Output::Consumed { .. } => self.slots[index].note_consumed(received, &out),
                Output::Close { reset, .. } => self.close_flow(index, reset),
                Output::Event(event) => self.slots[index].device.script.event(event, now),
                Output::Timeout(at) => {
                    if let Some(at) = at {
                        self.wakes.want(index, at);
                    }
                    break;
                }
            }
        }
        self.out = out;
        self.flush(index);
    }

    fn transmit(&mut self, index: usize, out: &Buffer) {
        let slot = &mut self.slots[index];
        if let Some((_, log)) = slot.logs.last_mut() {
            log.transmitted(Direction::Up, out);
        }
        match &mut slot.socket {
            Socket::None => {}
            Socket::Stream(stream) => {
                stream.queue(out.bytes());
            }
            Socket::Datagram(socket) => match socket.send(out.bytes()) {
                // A datagram that the kernel has no room for is lost before the link; the protocol repairs it or not.
                Err(error) if !is_out_of_room(&error) => {
                    let (reason, now) = (reason_of(&error), self.clock.now());
                    slot.device.script.failed(reason, now);
                }
                _ => {}
            },
        }
    }

    fn close_flow(&mut self, index: usize, reset: bool) {
        match &mut self.slots[index].socket {
            Socket::Stream(stream) if reset => {
                stream.abort();
                self.close_socket(index);
            }
            Socket::Stream(stream) => stream.request_fin(),
            Socket::Datagram(_) => self.close_socket(index),
            Socket::None => {}
        }
    }

    fn flush(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let flushed = match &mut slot.socket {
            Socket::Stream(stream) => match stream.flush() {
                Ok(()) => stream.is_flushed(),
                Err(reason) => return self.read_out(index, reason),
            },
            Socket::Datagram(_) => true,
            // What waited for the socket has gone with it.
            Socket::None => false,
        };
        if flushed && slot.unsent_command {
            slot.unsent_command = false;
            let now = self.clock.now();
            slot.device.script.sent(now);
        }
        self.note_congestion(index);
        self.drop_closed(index);
    }

    /// Withholds commands while too much is unsent, and lets the endpoint know when no longer.
    fn note_congestion(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let congested = matches!(&slot.socket, Socket::Stream(stream) if stream.is_congested());
        if std::mem::replace(&mut slot.congested, congested) && !congested {
            let flow = slot.flow();
            self.input(index, Input::Writable { flow });
        }
    }

    /// Does what the script wants until it waits.
    fn advance(&mut self, index: usize) {
        loop {
            let slot = &mut self.slots[index];
            if slot.finished {
                return;
            }
            if slot.error.is_some() {
                return self.finish(index);
            }
            let context = Context {
                now: self.clock.now(),
                link_busy_until: self.activity.last(slot.device.host),
                cpu: slot.cpu,
                transmitted: slot.logs.last().map_or(0, |(_, log)| log.up.bytes),
                congested: slot.congested,
            };
            match slot.device.script.next(context) {
                Step::Connect => self.connect(index),
                Step::Command(command) => {
                    slot.unsent_command = true;
                    self.input(index, Input::Command(command));
                }
                Step::Wait(at) => {
                    if let Some(at) = at {
                        self.wakes.want(index, at);
                    }
                    return;
                }
                Step::Finished => return self.finish(index),
            }
        }
    }

    fn finish(&mut self, index: usize) {
        self.close_socket(index);
        self.slots[index].finished = true;
        self.running -= 1;
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn connect(&mut self, index: usize) {
        self.close_socket(index);
        if let Err(error) = self.try_connect(index) {
            let now = self.clock.now();
            self.slots[index].device.script.failed(reason_of(&error), now);
        }
    }

    fn try_connect(&mut self, index: usize) -> io::Result<()> {
        let slot = &mut self.slots[index];
        let (local, remote) = (slot.device.local, slot.device.remote);
        let interest = Interest::READABLE | Interest::WRITABLE;
        slot.flows += 1;
        match slot.device.transport {
            Transport::Stream => {
                let mut stream = Stream::connect(local, remote)?;
                let address = stream.socket.local_addr()?;
                self.poll
                    .registry()
                    .register(&mut stream.socket, Token(index), interest)?;
                slot.logs.push((address, FlowLog::new(Transport::Stream)));
                slot.socket = Socket::Stream(stream);
            }
            Transport::Datagram => {
                let mut socket = datagram::connect(local, remote)?;
                let address = socket.local_addr()?;
                self.poll
                    .registry()
                    .register(&mut socket, Token(index), Interest::READABLE)?;
                slot.logs.push((address, FlowLog::new(Transport::Datagram)));
                slot.socket = Socket::Datagram(socket);
                self.opened(index);
            }
        }
        Ok(())
    }
}

impl<E, S> Slot<E, S> {
    fn new(device: Device<E, S>) -> Self {
        Self {
            device,
            socket: Socket::None,
            flows: 0,
            congested: false,
            unsent_command: false,
            finished: false,
            logs: Vec::new(),
            cpu: Duration::ZERO,
            error: None,
        }
    }

    fn flow(&self) -> FlowId {
        FlowId(self.flows.saturating_sub(1))
    }

    fn note_consumed(&mut self, received: &[u8], out: &Buffer) {
        if let Some((_, log)) = self.logs.last_mut() {
            log.consumed(Direction::Down, received, out);
        }
    }

    fn into_report(self) -> DeviceReport<S> {
        DeviceReport {
            host: self.device.host,
            script: self.device.script,
            finished: self.finished,
            logs: self.logs,
            cpu: self.cpu,
            error: self.error,
        }
    }
}

fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Readable {
    loop {
        return match socket.recv(buffer) {
            Ok(len) => Readable::Bytes(len),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Readable::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Readable::Reset(reason_of(&error)),
        };
    }
}

/// Whether the kernel had no room for a datagram: the socket is as good as before.
fn is_out_of_room(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}
