//! The lives of a comparison's devices: those that the run recorded, or the same simulated at the interval that is asked for.

use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::Duration;

use wirecost_account::life::NoLife;
use wirecost_account::{Cycle, Traffic, Way, life};
use wirecost_energy::Device;
use wirecost_lab::compare::simulated::{CellResult, simulate};
use wirecost_results::traffic::CellTraffic;
use wirecost_results::{Cell, CellFile, RunFolder};
use wirecost_scenario::load::ScenarioInputs;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::life::Asked;
use wirecost_scenario::plan::{Plan, PlannedCell};
use wirecost_scenario::{Edits, Scenario, Work};
use wirecost_security::Start;

use super::traffic::{Source, label};
use crate::commands::link_flags;
use crate::exit::Failure;

/// Where the energy of a device in a modelled cell comes from.
pub const TIMES_OF_CELL: &str = "the times in each state are those of the cell; the tails, the wake-up, the processor and the radio of \
    the device file are not used; link is all time in a connection, whose layers and causes are not told apart";

/// The devices' traffic of a cell, if its file has it.
pub fn recorded(folder: &RunFolder, cell: &Cell) -> Option<CellTraffic> {
    CellFile::read(folder, &cell.key).ok()?.traffic
}

/// The life of each device, from one connect to the next.
pub fn cycles(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Result<Vec<Cycle>, Failure> {
    life::lives(traffic, cell, device).map_err(|why| match why {
        NoLife::UnknownNames => unknown_names(&cell.stack),
        NoLife::NoTimesOnAir | NoLife::UnknownCell(_) => {
            Failure::usage(format!("{}: {why}", cell.stack)).with_hint("run it again with this version")
        }
    })
}

/// The failure of packets that another version has written.
pub fn unknown_names(stack: &str) -> Failure {
    Failure::usage(format!(
        "the packets of {stack} have names that this version does not know"
    ))
    .with_hint("run it again with this version")
}

/// What the run of a folder was asked to do.
pub fn options_of(folder: &RunFolder) -> Result<Options, Failure> {
    let text = folder
        .read_text("scenario.resolved.yaml")
        .map_err(|error| unreadable(folder.path(), &error))?;
    options_in(&text, folder.path())
}

/// What a resolved scenario says; `shown` is the folder or the file that has it.
pub fn options_in(text: &str, shown: &Path) -> Result<Options, Failure> {
    // A resolved scenario has the content of its files in it: it names none that could be absent here.
    let scenario = Scenario::read(text, Edits::default(), ScenarioInputs::NONE);
    match scenario.map_err(|error| unreadable(shown, &error))?.work {
        Work::Comparison(options) => Ok(*options),
        Work::Loads(_) | Work::Nbiot(_) | Work::Program(_) => {
            Err(unreadable(shown, &"it is not that of a comparison"))
        }
    }
}

fn unreadable(shown: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: its scenario cannot be read: {why}", shown.display()))
        .with_hint("run the comparison again with this version, then price its folder")
}

/// Within which bounds lives are simulated.
pub struct Within<'a> {
    /// Refuses lives that are too many or too long, before they are simulated.
    pub check: &'a dyn Fn(&Options, &Plan) -> Result<(), Failure>,
    /// Whether to end before all are simulated.
    pub stop: &'a dyn Fn() -> bool,
}

impl Within<'_> {
    /// No bounds: those of the command line.
    pub const NONE: Within<'static> = Within {
        check: &|_, _| Ok(()),
        stop: &|| false,
    };
}

impl std::fmt::Debug for Within<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Within").finish_non_exhaustive()
    }
}

/// Simulates the lives of a run's devices, and adds a row for each way to use a connection.
///
/// # Errors
/// They are outside the bounds, or cannot be simulated.
pub fn simulated(
    run: &Options,
    asked: &Asked,
    device: Option<&Device>,
    source: &mut Source,
    within: &Within<'_>,
) -> Result<(), Failure> {
    let options = run.lives(asked);
    // The NAT of the question may be another one than that of the run, and has to be one that the links of the run can have.
    let translated = asked.translator.check(&options.links);
    translated.map_err(link_flags::refused)?;
    options
        .validate()
        .map_err(|refusal| crate::arguments::of_flags("cost", &refusal))?;
    let plan = Plan::new(&options);
    (within.check)(&options, &plan)?;
    let cells = played(&options, &plan, within.stop)?;
    let lives = Lives {
        asked,
        device,
        plan: &plan,
        cells: &cells,
    };
    for (planned, result) in plan.cells.iter().zip(&cells) {
        // The plan also has cold lives as twins of resumed ones, which nobody asked to see as rows.
        let is_asked = run.starts.contains(&planned.start);
        if is_asked && planned.schedule.messages == 1 {
            lives.rows(planned, result, source)?;
        }
    }
    Ok(())
}

/// Every cell of a plan, in its order.
fn played(options: &Options, plan: &Plan, stop: &dyn Fn() -> bool) -> Result<Vec<CellResult>, Failure> {
    let indices: Vec<usize> = (0..plan.cells.len()).collect();
    let jobs = available_parallelism().map_or(1, NonZero::get);
    let mut results = Vec::new();
    let mut take = |result| results.push(result);
    simulate(options, plan, &indices, jobs, &mut take, stop)
        .map_err(|error| Failure::internal(format_args!("a life cannot be simulated: {error}")))?;
    // A plan without all of its cells would have rows of other ways.
    match results.len() == indices.len() {
        true => Ok(results),
        false => Err(
            Failure::usage("the lives of these devices take too long to simulate")
                .with_hint("ask wirecost cost on the command line, which has no such limit"),
        ),
    }
}

/// Simulated lives.
struct Lives<'a> {
    asked: &'a Asked,
    device: Option<&'a Device>,
    plan: &'a Plan,
    /// In the order of the plan.
    cells: &'a [CellResult],
}

impl Lives<'_> {
    /// Adds the rows of a cell with one reading on a connection: its own, and that of a connection that is kept. Without a
    /// connection both are the same, and that with more readings stands.
    fn rows(&self, planned: &PlannedCell, result: &CellResult, source: &mut Source) -> Result<(), Failure> {
        let kept = self.twin(planned, |other| {
            other.start == planned.start && other.schedule.messages > 1
        });
        let (each, kept) = match kept {
            Some((_, kept)) if kept.cell.message.is_some() && kept.cell.connect.is_none() => {
                (None, Some(kept))
            }
            kept => (Some(result), kept.map(|(_, kept)| kept)),
        };
        for result in [each, kept].into_iter().flatten() {
            match self.traffic(planned, result)? {
                Ok((traffic, seen)) => source.add_cell(traffic, &result.cell, seen),
                Err(why) => source
                    .notes
                    .push(format!("{} {} is left out: {why}", planned.stack, planned.start)),
            }
        }
        Ok(())
    }

    /// The first other cell of the same stack, content and link that `is` selects.
    fn twin(
        &self,
        planned: &PlannedCell,
        is: impl Fn(&PlannedCell) -> bool,
    ) -> Option<(&PlannedCell, &CellResult)> {
        let is_twin = |(other, _): &(&PlannedCell, &CellResult)| {
            (other.stack, other.content, other.link) == (planned.stack, planned.content, planned.link)
                && is(other)
        };
        self.plan.cells.iter().zip(self.cells).find(is_twin)
    }

    /// The traffic of the mean device of a cell and the packets of its devices, or why there is none.
    fn traffic<'r>(
        &self,
        planned: &PlannedCell,
        result: &'r CellResult,
    ) -> Result<Result<(Traffic, &'r CellTraffic), String>, Failure> {
        let cell = &result.cell;
        let Some(seen) = &result.traffic else {
            let why = cell.not_run.clone();
            return Ok(Err(
                why.unwrap_or_else(|| "no device finished its life".to_owned())
            ));
        };
        let lives = cycles(seen, cell, self.device)?;
        let mut traffic = life::of_mean_device(label(cell), cell, &lives, self.device);
        if let Some(session) = self.asked.session.filter(|_| cell.connect.is_some()) {
            self.end_sessions(planned, session, &mut traffic)?;
        }
        Ok(Ok((traffic, seen)))
    }

    /// Makes sessions end: a cold connection that is kept ends with its session, so that its life is as it is. Of lives that
    /// resume a session, one of each session has a full handshake, as a cold one has.
    fn end_sessions(
        &self,
        planned: &PlannedCell,
        session: Duration,
        traffic: &mut Traffic,
    ) -> Result<(), Failure> {
        let is_cold = !planned.start.needs_earlier();
        let longest = Duration::from_secs_f64(traffic.cycles.first().map_or(0.0, |cycle| cycle.every));
        match traffic.way {
            // It ends for the day anyway.
            Way::Kept { .. } if is_cold && session >= longest + self.asked.interval => return Ok(()),
            Way::Each { .. } if is_cold => return Ok(()),
            Way::Kept { .. } if is_cold => {}
            _ => {
                let readings = match traffic.way {
                    Way::Kept { readings, .. } => readings,
                    _ => 1,
                };
                let full = self.twin(planned, |other| {
                    other.start == Start::Cold && other.schedule.messages == readings
                });
                // Without a cold life there is no full handshake to mix in, and its price is not invented.
                let Some((_, full)) = full else { return Ok(()) };
                let Some(seen) = &full.traffic else { return Ok(()) };
                let lives = cycles(seen, &full.cell, self.device)?;
                let full = Cycle::mean(&lives, lives.len());
                // The percentile depends on how many readings have a full handshake, and the two kinds were not simulated together.
                traffic.time = None;
                traffic.cycles = traffic
                    .cycles
                    .drain(..)
                    .flat_map(|usual| mixed(usual, full.clone(), session))
                    .collect();
            }
        }
        traffic.way = traffic.way.renewed();
        Ok(())
    }
}

/// Lives of which one per session has a full handshake; all of them, where a session is shorter than a life.
fn mixed(usual: Cycle, full: Cycle, session: Duration) -> Vec<Cycle> {
    let period = session.as_secs_f64().max(full.every);
    let rate = 1.0 / usual.every - 1.0 / period;
    let full = Cycle {
        every: period,
        ..full
    };
    if rate <= 0.0 {
        return vec![full];
    }
    let usual = Cycle {
        every: 1.0 / rate,
        ..usual
    };
    vec![usual, full]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(seconds: f64) -> Cycle {
        Cycle {
            account: None,
            usage: wirecost_cost::Usage::default(),
            readings: 1.0,
            every: seconds,
        }
    }

    #[test]
    fn one_life_of_each_session_has_the_full_handshake() {
        let cycles = mixed(every(60.0), every(60.0), Duration::from_secs(600));
        let rates: Vec<f64> = cycles.iter().map(|cycle| 1.0 / cycle.every).collect();
        assert!((rates[0] * 600.0 - 9.0).abs() < 1e-9 && (rates[1] * 600.0 - 1.0).abs() < 1e-9);
        let short = mixed(every(60.0), every(60.0), Duration::from_secs(10));
        assert_eq!(short.iter().map(|cycle| cycle.every).collect::<Vec<_>>(), [60.0]);
    }
}
