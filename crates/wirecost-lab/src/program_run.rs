//! A program of another maker as a cell: it runs several times, each behind a link of its own, and its figures are those of a stack's
//! row.
//!
//! Bytes and packets come from the capture of each run, by the reader of `wirecost pcap`; the time is from the program's start to its
//! end, the CPU time what the kernel counted for the program and the processes that it waited for (getrusage(2)).

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use wirecost_cost::Traffic;
use wirecost_dissect::Report;
use wirecost_files::Input;
use wirecost_proto::BothWays;
use wirecost_proto::peer_text::{PeerText, visible};
use wirecost_results::RunFolder;
use wirecost_results::link::link_of;
use wirecost_results::summary::{AllIn, Cell, Cpu, CpuSide, Outcomes, ProgramFigures, Section, Times};
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::program::{ProgramOptions, ProgramServer};
use wirecost_scenario::selector::to_stored;
use wirecost_stack::secret::without_passwords;

use crate::compare::sections::of_traffic;
use crate::link_run::error::doing;
use crate::link_run::words::{UnclosedQuote, split};
use crate::link_run::{self, Finished, LinkError, Options, ServerChoice};

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the program said, in the folder of its run.
const LOG: &str = "program.log";

/// What a run of the program cost.
struct Sample {
    connect: BothWays<Traffic>,
    message: BothWays<Traffic>,
    keep_alive: BothWays<Traffic>,
    close: BothWays<Traffic>,
    time: Duration,
    cpu: Duration,
}

/// Why a program has no figures.
enum Unmeasured {
    /// The reason, which the cell tells.
    Told(String),
    /// The machine or the user ended the run.
    Ended(LinkError),
}

/// Runs the program as often as asked. A program that is missing or fails is a cell that says so. Call it from the main thread, before
/// any other starts.
///
/// # Errors
/// The machine refuses the link, or a signal asks this process to end.
pub fn run(
    options: &ProgramOptions,
    folder: &RunFolder,
    note: &mut dyn FnMut(&str),
) -> Result<Cell, LinkError> {
    let words = split(&options.command)?;
    let mut samples = Vec::new();
    let mut warnings = Vec::new();
    for number in 1..=options.samples {
        match once(options, &words, number, folder, note, &mut warnings) {
            Ok(sample) => samples.push(sample),
            Err(Unmeasured::Ended(error)) => return Err(error),
            Err(Unmeasured::Told(why)) => {
                return Ok(Cell {
                    // One failed run is enough: a mean over the runs that went well would hide that the program fails.
                    not_run: Some(why),
                    ..named(options)
                });
            }
        }
    }
    Ok(measured(options, &samples, warnings))
}

/// Whether the command line of the program can be split into words.
///
/// # Errors
/// A quote is not closed.
pub fn check(options: &ProgramOptions) -> Result<(), UnclosedQuote> {
    split(&options.command).map(drop)
}

/// One run, in a folder of its own.
fn once(
    options: &ProgramOptions,
    words: &[String],
    number: u32,
    folder: &RunFolder,
    note: &mut dyn FnMut(&str),
    warnings: &mut Vec<Warning>,
) -> Result<Sample, Unmeasured> {
    let path = folder.file(&format!("programs/{number:04}"));
    cleared(&path).map_err(Unmeasured::Ended)?;
    // The recording, the key log and the output of a run would overwrite those of the run before.
    let own = RunFolder::create_with(&path, &["capture"]).map_err(|error| Unmeasured::Ended(error.into()))?;
    let run = link_options(options, words, number, path.join(LOG));
    let mut quiet = |line: &str| {
        // The usual notes of one run would be repeated for each sample.
        if line.starts_with("warning: ") {
            note(line);
        }
    };
    let finished = link_run::run(&run, &own, &mut quiet).map_err(|error| missing(options, error))?;
    let Finished {
        summary,
        failure,
        asked,
        overrun,
    } = finished;
    // A signal that ends wirecost ends the program, too: its run is not whole, and counts as none.
    if let Some(signal) = asked {
        return Err(Unmeasured::Ended(LinkError::InterruptedProgram(signal)));
    }
    if let Some(overrun) = overrun {
        return Err(Unmeasured::Told(format!("{} {overrun}", options.name())));
    }
    if let Some(why) = failure {
        return Err(Unmeasured::Told(why));
    }
    if let Some(why) = failed(options, &summary, &path.join(LOG)) {
        return Err(Unmeasured::Told(why));
    }
    add(warnings, summary.warnings, summary.dropped_packets);
    Ok(sample(
        &summary.report,
        Duration::from_nanos(summary.duration_ns),
        Duration::from_nanos(summary.cpu_ns),
    ))
}

/// Removes what an earlier command, which was interrupted, left of this run.
fn cleared(path: &Path) -> Result<(), LinkError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(doing("remove an earlier run of the program")(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Adds the warnings of a run, each text once. The last one of a run whose packets were dropped tells of them.
fn add(warnings: &mut Vec<Warning>, texts: Vec<String>, dropped_packets: u64) {
    let last = texts.len().saturating_sub(1);
    for (index, text) in texts.into_iter().enumerate() {
        let warning = match dropped_packets > 0 && index == last {
            true => Warning::invalid(WarningKind::MachineDroppedPackets, text),
            false => Warning::note(WarningKind::ProgramRemark, text),
        };
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

fn link_options(
    options: &ProgramOptions,
    words: &[String],
    number: u32,
    output: std::path::PathBuf,
) -> Options {
    Options {
        link: options.link,
        ipv6: options.ipv6,
        medium: None,
        // Each run meets other losses and delays: with one seed all samples would be the same sample.
        seed: options.seed.wrapping_add(u64::from(number) - 1),
        settle: options.settle,
        server: options.server.as_ref().map(|server| match server {
            ProgramServer::Command(line) => ServerChoice::Command(line.clone()),
            ProgramServer::Builtin(stack) => ServerChoice::Builtin(*stack),
        }),
        port: options.port,
        patience: PATIENCE,
        command: words.iter().map(OsString::from).collect(),
        keys: true,
        key_log: None,
        congestion: options.congestion,
        framing: options.framing,
        output: Some(output),
        time_limit: Some(options.timeout),
        response_body: usize::try_from(options.response_body.bytes()).unwrap_or(usize::MAX),
    }
}

/// A program or a server that is not there is a reason of the cell; everything else ends the run.
fn missing(options: &ProgramOptions, error: LinkError) -> Unmeasured {
    match error {
        // A program that is not installed is the usual case on another machine; the other cells are still worth their run.
        LinkError::Program { program, source } if source.kind() == ErrorKind::NotFound => {
            Unmeasured::Told(format!("{} is not installed", visible(&program)))
        }
        LinkError::ServerNotFound { program } => Unmeasured::Told(format!(
            "the server {} of {} is not installed",
            visible(&program),
            options.name()
        )),
        error @ (LinkError::Program { .. }
        | LinkError::ServerEnded { .. }
        | LinkError::NotListening { .. }) => Unmeasured::Told(visible(&error.to_string()).into_owned()),
        error => Unmeasured::Ended(error),
    }
}

/// Why a program that ran has no figures: it failed. What it said last is in the sentence.
fn failed(options: &ProgramOptions, summary: &link_run::LinkSummary, log: &Path) -> Option<String> {
    let how = match (summary.signal, summary.exit_code) {
        (Some(signal), _) => format!("ended by signal {signal}"),
        (None, 0) => return None,
        (None, code) => format!("ended with exit code {code}"),
    };
    // Its last line is most often the reason; the exit code of most programs is 1 whatever went wrong.
    let said = match Input::Log.lossy_text(log) {
        Err(_) => "and said more than can be read".to_owned(),
        Ok(said) => match said.lines().rev().find(|line| !line.trim().is_empty()) {
            None => "and said nothing".to_owned(),
            Some(line) => {
                // Programs repeat their arguments in errors, and this goes into a page that is passed on.
                let line = PeerText::new(&without_passwords(line.trim()));
                format!("and said {:?}", line.as_str())
            }
        },
    };
    Some(format!("{} {how} {said}", options.name()))
}

fn sample(report: &Report, time: Duration, cpu: Duration) -> Sample {
    let of = |section: &wirecost_dissect::Section| BothWays {
        up: section.up,
        down: section.down,
    };
    let total = &report.total;
    Sample {
        connect: of(&total.connect),
        message: of(&total.message),
        keep_alive: of(&total.keep_alive),
        close: of(&total.close),
        time,
        cpu,
    }
}

/// The cell of the program without figures.
fn named(options: &ProgramOptions) -> Cell {
    Cell {
        stack: options.name(),
        start: "cold".to_owned(),
        engine: "live".to_owned(),
        target: match &options.server {
            Some(ProgramServer::Command(line)) => without_passwords(line),
            Some(ProgramServer::Builtin(stack)) => format!("builtin {stack}"),
            None => "none".to_owned(),
        },
        key: options.key(),
        labels: to_stored(&options.labels()),
        messages_per_connection: 1,
        link: link_of(&options.link, None),
        ..Cell::default()
    }
}

fn measured(options: &ProgramOptions, samples: &[Sample], warnings: Vec<Warning>) -> Cell {
    let section =
        |of: fn(&Sample) -> &BothWays<Traffic>| of_traffic(&samples.iter().map(of).collect::<Vec<_>>());
    let n = samples.len() as u64;
    let times = |of: fn(&Sample) -> Duration| {
        let nanos = samples.iter().map(|sample| vec![of(sample).as_nanos() as u64]);
        Times::of_devices(&nanos.collect::<Vec<_>>(), 0)
    };
    let cpu = times(|sample| sample.cpu);
    let cell = Cell {
        valid: warnings.iter().all(|warning| !warning.invalidates),
        warnings,
        connect: section(|sample| &sample.connect),
        // A program whose packets are all of a handshake still has a session.
        message: section(|sample| &sample.message).or_else(|| {
            Some(Section {
                samples: n,
                response_kind: "to_reply".to_owned(),
                ..Section::default()
            })
        }),
        keep_alive: section(|sample| &sample.keep_alive),
        close: section(|sample| &sample.close),
        cpu: Cpu {
            client: cpu.as_ref().map(|cpu| CpuSide {
                device_ns: cpu.mean,
                // Only the program itself could tell when it began to send.
                connect_ns: None,
                message_ns: None,
            }),
            server: None,
            reason: Some(
                "a program's CPU time is that of its whole run, and its server's is not measured".to_owned(),
            ),
        },
        program: Some(ProgramFigures {
            // Results are passed on: a password of the command line must not be in them.
            command: without_passwords(&options.command),
            time_ns: times(|sample| sample.time).unwrap_or_default(),
            cpu_ns: cpu.unwrap_or_default(),
        }),
        outcomes: Outcomes {
            offered: n,
            acknowledged: n,
            ..Outcomes::default()
        },
        ..named(options)
    };
    Cell {
        all_in: AllIn::from_cell(&cell),
        ..cell
    }
}
