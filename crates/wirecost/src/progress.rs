//! What a person sees while a run goes on: a bar on a terminal, a line per second elsewhere.

use std::time::{Duration, Instant};

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wirecost_lab::compare::Progress;
use wirecost_live::signals::Interrupt;

/// Shows progress on stderr.
pub struct Screen {
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Option<Instant>,
    started: Instant,
    interrupt: Interrupt,
}

/// How often a line is printed where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

impl Screen {
    /// A screen for `devices` devices.
    pub fn new(devices: u64, quiet: bool, interrupt: Interrupt) -> Self {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = (is_terminal && !quiet).then(|| bar(devices));
        Self {
            bar,
            quiet,
            last_line: None,
            started: Instant::now(),
            interrupt,
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&mut self, done: u64, of: u64) {
        if self.last_line.is_some_and(|last| last.elapsed() < LINE_INTERVAL) {
            return;
        }
        self.last_line = Some(Instant::now());
        output::note(format_args!(
            "{:>4} s  {done}/{of} devices done",
            self.started.elapsed().as_secs()
        ));
    }
}

fn bar(devices: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(devices), ProgressDrawTarget::stderr());
    let template = "{elapsed:>4}  [{bar:40}] {pos}/{len} devices done";
    // The template is a constant: were it wrong, the bar would have its default look.
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

    fn tick(&mut self, done: u64, of: u64) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => {
                bar.set_position(done);
                bar.tick();
            }
            None => self.line(done, of),
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}
