//! `wirecost choose`: which stack meets the requirements, and what each one costs.

mod assumptions;
mod explain;
mod file;
mod further;
mod input;
mod intervals;
mod matrix;
mod needs;
mod others;
mod page;
mod quantum;
pub mod question;
mod rows;
mod sensitivity;
mod sentence;
mod simulated;
mod table;
mod verified;
mod ways;

use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;

use wirecost_cost::Tariff;
use wirecost_energy::evidence::Beside;
use wirecost_energy::{Battery, Device};
use wirecost_lab::compare::sweep::Sweep;
use wirecost_live::provenance::Before;
use wirecost_live::signals::Interrupt;
use wirecost_results::traffic::CellTraffic;
use wirecost_results::{Cell, RunFolder, Summary};
use wirecost_scenario::Scenario;
use wirecost_scenario::options::compare::{Engine, LinkConfig, Options};
use wirecost_scenario::options::handshake::Handshake;
use wirecost_scenario::options::life::DEVICES_UNDER_LOSS;
use wirecost_scenario::options::refusal::About;
use wirecost_stack::Stack;

use super::command_line;
use super::cost::{files, lives};
use super::folder::of_command;
use super::job::{JobFolder, at_once};
use super::link_flags::links;
use crate::arguments::{ChooseArguments, Security, of_flags};
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Screen;
use further::Further;
pub(in crate::commands) use intervals::MOST_PAYLOAD;
use quantum::Added;
pub(in crate::commands) use rows::Recorded;
use rows::Row;
use verified::{Verified, verify};

/// The stacks of a choice unless the user names some: each protocol with its usual security.
pub const STACKS: [&str; 9] = [
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

/// What a choice is made from.
struct Inputs<'a> {
    arguments: &'a ChooseArguments,
    /// The handshakes of today.
    handshake: Handshake,
    link: LinkConfig,
    device: Option<Device>,
    battery: Option<Battery>,
    beside: Option<Beside>,
    tariff: Option<Tariff>,
}

/// What was chosen for a use case.
struct Decision<'a> {
    /// The name of the use case; `None` where there is one.
    name: Option<String>,
    inputs: Inputs<'a>,
    rows: Vec<Row>,
    verified: Vec<Verified>,
    /// What the security of 2030 adds, where it was asked for.
    added: Vec<Added>,
    /// What is said beyond the ranking.
    further: Further,
}

/// Runs the command.
pub fn run(given: ChooseArguments) -> Result<ExitCode, Failure> {
    let (json, quiet, given_out) = (given.json.clone(), given.quiet, given.out.clone());
    let cases = file::read(given)?;
    if cases
        .iter()
        .any(|case| case.name.is_some() && case.arguments.explain.is_some())
    {
        return Err(Failure::usage(
            "--explain names a row of one ranking, and the file has several use cases",
        )
        .with_hint("give the requirements of one of them"));
    }
    output::check_files(&[("--json", json.as_deref())])?;
    let mut asked = Vec::new();
    // All cases are checked before the first is simulated: the last one could be wrong after minutes.
    for case in &cases {
        let inputs = inputs(&case.arguments).map_err(|failure| case.locate(failure))?;
        let options = options(&inputs).map_err(|failure| case.locate(failure))?;
        asked.push((case.name.clone(), inputs, options));
    }
    let interrupt = Interrupt::install()?;
    let out = of_command(given_out.as_deref(), "choose")?;
    let mut decisions = Vec::new();
    for (index, (name, inputs, options)) in asked.into_iter().enumerate() {
        let folder = match &name {
            Some(name) => out.join(folder_of(index, name)),
            None => out.clone(),
        };
        let Some(Ranking {
            rows,
            verified,
            added,
            further,
        }) = decide(&inputs, &options, &folder, interrupt)?
        else {
            output::note(format_args!(
                "interrupted: what was simulated is in {}",
                out.display()
            ));
            return Ok(ExitCode::from(exit::INTERRUPTED));
        };
        let decision = Decision {
            name,
            inputs,
            rows,
            verified,
            added,
            further,
        };
        write(&decision, &folder)?;
        decisions.push(decision);
    }
    show(&decisions, &out, json.as_deref())?;
    if !quiet {
        let shown = out.display();
        let report = if decisions.iter().any(|decision| decision.name.is_some()) {
            "*/report.html"
        } else {
            "report.html"
        };
        output::note(format_args!(
            "for a design document: {shown}/choice.html and choice.md; evidence: {shown}/{report}"
        ));
    }
    Ok(ExitCode::from(ended(&decisions)))
}

/// Rows in order, what was verified, and what the security of 2030 adds.
struct Ranking {
    rows: Vec<Row>,
    verified: Vec<Verified>,
    added: Vec<Added>,
    further: Further,
}

/// Simulates the stacks and orders them; `None` if interrupted.
fn decide(
    inputs: &Inputs<'_>,
    options: &Options,
    folder: &Path,
    interrupt: Interrupt,
) -> Result<Option<Ranking>, Failure> {
    let Some((rows, cells)) = ranked(inputs, options, folder, interrupt)? else {
        return Ok(None);
    };
    let run = RunFolder::open(folder);
    let further = further::simulated(
        inputs,
        &rows,
        cells.iter(),
        &|cell| recorded(&run, cell),
        interrupt,
    )?;
    let Some(further) = further else {
        return Ok(None);
    };
    let mut added = Vec::new();
    if inputs.arguments.security == Security::Y2030 {
        let today = Options {
            handshake: inputs.handshake,
            ..options.clone()
        };
        let Some((today, _)) = ranked(inputs, &today, &folder.join("today"), interrupt)? else {
            return Ok(None);
        };
        // The same stacks with today's handshakes, so that only the algorithms differ.
        added = quantum::added(&today, &rows);
    }
    let verified = verify(inputs, options, &rows, folder, interrupt)?;
    Ok(Some(Ranking {
        rows,
        verified,
        added,
        further,
    }))
}

/// Rows in order, and the cells of their comparison.
type RowsOfCells = (Vec<Row>, Vec<Cell>);

/// The rows of a simulated comparison in order, and its cells; `None` if interrupted.
fn ranked(
    inputs: &Inputs<'_>,
    options: &Options,
    folder: &Path,
    interrupt: Interrupt,
) -> Result<Option<RowsOfCells>, Failure> {
    let scenario = Scenario::comparison(options.clone());
    let (summary, run) = play(
        inputs.arguments.quiet,
        None,
        (options, &scenario),
        folder,
        interrupt,
    )?;
    // Half of the stacks ranked is a wrong answer: the best may be among the others.
    if summary.interrupted {
        return Ok(None);
    }
    let mut rows = rows::rows(inputs, &summary.cells, &|cell| recorded(&run, cell))?;
    rows::rank(&mut rows, inputs.arguments.by);
    Ok(Some((rows, summary.cells)))
}

/// The packets of a cell's devices in a results folder.
fn recorded(folder: &RunFolder, cell: &Cell) -> Option<Cow<'static, CellTraffic>> {
    lives::recorded(folder, cell).map(Cow::Owned)
}

/// Writes the choice of a use case into its folder.
fn write(decision: &Decision<'_>, folder: &Path) -> Result<(), Failure> {
    let run = RunFolder::open(folder);
    let json = table::json(decision);
    run.write_json("choice.json", &json)?;
    let title = match &decision.name {
        Some(name) => name.clone(),
        None => sentence::title(&decision.inputs),
    };
    page::write(&run, &title, &[(decision, String::new())])
}

/// Prints the ranking of one use case, or the matrix of several, which also gets its page.
fn show(decisions: &[Decision<'_>], out: &Path, json: Option<&Path>) -> Result<(), Failure> {
    let [decision @ Decision { name: None, .. }] = decisions else {
        let folder = RunFolder::open(out);
        let value = matrix::json(decisions);
        folder.write_json("choice.json", &value)?;
        let indexed = decisions.iter().enumerate();
        let pages: Vec<(&Decision<'_>, String)> = indexed
            .map(|(index, decision)| {
                let name = decision.name.as_deref().unwrap_or_default();
                (decision, format!("{}/", folder_of(index, name)))
            })
            .collect();
        page::write(&folder, "Which stack for which use case", &pages)?;
        return output::table_or_json(
            json,
            || serde_json::to_string_pretty(&value),
            || matrix::table(decisions, output::width()),
        );
    };
    let value = table::json(decision);
    let explain = decision.inputs.arguments.explain;
    let explained = explain
        .map(|row| explained(decision, row, &RunFolder::open(out)))
        .transpose()?;
    output::table_or_json(
        json,
        || serde_json::to_string_pretty(&value),
        || explained.unwrap_or_else(|| table::table(decision, output::width())),
    )
}

/// The account of a row of the ranking in a results folder, for the terminal.
fn explained(decision: &Decision<'_>, row: u32, folder: &RunFolder) -> Result<String, Failure> {
    let summary: Summary = folder.read_json("summary.json")?;
    let account = explain::account(decision, row, &summary.cells, &|cell| recorded(folder, cell))?;
    Ok(account.text(output::width()))
}

/// The exit code, and the error where no stack meets the requirements.
fn ended(decisions: &[Decision<'_>]) -> u8 {
    let has_one = |decision: &&Decision<'_>| decision.rows.iter().any(Row::is_met);
    let without: Vec<&Decision<'_>> = decisions.iter().filter(|decision| !has_one(decision)).collect();
    let names: Vec<&str> = without
        .iter()
        .filter_map(|decision| decision.name.as_deref())
        .collect();
    match (without.is_empty(), names.is_empty()) {
        (true, _) => return exit::OK,
        (false, true) => {
            output::note("error: no stack meets the requirements; the last column says which one each fails")
        }
        (false, false) => output::note(format_args!(
            "error: no stack meets the requirements of: {}",
            names.join(", ")
        )),
    }
    exit::CELLS_FAILED
}

/// The folder of a use case: its number and its name.
fn folder_of(index: usize, name: &str) -> String {
    let letters = name.chars().map(|letter| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_lowercase(),
        false => '-',
    });
    let name: String = letters.take(40).collect();
    format!("{:02}-{}", index + 1, name.trim_matches('-'))
}

fn inputs(arguments: &ChooseArguments) -> Result<Inputs<'_>, Failure> {
    let links = links(&arguments.link)?;
    let [link] = links.as_slice() else {
        return Err(Failure::usage("choose takes one link")
            .with_hint("give one value for each option of the link, and run choose once for each link"));
    };
    if let Some(failure) = needs::contradiction(arguments, link) {
        return Err(failure);
    }
    let (device, beside) = files::device_in(arguments.device.as_deref(), &arguments.network)?;
    if link.cell.is_some() {
        // The cell has timers of its own, by which its device is released: two sets would contradict one another.
        arguments.network.refuse_timers_of_a_cell()?;
    }
    Ok(Inputs {
        arguments,
        handshake: handshake(arguments)?,
        link: *link,
        beside,
        device,
        battery: files::battery(&arguments.battery)?,
        tariff: arguments.tariff.as_deref().map(files::tariff).transpose()?,
    })
}

/// The handshakes of today: those with a public broker, unless certificates are asked for.
fn handshake(arguments: &ChooseArguments) -> Result<Handshake, Failure> {
    let mut handshake = match arguments.handshake.has("certificate") || arguments.handshake.has("chain") {
        true => Handshake::default(),
        false => Handshake::default().with_public_broker(&stacks(arguments)),
    };
    arguments.handshake.set(&mut handshake)?;
    Ok(handshake)
}

/// The stacks to choose from.
fn stacks(arguments: &ChooseArguments) -> Vec<Stack> {
    if !arguments.stacks.is_empty() {
        return arguments.stacks.clone();
    }
    let usual = STACKS.iter().filter_map(|name| name.parse::<Stack>().ok());
    usual
        .filter(|stack| needs::refusals(arguments, *stack).is_empty())
        .collect()
}

impl Inputs<'_> {
    /// The handshakes of the ranking.
    fn handshake_used(&self) -> Handshake {
        match self.arguments.security {
            Security::Today => self.handshake,
            Security::Y2030 => quantum::secured(&self.handshake),
        }
    }

    /// Whether the link loses packets.
    fn loses(&self) -> bool {
        self.link.up.loss.rate() + self.link.down.loss.rate() > 0.0
    }
}

/// The comparison that is simulated: each stack in each way.
fn options(inputs: &Inputs<'_>) -> Result<Options, Failure> {
    let arguments = inputs.arguments;
    let stacks = stacks(arguments);
    if stacks.is_empty() {
        return Err(needs::no_stack(arguments));
    }
    let samples = match inputs.loses() {
        // Where packets are lost lives differ, and a mean of few says little.
        true => arguments.count.max(DEVICES_UNDER_LOSS),
        false => arguments.count,
    };
    let options = Options {
        engine: Engine::Sim,
        handshake: inputs.handshake_used(),
        links: vec![inputs.link],
        samples,
        seed: arguments.seed,
        ..Options::new(stacks)
    };
    let options = ways::add(arguments, options)?;
    valid(&options)?;
    Ok(options)
}

/// Whether a comparison can be simulated, whose interval comes from `--every`.
pub fn valid(options: &Options) -> Result<(), Failure> {
    options.validate().map_err(|refusal| match refusal.about {
        About::Key("interval") => Failure::usage(refusal.said_of("--every"))
            .with_hint("write the time from one reading to the next, e.g. 15min"),
        About::Key(_) | About::Phase(_) => of_flags("choose", &refusal),
    })
}

/// Simulates the comparison into a results folder, with its report.
pub fn play(
    quiet: bool,
    jobs: Option<usize>,
    (options, scenario): (&Options, &Scenario),
    out: &Path,
    interrupt: Interrupt,
) -> Result<(Summary, RunFolder), Failure> {
    let run = JobFolder::default().open(out, scenario)?;
    let before = Before::look();
    let mut screen = Screen::new(options, quiet, interrupt);
    let sweep = Sweep {
        options,
        folder: &run.folder,
        earlier: run.earlier.clone(),
        jobs: at_once(jobs),
        thresholds: &scenario.thresholds,
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
    // After the report: what was simulated before the error can be looked at.
    if let Some(error) = outcome.error {
        return Err(error.into());
    }
    Ok((outcome.summary, run.folder))
}
