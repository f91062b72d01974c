//! A TCP connection under an endpoint's flow: non-blocking, with a bounded buffer of unsent bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use mio::net::TcpStream;
use socket2::{Domain, Protocol, Socket, Type};
use wirecost_proto::ResetReason;

use crate::congestion::set_congestion_control;
use wirecost_proto::driver::UNSENT_LIMIT;

/// What a device's TCP uses, also where the machine's default is another one.
pub(super) const CONGESTION_CONTROL: &str = "cubic";

/// A stream's socket and what waits for it.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) socket: TcpStream,
    unsent: Vec<u8>,
    sent: usize,
    pub(super) state: State,
    fin_requested: bool,
    fin_sent: bool,
    pub(super) fin_received: bool,
    /// Whether the kernel has refused to send: nothing more is given to it.
    broken: bool,
}

/// Where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// SYN sent.
    Connecting,
    /// Usable.
    Established,
}

/// What reading found.
pub(super) enum Readable {
    /// So many bytes.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// The peer's FIN.
    PeerClosed,
    /// The connection is gone.
    Reset(ResetReason),
}

impl Stream {
    /// Starts to connect from `local` to `remote`.
    pub(super) fn connect(local: SocketAddr, remote: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(remote), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        if local.is_ipv6() {
            socket.set_freebind_v6(true)?;
        }
        socket.bind(&local.into())?;
        socket.set_tcp_nodelay(true)?;
        // Where even this is refused, the run has said so when it looked at its settings.
        let _ = set_congestion_control(socket.as_fd(), CONGESTION_CONTROL);
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        Ok(Self::new(TcpStream::from_std(socket.into()), State::Connecting))
    }

    /// An accepted connection.
    pub(super) fn accepted(socket: TcpStream) -> Self {
        // A socket that is gone already reports so when it is read.
        let _ = socket.set_nodelay(true);
        Self::new(socket, State::Established)
    }

    fn new(socket: TcpStream, state: State) -> Self {
        Self {
            socket,
            unsent: Vec::new(),
            sent: 0,
            state,
            fin_requested: false,
            fin_sent: false,
            fin_received: false,
            broken: false,
        }
    }

    /// After a writable event while connecting: whether the connection is established now.
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

    /// Queues bytes behind what is unsent.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        // What is sent goes, lest a flow that always has something unsent keeps all it ever had.
        if self.sent >= UNSENT_LIMIT || self.is_flushed() {
            self.unsent.drain(..self.sent);
            self.sent = 0;
        }
        self.unsent.extend_from_slice(bytes);
    }

    /// Bytes that the kernel has not taken.
    pub(super) fn unsent(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Whether so much is unsent that commands must wait.
    pub(super) fn is_congested(&self) -> bool {
        self.unsent() >= UNSENT_LIMIT
    }

    /// Whether every byte has left the buffer.
    pub(super) fn is_flushed(&self) -> bool {
        self.sent == self.unsent.len()
    }

    /// Closes this direction when everything is sent.
    pub(super) fn request_fin(&mut self) {
        self.fin_requested = true;
    }

    /// Gives the kernel what it takes; then the FIN, if it was asked for. A refusal is told once.
    pub(super) fn flush(&mut self) -> Result<(), ResetReason> {
        if self.state == State::Connecting || self.broken {
            return Ok(());
        }
        let given = self.give();
        self.broken = given.is_err();
        given.map_err(|error| reason_of(&error))
    }

    fn give(&mut self) -> io::Result<()> {
        while self.sent < self.unsent.len() {
            match self.socket.write(&self.unsent[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.fin_requested && !self.fin_sent {
            self.fin_sent = true;
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }

    /// Reads what is there.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Readable {
        loop {
            return match self.socket.read(buffer) {
                Ok(0) => {
                    self.fin_received = true;
                    Readable::PeerClosed
                }
                Ok(len) => Readable::Bytes(len),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Readable::Nothing,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Readable::Reset(reason_of(&error)),
            };
        }
    }

    /// Whether both directions are closed.
    pub(super) fn is_closed(&self) -> bool {
        self.fin_sent && self.fin_received
    }

    /// Makes the socket's end an RST.
    pub(super) fn abort(&self) {
        let socket = socket2::SockRef::from(&self.socket);
        let _ = socket.set_linger(Some(Duration::ZERO));
    }
}

/// The reason that a socket's error stands for.
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
