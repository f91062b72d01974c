//! The display of a running load on stderr: lines that are redrawn each second on a terminal, a line per second
//! elsewhere.
//!
//! - [`state`]: the sums of the ticks
//! - [`lines`]: the state as lines of a given width; [`layout`]: fits entries into the width
//!
//! Nothing here reads a clock: the coordinator ticks once a second, whatever the target does.

mod layout;
mod lines;
mod state;

use std::io::{IsTerminal as _, Write as _};

use console::Term;
use wirecost_load::watch::{Announcement, Tick, Watcher};

use self::layout::Dress;
use self::state::State;
use crate::output;

/// The width if the terminal does not report one.
const WIDTH: usize = 80;

/// Shows a load on stderr.
pub struct LoadView {
    kind: Kind,
    state: State,
}

/// The kind of display.
enum Kind {
    /// None.
    Quiet,
    /// A line per second.
    Plain,
    /// Redrawn lines; the number of lines on the screen.
    Drawn { term: Term, color: bool, drawn: usize },
}

impl LoadView {
    /// A view for stderr: `quiet` shows nothing, `color` is the user's choice.
    pub fn new(quiet: bool, color: bool) -> Self {
        // Such a terminal prints the signs that move the cursor as letters.
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let kind = match std::io::stderr().is_terminal() {
            _ if quiet => Kind::Quiet,
            true if !is_dumb => Kind::Drawn {
                term: Term::stderr(),
                color,
                drawn: 0,
            },
            _ => Kind::Plain,
        };
        Self {
            kind,
            state: State::default(),
        }
    }

    fn draw(&mut self) {
        let Kind::Drawn { term, color, drawn } = &mut self.kind else {
            return;
        };
        let width = term
            .size_checked()
            .map_or(WIDTH, |(_, columns)| usize::from(columns));
        // The last column stays free, because some terminals wrap when it is written.
        let lines = lines::block(&self.state, width.saturating_sub(1), Dress::new(*color));
        let mut text = up(*drawn);
        for line in &lines {
            text += &format!("\x1b[2K{line}\n");
        }
        // The rest of a longer block.
        text += "\x1b[J";
        *drawn = lines.len();
        put(&text);
    }

    /// Removes the lines.
    fn erase(&mut self) {
        if let Kind::Drawn { drawn, .. } = &mut self.kind
            && *drawn > 0
        {
            put(&(up(*drawn) + "\x1b[J"));
            *drawn = 0;
        }
    }
}

/// The sequence to the beginning of the line `lines` above (ECMA-48: CPL).
fn up(lines: usize) -> String {
    match lines {
        0 => String::new(),
        lines => format!("\x1b[{lines}F"),
    }
}

/// Writes all at once, so that no reader sees half of it. A reader that has gone away does not end the load.
fn put(text: &str) {
    let mut stderr = std::io::stderr().lock();
    drop(stderr.write_all(text.as_bytes()));
    drop(stderr.flush());
}

impl Watcher for LoadView {
    fn begin(&mut self, load: &Announcement) {
        self.state = State::new(load);
        match self.kind {
            Kind::Quiet => {}
            Kind::Plain => output::note(lines::heading(&self.state)),
            Kind::Drawn { .. } => self.draw(),
        }
    }

    fn note(&mut self, line: &str) {
        match self.kind {
            Kind::Quiet => {}
            Kind::Plain => output::note(line),
            Kind::Drawn { .. } => {
                self.erase();
                output::note(line);
                self.draw();
            }
        }
    }

    fn second(&mut self, tick: &Tick<'_>) {
        if matches!(self.kind, Kind::Quiet) {
            return;
        }
        self.state.add(tick);
        match self.kind {
            Kind::Quiet => {}
            // A log with a line for each second of a day would be too long to read.
            Kind::Plain if !self.state.is_due() => {}
            Kind::Plain => {
                self.state.judge(tick);
                output::note(lines::plain(&self.state));
            }
            Kind::Drawn { .. } => {
                self.state.judge(tick);
                self.draw();
            }
        }
    }

    fn end(&mut self) {
        self.erase();
    }
}

/// Removes the lines when a run fails.
impl Drop for LoadView {
    fn drop(&mut self) {
        self.erase();
    }
}
