//! A reader's own run or capture: a file that the page sends, or the folder that `wirecost report --open` names.
//!
//! - `places`: how many are read at once
//! - `file`: a file that is sent
//! - `shape`: what a file of JSON is, before anything of it is kept
//! - `told`: what `cost` and `what-if` tell of it

mod file;
mod places;
mod shape;
mod told;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde::{Deserialize as _, Serialize};
use wirecost_proto::peer_text::visible;
use wirecost_report::capture::CaptureShown;
use wirecost_report::own::{OwnPart, Pictured, fragment};
use wirecost_results::RunFolder;

use self::file::Content;
pub(super) use self::places::Places;
use self::places::{Full, Place};
use self::told::Asked;
use super::answer::Request as Asks;
use super::{Refusal, Refused, json, wrong};
use crate::exit::Failure;
use crate::http::Request;
use crate::http::body::{Unread, Uploaded};

/// Where the page sends a file, and asks for the folder.
pub(super) const PATH: &str = "/api/own";
/// The largest file, in bytes.
const MOST: u64 = 100_000_000;
/// The longest name of a file, in characters.
const LONGEST_NAME: usize = 200;

/// What the page shows of a file or a folder.
#[derive(Serialize)]
struct Told {
    /// The name of the file or the folder.
    name: String,
    /// What is shown, as HTML.
    part: String,
}

/// Answers a request for the folder that was opened.
pub(super) fn folder(opened: Option<&Path>, places: &Places, request: Request) -> io::Result<()> {
    // The page asks whenever it is loaded, and most have none.
    let Some(path) = opened else {
        return json(request, "200 OK", &None::<Told>);
    };
    let told = read_query(&request).and_then(|(_, asks)| {
        let _place = enter(places, &asks.client, 0)?;
        let state = asks.state().map_err(wrong)?;
        let asked = Asked {
            state: &state,
            source: path,
            is_gone: &|| request.is_gone(),
        };
        guarded(|| of_folder(path, &asked))
    });
    answer(request, told)
}

/// Answers a request with a file.
pub(super) fn sent(places: &Places, request: Request) -> io::Result<()> {
    // Where the peer has gone, nobody is there to be told.
    let told = take(places, &request)?;
    answer(request, told)
}

fn answer(request: Request, told: Result<Told, Refused>) -> io::Result<()> {
    match told {
        Ok(told) => json(request, "200 OK", &told),
        Err((status, failure)) => json(request, status, &Refusal::from_failure(&failure)),
    }
}

/// What is told of the file of a request.
///
/// # Errors
/// The peer has gone.
fn take(places: &Places, request: &Request) -> io::Result<Result<Told, Refused>> {
    let (file, asks) = match read_query(request) {
        Ok(read) => read,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut body = match body(&file, request) {
        Ok(body) => body,
        Err(refused) => return Ok(Err(refused)),
    };
    let state = match asks.state() {
        Ok(state) => state,
        Err(failure) => return Ok(Err(wrong(failure))),
    };
    let _place = match enter(places, &asks.client, body.left()) {
        Ok(place) => place,
        Err(refused) => return Ok(Err(refused)),
    };
    body.welcome(request)?;
    let length = body.left();
    let content = guarded(|| Content::read(&file.name, length, &mut body).map_err(wrong));
    // What is wrong with a file is told once all of it has come: a peer that still sends cannot be told.
    body.drain();
    if body.is_late() {
        let text = format!("{} did not come: nothing arrived for some seconds", file.name);
        let late = Failure::usage(text).with_hint("send it again");
        return Ok(Err(("408 Request Timeout", late)));
    }
    if body.left() > 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let path = PathBuf::from(&file.name);
    let asked = Asked {
        state: &state,
        source: &path,
        is_gone: &|| request.is_gone(),
    };
    Ok(content.and_then(|content| guarded(|| of_content(&content, &asked))))
}

/// A file as its page describes it.
struct File {
    /// Its name, as a word that names a file on a command line.
    name: String,
    /// Its length, where the page sends no content because it is too long.
    length: u64,
}

/// The file of a query, and what is asked of it.
fn read_query(request: &Request) -> Result<(File, Asks), Refused> {
    let mut asks = Asks::read(request.query()).map_err(wrong)?;
    let name = asks.take("name").unwrap_or_default();
    let length = asks.take("bytes").and_then(|bytes| bytes.parse().ok());
    Ok((
        File {
            name: word(&name),
            length: length.unwrap_or_default(),
        },
        asks,
    ))
}

/// The name of a file without its folders, as a word of a command line that is no option.
fn word(name: &str) -> String {
    let own = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let own: String = visible(own).chars().take(LONGEST_NAME).collect();
    match own.as_str() {
        "" => "the file".to_owned(),
        own if own.starts_with('-') => format!("./{own}"),
        _ => own,
    }
}

fn body<'a>(file: &File, request: &'a Request) -> Result<Uploaded<'a>, Refused> {
    let too_large = |bytes: u64| {
        let text = format!(
            "{} has {} MB, and this page reads {} MB",
            file.name,
            bytes.div_ceil(1_000_000),
            MOST / 1_000_000
        );
        let failure =
            Failure::usage(text).with_hint("ask wirecost pcap on the command line, which has no such limit");
        ("413 Content Too Large", failure)
    };
    if file.length > MOST {
        return Err(too_large(file.length));
    }
    request.body(MOST).map_err(|unread| match unread {
        Unread::TooLarge(bytes) => too_large(bytes),
        Unread::NoLength => {
            let failure = Failure::usage("the request does not say how long its content is");
            (
                "411 Length Required",
                failure.with_hint("send the file with its length: curl --data-binary @FILE"),
            )
        }
    })
}

fn enter<'a>(places: &'a Places, client: &str, bytes: u64) -> Result<Place<'a>, Refused> {
    places.enter(client, bytes).map_err(|full| {
        let (status, text) = match full {
            Full::Own => ("429 Too Many Requests", "this page reads another file already"),
            Full::Others => (
                "503 Service Unavailable",
                "others read files, and this one has no room beside them",
            ),
        };
        (
            status,
            Failure::usage(text).with_hint("send it again in some seconds"),
        )
    })
}

/// Runs what a stranger's file could break: a defect is told, and ends nothing else.
fn guarded<T>(run: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
    let defect = |_: Box<dyn Any + Send>| {
        let failure = Failure::internal("this file cannot be shown, which is a defect of wirecost");
        Err(("500 Internal Server Error", failure))
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(defect)
}

fn of_content(content: &Content, asked: &Asked<'_>) -> Result<Told, Refused> {
    let internal = |error: serde_json::Error| wrong(Failure::internal(error));
    match content {
        Content::Capture(capture) => {
            let report = serde_json::to_value(&capture.reading.report).map_err(internal)?;
            let report = CaptureShown::deserialize(report).map_err(internal)?;
            let parts = [asked.account_of_capture(capture), asked.what_if(capture)];
            told(
                asked,
                Pictured::Capture(&report),
                &capture.alarms(asked.source),
                &parts,
            )
        }
        Content::Comparison(results) => {
            let parts = [asked.account_of_summary(&results.summary)];
            told(asked, Pictured::Run(results), &[], &parts)
        }
        Content::Link(report) => told(asked, Pictured::Capture(report), &[], &[]),
    }
}

fn of_folder(path: &Path, asked: &Asked<'_>) -> Result<Told, Refused> {
    let results = RunFolder::open(path)
        .read()
        .map_err(|error| wrong(error.into()))?;
    let parts = [asked.account_of_folder()];
    told(asked, Pictured::Run(&results), &[], &parts)
}

fn told(
    asked: &Asked<'_>,
    shown: Pictured<'_>,
    alarms: &[String],
    parts: &[OwnPart],
) -> Result<Told, Refused> {
    let part = fragment(shown, alarms, parts);
    let part = part.map_err(|error| ("500 Internal Server Error", Failure::internal(error)))?;
    Ok(Told {
        name: asked.source.display().to_string(),
        part,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_a_word_that_is_no_option_and_no_path() {
        for (name, expected) in [
            ("a.pcap", "a.pcap"),
            ("/etc/passwd", "passwd"),
            ("C:\\a\\b.pcap", "b.pcap"),
            ("--keylog=x", "./--keylog=x"),
            ("-", "./-"),
            ("", "the file"),
        ] {
            assert_eq!(word(name), expected, "{name}");
        }
        assert!(!word("a\u{1b}[2J.pcap").contains('\u{1b}'));
        assert_eq!(word(&"x".repeat(900)).chars().count(), LONGEST_NAME);
    }
}
