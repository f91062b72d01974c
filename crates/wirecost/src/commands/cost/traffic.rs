//! What is priced: the devices of a capture, or the cells of a comparison.

use std::time::Duration;

use wirecost_account::{Packets, Traffic, life};
use wirecost_energy::Device;
use wirecost_results::ladder::Ladder;
use wirecost_results::summary::Summary;
use wirecost_results::traffic::CellTraffic;
use wirecost_results::{Cell, RunFolder};
use wirecost_scenario::options::compare::{Engine, Options};
use wirecost_scenario::options::life::Asked;

use super::lives::Within;
use super::table::time;
use super::{capture, cells as nbiot_cells, lives, loads};
use crate::arguments::CostArguments;
use crate::commands::{captures, keep_alive_seconds};
use crate::exit::Failure;

/// The interval between the readings of a results folder whose run has none.
const INTERVAL: Duration = Duration::from_secs(15 * 60);

/// The packets of a row in time.
#[derive(Debug)]
pub struct Lived {
    /// The index of the row whose packets these are.
    pub row: usize,
    /// The packets of one of its devices, of which a curve is drawn.
    pub packets: Packets,
    /// The time between two readings.
    pub interval: Duration,
    /// How often the packets are repeated.
    pub every: Duration,
}

/// A capture or a results folder.
#[derive(Debug, Default)]
pub struct Source {
    /// What is in it.
    pub traffic: Vec<Traffic>,
    /// What to know about the figures.
    pub notes: Vec<String>,
    /// That most of the capture could not be read.
    pub unread: Option<Failure>,
    /// Whether a message of a comparison carries several readings, of which there is then one message at each interval.
    pub has_batches: bool,
    /// Why the capture could not be read to its end.
    pub fault: Option<String>,
    /// The first row whose packets are known in time, which can be drawn.
    pub lived: Option<Lived>,
}

impl Source {
    /// Reads what the command line names.
    pub fn read(arguments: &CostArguments, device: Option<&Device>) -> Result<Self, Failure> {
        let source = if arguments.source.is_dir() {
            refuse_capture_options(arguments)?;
            cells(arguments, device)?
        } else {
            refuse_sessions(arguments, OTHER_SOURCE)?;
            capture::read(arguments, device)?
        };
        source.with_rows(arguments)
    }

    /// Refuses a source without a row.
    ///
    /// # Errors
    /// It has none.
    pub fn with_rows(self, arguments: &CostArguments) -> Result<Self, Failure> {
        if !self.traffic.is_empty() {
            return Ok(self);
        }
        let shown = arguments.source.display();
        Err(
            Failure::usage(format!("{shown} has no packets of a device")).with_hint(
                "give a capture with TCP or UDP packets, or the folder of a comparison whose cells were run",
            ),
        )
    }

    /// Adds the lives of a run's devices at the interval that is asked for, simulated.
    ///
    /// # Errors
    /// They are outside the bounds, or cannot be simulated.
    pub fn lived_again(
        &mut self,
        arguments: &CostArguments,
        run: &Options,
        device: Option<&Device>,
        within: &Within<'_>,
    ) -> Result<(), Failure> {
        let of_run = run.schedules.iter().find_map(|schedule| schedule.interval);
        let asked = Asked {
            interval: arguments.interval.or(of_run).unwrap_or(INTERVAL),
            keep_alive: arguments.keep_alive.map(keep_alive_seconds).transpose()?,
            translator: arguments.translator,
            session: arguments.session_lifetime,
        };
        lives::simulated(run, &asked, device, self, within)?;
        self.notes.push(simulated_note(arguments, run, &asked));
        session_note(arguments, self);
        Ok(())
    }

    /// Adds a row of which `packets` gives those of one device in time.
    pub fn add(&mut self, traffic: Traffic, packets: impl FnOnce() -> Option<Packets>) {
        if self.lived.is_none() {
            let every = traffic.cycles.first().map_or(0.0, |cycle| cycle.every);
            self.lived = packets().map(|packets| Lived {
                row: self.traffic.len(),
                packets,
                interval: Duration::try_from_secs_f64(traffic.interval).unwrap_or(Duration::MAX),
                every: Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX),
            });
        }
        self.traffic.push(traffic);
    }

    /// Adds a row of a comparison. The packets of a modelled NB-IoT cell are not what its devices' energy comes from.
    pub fn add_cell(&mut self, traffic: Traffic, cell: &Cell, seen: &CellTraffic) {
        let is_drawn = cell.link.nbiot_cell.is_none();
        self.add(traffic, || is_drawn.then(|| Packets::of_cell(seen)).flatten());
    }
}

/// Why the connections of captures, loads and reports in cells are as they are.
const OTHER_SOURCE: &str = "only the lives of a comparison can be simulated again";

/// Refuses the options of connections that are made again, where they would change nothing.
fn refuse_sessions(arguments: &CostArguments, why: &str) -> Result<(), Failure> {
    let given = [
        arguments.session_lifetime.map(|_| "--session-lifetime"),
        arguments.translator.flag(),
        arguments.keep_alive.map(|_| "--keep-alive"),
    ];
    given.into_iter().flatten().next().map_or(Ok(()), |flag| {
        Err(Failure::usage(format!(
            "{flag} has no effect on {}: {why}",
            arguments.source.display()
        ))
        .with_hint("give the folder of a comparison"))
    })
}

/// Refuses the options of captures beside a results folder, where they would change nothing.
fn refuse_capture_options(arguments: &CostArguments) -> Result<(), Failure> {
    let given = [
        arguments.client.map(|_| "--client"),
        arguments.keylog.as_ref().map(|_| "--keylog"),
    ];
    let shown = arguments.source.display();
    given.into_iter().flatten().next().map_or(Ok(()), |flag| {
        Err(
            Failure::usage(format!("{flag} has no effect on {shown}: it is about a capture")).with_hint(
                format!(
                    "give its capture instead, e.g. {}",
                    captures::in_folder(&arguments.source).display()
                ),
            ),
        )
    })
}

fn cells(arguments: &CostArguments, device: Option<&Device>) -> Result<Source, Failure> {
    let folder = RunFolder::open(&arguments.source);
    // Before summary.json is read: it has another form in the folder of loads and in that of a radio network.
    if wirecost_report::load::is_load(&folder) {
        refuse_sessions(arguments, OTHER_SOURCE)?;
        return loads::read(arguments, &folder, device);
    }
    if wirecost_results::nbiot::is_nbiot(&folder) {
        refuse_sessions(arguments, OTHER_SOURCE)?;
        return nbiot_cells::read(arguments, &folder, device);
    }
    let summary: Summary = folder.read_json("summary.json")?;
    let ladders: Vec<Ladder> = folder.read_json("ladder.json")?;
    let seen = ladders.iter().enumerate().filter_map(|(position, ladder)| {
        // Ladders of older folders name no cell: they stand in the order of the cells.
        let index = ladder.cell.map_or(position, |cell| cell as usize);
        let cell = summary.cells.get(index)?;
        cell.message.is_some().then_some((cell, ladder))
    });
    let seen: Vec<(&Cell, &Ladder)> = seen.collect();
    let mut source = Source::default();
    let mut readings = seen.iter().filter_map(|(cell, _)| cell.readings.as_ref());
    source.has_batches = readings.any(|readings| readings.count > 1);
    if seen.is_empty() {
        return Ok(source);
    }
    let has_cell = lives::options_of(&folder).is_ok_and(|run| run.has_cell());
    if has_cell {
        // The times in each state come from the cell, which has run with timers of its own: others would change nothing.
        arguments.network.refuse_timers_of_a_cell()?;
    }
    if is_as_run(arguments, &seen) {
        as_run(&folder, &seen, device, &mut source)?;
    } else {
        source.lived_again(arguments, &lives::options_of(&folder)?, device, &Within::NONE)?;
    }
    if device.is_some() && has_cell {
        source.notes.push(lives::TIMES_OF_CELL.to_owned());
    }
    Ok(source)
}

/// Whether the run has recorded what is asked for: its cells have an interval, and nothing else is asked for.
fn is_as_run(arguments: &CostArguments, cells: &[(&Cell, &Ladder)]) -> bool {
    let asked = arguments.interval.map(|interval| interval.as_nanos() as u64);
    let is_changed = arguments.keep_alive.is_some()
        || arguments.translator.flag().is_some()
        || arguments.session_lifetime.is_some();
    let is_asked = |own: u64| asked.is_none_or(|asked| asked == own);
    !is_changed
        && cells
            .iter()
            .all(|(cell, _)| cell.interval_ns.is_some_and(is_asked))
}

/// The lives that the run has recorded.
fn as_run(
    folder: &RunFolder,
    cells: &[(&Cell, &Ladder)],
    device: Option<&Device>,
    source: &mut Source,
) -> Result<(), Failure> {
    for (cell, _) in cells {
        let label = label(cell);
        let Some(recorded) = lives::recorded(folder, cell) else {
            source.notes.push(format!(
                "{label} is left out: the folder has no packets of its devices"
            ));
            continue;
        };
        let lives = lives::cycles(&recorded, cell, device)?;
        source.add_cell(life::of_mean_device(label, cell, &lives, device), cell, &recorded);
    }
    Ok(())
}

/// What is simulated, and by which settings.
fn simulated_note(arguments: &CostArguments, run: &Options, asked: &Asked) -> String {
    let keep_alive = asked.keep_alive.unwrap_or(run.keep_alive);
    let default = if arguments.interval.is_none() && asked.interval == INTERVAL {
        " (--interval sets another)"
    } else {
        ""
    };
    let beside = match (run.engine, run.target.is_builtin()) {
        (Engine::Sim, _) => "",
        (Engine::Auto | Engine::Live, true) => ", not measured: the live run has no life at this interval",
        (Engine::Auto | Engine::Live, false) => {
            ", not measured, and with wirecost's own server: the live run has no life at this interval"
        }
    };
    format!(
        "simulated{beside}: a reading every {}{default}, keep-alives of MQTT every {}, {} of each row",
        time(asked.interval),
        time(Duration::from_secs(keep_alive.into())),
        wirecost_proto::units::counted(run.lives(asked).samples.into(), "device")
    )
}

/// Says what sessions that end do to the rows.
fn session_note(arguments: &CostArguments, source: &mut Source) {
    let Some(lifetime) = arguments.session_lifetime else {
        return;
    };
    let is_renewed = source.traffic.iter().any(|traffic| traffic.way.is_renewed());
    source.notes.push(match is_renewed {
        true => format!(
            "renewed: a session ends after {}, and a full handshake follows",
            time(lifetime)
        ),
        false => {
            "--session-lifetime changes nothing: no row keeps or resumes a session for longer".to_owned()
        }
    });
}

/// The name of a cell's rows.
pub fn label(cell: &Cell) -> String {
    let link = wirecost_report::link_words(&cell.link);
    let readings = cell.readings.as_ref().map(|readings| format!("{readings}: "));
    format!(
        "{} {} {}{}B, {link}, {}",
        cell.stack,
        cell.start,
        readings.unwrap_or_default(),
        cell.payload_bytes,
        cell.engine
    )
}
