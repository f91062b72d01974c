//! Runs the program in the foreground, and waits until the link is quiet afterwards.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use wirecost_files::output::{Existing, SECRET, own};
use wirecost_live::emulation::Emulation;
use wirecost_live::process::foreground::{Foreground, StartError};
use wirecost_live::process::usage;
use wirecost_live::signals::{Caught, Relay};
use wirecost_proto::units::{DisplayDuration, counted};
use wirecost_proto::{ByteSize, Instant};
use wirecost_stack::secret::PASSWORD_VARIABLE;

use super::error::doing;
use super::options::MOST_OUTPUT;
use super::server::Serving;
use super::words::Places;
use super::{LinkError, Options, RESIDENT, keys};

/// How often to check for ends.
const TICK: Duration = Duration::from_millis(100);
/// The longest wait for a quiet link, as a multiple of the settle time.
const PATIENCE_IN_SETTLES: u32 = 10;

/// The end of the program.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// From its start to its end.
    pub duration: Duration,
    /// CPU time of it and of the processes that it waited for.
    pub cpu: Duration,
    /// Warnings for the reader of the figures.
    pub warnings: Vec<String>,
    /// The signal by which this process was asked to end, if it was.
    pub asked: Option<i32>,
    /// Why the program was killed, if it was.
    pub overrun: Option<Overrun>,
}

/// What a program took too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overrun {
    /// Time.
    #[error("still ran after {}", DisplayDuration(*.0))]
    Time(Duration),
    /// Output, in bytes.
    #[error("wrote more than {} of output", ByteSize::from_bytes(*.0))]
    Output(u64),
}

impl Ended {
    /// The program's exit code as a shell reports it: its own, or 128 and the signal.
    pub fn exit_code(&self) -> u8 {
        let signal = self.status.signal().map(|signal| 128 + signal);
        let code = self.status.code().or(signal).unwrap_or(1);
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

/// Runs the program to its end, ends its background processes, and lets the link settle.
///
/// # Errors
/// The program is missing or cannot be run.
pub fn run(
    options: &Options,
    emulation: &Emulation,
    server: &mut Serving,
    relay: &Relay,
    places: &Places,
    key_log: Option<&Path>,
    note: &mut dyn FnMut(&str),
) -> Result<Ended, LinkError> {
    let cpu = || usage::of_ended_children().map_err(doing("read the CPU time of the program"));
    let cpu_before = cpu()?;
    let started = emulation.clock.now();
    let mut program = start(options, emulation, places, key_log)?;
    let mut watch = Watch {
        emulation,
        server,
        warnings: Vec::new(),
        asked: None,
        overrun: None,
        note,
    };
    if let Some(refusal) = program.looseness() {
        watch.warn(format!(
            "{refusal}: what the program starts outlives a wirecost that is killed by SIGKILL"
        ));
    }
    let status = watch.until_end(options, started, &mut program, relay)?;
    // The signal that ended the program was meant for the program, and arrives here after its end.
    while let Some(caught) = relay.next(Duration::ZERO).map_err(doing("take signals"))? {
        watch.note_signal(caught);
    }
    let duration = emulation.clock.now().saturating_since(started);
    // Before the leftovers are ended: the CPU time of children counts when they are waited for, and only the program's is asked for.
    let cpu = cpu()?.saturating_sub(cpu_before);
    // The server of `--server` is a child of this process as well: it must see the last packets.
    let keep: Vec<i32> = watch.server.pid().into_iter().collect();
    let left = program.end_leftovers(&keep);
    let left = left.map_err(doing("end what the program left running"))?;
    if left > 0 {
        let processes = counted(left as u64, "process");
        watch.warn(format!(
            "{processes} that the program had left running ended with it"
        ));
    }
    if let Some(caught) = settle(options, emulation, relay)? {
        watch.note_signal(caught);
    }
    watch.look();
    Ok(Ended {
        status,
        duration,
        cpu,
        warnings: watch.warnings,
        asked: watch.asked,
        overrun: watch.overrun,
    })
}

fn start(
    options: &Options,
    emulation: &Emulation,
    places: &Places,
    key_log: Option<&Path>,
) -> Result<Foreground, LinkError> {
    let mut words = options.command.iter().map(|word| places.fill_word(word));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).env_remove(PASSWORD_VARIABLE);
    if let Some(path) = key_log {
        command.env(keys::VARIABLE, path);
    }
    if let Some(path) = &options.output {
        let file = own(path, Existing::Replaced, SECRET)
            .map_err(io::Error::from)
            .map_err(doing("keep what the program says"))?;
        // One file for both, so that output and errors stay in their order.
        let again = file.try_clone().map_err(doing("keep what the program says"))?;
        // Of several runs nobody sits at the terminal: a program that asks would wait for its time limit.
        command.stdin(Stdio::null()).stdout(file).stderr(again);
    }
    Foreground::start(command, &emulation.device).map_err(|error| match error {
        StartError::Environment(error) => error.into(),
        StartError::Program { program, source } => LinkError::Program { program, source },
    })
}

/// The state to watch while the program runs.
struct Watch<'a> {
    emulation: &'a Emulation,
    server: &'a mut Serving,
    warnings: Vec<String>,
    asked: Option<i32>,
    overrun: Option<Overrun>,
    note: &'a mut dyn FnMut(&str),
}

impl Watch<'_> {
    /// Waits for the program's end. Passes on signals that the terminal has not sent to it, and kills it once it took too much.
    fn until_end(
        &mut self,
        options: &Options,
        started: Instant,
        program: &mut Foreground,
        relay: &Relay,
    ) -> Result<ExitStatus, LinkError> {
        loop {
            if let Some(status) = program.exit_status() {
                return Ok(status);
            }
            self.look();
            // Killed once: a program in the kernel may take a while to end, and each turn would warn again.
            if self.overrun.is_none() {
                let took = self.emulation.clock.now().saturating_since(started);
                self.overrun = overrun(options, took);
                if self.overrun.is_some()
                    && let Err(error) = program.kill()
                {
                    self.warn(format!("the program could not be killed: {error}"));
                }
            }
            let caught = relay.next(TICK).map_err(doing("take signals"))?;
            if let Some(caught) = caught {
                self.note_signal(caught);
            }
            if let Some(Caught::Asked {
                signal,
                // The terminal sends Ctrl-C to the whole foreground group: the program has it already, and a second one means "at once".
                by_terminal: false,
            }) = caught
                && let Err(error) = program.signal(signal)
            {
                self.warn(format!("the program could not be sent signal {signal}: {error}"));
            }
        }
    }

    /// Keeps the first signal by which this process was asked to end.
    fn note_signal(&mut self, caught: Caught) {
        if let Caught::Asked { signal, .. } = caught {
            self.asked.get_or_insert(signal);
        }
    }

    /// Reports once that the server has ended, or that packets are no longer recorded.
    fn look(&mut self) {
        if let Some(death) = self.server.death() {
            self.warn(death.to_string());
        }
        let full = "packets can no longer be recorded: the disk of the results folder is full";
        if self.emulation.activity.recording_failed() && !self.warnings.iter().any(|line| line == full) {
            self.warn(full.to_owned());
        }
    }

    fn warn(&mut self, line: String) {
        (self.note)(&format!("warning: {line}"));
        self.warnings.push(line);
    }
}

/// What the program took too much of in this time, if it did.
fn overrun(options: &Options, took: Duration) -> Option<Overrun> {
    if let Some(limit) = options.time_limit.filter(|limit| took > *limit) {
        return Some(Overrun::Time(limit));
    }
    let said = std::fs::metadata(options.output.as_deref()?).ok()?.len();
    (said > MOST_OUTPUT).then_some(Overrun::Output(MOST_OUTPUT))
}

/// Waits until the link has been quiet for the settle time, or until a signal ends the wait, which is returned.
fn settle(options: &Options, emulation: &Emulation, relay: &Relay) -> Result<Option<Caught>, LinkError> {
    let quiet_for = options.settle;
    let give_up = emulation.clock.now() + quiet_for * PATIENCE_IN_SETTLES + options.link.rtt() * 2;
    loop {
        let now = emulation.clock.now();
        let quiet_at = emulation.activity.last(RESIDENT) + quiet_for;
        // A server that sends by itself, such as one that polls, keeps the link busy for ever.
        if now >= quiet_at.min(give_up) {
            return Ok(None);
        }
        let pause = quiet_at.min(give_up).saturating_since(now);
        let caught = relay
            // At least a millisecond: a pause that rounds to none would spin.
            .next(pause.min(TICK).max(Duration::from_millis(1)))
            .map_err(doing("take signals"))?;
        if matches!(caught, Some(Caught::Asked { .. })) {
            return Ok(caught);
        }
    }
}
