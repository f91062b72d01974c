//! `wirecost nbiot --fit`: settings of the network under which given points come out.

mod known;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use wirecost_files::Input;
use wirecost_lab::nbiot::fit::{
    Ablation, Fit, FitError, StatementInFits, TriedSetting, nearest, statements_in,
};
use wirecost_live::signals::Interrupt;
use wirecost_proto::units::DisplayDuration;
use wirecost_scenario::fit::{FitPoint, FreeParameter, FreeParameters, FreeValues};
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::parameter;

use crate::arguments::NbiotArguments;
use crate::commands::job::at_once;
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Display;

/// Settings that are tried, unless it is said otherwise.
const SETTINGS: usize = 60;

/// What came out, as `--json` has it.
#[derive(Serialize)]
struct Table<'a> {
    /// The command of the fit without its files, by which its parts know one another.
    asked: String,
    /// The free parameters, the solved one first.
    free: Vec<String>,
    points: Vec<&'a str>,
    seeds: u32,
    duration_s: f64,
    seed: u64,
    /// Whether it was stopped before every setting was tried.
    interrupted: bool,
    /// The command of the best setting.
    best: Option<String>,
    ablations: &'a [Ablation],
    statements: &'a [StatementInFits],
    settings: &'a [TriedSetting],
}

/// Tries the settings, and prints those that meet the points.
pub fn run(arguments: &NbiotArguments, asked: &NbiotOptions, file: &Path) -> Result<ExitCode, Failure> {
    // Before the runs, which a path that cannot be written would lose.
    output::check_files(&[("--json", arguments.json.as_deref())])?;
    let name = file.display().to_string();
    let text = Input::Scenario.text(file);
    let text = text.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let free = FreeParameters::read(&text).map_err(|error| Failure::from(error.in_file(&name)))?;
    let mut fit = Fit {
        points: &arguments.fit,
        free: &free,
        asked,
        statements: &arguments.statement,
        known: &[],
        stopped: AtomicBool::new(false),
        settings: arguments
            .fits
            .map_or(SETTINGS, |settings| settings.get() as usize),
    };
    let known = known::read(&fit, &arguments.known)?;
    fit.known = &known;
    let failed = |error| failure(error, &name);
    let interrupt = Interrupt::install()?;
    let jobs = at_once(arguments.engine_threads.map(usize::from));
    let of = fit.indices().len() as u64;
    let mut display = Display::new(of, arguments.quiet);
    let settings = fit.measure(
        jobs,
        &mut |done| display.advance(done as u64, of, "settings"),
        &|| interrupt.is_set(),
    );
    display.clear();
    let settings = settings.map_err(failed)?;
    // An ablation says which value of the network the answer hangs on: without a setting that meets the points there is no answer,
    // and a shard has not seen them all.
    let best = nearest(&settings, fit.points);
    let ablations = match best.filter(|best| best.is_met() && !interrupt.is_set() && asked.shard.is_none()) {
        Some(best) => fit
            .ablations(best, jobs, &|| interrupt.is_set())
            .map_err(failed)?,
        None => Vec::new(),
    };
    let found = Found {
        statements: statements_in(&settings, fit.statements, &free),
        is_interrupted: interrupt.is_set(),
        settings,
        ablations,
    };
    let best = nearest(&found.settings, fit.points);
    let table = Table {
        asked: known::asked(&fit),
        free: known::free(&free),
        points: fit.points.iter().map(|point| point.text.as_str()).collect(),
        seeds: asked.seeds,
        duration_s: asked.duration.as_secs_f64(),
        seed: asked.seed,
        interrupted: found.is_interrupted,
        best: best.map(|best| command(&fit, best)),
        ablations: &found.ablations,
        statements: &found.statements,
        settings: &found.settings,
    };
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&table),
        || shown(&fit, &found),
    )?;
    concluded(&fit, &found, &name)
}

/// What came out.
struct Found {
    settings: Vec<TriedSetting>,
    ablations: Vec<Ablation>,
    statements: Vec<StatementInFits>,
    is_interrupted: bool,
}

/// The exit code: a fit that was stopped, or whose points are not met, is none.
fn concluded(fit: &Fit<'_>, found: &Found, file: &str) -> Result<ExitCode, Failure> {
    if found.is_interrupted {
        let message = format!(
            "the fit was stopped after {} of {} settings",
            found.settings.len(),
            fit.indices().len()
        );
        return Err(Failure::new(exit::INTERRUPTED, message));
    }
    match nearest(&found.settings, fit.points) {
        // Another shard may have one.
        Some(best) if !best.is_met() && fit.asked.shard.is_none() => {
            let message = format!(
                "no setting of {file} meets the points: the nearest has {}",
                points(fit, &best.measured)
            );
            Err(Failure::new(exit::THRESHOLD, message)
                .with_hint("widen the ranges, free further parameters, or try more settings with --fits"))
        }
        _ => Ok(ExitCode::from(exit::OK)),
    }
}

fn failure(error: FitError, file: &str) -> Failure {
    match error {
        FitError::Free(error) => error.in_file(file).into(),
        FitError::Grids(error) => error.into(),
        FitError::OtherFit(_) => Failure::usage(error).with_hint(known::HINT),
        FitError::NotRun { .. } => Failure::usage(error).with_hint("name another stack in its place"),
        FitError::NothingToSolve(_) => Failure::usage(format!("{file}: {error}"))
            .with_hint("for example --fit 'served(tcp,400B,2/s)=95%'"),
    }
}

/// The points with what was measured: `served(tcp,400B,2/s)=95%: 94.4 %`.
fn points(fit: &Fit<'_>, measured: &[Option<f64>]) -> String {
    let each = fit.points.iter().zip(measured);
    let each = each.map(|(point, measured)| match measured {
        Some(measured) => format!("{}: {}", point.text, point.of.figure.text(*measured)),
        None => format!("{}: not run", point.text),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The command that runs the fitted curves in a setting: with every parameter that differs from the profile, and what else was said.
fn command(fit: &Fit<'_>, setting: &TriedSetting) -> String {
    let unique = |texts: Vec<String>| {
        let mut texts = texts;
        texts.sort();
        texts.dedup();
        texts
    };
    let of = |text: fn(&FitPoint) -> String| unique(fit.points.iter().map(text).collect());
    let mut line = format!(
        "wirecost nbiot {} -s {} -l {}{}",
        of(|point| point.of.stack.to_string()).join(" "),
        of(|point| point.of.size.to_string()).join(","),
        of(|point| format!("{}/s", point.of.load)).join(","),
        options(fit.asked),
    );
    let given = fit
        .asked
        .changed()
        .into_iter()
        // A path that is both given and fitted has the fitted value: named twice, the last one would win without a word.
        .filter(|(path, _)| !setting.values.contains_key(*path));
    let fitted = setting.values.iter().map(|(path, value)| (*path, value.clone()));
    for (path, value) in given.chain(fitted) {
        let _ = write!(line, " --set {path}={value}");
    }
    line
}

/// How points are run, without the parameters of the network.
fn options(asked: &NbiotOptions) -> String {
    let mut line = format!(
        " --profile {} --seeds {} --seed {} -d {}",
        asked.profile,
        asked.seeds,
        asked.seed,
        DisplayDuration(asked.duration),
    );
    // What is as usual is left out, so that the command stays one that a person reads.
    let usual = NbiotOptions::default();
    if let Some(warm_up) = asked.warm_up {
        let _ = write!(line, " --warm-up {}", DisplayDuration(warm_up));
    }
    if asked.start != usual.start {
        let _ = write!(line, " --start {}", asked.start);
    }
    if asked.ipv6 {
        line.push_str(" --ipv6");
    }
    if asked.resource != usual.resource {
        let _ = write!(line, " --resource {}", asked.resource);
    }
    line
}

/// How many settings meet the points, the spread of each parameter among them, the best one, what each of its values does, and where
/// the statements hold.
fn shown(fit: &Fit<'_>, found: &Found) -> String {
    let met: Vec<&TriedSetting> = found.settings.iter().filter(|setting| setting.is_met()).collect();
    let mut text = format!(
        "{} of {} settings meet the points",
        met.len(),
        found.settings.len()
    );
    if found.is_interrupted {
        let _ = write!(
            text,
            "; it was stopped before the other {}",
            fit.indices().len().saturating_sub(found.settings.len())
        );
    }
    text.push('\n');
    if let Some(best) = nearest(&found.settings, fit.points) {
        let word = if best.is_met() { "best" } else { "nearest" };
        let _ = writeln!(
            text,
            "{word}: {}\n  {}",
            points(fit, &best.measured),
            command(fit, best)
        );
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
    if !found.ablations.is_empty() {
        text.push_str("\nthe best setting with one value of the given network instead\n");
    }
    for one in &found.ablations {
        let each = points(fit, &one.measured);
        let _ = writeln!(
            text,
            "  {}={} instead of {}: {each}",
            one.path, one.instead, one.value
        );
    }
    text + &statements(&found.statements)
}

/// The statements: in all settings that meet the points, in some and by which parameter, in none.
fn statements(all: &[StatementInFits]) -> String {
    let mut text = String::new();
    let measured: Vec<&StatementInFits> = all.iter().filter(|one| one.of > 0).collect();
    if !measured.is_empty() {
        text.push_str("\nstatements where the points are met\n");
    }
    // In settings that lack one of the curves, the statement is neither true nor false.
    for one in measured {
        let by = one.by.as_ref().map_or_else(String::new, |by| {
            let (word, share) = match by.larger > 0.5 {
                true => ("larger", by.larger),
                false => ("smaller", 1.0 - by.larger),
            };
            format!(
                "; where it holds {} is {word}, in {:.0} % of pairs",
                by.path,
                100.0 * share
            )
        });
        // In all or in none, no parameter tells the settings apart, so that none is named.
        let _ = match one.holds {
            holds if holds == one.of => writeln!(text, "  in all {}: {}", one.of, one.text),
            0 => writeln!(text, "  in none of {}: {}", one.of, one.text),
            holds => writeln!(text, "  in {holds} of {}: {}{by}", one.of, one.text),
        };
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
