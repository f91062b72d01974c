//! Lines for a person and data for a program. A reader that has gone away (`wirecost compare | head`) is no reason to
//! end: what was measured is still written.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use wirecost_report::terminal::TableOptions;

use crate::exit::Failure;

/// Columns of a table where there is no terminal.
const WIDTH: usize = 140;

/// Prints a line to stderr.
pub fn note(line: impl Display) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Prints data to stdout, as it is.
pub fn data(text: impl Display) {
    drop(write!(io::stdout(), "{text}"));
}

/// Whether colours are wanted, as far as a flag and the environment say.
pub fn wants_color(no_color: bool) -> bool {
    !no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How a table suits stdout: as wide as the terminal there, and coloured where that is one.
pub fn table_options(no_color: bool) -> TableOptions {
    let is_terminal = io::stdout().is_terminal();
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

/// Refuses `-` for a file that cannot be printed, for a reason.
pub fn refuse_stdout(flag: &str, path: Option<&Path>, why: &str) -> Result<(), Failure> {
    match path.is_some_and(is_stdout) {
        true => Err(Failure::usage(format!("{flag} -: {why}")).with_hint(format!("name a file with {flag}"))),
        false => Ok(()),
    }
}

/// A file that a flag names and that cannot be written.
pub fn unwritable(flag: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {error}", path.display()))
        .with_hint(format!("choose a file that can be written to with {flag}"))
}
