//! An endpoint on a socket with a manual driver, and OpenSSL processes.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Clock};

use wirecost_proto::{Buffer, Cause, Endpoint, FlowId, Input, Instant, Layer, Output, Phase, Span};

/// Time limit of every step.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends text unchanged and reports received text. A server echoes it.
#[derive(Default)]
pub(crate) struct Text {
    echoes: bool,
    flow: Option<FlowId>,
    output: VecDeque<(FlowId, Said)>,
}

enum Said {
    Send(Vec<u8>),
    Consumed(usize),
    Received(Vec<u8>),
    Close,
}

/// A command to a [`Text`].
pub(crate) enum Ask {
    Send(Vec<u8>),
    Close,
}

impl Text {
    pub(crate) fn echoing() -> Self {
        Self {
            echoes: true,
            ..Self::default()
        }
    }

    fn say(&mut self, said: Said) {
        if let Some(flow) = self.flow {
            self.output.push_back((flow, said));
        }
    }
}

impl Endpoint for Text {
    type Command = Ask;
    type Event = Vec<u8>;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Ask>, _now: Instant) -> Result<(), Infallible> {
        match input {
            Input::Opened { flow, .. } => self.flow = Some(flow),
            Input::Received { bytes, .. } => {
                self.say(Said::Consumed(bytes.len()));
                self.say(Said::Received(bytes.to_vec()));
                if self.echoes {
                    self.say(Said::Send(bytes.to_vec()));
                }
            }
            Input::Command(Ask::Send(text)) => self.say(Said::Send(text)),
            Input::Command(Ask::Close) => self.say(Said::Close),
            Input::PeerClosed { .. } => self.say(Said::Close),
            _ => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Vec<u8>> {
        let Some((flow, said)) = self.output.pop_front() else {
            return Output::Timeout(None);
        };
        match said {
            Said::Send(text) => {
                out.push(&text, Layer::Payload, Phase::Message, Cause::Original);
                Output::Transmit { flow }
            }
            Said::Consumed(len) => {
                out.cover(len, Layer::Payload, Phase::Message, Cause::Original);
                Output::Consumed { flow }
            }
            Said::Received(text) => Output::Event(text),
            Said::Close => Output::Close { flow, reset: false },
        }
    }
}

/// One flow of an endpoint on a socket.
pub(crate) struct Driven<'a, E: Endpoint> {
    endpoint: &'a mut E,
    socket: TcpStream,
    started: Clock,
    flow: FlowId,
    pub(crate) events: Vec<E::Event>,
    pub(crate) made: Vec<Span>,
    pub(crate) received_bytes: u64,
    pub(crate) consumed: Vec<Span>,
    ended: bool,
}

impl<'a, E: Endpoint<Error = Infallible>> Driven<'a, E> {
    /// Opens the socket as a new flow of the endpoint.
    pub(crate) fn new(endpoint: &'a mut E, socket: TcpStream, started: Clock, flow: u32) -> Self {
        let tick = Duration::from_millis(10);
        socket.set_read_timeout(Some(tick)).expect("a time-out");
        socket.set_nodelay(true).expect("an option");
        let peer = socket.peer_addr().expect("a peer");
        let flow = FlowId(flow);
        let mut driven = Self {
            endpoint,
            socket,
            started,
            flow,
            events: Vec::new(),
            made: Vec::new(),
            received_bytes: 0,
            consumed: Vec::new(),
            ended: false,
        };
        driven.input(Input::Opened { flow, peer });
        driven
    }

    pub(crate) fn input(&mut self, input: Input<'_, E::Command>) {
        let now = self.started.elapsed().as_nanos() as u64;
        let now = Instant::from_nanos(now);
        let Ok(()) = self.endpoint.handle_input(input, now);
        let (mut out, mut bytes, mut close) = (Buffer::new(), Vec::new(), false);
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => {
                    assert_eq!(out.covered(), out.bytes().len() as u64);
                    bytes.extend_from_slice(out.bytes());
                    self.made.extend(out.spans());
                }
                Output::Consumed { .. } => self.consumed.extend(out.spans()),
                Output::Event(event) => self.events.push(event),
                Output::Close { .. } => close = true,
                Output::Timeout(_) => break,
            }
        }
        self.socket.write_all(&bytes).expect("the peer reads");
        if close {
            // The peer may be gone already.
            let _ = self.socket.shutdown(Shutdown::Write);
        }
    }

    /// Reads until `done` returns true or the peer has closed.
    pub(crate) fn run(&mut self, done: impl Fn(&Self) -> bool) {
        let until = Clock::now() + PATIENCE;
        let mut buffer = [0; 4_096];
        while !done(self) && !self.ended {
            assert!(Clock::now() < until, "it takes too long");
            match self.socket.read(&mut buffer) {
                Ok(0) => {
                    self.ended = true;
                    self.input(Input::PeerClosed { flow: self.flow });
                }
                Ok(len) => {
                    self.received_bytes += len as u64;
                    let (flow, bytes) = (self.flow, &buffer[..len]);
                    self.input(Input::Received { flow, bytes });
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    self.input(Input::Timeout);
                }
                Err(error) => panic!("the socket fails: {error}"),
            }
        }
    }

    /// Reads until the peer has closed.
    pub(crate) fn run_to_end(&mut self) {
        self.run(|_| false);
        let consumed: u64 = self.consumed.iter().map(|span| u64::from(span.len)).sum();
        assert_eq!(consumed, self.received_bytes, "every byte is accounted for");
    }
}

/// An OpenSSL process with its output and input.
pub(crate) struct Openssl {
    child: Child,
    stdin: Option<ChildStdin>,
    said: Arc<Mutex<String>>,
}

impl Openssl {
    /// Starts `openssl` with the arguments. The test fails if it is missing.
    #[allow(
        clippy::disallowed_methods,
        reason = "the pipe is read while the socket is served"
    )]
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new("openssl")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is installed");
        let said = Arc::new(Mutex::new(String::new()));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let hears = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout.expect("a pipe"));
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line);
                hears.lock().expect("a thread").push_str(&text);
                line.clear();
            }
        });
        Self { child, stdin, said }
    }

    /// Types a text.
    pub(crate) fn tell(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        stdin.write_all(text.as_bytes()).expect("it reads");
        stdin.flush().expect("it reads");
    }

    /// Ends its input.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("a thread").clone()
    }

    /// Waits until it has printed `text`.
    #[allow(clippy::disallowed_methods, reason = "another program is waited for")]
    pub(crate) fn hear(&self, text: &str) {
        let until = Clock::now() + PATIENCE;
        while !self.said().contains(text) {
            assert!(
                Clock::now() < until,
                "openssl does not say {text:?}: {}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Openssl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
