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
//! - `drawing`: the threads that make it
//! - `own`: the reader's own run or capture

mod answer;
mod asked;
mod cache;
mod controls;
mod drawing;
mod own;
mod simulations;
mod state;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use wirecost_live::signals::Interrupt;

use self::answer::Request as Asks;
use self::asked::Asked;
use self::controls::Control;
use self::drawing::{Drawing, MOST_WAITING, Unmade};
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

/// How often the command checks whether it must end, and stops simulations whose browsers have gone or ask something else.
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
    drawing: Drawing,
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
        drawing: Drawing::start(at_once(None)).map_err(Failure::internal)?,
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
    let simulations = Arc::clone(&server.simulations);
    start(server, listener).map_err(Failure::internal)?;
    ready(&url);
    while !interrupt.is_set() {
        simulations.stop_unwanted();
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
    let asked = State::read(&state::pairs(state::FIRST)).and_then(Asked::new);
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
                Ok(None) => Ok(()),
                Ok(Some(told)) => json_text(request, "200 OK", &told),
                Err((status, failure)) => json(request, status, &Refusal::from_failure(&failure)),
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

    /// The JSON that answers a request: what is known of its question, once something is new. `None` if the browser has gone meanwhile.
    fn choose(&self, request: &Request) -> Result<Option<String>, Refused> {
        let asks = Arc::new(Asks::read(request.query()).map_err(wrong)?);
        let Some(asked) = self.asked(request, &asks)? else {
            return Ok(None);
        };
        match self.told(request, &asks, &asked)? {
            // What the ranking leads to is asked for as soon as the ranking is there.
            (Some(_), Some(next)) => Ok(self.told(request, &asks, &Arc::new(next))?.0),
            (told, _) => Ok(told),
        }
    }

    /// The question of a request.
    fn asked(&self, request: &Request, asks: &Asks) -> Result<Option<Arc<Asked>>, Refused> {
        let state = asks.state().map_err(wrong)?;
        if let Some(asked) = self.simulations.asked(&asks.client, &state) {
            return Ok(Some(asked));
        }
        let asked = self.made(request, move || Asked::new(state))?;
        Ok(asked.map(|asked| Arc::new(self.simulations.going_on(&asks.client, asked))))
    }

    /// What is known of a question, and the question with the cells that it leads to, where these are others than before.
    fn told(
        &self,
        request: &Request,
        asks: &Arc<Asks>,
        asked: &Arc<Asked>,
    ) -> Result<(Option<String>, Option<Asked>), Refused> {
        // The browser closes its request when a slider moves on. Its question must not take the place of one whose browser waits.
        if request.is_gone() {
            return Ok((None, None));
        }
        let seen = self.simulations.ask(&asks.client, asked, asks.done);
        if request.is_gone() {
            return Ok((None, None));
        }
        if !asks.wants_picture(&seen) {
            return Ok((Some(answer::progress(asked, &seen).map_err(wrong)?), None));
        }
        let began = Instant::now();
        let made = {
            let (asks, asked) = (Arc::clone(asks), Arc::clone(asked));
            self.made(request, move || answer::picture(&asks, &asked, &seen))
        };
        self.simulations.drew(&asks.client, began.elapsed());
        Ok(made?.map_or((None, None), |(told, next)| (Some(told), next)))
    }

    /// What a task makes for a request; `None` if the browser has gone meanwhile.
    fn made<T: Send + 'static>(
        &self,
        request: &Request,
        task: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<Option<T>, Refused> {
        match self.drawing.make(|| request.is_gone(), task) {
            Ok(made) => made.map(Some).map_err(wrong),
            Err(Unmade::Gone) => Ok(None),
            Err(Unmade::Full) => Err(("503 Service Unavailable", too_many())),
            Err(Unmade::Defect) => Err(wrong(defect())),
        }
    }
}

/// A status with why there is no answer.
type Refused = (&'static str, Failure);

const fn wrong(failure: Failure) -> Refused {
    ("400 Bad Request", failure)
}

fn too_many() -> Failure {
    Failure::usage(format_args!(
        "{MOST_WAITING} other questions wait to be answered, and this page takes no more at a time"
    ))
    .with_hint("ask again in some seconds")
}

fn defect() -> Failure {
    Failure::internal("this question cannot be answered, which is a defect of wirecost")
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
    let text = serde_json::to_string(value).map_err(io::Error::other)?;
    json_text(request, status, &text)
}

fn json_text(request: Request, status: &str, text: &str) -> io::Result<()> {
    request.answer(&Response {
        status,
        content_type: "application/json",
        fields: NOT_KEPT,
        content: text,
    })
}
