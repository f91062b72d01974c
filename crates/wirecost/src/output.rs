//! Lines for a person and data for a program. A reader that has gone away (`wirecost compare | head`) is no reason to
//! end: what was measured is still written.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a line to stderr.
pub fn note(line: impl Display) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Prints data to stdout, as it is.
pub fn data(text: impl Display) {
    drop(write!(std::io::stdout(), "{text}"));
}
