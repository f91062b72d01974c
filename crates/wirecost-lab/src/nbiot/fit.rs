//! Settings of a network under which published or measured points come out: a designed sample of its free parameters, in each of which
//! one parameter is solved for the first point.
//!
//! The sample is a Latin hypercube (McKay, Beckman and Conover, Technometrics 21, 1979): each parameter has one value in each of as many
//! equal parts of its range as there are settings, so that few settings cover each range.

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_nbiot::Config;
use wirecost_proto::Rng;
use wirecost_proto::random::key_of;
use wirecost_scenario::error::ScenarioError;
use wirecost_scenario::fit::{Demand, FitFigure, FitPoint, FreeParameter, FreeParameters};
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::parameter;

use super::grids::GridsError;
use super::{Grid, NbiotError, Options};
use crate::compare::simulated::side_by_side;

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
    /// A run cannot be made.
    #[error(transparent)]
    Grids(#[from] GridsError),
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
    /// The number of settings.
    pub settings: usize,
}

/// A setting with what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedSetting {
    /// The values of the free parameters by their paths.
    pub values: BTreeMap<&'static str, String>,
    /// What each point has; `null` where it was not run, because an earlier one is not met.
    pub measured: Vec<Option<f64>>,
    /// How far the worst point is from what is demanded: at most 1 where all are met; `null` where one was not run.
    pub miss: Option<f64>,
}

impl TriedSetting {
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
    /// What each point has with it.
    pub measured: Vec<f64>,
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
            with_values(&self.asked.network, values).map_err(|error| self.at_its_line(&error, values))?;
        }
        Ok(settings)
    }

    /// The error of a setting at the line of the parameter that it names.
    fn at_its_line(
        &self,
        error: &parameter::ParameterError,
        values: &BTreeMap<&'static str, String>,
    ) -> ScenarioError {
        let all = self.free.free.iter().chain(&self.free.solved);
        let text = error.to_string();
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

    /// Measures every setting on `jobs` threads.
    ///
    /// # Errors
    /// A setting cannot be, or a run failed or was stopped.
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
        let sample = self.sample()?;
        let indices: Vec<usize> = (0..sample.len()).collect();
        let mut settings = Vec::new();
        let run = |index: usize| self.setting(sample[index].clone(), solved_for);
        let mut note = |setting: TriedSetting| {
            settings.push(setting);
            on_setting(settings.len());
        };
        side_by_side(&indices, jobs, &run, &mut note, stop)?;
        Ok(settings)
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
            is_open = self.points[point].miss(found) <= 1.0;
        }
        for (index, point) in self.points.iter().enumerate() {
            if is_open && measured[index].is_none() {
                let found = self.point(point, &values)?;
                measured[index] = Some(found);
                is_open = point.miss(found) <= 1.0;
            }
        }
        let misses = self
            .points
            .iter()
            .zip(&measured)
            .map(|(point, found)| found.map(|found| point.miss(found)));
        let miss = misses
            .collect::<Option<Vec<f64>>>()
            .map(|misses| misses.into_iter().fold(0.0, f64::max));
        Ok(TriedSetting {
            values,
            measured,
            miss,
        })
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
        self.in_network(point, config)
    }

    fn in_network(&self, point: &FitPoint, config: Config) -> Result<f64, FitError> {
        let options = Options {
            stacks: vec![point.stack],
            sizes: vec![point.size],
            loads: vec![point.load],
            what_ifs: Vec::new(),
            varied: Vec::new(),
            network: config,
            ..self.asked.clone()
        };
        let grid = Grid::new(&options)?;
        let runs: Vec<usize> = (0..grid.len()).collect();
        let mut finished = Vec::new();
        grid.play(&runs, 1, &mut |run| finished.push(run), &|| false)?;
        let summary = grid.summary(&finished);
        let found = summary.points.first();
        let value = found.and_then(|found| match point.figure {
            FitFigure::Served => Some(found.served.mean),
            FitFigure::DelayP50 => found.delay_p50_s,
            FitFigure::DelayP95 => found.delay_p95_s,
        });
        // Without a report that arrived, a delay has no end.
        Ok(value.unwrap_or(f64::INFINITY))
    }

    /// What the points have in a setting where one parameter after the other has its value of the given network.
    ///
    /// # Errors
    /// A run failed or was stopped.
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
            let measured = self
                .points
                .iter()
                .map(|point| self.in_network(point, config.clone()));
            let measured = measured.collect::<Result<Vec<f64>, FitError>>()?;
            Ok(Some(Ablation {
                path,
                value,
                instead: parameter::plain(&instead),
                measured,
            }))
        };
        side_by_side(&indices, jobs, &run, &mut |one| all.extend(one), stop)?;
        Ok(all)
    }
}
