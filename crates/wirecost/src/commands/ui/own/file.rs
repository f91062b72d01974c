//! A file that a page sends: a capture, or a summary of a run. Its bytes are read as they come, and never written.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::Error as _;
use wirecost_dissect::{Reading, Sightings};
use wirecost_proto::units::counted;
use wirecost_report::capture::CaptureShown;
use wirecost_results::{Environment, Results, Summary, summary};

use super::shape::{Schema, Shape, Size};
use crate::commands::captures;
use crate::commands::cost::capture;
use crate::exit::Failure;

/// The largest file of JSON, in bytes: its text is in memory as a whole, beside the figures that are read from it.
const MOST_JSON: u64 = 16_000_000;
/// The most entries of a list in `link.json`: twice as many as there are servers that a capture tells apart.
const MOST_LISTED: usize = 8_192;
/// What a pcapng file begins with.
const PCAPNG: &[u8] = b"\n\r\r\n";
/// What to do with a file that is neither.
const HINT: &str = "give the summary.json of a folder that compare or run has written, or a file that tcpdump, dumpcap or Wireshark wrote";

/// What is in a file.
pub(super) enum Content {
    /// A capture.
    Capture(Box<Capture>),
    /// A comparison without its other files.
    Comparison(Box<Results>),
    /// The report of the capture of a program's run: `link.json`.
    Link(Box<CaptureShown>),
}

/// A capture that was read.
pub(super) struct Capture {
    pub(super) reading: Reading,
    pub(super) sightings: Sightings,
}

impl Content {
    /// Reads a file of this name and length.
    ///
    /// # Errors
    /// It is neither a capture nor the summary of a comparison, in a sentence that names it.
    pub(super) fn read(name: &str, length: u64, mut source: impl Read) -> Result<Self, Failure> {
        let first = first(&mut source).map_err(|error| refused(name, error))?;
        // The first four bytes of pcapng are ends of lines.
        let letter = first
            .trim_ascii_start()
            .first()
            .filter(|_| !first.starts_with(PCAPNG));
        let is_empty = first.trim_ascii().is_empty();
        let is_json = letter == Some(&b'{');
        let source = first.as_slice().chain(source);
        match (is_empty, is_json) {
            (true, _) => Err(refused(name, "it is empty")),
            (false, true) => Self::json(name, length, source),
            (false, false) => Self::capture(name, source),
        }
    }

    fn capture(name: &str, source: impl Read) -> Result<Self, Failure> {
        // Dissected while it comes: what is kept is the sums, and a line for each packet.
        let capture = wirecost_dissect::observe(source, "");
        let (reading, sightings) = capture.map_err(|error| refused(name, error))?;
        Ok(Self::Capture(Box::new(Capture { reading, sightings })))
    }

    fn json(name: &str, length: u64, mut source: impl Read) -> Result<Self, Failure> {
        if length > MOST_JSON {
            let text = format!(
                "{name} has {} MB, and this page reads a summary of {} MB",
                length.div_ceil(1_000_000),
                MOST_JSON / 1_000_000
            );
            return Err(Failure::usage(text).with_hint("open its folder: wirecost report FOLDER --open"));
        }
        let mut text = String::with_capacity(length as usize);
        source
            .read_to_string(&mut text)
            .map_err(|error| refused(name, error))?;
        let unreadable = |error: serde_json::Error| refused(name, error);
        let of = |what: &str| {
            let text =
                format!("{name} is the summary of {what}, whose figures are in other files of its folder");
            Err(Failure::usage(text).with_hint("wirecost report FOLDER --open opens its report"))
        };
        match Shape::read(&text).map_err(unreadable)? {
            Shape::Comparison { schema, size } => {
                let results = comparison(name, &schema, size, &text)?;
                Ok(Self::Comparison(Box::new(results)))
            }
            Shape::Load => of("a load"),
            Shape::Nbiot => of("reports in NB-IoT cells"),
            Shape::Link => link(&text).map(Self::Link).map_err(unreadable),
            Shape::Other => Err(refused(name, "it is no summary of a run")),
        }
    }
}

/// The report in a `link.json`.
fn link(text: &str) -> Result<Box<CaptureShown>, serde_json::Error> {
    /// What of it is read.
    #[derive(Deserialize)]
    struct Link {
        report: Box<CaptureShown>,
    }
    let Link { report } = serde_json::from_str(text)?;
    let entries = report.longest_list();
    match entries > MOST_LISTED {
        true => Err(serde_json::Error::custom(format_args!(
            "it has {entries} servers or bytes that were not attributed, and this page shows {MOST_LISTED}"
        ))),
        false => Ok(report),
    }
}

/// The first bytes: enough to tell text from a capture.
fn first(source: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut first = Vec::new();
    source.take(64).read_to_end(&mut first)?;
    Ok(first)
}

fn comparison(name: &str, schema: &Schema, size: Size, text: &str) -> Result<Results, Failure> {
    if !schema.is(summary::SCHEMA) {
        let text = format!(
            "{name} has schema {schema}, and this version reads {}",
            summary::SCHEMA
        );
        return Err(Failure::usage(text).with_hint("run the comparison again with this version"));
    }
    size.check(name)?;
    let summary: Summary = serde_json::from_str(text).map_err(|error| refused(name, error))?;
    Ok(Results {
        summary,
        environment: Environment::default(),
        ladders: Vec::new(),
        samples: Vec::new(),
    })
}

fn refused(name: &str, why: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("{name} cannot be read: {why}")).with_hint(HINT)
}

impl Capture {
    /// What of it could not be read, in sentences.
    pub(super) fn alarms(&self, name: &Path) -> Vec<String> {
        let report = &self.reading.report;
        let shown = captures::name(name);
        let fault = self.reading.fault.as_ref().map(|fault| {
            let packets = counted(report.packets, "packet");
            format!("{shown}: after {packets}: {fault}. What was read before is shown; the rest of the file is not.")
        });
        let unread = captures::mostly_unread(name, report).map(|failure| failure.to_string());
        let untimed = capture::timed(name, &self.sightings).err();
        let untimed = untimed.map(|failure| failure.to_string());
        fault.into_iter().chain(unread).chain(untimed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match Content::read("a.json", text.len() as u64, text.as_bytes()) {
            Ok(_) => "read".to_owned(),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn a_file_that_is_neither_is_refused_by_its_name() {
        for (text, expected) in [
            ("", "a.json cannot be read: it is empty"),
            (" \n", "a.json cannot be read: it is empty"),
            ("{}", "a.json cannot be read: it is no summary of a run"),
            (
                "{\"cells\": [], \"schema\": 9}",
                "a.json has schema 9, and this version reads 1",
            ),
            (
                "{\"loads\": []}",
                "a.json is the summary of a load, whose figures are in other files of its folder",
            ),
            (
                "{\"points\": []}",
                "a.json is the summary of reports in NB-IoT cells, whose figures are in other files of its folder",
            ),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
        let broken = error("{\"cells\": [}");
        assert!(
            broken.starts_with("a.json cannot be read: ") && broken.contains("line 1 column 12"),
            "{broken}"
        );
        for (text, expected) in [
            ("{\"report\": {\"total\": {}}}", "missing field `all`"),
            ("{\"report\": 7}", "invalid type: integer `7`"),
            (
                "{\"cells\": 7, \"schema\": 1}",
                "invalid type: integer `7`, expected a list of cells",
            ),
        ] {
            let error = error(text);
            assert!(
                error.starts_with(&format!("a.json cannot be read: {expected}")),
                "{error}"
            );
        }
        assert!(error("no capture").starts_with("a.json cannot be read: "));
        let large = Content::read("a.json", MOST_JSON + 1, "{}".as_bytes()).err();
        assert_eq!(
            large.map(|failure| failure.to_string()).as_deref(),
            Some("a.json has 17 MB, and this page reads a summary of 16 MB")
        );
    }
}
