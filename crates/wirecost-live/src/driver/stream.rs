//! The TCP connection of a flow: non-blocking, with a bounded buffer of unsent bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use mio::net::TcpStream;
use socket2::{Domain, Protocol, Socket, Type};
use wirecost_proto::ResetReason;

use super::calls;
use super::sources::Origin;
use crate::congestion::set_congestion_control;
use wirecost_proto::driver::{UNSENT_LIMIT, Writing};

/// The most unsent bytes for a peer that does not read: more than any one answer, and less than a few such peers need
/// to fill the memory.
pub(super) const MAX_UNSENT: usize = 32 << 20;

/// A stream's socket and its unsent bytes.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) socket: TcpStream,
    /// Bytes that the kernel has not accepted; `None` while it accepts everything.
    unsent: Option<Box<Unsent>>,
    pub(super) state: State,
    fin_requested: bool,
    fin_sent: bool,
    pub(super) fin_received: bool,
    /// Why the kernel refused to send, if it did. It receives no more bytes.
    refusal: Option<ResetReason>,
}

#[derive(Debug, Default)]
struct Unsent {
    bytes: Vec<u8>,
    /// Bytes at the front that the kernel has accepted since.
    sent: usize,
    /// Bytes of answers, queued while commands are withheld: the peer's input causes them.
    answers: usize,
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// SYN sent.
    Connecting,
    /// Usable.
    Established,
}

/// The result of a read.
pub(super) enum Readable {
    /// This many bytes.
    Bytes(usize),
    /// No data yet.
    Nothing,
    /// The peer's FIN.
    PeerClosed,
    /// The connection is lost.
    Reset(ResetReason),
}

impl Stream {
    /// Starts to connect to `remote`.
    pub(super) fn connect(origin: Origin, remote: SocketAddr, writing: Writing) -> io::Result<Self> {
        let kind = Type::STREAM.nonblocking();
        let socket = Socket::new(Domain::for_address(remote), kind, Some(Protocol::TCP))?;
        origin.bind(&socket)?;
        socket.set_tcp_nodelay(!writing.nagle)?;
        if let Origin::Link(_) = origin {
            // A refusal was reported by the run when it checked its settings.
            let _ = set_congestion_control(socket.as_fd(), writing.congestion.name());
        }
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        Ok(Self::new(TcpStream::from_std(socket.into()), State::Connecting))
    }

    /// An accepted connection.
    pub(super) fn accepted(socket: TcpStream, writing: Writing) -> Self {
        // A socket that is closed already reports this at its next read.
        let _ = socket.set_nodelay(!writing.nagle);
        Self::new(socket, State::Established)
    }

    fn new(socket: TcpStream, state: State) -> Self {
        Self {
            socket,
            unsent: None,
            state,
            fin_requested: false,
            fin_sent: false,
            fin_received: false,
            refusal: None,
        }
    }

    /// Handles a writable event while connecting. Returns whether the connection is established.
    pub(super) fn finish_connect(&mut self) -> Result<bool, ResetReason> {
        if let Ok(Some(error)) | Err(error) = self.socket.take_error() {
            return Err(reason_of(&error));
        }
        match self.socket.peer_addr() {
            Ok(_) => {
                self.state = State::Established;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(reason_of(&error)),
        }
    }

    /// Queues bytes after the unsent ones. Ignores them once the kernel has refused to send.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.is_refused() {
            return;
        }
        let unsent = self.unsent.get_or_insert_default();
        // Removes sent bytes, or else a flow that always has unsent bytes would keep all its data.
        if unsent.sent >= UNSENT_LIMIT {
            unsent.bytes.drain(..unsent.sent);
            unsent.sent = 0;
        }
        unsent.bytes.extend_from_slice(bytes);
    }

    /// The number of bytes that the kernel has not accepted.
    pub(super) fn unsent(&self) -> usize {
        self.unsent
            .as_ref()
            .map_or(0, |unsent| unsent.bytes.len() - unsent.sent)
    }

    /// Whether commands must wait because too much is unsent.
    pub(super) fn is_congested(&self) -> bool {
        self.unsent() >= UNSENT_LIMIT
    }

    /// Notes that `len` more bytes will be queued while commands are withheld.
    pub(super) fn note_answers(&mut self, len: usize) {
        if let Some(unsent) = &mut self.unsent {
            unsent.answers += len;
        }
    }

    /// Whether the peer causes so much output without reading it that the output would fill the memory.
    pub(super) fn is_flooded(&self) -> bool {
        let answers = self.unsent.as_ref().map_or(0, |unsent| unsent.answers);
        answers.min(self.unsent()) > MAX_UNSENT
    }

    /// Whether every byte has left the buffer.
    pub(super) fn is_flushed(&self) -> bool {
        self.unsent.is_none()
    }

    /// Closes this direction after everything is sent.
    pub(super) fn request_fin(&mut self) {
        self.fin_requested = true;
    }

    /// Whether a FIN is requested and not sent yet.
    pub(super) fn owes_fin(&self) -> bool {
        self.fin_requested && !self.fin_sent
    }

    /// Passes `bytes` to the kernel and keeps the rest, then sends the FIN if requested. If bytes are unsent already,
    /// the new ones wait after them until the kernel is ready. Returns how many bytes the kernel accepted. Reports a
    /// refusal once.
    pub(super) fn write(&mut self, bytes: &[u8], writing: Writing) -> Result<usize, ResetReason> {
        if self.unsent.is_some() || !self.is_usable() {
            self.queue(bytes);
            return Ok(0);
        }
        let given = give(&mut self.socket, bytes, writing).and_then(|written| {
            self.queue(bytes.get(written..).unwrap_or_default());
            self.shut()?;
            Ok(written)
        });
        self.note_refusal(given)
    }

    /// Passes unsent bytes to the kernel, then the FIN if requested. Returns how many bytes the kernel accepted.
    /// Reports a refusal once.
    pub(super) fn flush(&mut self, writing: Writing) -> Result<usize, ResetReason> {
        if !self.is_usable() {
            return Ok(0);
        }
        let given = self.give_unsent(writing);
        self.note_refusal(given)
    }

    /// Drops the unsent bytes after a refusal: the peer will never receive them.
    fn note_refusal(&mut self, given: io::Result<usize>) -> Result<usize, ResetReason> {
        given.map_err(|error| {
            let reason = reason_of(&error);
            self.refusal = Some(reason);
            self.unsent = None;
            reason
        })
    }

    fn is_usable(&self) -> bool {
        self.state == State::Established && !self.is_refused()
    }

    /// Whether the kernel has refused to send.
    pub(super) const fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    fn give_unsent(&mut self, writing: Writing) -> io::Result<usize> {
        let mut written = 0;
        if let Some(unsent) = &mut self.unsent {
            written = give(
                &mut self.socket,
                unsent.bytes.get(unsent.sent..).unwrap_or_default(),
                writing,
            )?;
            unsent.sent += written;
            if unsent.bytes.len() - unsent.sent < UNSENT_LIMIT {
                unsent.answers = 0;
            }
            if unsent.sent == unsent.bytes.len() {
                self.unsent = None;
            }
        }
        self.shut()?;
        Ok(written)
    }

    fn shut(&mut self) -> io::Result<()> {
        if self.is_flushed() && self.owes_fin() {
            self.fin_sent = true;
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }

    /// Reads the waiting data, and after it the reason of a refused send, which the kernel reports only once.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Readable {
        let ends = |otherwise| self.refusal.map_or(otherwise, Readable::Reset);
        loop {
            calls::note_read();
            return match self.socket.read(buffer) {
                Ok(0) => {
                    self.fin_received = true;
                    ends(Readable::PeerClosed)
                }
                Ok(len) => Readable::Bytes(len),
                Err(error) if error.kind() == ErrorKind::WouldBlock => ends(Readable::Nothing),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Readable::Reset(reason_of(&error)),
            };
        }
    }

    /// Whether both directions are closed.
    pub(super) fn is_closed(&self) -> bool {
        self.fin_sent && self.fin_received
    }

    /// Drops the unsent bytes and sends no more: the socket closes with an RST.
    pub(super) fn give_up(&mut self) {
        self.refusal = Some(ResetReason::Local);
        self.unsent = None;
        self.abort();
    }

    /// Makes the socket close with an RST.
    pub(super) fn abort(&self) {
        let socket = socket2::SockRef::from(&self.socket);
        let _ = socket.set_linger(Some(Duration::ZERO));
    }
}

/// Writes until everything is written or the kernel accepts no more. Returns the number of bytes.
fn give(socket: &mut TcpStream, bytes: &[u8], writing: Writing) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        calls::note_write();
        match socket.write(writing.next(&bytes[written..])) {
            Ok(more) => written += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

/// The reason of a socket's error.
pub(super) fn reason_of(error: &io::Error) -> ResetReason {
    match error.kind() {
        ErrorKind::ConnectionRefused => ResetReason::Refused,
        ErrorKind::TimedOut => ResetReason::TimedOut,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ResetReason::Unreachable,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            ResetReason::ByPeer
        }
        _ => ResetReason::Local,
    }
}

/// Why there is no socket with a connection to a peer. With all ports in use, the kernel answers EADDRNOTAVAIL to a TCP socket, EAGAIN to
/// a UDP socket, and EADDRINUSE to one that is bound first.
pub(super) fn reason_of_none(error: &io::Error) -> ResetReason {
    match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE | libc::EAGAIN) => ResetReason::NoPort,
        Some(libc::EMFILE | libc::ENFILE) => ResetReason::NoFile,
        _ => reason_of(error),
    }
}
