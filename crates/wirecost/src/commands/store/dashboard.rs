//! The dashboard: one page over HTTP, and what it shows as server-sent events (HTML Living Standard, section 9.2).
//!
//! A thread accepts connections, each gets a short thread of its own for its request, and one thread tells all listeners
//! what is new, four times a second. The loop that stores readings only waits while a reading is added to the board.
//!
//! Whatever a device sends reaches the page as JSON, and the page shows it as text. The response forbids all scripts but its
//! own, and all requests but that for the events.

mod board;
mod reading;
mod stream;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::Serialize;
use wirecost_live::Clock;
use wirecost_proto::Instant;
use wirecost_store::keeper::Counts;

use crate::http::door::Door;
use crate::http::page::Page;
use crate::http::{self, Request, Response};
use board::{Board, News};
use reading::Present;
use stream::{Listener, Wants};

/// The time from one tick to the next.
const TICK: Duration = Duration::from_millis(250);
/// The most connections whose request is not answered yet, of which the oldest goes first; and the most listeners.
const CONNECTIONS: usize = 16;

const PAGE: Page = Page {
    title: "wirecost store",
    markup: include_str!("dashboard/page.html"),
    style: &[include_str!("dashboard/page.css")],
    script: include_str!("dashboard/page.js"),
    allowed: "",
};

/// A running dashboard.
#[derive(Debug)]
pub(super) struct Dashboard {
    shared: Arc<Shared>,
    address: SocketAddr,
    telling: JoinHandle<()>,
}

/// Where the readings come from and where they go, for a person.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Route {
    pub(super) broker: String,
    pub(super) store: String,
}

/// What its threads share.
#[derive(Debug)]
struct Shared {
    board: Mutex<Board>,
    /// Listeners that have come since the last tick.
    arrived: Mutex<Vec<Listener>>,
    /// How many listeners there are, with those that have just come.
    listeners: AtomicUsize,
    is_over: AtomicBool,
    door: Door,
    clock: Clock,
    route: Route,
}

/// Adds to what the dashboard shows.
#[derive(Debug)]
pub(super) struct Shown(Arc<Shared>);

impl Shown {
    /// A reading has arrived.
    pub(super) fn arrived(&self, topic: &str, payload: &[u8], at: Instant) {
        let clock = self.0.clock;
        let present = Present {
            monotonic_ns: clock.monotonic_nanos(at),
            unix_ns: clock.utc_nanos(at),
        };
        self.0.board().arrived(topic, payload, at, present);
    }

    /// The store has acknowledged a reading, this long after its arrival.
    pub(super) fn stored(&self, topic: &str, after: Duration) {
        self.0.board().stored(topic, after);
    }

    /// The counts, and whether broker and store are open.
    pub(super) fn counted(&self, counts: Counts, held: usize, open: [bool; 2]) {
        self.0.board().counted(counts, held, open);
    }

    /// Something was said to the person at the terminal.
    pub(super) fn says(&self, text: &str) {
        self.0.board().says(text);
    }
}

impl Dashboard {
    /// Listens, and serves the page until it is ended.
    pub(super) fn start(address: SocketAddr, clock: Clock, route: Route) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            board: Mutex::default(),
            arrived: Mutex::default(),
            listeners: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            door: Door::open(
                address,
                "the dashboard is at the address that wirecost store names\n",
            ),
            clock,
            route,
        });
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let telling = Arc::clone(&shared);
        let telling = named("dashboard").spawn(move || telling.tell())?;
        let accepting = Arc::clone(&shared);
        let accept = move || http::answer_all(&listener, CONNECTIONS, move |stream| accepting.answer(stream));
        named("dashboard-accept").spawn(accept)?;
        Ok(Self {
            shared,
            address,
            telling,
        })
    }

    /// The address that it listens on.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle for what it shows.
    pub(super) fn shown(&self) -> Shown {
        Shown(Arc::clone(&self.shared))
    }

    /// Tells the listeners the last counts, and that these are the last.
    pub(super) fn end(self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // A panic there has been printed.
        drop(self.telling.join());
    }
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all listeners what is new, until the end.
    fn tell(&self) {
        let mut listeners: Vec<Listener> = Vec::new();
        loop {
            let is_over = self.is_over.load(Ordering::Relaxed);
            // Taken over at the begin of a tick, so that a new listener's whole state and the news after it have no gap.
            listeners.append(&mut self.arrived());
            let at = self.clock.now();
            // Before the board is locked: a listener that is slow must not hold up the readings.
            let wants: Vec<_> = listeners.iter_mut().map(Listener::wants).collect();
            let wants_all = wants.iter().any(|wants| matches!(wants, Ok(Wants::All)));
            let (news, all) = {
                let mut board = self.board();
                (board.tick(at), wants_all.then(|| board.whole(at)))
            };
            // The tick itself is taken in any case: the board counts by it, and a later listener sees the last minutes.
            let news = (!listeners.is_empty()).then(|| stream::event("news", &json(&news)));
            let all = all.map(|news| stream::event("all", &self.all(&news)));
            let mut wants = wants.into_iter();
            let told = listeners.len();
            listeners.retain_mut(|listener| {
                let told = match wants.next() {
                    Some(Ok(Wants::All)) => all.as_ref().map_or(Ok(()), |all| listener.tell(all)),
                    Some(Ok(Wants::News)) => news.as_ref().map_or(Ok(()), |news| listener.tell(news)),
                    // It has not read its last event: more would pile up in memory. Once it reads, it gets the whole state.
                    Some(Ok(Wants::Nothing)) => {
                        listener.misses();
                        Ok(())
                    }
                    Some(Err(error)) => Err(error),
                    None => Ok(()),
                };
                told.is_ok()
            });
            let gone = told - listeners.len();
            self.listeners.fetch_sub(gone, Ordering::Relaxed);
            if is_over {
                let end = stream::event("end", "{}");
                for listener in &mut listeners {
                    // In the middle of an event, the word of the end would be part of that event.
                    if matches!(listener.wants(), Ok(Wants::News)) {
                        drop(listener.tell(&end));
                    }
                }
                return;
            }
            thread::sleep(TICK);
        }
    }

    fn all(&self, news: &News) -> String {
        #[derive(Serialize)]
        struct All<'a> {
            #[serde(flatten)]
            news: &'a News,
            #[serde(flatten)]
            route: &'a Route,
        }
        json(&All {
            news,
            route: &self.route,
        })
    }

    fn answer(&self, stream: TcpStream) -> io::Result<()> {
        let request = Request::read(stream)?;
        if let Some(refused) = self.door.refused(&request) {
            return refused.answer(request);
        }
        match (request.method(), request.path()) {
            ("GET" | "HEAD", "/") => PAGE.answer(request),
            ("GET", "/events") => {
                // Counted and taken at once: two that come together cannot both be the last.
                let taken = self
                    .listeners
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |there| {
                        (there < CONNECTIONS).then_some(there + 1)
                    });
                if taken.is_err() {
                    let words = "the dashboard has as many listeners as it takes\n";
                    return request.answer(&Response::plain("503 Service Unavailable", words));
                }
                let begun = request.begin(stream::HEAD).and_then(Listener::new);
                let listener = begun.inspect_err(|_| {
                    self.listeners.fetch_sub(1, Ordering::Relaxed);
                })?;
                self.arrived().push(listener);
                Ok(())
            }
            ("GET" | "HEAD", _) => request.answer(&Response::plain("404 Not Found", "the page is at /\n")),
            ("", _) => request.answer(&Response::plain("400 Bad Request", "this is no HTTP request\n")),
            _ => request.answer(&Response {
                fields: "Allow: GET, HEAD\r\n",
                ..Response::plain("405 Method Not Allowed", "only GET and HEAD are answered\n")
            }),
        }
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned())
}
