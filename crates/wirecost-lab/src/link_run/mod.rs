//! Any program behind the emulated, recorded link, with its server on the other side.
//!
//! ```text
//! program -- device's side -- link -- server's side -- a command, or a built-in server
//! ```
//!
//! 1. Both sides and the link between them; its delay is checked as before a comparison.
//! 2. The server starts, and is waited for until it listens.
//! 3. The program runs in the foreground: its input, output, signals and exit code are its own.
//! 4. What it left behind is ended, the link settles, and is stopped before the server is.
//! 5. The capture is written, and read like any other: its bytes are attributed by the same code.
//!
//! - [`options`]: what is asked for
//! - [`words`]: a command line in words, and the places of a run in them
//! - [`server`]: what answers the program
//! - [`program`]: the program, until the link is quiet behind it
//! - [`summary`]: what goes into `link.json`
//! - [`keys`]: the secrets of its connections
//! - [`error`]: why a run came to nothing

pub mod error;
pub mod keys;
pub mod options;
pub mod program;
pub mod server;
pub mod summary;
pub mod words;

use std::io;
use std::path::Path;
use std::time::Duration;

use wirecost_dissect::Reading;
use wirecost_files::Input;
use wirecost_link::Hop;
use wirecost_live::Clock;
use wirecost_live::emulation::{Emulation, EmulationOptions, capture};
use wirecost_live::process::user;
use wirecost_live::recorder::Recorder;
use wirecost_live::signals::{Caught, Relay};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::units::counted;
use wirecost_results::RunFolder;

pub use error::LinkError;
use error::doing;
use keys::KeyFile;
pub use options::{Options, ServerChoice};
pub use program::Overrun;
use server::Serving;
pub use summary::LinkSummary;
use words::Places;

/// The capture in the results folder.
pub const CAPTURE: &str = "capture/all.pcapng";

/// The device whose address the program uses.
pub const RESIDENT: HostIndex = 0;

/// The result of a run.
#[derive(Debug)]
pub struct Finished {
    /// The contents of `link.json`.
    pub summary: LinkSummary,
    /// Why the capture is incomplete, if it is.
    pub failure: Option<String>,
    /// The signal by which this process was asked to end while the program ran or the link settled. It was meant for the program, too.
    pub asked: Option<i32>,
    /// Why the program was killed, if it took more than its options allow.
    pub overrun: Option<Overrun>,
}

/// Runs the program. `note` receives lines for the user. Call it from the main thread, before any other starts.
///
/// # Errors
/// The machine refuses the link, the server does not listen, or the program cannot be run.
pub fn run(options: &Options, folder: &RunFolder, note: &mut dyn FnMut(&str)) -> Result<Finished, LinkError> {
    // Before any thread: signals are blocked in this one, and later threads inherit that (pthread_sigmask(3)).
    let relay = Relay::install()?;
    let key_log = KeyFile::create(options, folder)?;
    let emulation = emulation(options, folder, note)?;
    // The program may change its folder, and a relative path would then lead elsewhere.
    let absolute = std::path::absolute(folder.path()).map_err(doing("find the results folder"))?;
    let places = Places::new(options.ipv6, &absolute);
    let mut server = Serving::start(options, &emulation, folder, &places, key_log.path())?;
    if server.pid().is_some() && user::is_root() {
        note("note: --server runs as root of this machine, as you do; only the program behind -- reaches it");
    }
    let round_trip = check(&emulation, &relay, note)?;
    server.wait(options, &relay, note)?;
    let mut ended = program::run(
        options,
        &emulation,
        &mut server,
        &relay,
        &places,
        key_log.path(),
        note,
    )?;
    // From here a second Ctrl-C ends wirecost itself, should writing the results hang.
    drop(relay);
    let mut left = emulation.stop()?;
    let keys = key_log.secrets(server.secrets(), note);
    let description = server.description();
    server.stop();
    let written = capture::write(&folder.file(CAPTURE), &mut left, &keys, &|_| None)?;
    let failure = written.cut_short.clone();
    // The figures come from the capture that is kept, so that `wirecost pcap` gives the same ones from it.
    let Reading { report, .. } = read_back(&folder.file(CAPTURE), failure.as_deref())?;
    let report = report.with_framing(options.framing);
    if written.dropped > 0 {
        let dropped = counted(written.dropped, "packet");
        let line = format!("an interface dropped {dropped}: the figures lack what it dropped");
        note(&format!("warning: {line}"));
        ended.warnings.push(line);
    }
    let summary = summary::summary(options, description, &ended, round_trip, written, &left, report);
    // It has the program's command line (docs/decisions/0036).
    folder.write_secret_json("link.json", &summary)?;
    Ok(Finished {
        summary,
        failure,
        asked: ended.asked,
        overrun: ended.overrun,
    })
}

/// Both sides and the link, which records everything in the results folder.
fn emulation(
    options: &Options,
    folder: &RunFolder,
    note: &mut dyn FnMut(&str),
) -> Result<Emulation, LinkError> {
    let recorder = Recorder::create(folder.path()).map_err(doing("record packets"))?;
    let emulation = Emulation::start(
        &EmulationOptions {
            hops: &[Hop::of_all(options.link)],
            ipv6: options.ipv6,
            sites: 1,
            medium: options.medium,
            resident: Some(RESIDENT),
            // Neither the program's sockets nor those of its server do.
            sockets_choose: false,
            congestion: options.congestion,
            seed: options.seed,
        },
        recorder,
        Clock::start(),
    )?;
    emulation.remark.iter().for_each(|reason| note(reason));
    let warnings = emulation.warnings.iter();
    warnings.for_each(|line| note(&format!("warning: {line}")));
    Ok(emulation)
}

/// The median round-trip time of the link, if any echo came back.
fn check(
    emulation: &Emulation,
    relay: &Relay,
    note: &mut dyn FnMut(&str),
) -> Result<Option<Duration>, LinkError> {
    let mut interrupted = None;
    let checked = emulation.check(&mut |patience| {
        interrupted = look(relay, patience).err().or(interrupted.take());
        interrupted.is_some()
    });
    if let Some(interrupted) = interrupted {
        return Err(interrupted);
    }
    let Some((mut round_trips, said)) = checked?.into_iter().next() else {
        return Ok(None);
    };
    note(&said);
    round_trips.sort_unstable();
    Ok(round_trips.get(round_trips.len() / 2).copied())
}

/// Waits for `patience` at most. Returns an error if a signal asks this process to end.
fn look(relay: &Relay, patience: Duration) -> Result<(), LinkError> {
    match relay.next(patience).map_err(doing("take signals"))? {
        Some(Caught::Asked { signal, .. }) => Err(LinkError::Interrupted(signal)),
        Some(Caught::ChildEnded) | None => Ok(()),
    }
}

/// Reads the capture back. If it cannot be read because it was cut short, the error says so.
fn read_back(path: &Path, cut_short: Option<&str>) -> Result<Reading, LinkError> {
    let reading = "read the capture back";
    let file = Input::Capture.open(path).map_err(io::Error::from);
    let file = file.map_err(doing(reading))?;
    wirecost_dissect::read(file, "").map_err(|error| {
        let reason = cut_short.map_or_else(|| error.to_string(), str::to_owned);
        doing(reading)(io::Error::other(reason))
    })
}
