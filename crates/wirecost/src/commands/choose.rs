//! `wirecost choose`: which stack meets the requirements, and what each one costs.

mod needs;
mod page;
mod rows;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wirecost_cost::Tariff;
use wirecost_energy::Device;
use wirecost_lab::compare::sweep::Sweep;
use wirecost_live::provenance::Before;
use wirecost_live::signals::Interrupt;
use wirecost_results::folder::FOLDERS;
use wirecost_results::{OpenRun, RunFolder, RunStart, Summary};
use wirecost_scenario::Scenario;
use wirecost_scenario::options::compare::{Engine, LinkConfig, Options, Schedule};
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::thresholds::Thresholds;
use wirecost_stack::Stack;

use super::compare::default_folder;
use super::cost::files;
use super::link_flags::links;
use super::{command_line, keep_alive_seconds};
use crate::arguments::{By, ChooseArguments};
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Screen;
use rows::Row;

/// The stacks of a choice unless the user names some: each protocol with its usual security.
const STACKS: [&str; 9] = [
    "amqp-unsettled+tls1.3",
    "coap-con+dtls1.2-psk",
    "coap-con+dtls1.3",
    "coap-con+oscore",
    "coap-non+oscore",
    "http1+tls1.3",
    "http3",
    "mqtt-qos1+tls1.3",
    "mqtt-qos2+tls1.3",
];
/// The most readings of a kept connection.
pub const MOST_READINGS: u64 = 288;
/// The time for which a connection is kept.
const KEPT_SECONDS: f64 = 86_400.0;
/// Devices of each way where packets are lost.
const DEVICES_UNDER_LOSS: u32 = 20;
/// Stacks that are verified, and devices of each.
const VERIFIED: (usize, u32) = (3, 20);

/// What a choice is made from.
struct Inputs<'a> {
    arguments: &'a ChooseArguments,
    link: LinkConfig,
    device: Option<Device>,
    tariff: Option<Tariff>,
}

/// Runs the command.
pub fn run(given: ChooseArguments) -> Result<ExitCode, Failure> {
    let arguments = &needs::read(given)?;
    output::check_files(&[("--json", arguments.json.as_deref())])?;
    let inputs = inputs(arguments)?;
    let options = options(&inputs)?;
    let interrupt = Interrupt::install()?;
    let out = arguments.out.clone().unwrap_or_else(|| folder_named("choose"));
    let scenario = Scenario::comparison(options.clone());
    let (summary, folder) = play(arguments.quiet, &options, &scenario, &out, interrupt)?;
    if summary.interrupted {
        output::note(format_args!(
            "interrupted: what was simulated is in {}",
            out.display()
        ));
        return Ok(ExitCode::from(exit::INTERRUPTED));
    }
    let mut rows = rows::rows(&inputs, &summary, &folder)?;
    rows::rank(&mut rows, arguments.by);
    let verified = verify(&inputs, &options, &rows, &out, interrupt)?;
    let text = table::table(&inputs, &rows, &verified);
    folder.write("choice.md", page::page(&inputs, &rows, &verified).as_bytes())?;
    let json = table::json(&inputs, &rows, &verified);
    folder.write_json("choice.json", &json)?;
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&json),
        || text,
    )?;
    if !arguments.quiet {
        let shown = out.display();
        output::note(format_args!(
            "for a design document: {shown}/choice.md; evidence: {shown}/report.html"
        ));
    }
    if rows.iter().any(Row::is_met) {
        return Ok(ExitCode::from(exit::OK));
    }
    output::note("error: no stack meets the requirements; the last column says which one each fails");
    Ok(ExitCode::from(exit::CELLS_FAILED))
}

/// A new results folder of a command.
pub fn folder_named(command: &str) -> PathBuf {
    let folder = default_folder();
    let name = folder
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    folder.with_file_name(format!("{command}-{name}"))
}

fn inputs(arguments: &ChooseArguments) -> Result<Inputs<'_>, Failure> {
    let needs = |flag: &str, other: &str| {
        Failure::usage(format!("--by {flag} needs {other}"))
            .with_hint(format!("add {other}, or take --by bytes"))
    };
    match arguments.by {
        By::Energy if arguments.device.is_none() => return Err(needs("energy", "--device NAME")),
        By::Money if arguments.tariff.is_none() => return Err(needs("money", "--tariff NAME")),
        _ => {}
    }
    let every = arguments.every.unwrap_or_default();
    if every.is_zero() {
        return Err(Failure::usage("--every must be above 0s")
            .with_hint("write the time from one reading to the next, e.g. 5min"));
    }
    if arguments.within.is_some_and(|within| within.is_zero()) {
        return Err(Failure::usage("--within must be above 0s")
            .with_hint("write the time within which a reading must have arrived, e.g. 2s"));
    }
    if arguments
        .battery_years
        .is_some_and(|years| !(years > 0.0 && years.is_finite()))
    {
        return Err(
            Failure::usage("--battery-years must be above 0").with_hint("write a number of years, e.g. 5")
        );
    }
    let links = links(&arguments.link)?;
    let [link] = links.as_slice() else {
        return Err(Failure::usage("choose takes one link")
            .with_hint("give one value for each option of the link, and run choose once for each link"));
    };
    Ok(Inputs {
        arguments,
        link: *link,
        device: arguments.device.as_deref().map(files::device).transpose()?,
        tariff: arguments.tariff.as_deref().map(files::tariff).transpose()?,
    })
}

impl Inputs<'_> {
    /// Whether the link loses packets.
    fn loses(&self) -> bool {
        self.link.up.loss.rate() + self.link.down.loss.rate() > 0.0
    }
}

/// The comparison that is simulated: each stack with a connection for each reading, and with one that is kept.
fn options(inputs: &Inputs<'_>) -> Result<Options, Failure> {
    let arguments = inputs.arguments;
    let every = arguments.every.unwrap_or_default();
    let kept = (KEPT_SECONDS / every.as_secs_f64()) as u64;
    let schedule = |messages| Schedule {
        messages,
        warm_up: false,
        interval: Some(every),
    };
    let default = || {
        let stacks = STACKS.iter().filter_map(|name| name.parse::<Stack>().ok());
        stacks
            .filter(|stack| needs::refusal(arguments, *stack).is_none())
            .collect()
    };
    let stacks = match arguments.stacks.as_slice() {
        [] => default(),
        given => given.to_vec(),
    };
    if stacks.is_empty() {
        return Err(Failure::usage("no stack has this guarantee, class and protocol together")
            .with_hint("name the stacks, to see what each one fails, or drop one of --delivery, --reach and --device-class"));
    }
    let samples = match inputs.loses() {
        true => arguments.count.max(DEVICES_UNDER_LOSS),
        false => arguments.count,
    };
    let options = Options {
        engine: Engine::Sim,
        contents: Contents::of(&[arguments.size], &arguments.readings.lists()),
        links: vec![inputs.link],
        samples,
        seed: arguments.seed,
        keep_alive: keep_alive_seconds(arguments.keep_alive)?,
        schedules: vec![schedule(1), schedule(kept.clamp(2, MOST_READINGS))],
        ..Options::new(stacks)
    };
    options.validate()?;
    Ok(options)
}

/// Simulates the comparison into a results folder, with its report.
pub fn play(
    quiet: bool,
    options: &Options,
    scenario: &Scenario,
    out: &Path,
    interrupt: Interrupt,
) -> Result<(Summary, RunFolder), Failure> {
    let start = RunStart {
        folders: &FOLDERS,
        command: command_line::recorded(),
        scenario: scenario.to_yaml(),
        at: std::time::SystemTime::now(),
    };
    let run = OpenRun::create(out, start)?;
    let before = Before::look();
    let mut screen = Screen::new(options, quiet, interrupt);
    let sweep = Sweep {
        options,
        folder: &run.folder,
        earlier: run.earlier.clone(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        thresholds: &Thresholds::default(),
    };
    let measured = sweep.run(&mut screen);
    screen.clear();
    let measured = measured.inspect_err(|_| run.folder.remove_if_nothing_measured())?;
    let outcome = screen.working("writing the results", || {
        measured.write(&before, command_line::recorded())
    })?;
    screen
        .working("writing the report", || wirecost_report::write_all(&run.folder))
        .map_err(|error| Failure::new(exit::INTERNAL, error))?;
    if let Some(error) = outcome.error {
        return Err(error.into());
    }
    Ok((outcome.summary, run.folder))
}

/// A stack that was measured live: whether its bytes are those of the simulation.
struct Verified {
    stack: String,
    /// `None` if it did not run live, otherwise the first difference, if there is one.
    difference: Option<Option<String>>,
    reason: Option<String>,
}

/// Measures the first stacks live: a connect, a message and a close on the same link, beside the same in virtual time.
fn verify(
    inputs: &Inputs<'_>,
    options: &Options,
    rows: &[Row],
    out: &Path,
    interrupt: Interrupt,
) -> Result<Vec<Verified>, Failure> {
    if !inputs.arguments.verify {
        return Ok(Vec::new());
    }
    let mut stacks: Vec<Stack> = Vec::new();
    for row in rows.iter().filter(|row| row.is_met()) {
        if !stacks.contains(&row.stack) && stacks.len() < VERIFIED.0 {
            stacks.push(row.stack);
        }
    }
    if stacks.is_empty() {
        return Ok(Vec::new());
    }
    let live = Options {
        engine: Engine::Auto,
        stacks,
        samples: VERIFIED.1,
        schedules: vec![Schedule::default()],
        ..options.clone()
    };
    live.validate()?;
    let scenario = Scenario::comparison(live.clone());
    let (summary, _) = play(
        inputs.arguments.quiet,
        &live,
        &scenario,
        &out.join("verify"),
        interrupt,
    )?;
    let verified = live.stacks.iter().map(|stack| {
        let stack = stack.to_string();
        let cell = summary
            .cells
            .iter()
            .find(|cell| cell.stack == stack && cell.engine == "live");
        let agreement = cell.and_then(|cell| cell.agreement.as_ref());
        Verified {
            difference: agreement.map(|agreement| agreement.first_difference.clone()),
            reason: match cell {
                None => Some("the machine allows no live run; wirecost doctor says why".to_owned()),
                Some(cell) => cell.not_run.clone(),
            },
            stack,
        }
    });
    Ok(verified.collect())
}
