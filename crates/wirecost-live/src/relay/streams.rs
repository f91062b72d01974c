//! Relayed streams: a connection of a device, and one to the server.

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use socket2::SockRef;

use super::pipe::{Pipe, Pumped};
use super::{Counters, TURN, count};

/// The tokens of connections: two for each pair. Those of listeners are lower.
const PAIRS: usize = 1 << 16;

/// A connection of a device and the one to the server.
#[derive(Debug)]
struct Pair {
    device: TcpStream,
    server: TcpStream,
    /// Whether the server has accepted.
    is_connected: bool,
    up: Pipe,
    down: Pipe,
    has_ended: [bool; 2],
}

/// All relayed streams.
#[derive(Debug)]
pub(super) struct Streams {
    listeners: Vec<(TcpListener, SocketAddr)>,
    pairs: Vec<Option<Pair>>,
    free: Vec<usize>,
    /// Tokens of listeners that may have more connections, and of pairs that may have more bytes.
    ready: BTreeSet<usize>,
    counters: Arc<Counters>,
}

impl Streams {
    pub(super) const fn new(counters: Arc<Counters>) -> Self {
        Self {
            listeners: Vec::new(),
            pairs: Vec::new(),
            free: Vec::new(),
            ready: BTreeSet::new(),
            counters,
        }
    }

    pub(super) fn clear(&mut self) {
        self.listeners.clear();
        self.pairs.clear();
        self.free.clear();
        self.ready.clear();
    }

    pub(super) fn listen(
        &mut self,
        registry: &Registry,
        mut socket: TcpListener,
        target: SocketAddr,
    ) -> io::Result<()> {
        registry.register(&mut socket, Token(self.listeners.len()), Interest::READABLE)?;
        self.listeners.push((socket, target));
        Ok(())
    }

    /// Notes that a socket is ready.
    pub(super) fn woken(&mut self, token: usize) {
        let key = match token.checked_sub(PAIRS) {
            Some(number) => PAIRS + number / 2,
            None => token,
        };
        self.ready.insert(key);
    }

    /// Whether a socket may be ready without another event.
    pub(super) fn is_behind(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Gives every ready socket a turn.
    pub(super) fn turn(&mut self, registry: &Registry, buffer: &mut [u8]) {
        for key in std::mem::take(&mut self.ready) {
            let goes_on = match key.checked_sub(PAIRS) {
                Some(index) => self.pump(index, buffer),
                None => self.accept(key, registry),
            };
            if goes_on {
                self.ready.insert(key);
            }
        }
    }

    /// Accepts connections. Returns whether there may be more.
    fn accept(&mut self, listener: usize, registry: &Registry) -> bool {
        for _ in 0..TURN {
            let Some((socket, target)) = self.listeners.get(listener) else {
                return false;
            };
            let device = match socket.accept() {
                Ok((device, _)) => device,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                // Nothing waits, or no descriptor is left: the next connection wakes the listener again.
                Err(_) => return false,
            };
            count(&self.counters.connections);
            match TcpStream::connect(*target) {
                Ok(server) => self.add(registry, device, server),
                Err(_) => self.refuse(&device),
            }
        }
        true
    }

    fn add(&mut self, registry: &Registry, device: TcpStream, server: TcpStream) {
        let mut pair = Pair {
            device,
            server,
            is_connected: false,
            up: Pipe::default(),
            down: Pipe::default(),
            has_ended: [false; 2],
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.pairs.push(None);
            self.pairs.len() - 1
        });
        let both = Interest::READABLE | Interest::WRITABLE;
        let registered = pair
            .prepare()
            .and_then(|()| registry.register(&mut pair.device, Token(PAIRS + index * 2), both))
            .and_then(|()| registry.register(&mut pair.server, Token(PAIRS + index * 2 + 1), both));
        match registered {
            Ok(()) => self.pairs[index] = Some(pair),
            Err(_) => {
                self.refuse(&pair.device);
                self.free.push(index);
            }
        }
    }

    fn refuse(&self, device: &TcpStream) {
        count(&self.counters.refused);
        reset(device);
    }

    /// Passes on what has arrived on either side. Returns whether there may be more.
    fn pump(&mut self, index: usize, buffer: &mut [u8]) -> bool {
        let Some(pair) = self.pairs.get_mut(index).and_then(Option::as_mut) else {
            return false;
        };
        let was_connected = pair.is_connected;
        let pumped = pair.pump(buffer);
        if let Ok(Pumped::Waits | Pumped::GoesOn) = pumped {
            return matches!(pumped, Ok(Pumped::GoesOn));
        }
        if pumped.is_err() {
            if !was_connected && !pair.is_connected {
                count(&self.counters.refused);
            }
            // Both ends see a reset, as they would without the relay between them.
            reset(&pair.device);
            reset(&pair.server);
        }
        self.pairs[index] = None;
        self.free.push(index);
        false
    }
}

impl Pair {
    /// What is written leaves at once, as from a server that waits for nothing.
    fn prepare(&self) -> io::Result<()> {
        self.device.set_nodelay(true)?;
        self.server.set_nodelay(true)
    }

    /// Passes on what has arrived, once the server has accepted.
    fn pump(&mut self, buffer: &mut [u8]) -> io::Result<Pumped> {
        if !self.is_connected {
            // A connect without waiting reports its failure here (connect(2), EINPROGRESS).
            if let Some(error) = self.server.take_error()? {
                return Err(error);
            }
            match self.server.peer_addr() {
                Ok(_) => self.is_connected = true,
                Err(_) => return Ok(Pumped::Waits),
            }
        }
        let up = self.up.pump(&mut self.device, &mut self.server, buffer)?;
        let down = self.down.pump(&mut self.server, &mut self.device, buffer)?;
        let ways = [(up, &self.server), (down, &self.device)];
        for ((pumped, to), has_ended) in ways.into_iter().zip(&mut self.has_ended) {
            if pumped == Pumped::Ended && !std::mem::replace(has_ended, true) {
                // A peer that is gone already needs no end.
                drop(to.shutdown(Shutdown::Write));
            }
        }
        Ok(match (up, down) {
            (Pumped::Ended, Pumped::Ended) => Pumped::Ended,
            (Pumped::GoesOn, _) | (_, Pumped::GoesOn) => Pumped::GoesOn,
            _ => Pumped::Waits,
        })
    }
}

/// Lets a connection end with a reset when it is dropped.
fn reset(stream: &TcpStream) {
    // A connection that is gone already needs no reset.
    drop(SockRef::from(stream).set_linger(Some(Duration::ZERO)));
}
