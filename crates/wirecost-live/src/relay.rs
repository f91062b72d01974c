//! Stands in the server's place behind an emulated link, and passes every byte on to a server outside of it.
//!
//! The relay listens on the server's side of the link. Its connections to the server are made in the network namespace of the
//! thread that started it. Streams pass byte by byte, datagrams one by one. What is read is written at once, so that the
//! packets between device and relay are those that the server would have sent. Ends and resets of streams are passed on.

mod datagrams;
mod pipe;
mod streams;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use wirecost_proto::bare::Transport;

use crate::Side;
use crate::error::EnvironmentError;
use crate::timerfd::minimize_timer_slack;
use datagrams::Datagrams;
use streams::Streams;

/// Wakes the loop.
const WAKE: Token = Token(usize::MAX);
/// The tokens of datagram sockets; those of streams are lower.
const DATAGRAMS: usize = 1 << 40;
/// The largest chunk of a read: any datagram fits.
const READ_BYTES: usize = 65_536;
/// The most accepted connections, reads or datagrams of one socket before other sockets have their turn.
const TURN: usize = 64;

/// One port of the relay, and the server behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address on the server's side of the link.
    pub listen: SocketAddr,
    /// The server.
    pub target: SocketAddr,
    /// Stream or datagrams.
    pub transport: Transport,
}

/// Why there is no relay.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The server's side cannot be entered.
    #[error(transparent)]
    Side(#[from] EnvironmentError),
    /// A system call failed.
    #[error("cannot {action} for the relay: {source}")]
    Io {
        /// The action.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
}

/// What passed a relay so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relayed {
    /// Connections of devices that were accepted.
    pub connections: u64,
    /// Connections that the server did not accept. Their devices were reset.
    pub refused: u64,
    /// Datagrams that a socket did not take, or to which the server's machine answered that nobody listens.
    pub lost_datagrams: u64,
}

/// The counters of a running relay.
#[derive(Debug, Default)]
struct Counters {
    connections: AtomicU64,
    refused: AtomicU64,
    lost_datagrams: AtomicU64,
}

/// Adds 1 to a counter.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A socket that listens on the server's side.
#[derive(Debug)]
enum Listener {
    Stream(mio::net::TcpListener, SocketAddr),
    Datagram(mio::net::UdpSocket, SocketAddr),
}

/// What the loop is asked to do.
#[derive(Debug, Default)]
struct Asked {
    /// New listeners, in the place of the earlier ones.
    listeners: Option<Vec<Listener>>,
    stop: bool,
}

/// A running relay. Dropping it stops it.
#[derive(Debug)]
pub struct Relay {
    asked: Arc<Mutex<Asked>>,
    wake: Arc<Waker>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Relay {
    /// A relay that listens nowhere yet. Its connections to servers are made in the network namespace in which the calling
    /// thread is now.
    ///
    /// # Errors
    /// The kernel has no poll instance left.
    pub fn start() -> Result<Self, RelayError> {
        let doing = |action| move |source| RelayError::Io { action, source };
        let poll = Poll::new().map_err(doing("make a poll instance"))?;
        let wake = Waker::new(poll.registry(), WAKE).map_err(doing("make a poll instance"))?;
        let asked = Arc::<Mutex<Asked>>::default();
        let counters = Arc::<Counters>::default();
        let turning = Loop {
            poll,
            asked: Arc::clone(&asked),
            streams: Streams::new(Arc::clone(&counters)),
            datagrams: Datagrams::new(Arc::clone(&counters)),
        };
        Ok(Self {
            asked,
            wake: Arc::new(wake),
            counters,
            thread: Some(thread::spawn(move || turning.run())),
        })
    }

    /// Listens on `side` at each route's address. Listeners of an earlier call are closed, with their connections.
    ///
    /// # Errors
    /// An address is taken, or the side cannot be entered.
    pub fn listen(&self, side: &Side, routes: &[Route]) -> Result<(), RelayError> {
        let opening = || -> Result<Vec<Listener>, RelayError> {
            side.enter()?;
            routes.iter().map(listener).collect()
        };
        let opened = thread::scope(|scope| scope.spawn(opening).join());
        let listeners = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        self.ask(|asked| asked.listeners = Some(listeners));
        Ok(())
    }

    /// What has passed so far.
    pub fn relayed(&self) -> Relayed {
        let Counters {
            connections,
            refused,
            lost_datagrams,
        } = &*self.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Relayed {
            connections: read(connections),
            refused: read(refused),
            lost_datagrams: read(lost_datagrams),
        }
    }

    fn ask(&self, change: impl FnOnce(&mut Asked)) {
        change(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        // A loop that has ended cannot be woken and need not be.
        drop(self.wake.wake());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ask(|asked| asked.stop = true);
        // Its connections end with it, whether or not it failed.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

impl Relayed {
    /// What passed since an earlier count.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            connections: self.connections - earlier.connections,
            refused: self.refused - earlier.refused,
            lost_datagrams: self.lost_datagrams - earlier.lost_datagrams,
        }
    }

    /// What did not pass, in words; `None` if everything did.
    pub fn shortfall(self) -> Option<String> {
        let refused = (self.refused > 0).then(|| {
            format!(
                "the target did not accept {} of {} connections",
                self.refused, self.connections
            )
        });
        let lost = (self.lost_datagrams > 0).then(|| {
            format!(
                "{} datagrams did not reach the target or a device",
                self.lost_datagrams
            )
        });
        let both: Vec<String> = refused.into_iter().chain(lost).collect();
        (!both.is_empty()).then(|| format!("relay: {}", both.join("; ")))
    }
}

fn listener(route: &Route) -> Result<Listener, RelayError> {
    let doing = |source| RelayError::Io {
        action: "listen in the server's place",
        source,
    };
    Ok(match route.transport {
        Transport::Stream => {
            let socket = crate::driver::listen_at(route.listen).map_err(doing)?;
            Listener::Stream(socket, route.target)
        }
        Transport::Datagram => {
            let socket = crate::driver::bind_datagrams(route.listen).map_err(doing)?;
            Listener::Datagram(socket, route.target)
        }
    })
}

/// The loop of the relay's thread.
struct Loop {
    poll: Poll,
    asked: Arc<Mutex<Asked>>,
    streams: Streams,
    datagrams: Datagrams,
}

impl Loop {
    fn run(mut self) -> io::Result<()> {
        minimize_timer_slack()?;
        let mut events = Events::with_capacity(1_024);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            // Sockets are registered edge-triggered: what a turn left unread causes no further event.
            let is_behind = self.streams.is_behind() || self.datagrams.is_behind();
            let timeout = is_behind.then_some(Duration::ZERO);
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                match event.token() {
                    WAKE => {
                        if self.take_orders()? {
                            return Ok(());
                        }
                    }
                    Token(token) if token >= DATAGRAMS => self.datagrams.woken(token),
                    Token(token) => self.streams.woken(token),
                }
            }
            self.streams.turn(self.poll.registry(), &mut buffer);
            self.datagrams.turn(self.poll.registry(), &mut buffer);
        }
    }

    /// Takes new listeners. Returns whether the relay is to stop.
    fn take_orders(&mut self) -> io::Result<bool> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(listeners) = asked.listeners {
            // A new batch of cells: connections of the last one would take up its ports.
            self.streams.clear();
            self.datagrams.clear();
            for listener in listeners {
                match listener {
                    Listener::Stream(socket, target) => {
                        self.streams.listen(self.poll.registry(), socket, target)?;
                    }
                    Listener::Datagram(socket, target) => {
                        self.datagrams.listen(self.poll.registry(), socket, target)?;
                    }
                }
            }
        }
        Ok(asked.stop)
    }
}

#[cfg(test)]
mod tests;
