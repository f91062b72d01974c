//! Lines for a person and data for a program. Everything that goes to stdout goes through here.
//!
//! Whatever becomes of stdout, the work goes on: what was measured is still written. A reader that has gone away
//! (`wirecost compare | head`) has had enough, and nothing is said; any other failure is told at the end, by
//! [`concluded`].

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, IsTerminal as _, Stdout, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use wirecost_report::terminal::TableOptions;

use crate::exit::{self, Failure};

/// Columns of a table where there is no terminal.
const WIDTH: usize = 150;

/// Prints a line to stderr.
pub fn note(line: impl Display) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Why stdout takes nothing more, where it does not.
static ENDED: OnceLock<io::Error> = OnceLock::new();

/// Prints data to stdout, as it is.
pub fn data(text: impl Display) {
    print(|stdout| write!(stdout, "{text}"));
}

/// Prints bytes to stdout.
pub fn bytes(content: &[u8]) {
    print(|stdout| stdout.write_all(content));
}

/// Writes to stdout through `write`. After the first failure nothing is written any more.
pub fn print(write: impl FnOnce(&mut Stdout) -> io::Result<()>) {
    if ENDED.get().is_some() {
        return;
    }
    let mut stdout = lines();
    let written = write(&mut stdout).and_then(|()| stdout.flush());
    if let Err(error) = written {
        // Nothing is set yet: the command prints from one thread.
        drop(ENDED.set(error));
    }
}

/// Stdout as the way to the process that has started this one, which hears the end of it by itself.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place through which stdout goes"
)]
pub fn lines() -> Stdout {
    io::stdout()
}

/// How the process ends after a command: as it says, unless what it printed was lost.
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

/// What is to be said of stdout at the end.
fn lost() -> Option<Failure> {
    let error = ENDED.get()?;
    (error.kind() != ErrorKind::BrokenPipe).then(|| {
        Failure::new(exit::INTERNAL, format_args!("cannot write to stdout: {error}"))
            .with_hint("make room where stdout leads, or send it elsewhere")
    })
}

/// Whether colours are wanted, as far as a flag and the environment say.
pub fn wants_color(no_color: bool) -> bool {
    !no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How a table suits stdout: as wide as the terminal there, and coloured where that is one.
pub fn table_options(no_color: bool) -> TableOptions {
    let is_terminal = lines().is_terminal();
    let columns = console::Term::stdout().size_checked().filter(|_| is_terminal);
    TableOptions {
        width: columns.map_or(WIDTH, |(_, columns)| usize::from(columns)),
        color: is_terminal && wants_color(no_color),
    }
}

/// Whether a file that a flag names is stdout.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Makes the files that flags name, so that one that cannot be written is known before the run and not after it. Of those on
/// stdout there may be one, which takes the place of the table.
pub fn check_files(files: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut printed = files.iter().filter(|(_, path)| path.is_some_and(is_stdout));
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
        let opened = OpenOptions::new().create(true).append(true).open(path);
        opened.map(drop).map_err(|error| unwritable(flag, path, &error))?;
    }
    Ok(())
}

/// Prints a table, and writes `json` to the file of `--json`, `path`: with `-` to stdout, in place of the table.
pub fn table_or_json(
    path: Option<&Path>,
    json: impl FnOnce() -> serde_json::Result<String>,
    table: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let text = || json().map(|text| text + "\n").map_err(Failure::internal);
    match path {
        Some(path) if is_stdout(path) => data(text()?),
        Some(path) => {
            data(table());
            std::fs::write(path, text()?).map_err(|error| unwritable("--json", path, &error))?;
        }
        None => data(table()),
    }
    Ok(())
}

/// Refuses `-` for a file that cannot be printed, for a reason.
pub fn refuse_stdout(flag: &str, path: Option<&Path>, why: &str) -> Result<(), Failure> {
    match path.is_some_and(is_stdout) {
        true => Err(Failure::usage(format!("{flag} -: {why}")).with_hint(format!("name a file with {flag}"))),
        false => Ok(()),
    }
}

/// A file that a flag names and that cannot be written.
pub fn unwritable(flag: &str, path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    if is_full(error) {
        return Failure::new(exit::INTERNAL, message).with_hint(format!(
            "make room on its disk, or choose another file with {flag}"
        ));
    }
    Failure::usage(message).with_hint(format!("choose a file that can be written to with {flag}"))
}

/// Whether a disk, or what the user may have of it, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
impl Failure {
    /// Prints the failure and gives its exit code.
    pub fn print(self) -> u8 {
        note(format_args!("error: {}", self.message));
        if let Some(hint) = self.hint() {
            note(format_args!("hint: {hint}"));
        }
        self.code
    }

    /// The same, as a process ends with it.
    pub fn report(self) -> ExitCode {
        ExitCode::from(self.print())
    }
}
