//! `wirecost ui`: a page that answers what `wirecost choose` does, as its controls move.
//!
//! The page only moves controls, asks, and puts in place what it is told: the rows, words and pictures are those of `choose` and its
//! pages.
//!
//! - `controls`: the options of `choose` as controls
//! - `state`: options as a link and as a command line
//! - `asked`: a question with its cells, within bounds
//! - `simulations`, `cache`: what is simulated for whom, and what is kept
//! - `answer`: what the page is told
//! - `own`: the reader's own run or capture

mod answer;
mod asked;
mod cache;
mod controls;
mod own;
mod simulations;
mod state;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use wirecost_live::signals::Interrupt;

use self::answer::{Request as Asks, Told};
use self::asked::Asked;
use self::controls::Control;
use self::own::Places;
use self::simulations::{NOBODY, Simulations};
use self::state::State;
use super::job::at_once;
use crate::arguments::UiArguments;
use crate::exit::{self, Failure};
use crate::http::door::Door;
use crate::http::page::{NOT_KEPT, Page};
use crate::http::{self, Request, Response};
use crate::output;

/// How often the command checks for its end.
const PAUSE: Duration = Duration::from_millis(50);
/// The most connections that are not answered yet, of which the oldest goes first. An answer waits for simulations.
const CONNECTIONS: usize = 64;

/// What is refused where another address leads here.
const PLACE: &str = "the page is at the address that wirecost ui names\n";

/// The styles of a part of `choice.html` and of a capture, and that of the controls.
const STYLE: &[&str] = &[
    wirecost_report::choice::STYLE,
    wirecost_report::link::STYLE,
    include_str!("ui/page.css"),
    include_str!("ui/own.css"),
];

const PAGE: Page = Page {
    title: "wirecost ui",
    markup: include_str!("ui/page.html"),
    style: STYLE,
    script: concat!(include_str!("ui/own.js"), include_str!("ui/page.js")),
    // A figure of the chart kit says how wide it may become.
    allowed: "style-src-attr 'unsafe-inline'; ",
};

/// What the threads of the server share.
struct Server {
    door: Door,
    simulations: Arc<Simulations>,
    /// The folder that the page shows from the beginning.
    opened: Option<PathBuf>,
    places: Places,
}

/// Runs the command until it is interrupted.
pub fn run(arguments: &UiArguments) -> Result<ExitCode, Failure> {
    serve(arguments.listen, None, |_| {})
}

/// Serves the page until the program is interrupted, with a folder that it shows from the beginning; `ready` gets its URL.
pub fn serve(
    address: SocketAddr,
    opened: Option<PathBuf>,
    ready: impl FnOnce(&str),
) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::install()?;
    let refused = |error: io::Error| {
        Failure::cannot_listen(format_args!("{address}: {error}"), error.kind(), "--listen")
    };
    let listener = TcpListener::bind(address).map_err(refused)?;
    let address = listener.local_addr().map_err(Failure::internal)?;
    let server = Server {
        door: Door::guarded(address, PLACE).map_err(Failure::internal)?,
        simulations: Arc::default(),
        opened,
        places: Places::default(),
    };
    let url = format!("http://{address}/{}", server.door.key());
    output::note(format_args!("the page is at {url}"));
    if address.ip().is_unspecified() {
        output::note("put an address of this machine in place of the one above: names are refused");
    }
    if !address.ip().is_loopback() {
        output::note("others on the network reach it, and need the whole link; it is not encrypted");
    }
    start(server, listener).map_err(Failure::internal)?;
    ready(&url);
    while !interrupt.is_set() {
        thread::sleep(PAUSE);
    }
    Ok(ExitCode::from(exit::OK))
}

/// Starts the threads that simulate and those that answer.
fn start(server: Server, listener: TcpListener) -> io::Result<()> {
    let named = |name: &str| thread::Builder::new().name(name.to_owned());
    server.simulations.start(at_once(None))?;
    let simulations = Arc::clone(&server.simulations);
    named("first question").spawn(move || first(&simulations))?;
    let accept = move || http::answer_all(&listener, CONNECTIONS, move |stream| server.answer(stream));
    named("page").spawn(accept)?;
    Ok(())
}

/// Simulates the question that the page begins with, before somebody asks it.
fn first(simulations: &Simulations) {
    let asked = State::read(&state::pairs(state::FIRST)).and_then(|state| Asked::new(state.arguments()?));
    // A test asks it.
    let Ok(asked) = asked.map(Arc::new) else { return };
    let mut done = 0;
    loop {
        let seen = simulations.ask(NOBODY, &asked, done);
        if seen.done == seen.of {
            return;
        }
        done = seen.done;
    }
}

impl Server {
    fn answer(&self, stream: TcpStream) -> io::Result<()> {
        let request = Request::read(stream)?;
        if !request.is_whole() {
            let words = "the request is not whole, or longer than this server reads\n";
            return request.answer(&Response::plain("431 Request Header Fields Too Large", words));
        }
        if let Some(refused) = self.door.refused(&request) {
            return refused.answer(request);
        }
        match (request.method(), request.path()) {
            ("GET" | "HEAD", "/") => PAGE.answer(request),
            ("GET", "/api/controls") => json(request, "200 OK", &Begin::default()),
            ("GET", "/api/choose") => match self.choose(&request) {
                Ok(told) => json(request, "200 OK", &told),
                Err(failure) => json(request, "400 Bad Request", &Refusal::from_failure(&failure)),
            },
            ("GET", own::PATH) => own::folder(self.opened.as_deref(), &self.places, request),
            ("POST", own::PATH) => own::sent(&self.places, request),
            ("GET" | "HEAD", _) => request.answer(&Response::plain("404 Not Found", "the page is at /\n")),
            _ => request.answer(&Response {
                fields: "Allow: GET, HEAD\r\n",
                ..Response::plain(
                    "405 Method Not Allowed",
                    "this server takes nothing here: only GET and HEAD are answered\n",
                )
            }),
        }
    }

    /// What is known of the question of a request, once there is something new.
    fn choose(&self, request: &Request) -> Result<Told, Failure> {
        let asks = Asks::read(request.query())?;
        let state = asks.state()?;
        let asked = Asked::new(state.arguments()?)?;
        let going_on = Arc::new(self.simulations.going_on(&asks.client, &asked));
        let seen = self.simulations.ask(&asks.client, &going_on, asks.done);
        let (told, cells) = answer::told(&asks, &state, &going_on, &seen)?;
        let next = asked.with(cells);
        // What the ranking leads to is asked for as soon as the ranking is there.
        if !seen.is_ranked || next.keys().eq(going_on.keys()) {
            return Ok(told);
        }
        let next = Arc::new(next);
        let seen = self.simulations.ask(&asks.client, &next, asks.done);
        Ok(answer::told(&asks, &state, &next, &seen)?.0)
    }
}

/// What the page begins with.
#[derive(Serialize)]
struct Begin {
    /// The state of an address that has none.
    first: &'static str,
    controls: &'static [Control],
}

impl Default for Begin {
    fn default() -> Self {
        Self {
            first: state::FIRST,
            controls: controls::all(),
        }
    }
}

/// Why a question is not answered.
#[derive(Serialize)]
struct Refusal {
    error: String,
    hint: Option<String>,
}

impl Refusal {
    fn from_failure(failure: &Failure) -> Self {
        Self {
            error: failure.to_string(),
            hint: failure.hint().map(str::to_owned),
        }
    }
}

fn json(request: Request, status: &str, value: &impl Serialize) -> io::Result<()> {
    request.answer(&Response {
        status,
        content_type: "application/json",
        fields: NOT_KEPT,
        content: &serde_json::to_string(value).map_err(io::Error::other)?,
    })
}
