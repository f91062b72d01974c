//! Settings of a network under which published or measured points come out: a designed sample of its free parameters, in each of which
//! one parameter is solved for the first point.
//!
//! The sample is a Latin hypercube (McKay, Beckman and Conover, Technometrics 21, 1979): each parameter has one value in each of as many
//! equal parts of its range as there are settings, so that few settings cover each range.

mod parts;
mod statements;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Serialize, Serializer};
use wirecost_nbiot::Config;
use wirecost_proto::Rng;
use wirecost_proto::random::key_of;
use wirecost_scenario::error::ScenarioError;
use wirecost_scenario::fit::{
    Demand, FitFigure, FitMeasure, FitPoint, FitStatement, FreeParameter, FreeParameters,
};
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::parameter;

use super::grids::GridsError;
use super::{Grid, NbiotError, Options};
use crate::compare::simulated::side_by_side;
pub use statements::{StatementInFits, statements_in};

/// Halvings of the range of the solved parameter: 1/128 of it is left.
const HALVINGS: usize = 7;
/// A solution is good enough where the point is met this well, as a share of its tolerance.
const SOLVED: f64 = 0.5;

/// Why no setting can be measured.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// A value of the free parameters.
    #[error(transparent)]
    Free(#[from] ScenarioError),
    /// A parameter is solved, and no point has a value to solve it for.
    #[error("{0} is solved, and no point of --fit has =")]
    NothingToSolve(&'static str),
    /// A stack cannot send the report of a point.
    #[error("no run can decide {text}: {stack}: {reason}")]
    NotRun {
        /// The point or statement.
        text: String,
        /// The stack.
        stack: String,
        /// Why it is not run.
        reason: String,
    },
    /// A setting that was measured before is none of this fit.
    #[error("a setting that was measured before is none of this fit: {0}")]
    OtherFit(String),
    /// A run cannot be made.
    #[error(transparent)]
    Grids(#[from] GridsError),
}

impl FitError {
    const fn is_stopped(&self) -> bool {
        matches!(self, Self::Grids(GridsError::Grid(NbiotError::Stopped)))
    }
}

impl From<NbiotError> for FitError {
    fn from(error: NbiotError) -> Self {
        Self::Grids(error.into())
    }
}

/// What is fitted.
pub struct Fit<'a> {
    /// The points; the first one with a value is the one that is solved for.
    pub points: &'a [FitPoint],
    /// The free parameters.
    pub free: &'a FreeParameters,
    /// How a point is run: network, seeds, duration.
    pub asked: &'a NbiotOptions,
    /// What is measured in the settings that meet the points, and asked of none.
    pub statements: &'a [FitStatement],
    /// The number of settings, of which a shard in `asked` tries a part.
    pub settings: usize,
    /// Settings of it that were measured before, which are not measured again.
    pub known: &'a [TriedSetting],
    /// Whether runs end early.
    pub stopped: AtomicBool,
}

/// A setting with what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedSetting {
    /// The values of the free parameters by their paths.
    pub values: BTreeMap<&'static str, String>,
    /// What each point has: a share or seconds, `"never"` where no report arrived, `null` where it was not run, because an earlier
    /// one is not met.
    #[serde(serialize_with = "measured")]
    pub measured: Vec<Option<f64>>,
    /// How far the worst point is from what is demanded: at most 1 where all are met; `null` where one was not run.
    pub miss: Option<f64>,
    /// Whether each statement holds; `null` where it was not run, because a point is not met.
    pub holds: Vec<Option<bool>>,
}

/// Figures of points; one without end is a word, because JSON has no such number.
fn measured<S: Serializer>(all: &[Option<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Cell {
        Number(f64),
        Word(&'static str),
        NotRun,
    }
    let cell = |one: &Option<f64>| match one {
        Some(number) if number.is_finite() => Cell::Number(*number),
        Some(_) => Cell::Word("never"),
        None => Cell::NotRun,
    };
    serializer.collect_seq(all.iter().map(cell))
}

impl TriedSetting {
    fn new(
        values: BTreeMap<&'static str, String>,
        measured: Vec<Option<f64>>,
        holds: Vec<Option<bool>>,
        points: &[FitPoint],
    ) -> Self {
        let each = points.iter().zip(&measured);
        let misses = each.map(|(point, found)| found.map(|found| point.miss(found)));
        // A setting that was given up before all points has no miss: one point less would make it look nearer.
        let misses = misses.collect::<Option<Vec<f64>>>();
        Self {
            // The worst point: a mean would let one that is far off hide behind the others.
            miss: misses.map(|misses| misses.into_iter().fold(0.0, f64::max)),
            values,
            measured,
            holds,
        }
    }

    /// Whether all points are met.
    pub fn is_met(&self) -> bool {
        self.miss.is_some_and(|miss| miss <= 1.0)
    }

    /// The first points are compared, so that of settings that all fail the nearest one is found.
    fn distance(&self, points: &[FitPoint]) -> (usize, f64) {
        let missing = self.measured.iter().filter(|measured| measured.is_none()).count();
        let each = points.iter().zip(&self.measured);
        let misses = each.filter_map(|(point, measured)| measured.map(|measured| point.miss(measured)));
        (missing, misses.fold(0.0, f64::max))
    }
}

/// The nearest of some settings.
pub fn nearest<'a>(settings: &'a [TriedSetting], points: &[FitPoint]) -> Option<&'a TriedSetting> {
    let by_distance = |one: &&TriedSetting, other: &&TriedSetting| {
        let [one, other] = [one, other].map(|setting| setting.distance(points));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    };
    settings.iter().min_by(by_distance)
}

/// What one parameter does in a setting: the points with its value of the given network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    /// The parameter.
    pub path: &'static str,
    /// Its value in the setting.
    pub value: String,
    /// Its value in the given network.
    pub instead: String,
    /// What each point has with it, as in a setting.
    #[serde(serialize_with = "measured")]
    pub measured: Vec<Option<f64>>,
}

/// A network with other values of some parameters.
fn with_values(
    config: &Config,
    values: &BTreeMap<&'static str, String>,
) -> Result<Config, parameter::ParameterError> {
    let mut config = config.clone();
    for (path, value) in values {
        config = parameter::set(&config, path, value)?;
    }
    config.validate()?;
    Ok(config)
}

impl Fit<'_> {
    /// The values of every setting, without the solved parameter.
    ///
    /// # Errors
    /// A network cannot be with the values of a setting.
    pub fn sample(&self) -> Result<Vec<BTreeMap<&'static str, String>>, FitError> {
        let mut settings = vec![BTreeMap::new(); self.settings];
        for parameter in &self.free.free {
            // A stream for each parameter, so that one more leaves the others as they are.
            let mut rng = Rng::new(self.asked.seed).purpose(key_of(parameter.path));
            let mut parts: Vec<usize> = (0..self.settings).collect();
            rng.shuffle(&mut parts);
            for (setting, part) in settings.iter_mut().zip(parts) {
                let place = (part as f64 + rng.next_f64()) / self.settings as f64;
                setting.insert(parameter.path, parameter.at(place));
            }
        }
        for values in &settings {
            for values in self.with_solved(values) {
                with_values(&self.asked.network, &values)
                    .map_err(|error| self.at_its_line(&error, &values))?;
            }
        }
        Ok(settings)
    }

    /// A setting with both ends of the solved parameter; as it is where none is solved.
    fn with_solved(&self, values: &BTreeMap<&'static str, String>) -> Vec<BTreeMap<&'static str, String>> {
        let Some(solved) = &self.free.solved else {
            return vec![values.clone()];
        };
        let with = |place: f64| {
            let mut values = values.clone();
            values.insert(solved.path, solved.at(place));
            values
        };
        [0.0, 1.0].map(with).to_vec()
    }

    /// Refuses a point or statement whose stack cannot send its report.
    fn check_stacks(&self) -> Result<(), FitError> {
        let points = self.points.iter().map(|point| (point.of, &point.text));
        let statements = self.statements.iter().flat_map(|one| {
            let of = statements::measures_of(one);
            of.into_iter().map(move |of| (of, &one.text))
        });
        for (of, text) in points.chain(statements) {
            let grid = self.grid(of, self.asked.network.clone())?;
            if let Some(why) = grid.not_run().first() {
                return Err(FitError::NotRun {
                    text: text.clone(),
                    stack: why.stack.clone(),
                    reason: why.reason.clone(),
                });
            }
        }
        Ok(())
    }

    /// The error of a setting at the line of the parameter that it names.
    fn at_its_line(
        &self,
        error: &parameter::ParameterError,
        values: &BTreeMap<&'static str, String>,
    ) -> ScenarioError {
        let all = self.free.free.iter().chain(&self.free.solved);
        let text = error.to_string();
        // The network's check names its parameters by path, and knows no lines.
        let named = all.filter(|one| text.contains(one.path)).collect::<Vec<_>>();
        let place = named.first().map(|one| one.place.clone()).unwrap_or_default();
        let given: Vec<String> = named
            .iter()
            .filter_map(|one| Some(format!("{}={}", one.path, values.get(one.path)?)))
            .collect();
        ScenarioError::new(
            &place,
            format!(
                "the ranges meet in a network that cannot be ({}): {text}",
                given.join(", ")
            ),
        )
        .with_hint("give ranges whose values are possible together")
    }

    /// Measures every setting on `jobs` threads; where `stop` says so, those that were measured until then. They come in their order,
    /// with those that were known.
    ///
    /// # Errors
    /// A setting cannot be, a stack cannot send a report, or a run failed.
    pub fn measure(
        &self,
        jobs: usize,
        on_setting: &mut dyn FnMut(usize),
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<TriedSetting>, FitError> {
        let solved_for = match &self.free.solved {
            None => None,
            Some(one) => {
                let is_near = |point: &FitPoint| matches!(point.demand, Demand::Near(_));
                let point = self
                    .points
                    .iter()
                    .position(is_near)
                    .ok_or(FitError::NothingToSolve(one.path))?;
                Some((one, point))
            }
        };
        self.check_stacks()?;
        let sample = self.sample()?;
        let mut settings = self.known_of(&sample)?;
        let mut wanted = self.indices();
        // Settings of an earlier part are known: a fit that is continued measures only the rest.
        wanted.retain(|index| !settings.contains_key(index));
        on_setting(settings.len());
        let run = |index: usize| {
            let setting = unless_stopped(self.setting(sample[index].clone(), solved_for))?;
            Ok::<_, FitError>(setting.map(|setting| (index, setting)))
        };
        let mut note = |setting: Option<(usize, TriedSetting)>| {
            settings.extend(setting);
            on_setting(settings.len());
        };
        side_by_side(&wanted, jobs, &run, &mut note, &|| self.is_stopped_by(stop))?;
        Ok(settings.into_values().collect())
    }

    /// Tells running points that they end early, once `stop` says so.
    fn is_stopped_by(&self, stop: &dyn Fn() -> bool) -> bool {
        self.stopped.fetch_or(stop(), Ordering::Relaxed);
        self.stopped.load(Ordering::Relaxed)
    }

    /// A setting with its points, the solved one first; the others only while those before are met.
    fn setting(
        &self,
        mut values: BTreeMap<&'static str, String>,
        solved_for: Option<(&FreeParameter, usize)>,
    ) -> Result<TriedSetting, FitError> {
        let mut measured = vec![None; self.points.len()];
        let mut is_open = true;
        if let Some((parameter, point)) = solved_for {
            let (value, found) = self.solve(&values, parameter, &self.points[point])?;
            values.insert(parameter.path, value);
            measured[point] = Some(found);
            // A setting that misses one point is no solution: measuring its other points would cost minutes for nothing.
            is_open = self.points[point].miss(found) <= 1.0;
        }
        for (index, point) in self.points.iter().enumerate() {
            if is_open && measured[index].is_none() {
                let found = self.point(point, &values)?;
                measured[index] = Some(found);
                is_open = point.miss(found) <= 1.0;
            }
        }
        let holds = vec![None; self.statements.len()];
        let mut setting = TriedSetting::new(values, measured, holds, self.points);
        // Statements are about networks that meet the points; elsewhere they would say nothing.
        if setting.is_met() && !self.statements.is_empty() {
            setting.holds = self.judged(&setting)?;
        }
        Ok(setting)
    }

    /// The value of a parameter at which a point is met, by halving its range; of one that never is, the end that is nearer.
    fn solve(
        &self,
        values: &BTreeMap<&'static str, String>,
        parameter: &FreeParameter,
        point: &FitPoint,
    ) -> Result<(String, f64), FitError> {
        let at = |place: f64| -> Result<(f64, String, f64), FitError> {
            let value = parameter.at(place);
            let mut values = values.clone();
            values.insert(parameter.path, value.clone());
            Ok((place, value, self.point(point, &values)?))
        };
        let [mut low, mut high] = [at(0.0)?, at(1.0)?];
        let side = |end: &(f64, String, f64)| end.2 > point.value;
        let better = |one: (f64, String, f64), other: (f64, String, f64)| match point.miss(one.2)
            <= point.miss(other.2)
        {
            true => one,
            false => other,
        };
        let mut best = better(low.clone(), high.clone());
        for _ in 0..HALVINGS {
            // Both ends on one side: the value is not within the range, and halving would only find an end again.
            if side(&low) == side(&high) || point.miss(best.2) <= SOLVED {
                break;
            }
            let middle = at(f64::midpoint(low.0, high.0))?;
            best = better(middle.clone(), best);
            match side(&middle) == side(&low) {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok((best.1, best.2))
    }

    /// What a point has in the given network with these values.
    fn point(&self, point: &FitPoint, values: &BTreeMap<&'static str, String>) -> Result<f64, FitError> {
        let config =
            with_values(&self.asked.network, values).map_err(|error| self.at_its_line(&error, values))?;
        self.in_network(point.of, config)
    }

    /// The grid of one point.
    fn grid(&self, of: FitMeasure, network: Config) -> Result<Grid, FitError> {
        let options = Options {
            stacks: vec![of.stack],
            sizes: vec![of.size],
            loads: vec![of.load],
            what_ifs: Vec::new(),
            varied: Vec::new(),
            network,
            shard: None,
            ..self.asked.clone()
        };
        Ok(Grid::new(&options)?)
    }

    fn in_network(&self, of: FitMeasure, network: Config) -> Result<f64, FitError> {
        let grid = self.grid(of, network)?;
        let runs: Vec<usize> = (0..grid.len()).collect();
        let mut finished = Vec::new();
        let stop = || self.stopped.load(Ordering::Relaxed);
        grid.play(&runs, 1, &mut |run| finished.push(run), &stop)?;
        if finished.len() < runs.len() {
            return Err(NbiotError::Stopped.into());
        }
        let summary = grid.summary(&finished);
        let found = summary.points.first();
        let value = found.and_then(|found| match of.figure {
            FitFigure::Served => Some(found.served.mean),
            FitFigure::DelayP50 => found.delay_p50_s,
            FitFigure::DelayP95 => found.delay_p95_s,
        });
        // Without a report that arrived, a delay has no end.
        Ok(parts::kept(value.unwrap_or(f64::INFINITY)))
    }

    /// What the points have in a setting where one parameter after the other has its value of the given network; where `stop` says
    /// so, what was measured until then.
    ///
    /// # Errors
    /// A run failed.
    pub fn ablations(
        &self,
        setting: &TriedSetting,
        jobs: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Ablation>, FitError> {
        let tree = parameter::tree_of(&self.asked.network);
        let given = |path: &str| {
            let value = tree.pointer(&format!("/{}", path.replace('.', "/")));
            value.map_or_else(String::new, |value| {
                value.to_string().trim_matches('"').to_owned()
            })
        };
        let changed: Vec<(&'static str, String, String)> = setting
            .values
            .iter()
            .map(|(path, value)| (*path, value.clone(), given(path)))
            .filter(|(_, value, instead)| parameter::plain(value) != parameter::plain(instead))
            .collect();
        let indices: Vec<usize> = (0..changed.len()).collect();
        let mut all = Vec::new();
        let run = |index: usize| -> Result<Option<Ablation>, FitError> {
            let (path, value, instead) = changed[index].clone();
            let mut values = setting.values.clone();
            values.insert(path, instead.clone());
            // A network that cannot be without this value has no ablation of it.
            let Ok(config) = with_values(&self.asked.network, &values) else {
                return Ok(None);
            };
            let each = self.points.iter();
            let measured = each.map(|point| Ok(Some(self.in_network(point.of, config.clone())?)));
            let measured = unless_stopped(measured.collect::<Result<Vec<Option<f64>>, FitError>>())?;
            Ok(measured.map(|measured| Ablation {
                path,
                value,
                instead: parameter::plain(&instead),
                measured,
            }))
        };
        let stop = || self.is_stopped_by(stop);
        side_by_side(&indices, jobs, &run, &mut |one| all.extend(one), &stop)?;
        Ok(all)
    }
}

/// What was measured; nothing of what was stopped.
fn unless_stopped<T>(found: Result<T, FitError>) -> Result<Option<T>, FitError> {
    match found {
        Err(error) if error.is_stopped() => Ok(None),
        found => found.map(Some),
    }
}
