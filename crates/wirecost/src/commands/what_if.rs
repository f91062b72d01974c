//! `wirecost what-if`: the readings of a capture over other stacks, in virtual time.

mod rows;
mod table;
pub mod today;

use std::borrow::Cow;
use std::process::ExitCode;

use wirecost_account::Terms;
use wirecost_live::signals::Interrupt;
use wirecost_proto::ByteSize;
use wirecost_results::Cell;
use wirecost_scenario::Scenario;
use wirecost_scenario::options::compare::{Engine, Options, Schedule};
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_scenario::options::life::{DEVICES_UNDER_LOSS, MOST_READINGS};

use super::choose::Recorded;
use super::cost::files::Prices;
use super::cost::lives;
use super::folder::of_command;
use super::link_flags::links;
use super::told::Told;
use super::{choose, keep_alive_seconds};
use crate::arguments::WhatIfArguments;
use crate::exit::{self, Failure};
use crate::output;
use rows::{Cost, Row};
use today::Today;

/// What the readings of a capture cost today, and over each stack.
struct Answer<'a> {
    today: Today,
    cost: Cost,
    rows: Vec<Row>,
    terms: &'a Terms<'a>,
    /// Devices of each stack that were simulated.
    devices: u32,
}

impl<'a> Answer<'a> {
    /// The answer by the cells of the comparison with their packets.
    fn new<'c>(
        today: Today,
        terms: &'a Terms<'a>,
        (options, cells, recorded): (&Options, impl IntoIterator<Item = &'c Cell>, &Recorded<'_>),
    ) -> Result<Self, Failure> {
        Ok(Self {
            cost: rows::of_today(&today, terms)?,
            rows: rows::rows(&today, cells, recorded, terms)?,
            today,
            terms,
            devices: options.samples,
        })
    }
}

/// Bytes of a reading by layer, in the order of [`Layer::ALL`](wirecost_proto::Layer::ALL), each with a name.
pub type ByLayer = Vec<(String, [f64; 5])>;

/// What energy and money are computed by.
pub fn prices(arguments: &WhatIfArguments) -> Result<Prices, Failure> {
    Prices::read(
        (arguments.device.as_deref(), &arguments.network),
        &arguments.battery,
        arguments.tariff.as_deref(),
        arguments.fleet,
    )
}

/// What the readings of a device cost over each stack of a comparison that somebody else has simulated, and the bytes of a reading by
/// layer of today and of each row.
pub fn told<'c>(
    today: Today,
    terms: &Terms<'_>,
    simulated: (&Options, impl IntoIterator<Item = &'c Cell>, &Recorded<'_>),
) -> Result<(Told, ByLayer), Failure> {
    let answer = Answer::new(today, terms, simulated)?;
    let rows = answer.rows.iter();
    let layers = rows.filter_map(|row| {
        Some((
            format!("{} {}", row.stack, row.way),
            row.cost.as_ref().ok()?.layers,
        ))
    });
    let today = ("today".to_owned(), answer.cost.layers);
    let layers = [today].into_iter().chain(layers).collect();
    Ok((table::told(&answer), layers))
}

/// Runs the command.
pub fn run(arguments: &WhatIfArguments) -> Result<ExitCode, Failure> {
    output::check_files(&[("--json", arguments.json.as_deref())])?;
    let prices = prices(arguments)?;
    let terms = prices.terms();
    let today = Today::read(arguments, terms.device)?;
    let options = options(arguments, &today)?;
    let interrupt = Interrupt::install()?;
    let out = of_command(arguments.out.as_deref(), "what-if")?;
    let scenario = Scenario::comparison(options.clone());
    let (summary, folder) = choose::play(arguments.quiet, None, (&options, &scenario), &out, interrupt)?;
    if summary.interrupted {
        output::note(format_args!(
            "interrupted: what was simulated is in {}",
            out.display()
        ));
        return Ok(ExitCode::from(exit::INTERRUPTED));
    }
    let recorded = |cell: &Cell| lives::recorded(&folder, cell).map(Cow::Owned);
    let answer = Answer::new(today, &terms, (&options, &summary.cells, &recorded))?;
    let json = table::json(&answer);
    folder.write_json("what-if.json", &json)?;
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&json),
        || table::told(&answer).draw(output::width()),
    )?;
    if !arguments.quiet {
        output::note(format_args!("evidence: {}/report.html", out.display()));
    }
    // At the end: what could be read of the capture has been answered.
    answer.today.unread.map_or(Ok(ExitCode::from(exit::OK)), Err)
}

/// The comparison that is simulated: a connection for each reading, and one that is kept as long as in the capture.
pub fn options(arguments: &WhatIfArguments, today: &Today) -> Result<Options, Failure> {
    let links = links(&arguments.link)?;
    let [link] = links.as_slice() else {
        return Err(Failure::usage("what-if takes one link")
            .with_hint("give one value for each option of the link, and run what-if once for each link"));
    };
    if link.cell.is_some() {
        arguments.network.refuse_timers_of_a_cell()?;
    }
    let schedule = |messages| Schedule {
        messages,
        // A life begins with its first reading: nothing is sent before it.
        warm_up: false,
        keep_alive: None,
        interval: Some(today.every),
    };
    let kept = today.per_connection();
    let mut schedules = vec![schedule(1)];
    if kept > 1 {
        // A capture of weeks on one connection would be simulated for hours: what a reading costs changes little beyond a day.
        schedules.push(schedule(kept.min(MOST_READINGS)));
    }
    let sizes = today.sizes.iter();
    let mut handshake = Handshake::default();
    arguments.handshake.set(&mut handshake)?;
    let options = Options {
        engine: Engine::Sim,
        handshake,
        contents: Contents::Sizes(sizes.map(|(size, _)| ByteSize::from_bytes(*size)).collect()),
        links: vec![*link],
        samples: match link.up.loss.rate() + link.down.loss.rate() > 0.0 {
            true => DEVICES_UNDER_LOSS,
            false => 1,
        },
        seed: arguments.seed,
        keep_alive: keep_alive_seconds(arguments.keep_alive)?,
        schedules,
        ..Options::new(arguments.stacks.clone())
    };
    choose::valid(&options)?;
    Ok(options)
}
