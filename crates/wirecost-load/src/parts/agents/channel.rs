//! Lines over TLS on a socket, which two threads use: one reads, any of them writes.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wirecost_live::Clock;
use wirecost_proto::PeerText;
use wirecost_security::pinned::{Session, SessionError};

use super::line::{LineBuffer, NotALine};

/// How long the socket may take no bytes before a message counts as lost with its connection.
const WRITING: Duration = Duration::from_secs(5);
/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;
/// The longest first line of a peer that has not proved that it belongs to the run.
pub const FIRST_LINE: usize = 4 * 1024;
/// The longest line of a peer that belongs to the run.
pub const LINE: usize = 64 * 1024 * 1024;

/// Why a connection has ended.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The peer closed it.
    #[error("the connection has ended")]
    Closed,
    /// The peer sent nothing for this time.
    #[error("nothing has come for {} s", .0.as_secs())]
    Silent(Duration),
    /// The socket failed.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// The peer is another one, or broke the protocol.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A line is too long, or no text.
    #[error(transparent)]
    Line(#[from] NotALine),
    /// A line is no message.
    #[error("a line that is no message: {0}")]
    Message(PeerText),
}

/// The writing side of a connection.
#[derive(Debug)]
pub struct Channel {
    session: Mutex<Session>,
    /// Writers hold it from making a message to its last byte, so that records stay in order. The reader does not need it:
    /// a peer that does not read must not keep this side from reading.
    writing: Mutex<TcpStream>,
    /// The same socket, to end it while a writer waits.
    stream: TcpStream,
    clock: Clock,
}

/// The reading side of a connection.
#[derive(Debug)]
pub struct Lines {
    channel: Arc<Channel>,
    stream: TcpStream,
    chunk: Vec<u8>,
    /// What the peer has said, from the first line that was not taken.
    buffer: LineBuffer,
    /// When the last bytes arrived, on the clock of the machine.
    stamp_ns: u64,
    heard: Instant,
}

impl Channel {
    /// Takes a connection through its handshake, within `patience`.
    ///
    /// # Errors
    /// The peer is another one, or does not answer.
    pub fn open(
        stream: TcpStream,
        session: Session,
        clock: Clock,
        patience: Duration,
    ) -> Result<(Arc<Self>, Lines), ChannelError> {
        // The Nagle algorithm (RFC 896) would hold a question back until the last one is acknowledged, and spoil the clocks' comparison.
        stream.set_nodelay(true)?;
        // A peer that reads nothing would otherwise block the thread that tells all others to begin.
        stream.set_write_timeout(Some(WRITING))?;
        let channel = Arc::new(Self {
            session: Mutex::new(session),
            writing: Mutex::new(stream.try_clone()?),
            stream: stream.try_clone()?,
            clock,
        });
        let mut lines = Lines {
            channel: Arc::clone(&channel),
            stream,
            chunk: vec![0; CHUNK],
            // Anyone can connect: until a peer has proved that it has the secret, it may not fill the memory.
            buffer: LineBuffer::new(FIRST_LINE),
            stamp_ns: 0,
            heard: Instant::now(),
        };
        let until = Instant::now() + patience;
        loop {
            channel.flush()?;
            if !lock(&channel.session).is_handshaking() {
                break;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ChannelError::Silent(patience));
            }
            lines.read(left)?;
        }
        Ok((channel, lines))
    }

    /// Sends a line, which `make` makes from the time at which it is sent, in nanoseconds of the machine's clock.
    ///
    /// # Errors
    /// The socket has failed, or takes no bytes.
    pub fn send_at(&self, make: impl FnOnce(u64) -> String) -> io::Result<()> {
        let mut stream = lock(&self.writing);
        let line = make(now_ns(&self.clock)) + "\n";
        let bytes = lock(&self.session).put(line.as_bytes());
        let sent = stream.write_all(&bytes);
        if sent.is_err() {
            // The peer has a part of a record: nothing that follows can be read.
            drop(stream.shutdown(Shutdown::Both));
        }
        sent
    }

    /// Sends a line.
    ///
    /// # Errors
    /// As [`Channel::send_at`].
    pub fn send(&self, line: String) -> io::Result<()> {
        self.send_at(|_| line)
    }

    /// Ends the connection.
    pub fn close(&self) {
        // A connection that has ended already needs no end.
        drop(self.stream.shutdown(Shutdown::Both));
    }

    fn flush(&self) -> io::Result<()> {
        let mut stream = lock(&self.writing);
        let bytes = lock(&self.session).bytes();
        stream.write_all(&bytes)
    }
}

impl Lines {
    /// The next line, and when its last byte arrived, in nanoseconds of the machine's clock; `None` if no line is
    /// complete within `patience`.
    ///
    /// # Errors
    /// The connection has ended, or the peer sent no line.
    pub fn next(&mut self, patience: Duration) -> Result<Option<(String, u64)>, ChannelError> {
        let until = Instant::now() + patience;
        loop {
            if let Some(line) = self.buffer.take()? {
                return Ok(Some((line, self.stamp_ns)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.read(left)? {
                return Ok(None);
            }
        }
    }

    /// Allows longer lines from now on.
    pub const fn trust(&mut self) {
        self.buffer.most = LINE;
    }

    /// How long nothing has arrived.
    pub fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Reads once. Returns whether anything came within `patience`.
    fn read(&mut self, patience: Duration) -> Result<bool, ChannelError> {
        self.stream
            .set_read_timeout(Some(patience.max(Duration::from_millis(1))))?;
        let read = match self.stream.read(&mut self.chunk) {
            Ok(0) => return Err(ChannelError::Closed),
            Ok(read) => read,
            Err(error) if is_wait(&error) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        self.stamp_ns = now_ns(&self.channel.clock);
        self.heard = Instant::now();
        let taken = lock(&self.channel.session).take(&self.chunk[..read], self.buffer.bytes());
        taken.inspect_err(|_| {
            // The peer learns why; if it does not, it sees the end of the connection.
            drop(self.channel.flush());
        })?;
        Ok(true)
    }
}

fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// The time on the machine's monotonic clock, in nanoseconds.
pub(super) fn now_ns(clock: &Clock) -> u64 {
    clock.monotonic_nanos(clock.now())
}

/// Locks what is consistent even if a thread panicked while it held the lock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
