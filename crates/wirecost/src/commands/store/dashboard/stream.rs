//! Server-sent events: every tick is written once, and the same bytes go to every listener.
//!
//! A listener whose socket is full keeps at most the event that it has not taken whole. It is told nothing meanwhile, and
//! everything once it has: what it missed is not kept for it. One that takes nothing for [`PATIENCE`] is dropped.

use std::io::{self, ErrorKind, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a listener may take nothing of what is written for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The head of the response. Its content ends with the connection.
pub(super) const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";

/// An event of this name, with JSON, which has no line end of its own.
pub(super) fn event(name: &str, json: &str) -> Arc<[u8]> {
    format!("event: {name}\ndata: {json}\n\n").into_bytes().into()
}

/// Somebody who looks at the page.
#[derive(Debug)]
pub(super) struct Listener {
    stream: TcpStream,
    /// The event on its way, and how much of it has left.
    unsent: Option<(Arc<[u8]>, usize)>,
    /// Whether it must be told everything.
    knows_nothing: bool,
    moved: Instant,
}

impl Listener {
    /// A listener that knows nothing.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            unsent: None,
            knows_nothing: true,
            moved: Instant::now(),
        })
    }

    /// Sends what is on its way. Afterwards the listener takes all or news, or nothing if its socket is still full.
    pub(super) fn wants(&mut self) -> io::Result<Wants> {
        self.flush()?;
        Ok(match (&self.unsent, self.knows_nothing) {
            (Some(_), _) => Wants::Nothing,
            (None, true) => Wants::All,
            (None, false) => Wants::News,
        })
    }

    /// Sends an event, as far as the socket takes it.
    pub(super) fn tell(&mut self, event: &Arc<[u8]>) -> io::Result<()> {
        self.knows_nothing = false;
        self.unsent = Some((Arc::clone(event), 0));
        self.moved = Instant::now();
        self.flush()
    }

    /// It misses an event.
    pub(super) const fn misses(&mut self) {
        self.knows_nothing = true;
    }

    fn flush(&mut self) -> io::Result<()> {
        while let Some((event, sent)) = &mut self.unsent {
            match self.stream.write(&event[*sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    *sent += written;
                    self.moved = Instant::now();
                    if *sent == event.len() {
                        self.unsent = None;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A laptop that sleeps keeps its connection open and reads nothing; its place is wanted by others.
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.moved.elapsed() < PATIENCE => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a listener takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    All,
    News,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::TcpListener;

    fn connected() -> (Listener, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = listener.accept().unwrap().0;
        (Listener::new(stream).unwrap(), peer)
    }

    #[test]
    fn a_slow_listener_holds_one_event_and_is_told_everything_when_it_has_taken_it() {
        let (mut listener, mut peer) = connected();
        assert_eq!(listener.wants().unwrap(), Wants::All);
        // More than the buffers of a loopback socket take.
        let large: Arc<[u8]> = vec![b'x'; 32 << 20].into();
        listener.tell(&large).unwrap();
        assert_eq!(listener.wants().unwrap(), Wants::Nothing);
        listener.misses();
        assert_eq!(Arc::strong_count(&large), 2);
        let reading = std::thread::spawn(move || {
            let mut bytes = vec![0; 32 << 20];
            peer.read_exact(&mut bytes).map(|()| peer)
        });
        while listener.wants().unwrap() == Wants::Nothing {
            std::thread::yield_now();
        }
        assert_eq!(listener.wants().unwrap(), Wants::All);
        assert_eq!(Arc::strong_count(&large), 1);
        let mut peer = reading.join().unwrap().unwrap();
        listener.tell(&event("news", "{}")).unwrap();
        assert_eq!(listener.wants().unwrap(), Wants::News);
        let mut bytes = [0; 22];
        peer.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"event: news\ndata: {}\n\n");
    }

    #[test]
    fn a_listener_that_has_gone_is_noticed() {
        let (mut listener, peer) = connected();
        drop(peer);
        let event = event("news", "{}");
        let gone = (0..1_000).any(|_| listener.tell(&event).is_err());
        assert!(gone);
    }
}
