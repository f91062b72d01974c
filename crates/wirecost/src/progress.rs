//! The display of a running job: a bar on a terminal, a line per second elsewhere.

use std::fmt;
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
pub struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Option<Instant>,
    started: Instant,
}

/// Shows the progress of a comparison.
pub struct Screen {
    display: Display,
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

impl Display {
    /// A display of `of` things.
    pub fn new(of: u64, quiet: bool) -> Self {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        Self {
            bar: (is_terminal && !quiet).then(|| bar(of)),
            quiet,
            last_line: None,
            started: Instant::now(),
        }
    }

    /// Shows that `done` of `of` are finished: `3/20 cells simulated`.
    pub fn advance(&mut self, done: u64, of: u64, what: &'static str) {
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

    /// Removes the bar.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Does work of unknown length, and prints a line every second.
    fn working<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        if self.quiet {
            return work();
        }
        let since_line = self.last_line.map_or(Duration::ZERO, |last| last.elapsed());
        saying(
            LINE_INTERVAL.saturating_sub(since_line),
            || note_at(self.started, what),
            work,
        )
    }

    /// Prints a line, unless the last one was printed less than a second ago.
    fn line(&mut self, what: impl fmt::Display) {
        if self.last_line.is_some_and(|last| last.elapsed() < LINE_INTERVAL) {
            return;
        }
        self.last_line = Some(Instant::now());
        note_at(self.started, what);
    }

    /// Shows work of unknown length.
    fn spin(&mut self, what: impl fmt::Display) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.tick(),
            None => self.line(what),
        }
    }

    /// Prints a line above the bar.
    fn note(&self, line: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.println(line),
            None => output::note(line),
        }
    }
}

impl Screen {
    /// A screen for a comparison.
    pub fn new(options: &Options, quiet: bool, interrupt: Interrupt) -> Self {
        let devices = options.cells() * u64::from(options.samples);
        let follows_live = options.engine == Engine::Auto;
        Self {
            display: Display::new(devices, quiet),
            interrupt,
            previews: if follows_live { PREVIEWS } else { 0 },
            has_starts: options.starts.len() > 1,
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.display.clear();
    }

    /// Does work of unknown length, and prints a line every second.
    pub fn working<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        self.display.working(what, work)
    }
}

/// Does work, and prints every second what it is.
pub fn waiting<T>(what: impl fmt::Display + Sync, work: impl FnOnce() -> T) -> T {
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
        // The end of the channel wakes the thread at once: the command does not wait for its second to pass.
        drop(done);
        result
    })
}

fn note_at(started: Instant, what: impl fmt::Display) {
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
        self.display.note(line);
    }

    fn checking(&mut self, links: usize) {
        self.display
            .spin(format_args!("checking {}", counted(links as u64, "link")));
    }

    fn tick(&mut self, done: u64, of: u64) {
        self.display.advance(done, of, "devices done");
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}

impl SweepProgress for Screen {
    fn simulating(&mut self, done: usize, of: usize) {
        if of > 0 {
            self.display.advance(done as u64, of as u64, "cells simulated");
        }
    }

    fn analysing(&mut self) {
        self.display.spin("analysing");
    }

    fn in_virtual_time(&mut self, at: Duration, of: Duration) {
        self.display
            .advance(at.as_secs(), of.as_secs(), "s of virtual time");
    }

    fn simulated(&mut self, cell: &Cell) {
        if self.previews == 0 {
            return;
        }
        self.previews -= 1;
        let more = if self.previews == 0 { " (and so on)" } else { "" };
        self.display
            .note(&format!("simulated: {}{more}", preview(cell, self.has_starts)));
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
