//! Lines for the user and data for programs. Everything on stdout goes through here.
//!
//! A failure of stdout does not stop the work, so measured figures are still written. If the reader has gone away
//! (`wirecost compare head`), nothing is reported. Any other failure is reported at the end, by [`concluded`].

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Stdout, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use wirecost_files::FileFault;
use wirecost_files::output::{Existing, named, write_named};
use wirecost_proto::peer_text::visible;
use wirecost_report::terminal::TableOptions;

use crate::exit::{self, Failure};

/// The width of a table without a terminal.
const WIDTH: usize = 150;

/// Prints a line to stderr. Messages quote files, servers and names of files, so what controls a terminal is escaped.
pub fn note(line: impl Display) {
    let line = line.to_string();
    drop(writeln!(io::stderr(), "{}", visible(&line)));
}

/// Why stdout failed, if it did.
static ENDED: OnceLock<io::Error> = OnceLock::new();

/// Prints data to stdout, as it is.
pub fn data(text: impl Display) {
    print(|stdout| write!(stdout, "{text}"));
}

/// Prints text for a person to stdout. It repeats names of files and texts of others, so what controls a terminal is escaped,
/// except for colours on a terminal.
pub fn text(text: impl Display) {
    let text = text.to_string();
    if !lines().is_terminal() {
        return data(visible(&text));
    }
    // Colours are our own, and everything else that begins so may come from a server and move the cursor.
    let mut parts = text.split("\x1b[");
    let mut shown = visible(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_digit() && c != ';')
            .unwrap_or(part.len());
        shown += match part[end..].starts_with('m') {
            true => "\x1b[",
            false => "\\x1b[",
        };
        shown += &visible(part);
    }
    data(shown);
}

/// Prints bytes to stdout.
pub fn bytes(content: &[u8]) {
    print(|stdout| stdout.write_all(content));
}

/// Writes to stdout through `write`. After the first failure, nothing more is written.
pub fn print(write: impl FnOnce(&mut Stdout) -> io::Result<()>) {
    if ENDED.get().is_some() {
        return;
    }
    let mut stdout = lines();
    let written = write(&mut stdout).and_then(|()| stdout.flush());
    if let Err(error) = written {
        // Only one thread prints, so nothing is set yet.
        drop(ENDED.set(error));
    }
}

/// Stdout as the pipe to the parent process, which notices its end.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place through which stdout goes"
)]
pub fn lines() -> Stdout {
    io::stdout()
}

/// How the process ends after a command: with its result, unless its output was lost.
pub fn concluded(outcome: Result<ExitCode, Failure>) -> ExitCode {
    match (outcome, lost()) {
        (Ok(code), None) => code,
        (Ok(_), Some(lost)) => lost.report(),
        (Err(failure), None) => failure.report(),
        (Err(failure), Some(lost)) => {
            lost.print();
            failure.report()
        }
    }
}

/// The failure of stdout, if one must be reported.
fn lost() -> Option<Failure> {
    let error = ENDED.get()?;
    (error.kind() != ErrorKind::BrokenPipe).then(|| {
        Failure::new(exit::INTERNAL, format_args!("cannot write to stdout: {error}"))
            .with_hint("make room where stdout leads, or send it elsewhere")
    })
}

/// Whether to use colours, by the option and the environment.
pub fn wants_color(no_color: bool) -> bool {
    !no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The layout of a table for stdout: the terminal's width, and colours on a terminal.
pub fn table_options(no_color: bool) -> TableOptions {
    let is_terminal = lines().is_terminal();
    let columns = console::Term::stdout().size_checked().filter(|_| is_terminal);
    TableOptions {
        width: columns.map_or(WIDTH, |(_, columns)| usize::from(columns)),
        color: is_terminal && wants_color(no_color),
    }
}

/// The columns of a table for stdout.
pub fn width() -> usize {
    table_options(false).width
}

/// Whether an option's file is stdout.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens the files of these options, so that an unwritable one is found before the run; what was not there before is removed again. At
/// most one of them may be stdout, where it replaces the table.
pub fn check_files(files: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut printed = files.iter().filter(|(_, path)| path.is_some_and(is_stdout));
    // Two documents in one stream are none that a program reads.
    if let (Some((one, _)), Some((other, _))) = (printed.next(), printed.next()) {
        return Err(Failure::usage(format!(
            "{one} - and {other} - cannot both be printed: there is one stdout"
        ))
        .with_hint("name a file for one of them"));
    }
    let made = files
        .iter()
        .filter_map(|(flag, path)| Some((flag, path.filter(|path| !is_stdout(path))?)));
    for (flag, path) in made {
        let is_new = std::fs::symlink_metadata(path).is_err();
        let opened = named(path, Existing::Continued);
        opened.map(drop).map_err(|error| unwritable(flag, path, &error))?;
        if is_new {
            // Nothing is lost where it cannot be removed: it is empty, and written again at the end.
            let _ = std::fs::remove_file(path);
        }
    }
    Ok(())
}

/// Prints a table, and writes `json` to the file of `--json` at `path`. With `-`, the JSON goes to stdout instead of
/// the table.
pub fn table_or_json(
    path: Option<&Path>,
    json: impl FnOnce() -> serde_json::Result<String>,
    table: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let text = || json().map(|text| text + "\n").map_err(Failure::internal);
    match path {
        Some(path) if is_stdout(path) => data(text()?),
        Some(path) => {
            self::text(table());
            write_named(path, text()?).map_err(|error| unwritable("--json", path, &error))?;
        }
        None => self::text(table()),
    }
    Ok(())
}

/// Writes JSON to the file of `--json` at `path`, or prints it for `-`.
pub fn json(path: &Path, value: &serde_json::Value) -> Result<(), Failure> {
    if is_stdout(path) {
        data(format_args!("{value:#}\n"));
        return Ok(());
    }
    write_named(path, format!("{value:#}\n")).map_err(|error| unwritable("--json", path, &error))
}

/// Refuses `-` for a file that cannot be printed.
pub fn refuse_stdout(flag: &str, path: Option<&Path>, why: &str) -> Result<(), Failure> {
    match path.is_some_and(is_stdout) {
        true => Err(Failure::usage(format!("{flag} -: {why}")).with_hint(format!("name a file with {flag}"))),
        false => Ok(()),
    }
}

/// The failure of an option's file that cannot be written.
pub fn unwritable(flag: &str, path: &Path, error: &FileFault) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    if is_full(error.kind()) {
        return Failure::new(exit::INTERNAL, message).with_hint(format!(
            "make room on its disk, or choose another file with {flag}"
        ));
    }
    Failure::usage(message).with_hint(format!("choose a file that can be written to with {flag}"))
}

/// Whether a disk or a quota is full.
pub fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
impl Failure {
    /// Prints the failure. Returns its exit code.
    pub fn print(self) -> u8 {
        note(format_args!("error: {}", self.message));
        if let Some(hint) = self.hint() {
            note(format_args!("hint: {hint}"));
        }
        self.code
    }

    /// Prints the failure. Returns its exit code for the process.
    pub fn report(self) -> ExitCode {
        ExitCode::from(self.print())
    }
}
