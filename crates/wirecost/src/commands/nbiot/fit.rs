//! `wirecost nbiot --fit`: settings of the network under which given points come out.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use wirecost_files::Input;
use wirecost_lab::nbiot::NbiotError;
use wirecost_lab::nbiot::fit::{Ablation, Fit, FitError, TriedSetting, nearest};
use wirecost_lab::nbiot::grids::GridsError;
use wirecost_live::signals::Interrupt;
use wirecost_proto::units::DisplayDuration;
use wirecost_scenario::fit::{FitPoint, FreeParameter, FreeParameters, FreeValues};
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::parameter;

use crate::arguments::NbiotArguments;
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Counted;

/// Settings that are tried, unless it is said otherwise.
const SETTINGS: usize = 60;

/// What came out, as `--json` has it.
#[derive(Serialize)]
struct Table<'a> {
    points: Vec<&'a str>,
    seeds: u32,
    duration_s: f64,
    seed: u64,
    /// The command of the best setting.
    best: Option<String>,
    ablations: &'a [Ablation],
    settings: &'a [TriedSetting],
}

/// Tries the settings, and prints those that meet the points.
pub fn run(arguments: &NbiotArguments, asked: &NbiotOptions, file: &Path) -> Result<ExitCode, Failure> {
    output::check_files(&[("--json", arguments.json.as_deref())])?;
    let name = file.display().to_string();
    let text = Input::Scenario.text(file);
    let text = text.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let free = FreeParameters::read(&text).map_err(|error| Failure::from(error.in_file(&name)))?;
    let fit = Fit {
        points: &arguments.fit,
        free: &free,
        asked,
        settings: arguments
            .fits
            .map_or(SETTINGS, |settings| settings.get() as usize),
    };
    let failed = |error| failure(error, &name);
    let interrupt = Interrupt::install()?;
    let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.engine_threads.map_or_else(cpus, usize::from);
    let mut screen = Counted::new(fit.settings, "settings", arguments.quiet);
    let settings = fit.measure(jobs, &mut |done| screen.done(done), &|| interrupt.is_set());
    screen.clear();
    let settings = settings.map_err(failed)?;
    let best = nearest(&settings, fit.points);
    let ablations = match best.filter(|best| best.is_met()) {
        Some(best) => fit
            .ablations(best, jobs, &|| interrupt.is_set())
            .map_err(failed)?,
        None => Vec::new(),
    };
    let table = Table {
        points: fit.points.iter().map(|point| point.text.as_str()).collect(),
        seeds: asked.seeds,
        duration_s: asked.duration.as_secs_f64(),
        seed: asked.seed,
        best: best.map(|best| command(&fit, best)),
        ablations: &ablations,
        settings: &settings,
    };
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&table),
        || shown(&fit, &settings, best, &ablations),
    )?;
    match best {
        Some(best) if !best.is_met() => {
            let message = format!(
                "no setting of {name} meets the points: the nearest has {}",
                points(&fit, best)
            );
            Err(Failure::new(exit::INTERNAL, message)
                .with_hint("widen the ranges, free further parameters, or try more settings with --fits"))
        }
        _ => Ok(ExitCode::from(exit::OK)),
    }
}

fn failure(error: FitError, file: &str) -> Failure {
    match error {
        FitError::Free(error) => error.in_file(file).into(),
        FitError::Grids(GridsError::Grid(NbiotError::Stopped)) => {
            Failure::new(exit::INTERRUPTED, "the fit was stopped")
        }
        FitError::Grids(error) => error.into(),
        FitError::NothingToSolve(_) => Failure::usage(format!("{file}: {error}"))
            .with_hint("for example --fit 'served(tcp,400B,2/s)=95%'"),
    }
}

/// The points of a setting: `served(tcp,400B,2/s)=95%: 94.4 %`.
fn points(fit: &Fit<'_>, setting: &TriedSetting) -> String {
    let each = fit.points.iter().zip(&setting.measured);
    let each = each.map(|(point, measured)| match measured {
        Some(measured) => format!("{}: {}", point.text, point.figure.text(*measured)),
        None => format!("{}: not run", point.text),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The command that runs the fitted curves in a setting.
fn command(fit: &Fit<'_>, setting: &TriedSetting) -> String {
    let unique = |texts: Vec<String>| {
        let mut texts = texts;
        texts.sort();
        texts.dedup();
        texts
    };
    let of = |text: fn(&FitPoint) -> String| unique(fit.points.iter().map(text).collect());
    let asked = fit.asked;
    let mut line = format!(
        "wirecost nbiot {} -s {} -l {} --profile {} --seeds {} -d {}",
        of(|point| point.stack.to_string()).join(" "),
        of(|point| point.size.to_string()).join(","),
        of(|point| format!("{}/s", point.load)).join(","),
        asked.profile,
        asked.seeds,
        DisplayDuration(asked.duration),
    );
    for (path, value) in &setting.values {
        let _ = write!(line, " --set {path}={value}");
    }
    line
}

/// How many settings meet the points, the spread of each parameter among them, the best one, and what each of its values does.
fn shown(
    fit: &Fit<'_>,
    settings: &[TriedSetting],
    best: Option<&TriedSetting>,
    ablations: &[Ablation],
) -> String {
    let met: Vec<&TriedSetting> = settings.iter().filter(|setting| setting.is_met()).collect();
    let mut text = format!("{} of {} settings meet the points\n", met.len(), settings.len());
    if let Some(best) = best {
        let word = if best.is_met() { "best" } else { "nearest" };
        let _ = writeln!(text, "{word}: {}\n  {}", points(fit, best), command(fit, best));
    }
    if !met.is_empty() {
        text.push_str(
            "\nparameter, range, and its least, median and largest value where the points are met\n",
        );
        for parameter in fit.free.solved.iter().chain(&fit.free.free) {
            let _ = writeln!(
                text,
                "  {}  {}  {}",
                parameter.path,
                range(parameter),
                spread(parameter, &met)
            );
        }
    }
    if !ablations.is_empty() {
        text.push_str("\nthe best setting with one value of the given network instead\n");
    }
    for one in ablations {
        let each = fit.points.iter().zip(&one.measured);
        let each = each.map(|(point, measured)| format!("{}: {}", point.text, point.figure.text(*measured)));
        let each = each.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "  {}={} instead of {}: {each}",
            one.path, one.instead, one.value
        );
    }
    text
}

fn range(parameter: &FreeParameter) -> String {
    match &parameter.values {
        FreeValues::Listed(values) => values.join("|"),
        FreeValues::Range { from, to, .. } => format!("{from} to {to}"),
    }
}

/// The values of a parameter in settings: numbers as least, median and largest, words with their number.
fn spread(parameter: &FreeParameter, settings: &[&TriedSetting]) -> String {
    let values: Vec<&String> = settings
        .iter()
        .filter_map(|setting| setting.values.get(parameter.path))
        .collect();
    match &parameter.values {
        FreeValues::Range { .. } => {
            let mut numbers: Vec<f64> = values.iter().filter_map(|value| value.parse().ok()).collect();
            numbers.sort_by(f64::total_cmp);
            let at = |index: usize| {
                numbers
                    .get(index)
                    .map_or_else(String::new, |number| parameter::plain(&number.to_string()))
            };
            let last = numbers.len().saturating_sub(1);
            format!("{} {} {}", at(0), at(last / 2), at(last))
        }
        FreeValues::Listed(listed) => {
            let count = |one: &String| values.iter().filter(|value| **value == one).count();
            let each = listed.iter().map(|one| format!("{one} in {}", count(one)));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}
