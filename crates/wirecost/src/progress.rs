//! The display of a running comparison: a bar on a terminal, a line per second elsewhere.

use std::fmt::Display;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wirecost_lab::compare::Progress;
use wirecost_lab::compare::sweep::SweepProgress;
use wirecost_live::signals::Interrupt;
use wirecost_proto::units::counted;
use wirecost_results::{Cell, Section};
use wirecost_scenario::options::compare::{Engine, Options};

use crate::output;

/// Shows progress on stderr.
pub struct Screen {
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Option<Instant>,
    started: Instant,
    interrupt: Interrupt,
    /// How many more lines of simulated cells to show before their live run.
    previews: usize,
    /// Whether cells differ in their start.
    has_starts: bool,
}

/// The number of simulated cells that are shown at once if a live run follows.
const PREVIEWS: usize = 12;
/// How often to print a line without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

impl Screen {
    /// A screen for a comparison.
    pub fn new(options: &Options, quiet: bool, interrupt: Interrupt) -> Self {
        let devices = options.cells() * u64::from(options.samples);
        let follows_live = options.engine == Engine::Auto;
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = (is_terminal && !quiet).then(|| bar(devices));
        Self {
            bar,
            quiet,
            last_line: None,
            started: Instant::now(),
            interrupt,
            previews: if follows_live { PREVIEWS } else { 0 },
            has_starts: options.starts.len() > 1,
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Does work of unknown length, and prints a line every second.
    pub fn working<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        if self.quiet {
            return work();
        }
        let since_line = self.last_line.map_or(Duration::ZERO, |last| last.elapsed());
        saying(
            LINE_INTERVAL.saturating_sub(since_line),
            || self.print(what),
            work,
        )
    }

    /// Prints a line, unless the last one was printed less than a second ago.
    fn line(&mut self, what: impl Display) {
        if self.last_line.is_some_and(|last| last.elapsed() < LINE_INTERVAL) {
            return;
        }
        self.last_line = Some(Instant::now());
        self.print(what);
    }

    fn print(&self, what: impl Display) {
        note_at(self.started, what);
    }

    /// Shows that `done` of `of` are finished: `3/20 cells simulated`.
    fn advance(&mut self, done: u64, of: u64, what: &'static str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => {
                bar.set_length(of);
                bar.set_message(what);
                bar.set_position(done);
                bar.tick();
            }
            None => self.line(format_args!("{done}/{of} {what}")),
        }
    }

    /// Shows work of unknown length.
    fn spin(&mut self, what: impl Display) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.tick(),
            None => self.line(what),
        }
    }
}

/// How many things of a known number are done: a bar on a terminal, a line per second elsewhere.
pub struct Counted {
    bar: Option<ProgressBar>,
    of: usize,
    what: &'static str,
    quiet: bool,
    started: Instant,
    last_line: Option<Instant>,
}

impl Counted {
    /// A display of `of` things.
    pub fn new(of: usize, what: &'static str, quiet: bool) -> Self {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = (is_terminal && !quiet).then(|| bar(of as u64).with_message(what));
        Self {
            bar,
            of,
            what,
            quiet,
            started: Instant::now(),
            last_line: None,
        }
    }

    /// Shows that `done` of them are done.
    pub fn done(&mut self, done: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            bar.tick();
            return;
        }
        let is_recent = self.last_line.is_some_and(|last| last.elapsed() < LINE_INTERVAL);
        if self.quiet || is_recent {
            return;
        }
        self.last_line = Some(Instant::now());
        note_at(self.started, format_args!("{done}/{} {}", self.of, self.what));
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Does work, and prints every second what it is.
pub fn waiting<T>(what: impl Display + Sync, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    saying(LINE_INTERVAL, || note_at(started, &what), work)
}

/// Does work, and calls `say` after `pause` and then every second.
fn saying<T>(mut pause: Duration, say: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        let say = &say;
        scope.spawn(move || {
            while waiting.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                say();
                pause = LINE_INTERVAL;
            }
        });
        let result = work();
        drop(done);
        result
    })
}

fn note_at(started: Instant, what: impl Display) {
    output::note(format_args!("{:>4} s  {what}", started.elapsed().as_secs()));
}

fn bar(devices: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(devices), ProgressDrawTarget::stderr());
    let template = "{elapsed:>4}  [{bar:40}] {pos}/{len} {msg}";
    // The template is a constant. If it were wrong, the bar would have its default look.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

impl Progress for Screen {
    fn note(&mut self, line: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.println(line),
            None => output::note(format_args!("{line}")),
        }
    }

    fn checking(&mut self, links: usize) {
        self.spin(format_args!("checking {}", counted(links as u64, "link")));
    }

    fn tick(&mut self, done: u64, of: u64) {
        self.advance(done, of, "devices done");
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}

impl SweepProgress for Screen {
    fn simulating(&mut self, done: usize, of: usize) {
        if of > 0 {
            self.advance(done as u64, of as u64, "cells simulated");
        }
    }

    fn analysing(&mut self) {
        self.spin("analysing");
    }

    fn in_virtual_time(&mut self, at: Duration, of: Duration) {
        self.advance(at.as_secs(), of.as_secs(), "s of virtual time");
    }

    fn simulated(&mut self, cell: &Cell) {
        if self.previews == 0 {
            return;
        }
        self.previews -= 1;
        let more = if self.previews == 0 { " (and so on)" } else { "" };
        self.note(&format!("simulated: {}{more}", preview(cell, self.has_starts)));
    }
}

/// A cell's first figures: bytes of the connection and of a message both ways, and its median response time.
fn preview(cell: &Cell, has_starts: bool) -> String {
    let both = |section: Option<&Section>| {
        section.map_or(0.0, |section| section.up.wire.mean + section.down.wire.mean)
    };
    let median = cell
        .message
        .as_ref()
        .and_then(|message| message.response_time_ns.as_ref()?.p50);
    let start = if has_starts {
        format!(" {}", cell.start)
    } else {
        String::new()
    };
    let name = format!("{}{start} {} B", cell.stack, cell.payload_bytes);
    match (&cell.not_run, median) {
        (Some(why), _) => format!("{name} is not run: {why}"),
        (None, median) => format!(
            "{name}: connection {:.0} B, message {:.0} B{}",
            both(cell.connect.as_ref()) + both(cell.close_of_a_connection().as_ref()),
            both(cell.message.as_ref()),
            median.map_or(String::new(), |nanos| format!(
                ", p50 {:.2} ms",
                nanos as f64 / 1e6
            )),
        ),
    }
}
