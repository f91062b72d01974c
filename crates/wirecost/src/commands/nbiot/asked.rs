//! What is run in the cells, as the command line asks for it.

use std::time::Duration;

use wirecost_scenario::nbiot::split_values;
use wirecost_scenario::options::nbiot::{NbiotOptions, VariedParameter};
use wirecost_scenario::parameter::{self, ParameterError};
use wirecost_scenario::thresholds::Thresholds;
use wirecost_scenario::{Scenario, Work};

use crate::arguments::NbiotArguments;
use crate::exit::Failure;

/// Replications and duration of the study.
const FULL: (u32, Duration) = (10, Duration::from_secs(600));
/// Replications and duration with which the statements are evaluated.
const CHECKED: (u32, Duration) = (10, Duration::from_secs(200));
/// The scenario of a command line.
pub fn scenario(arguments: &NbiotArguments) -> Result<Scenario, Failure> {
    let work = Work::Nbiot(Box::new(options(arguments)?));
    let thresholds = Thresholds::of_flags(&arguments.threshold, &work)?;
    Ok(Scenario {
        name: None,
        work,
        thresholds,
        find_max: None,
    })
}

fn options(arguments: &NbiotArguments) -> Result<NbiotOptions, Failure> {
    let mut study = NbiotOptions::study(&arguments.profile)?;
    for change in &arguments.set {
        let (path, value) = path_and_values("--set", "PATH=VALUE", change)?;
        study.network = parameter::set(&study.network, path, value)?;
    }
    study.network.validate().map_err(ParameterError::from)?;
    let (seeds, duration) = match (arguments.full, arguments.checks) {
        (true, _) => FULL,
        (false, true) => CHECKED,
        (false, false) => (study.seeds, study.duration),
    };
    Ok(NbiotOptions {
        stacks: or(&arguments.stacks, study.stacks),
        sizes: or(&arguments.size, study.sizes),
        loads: or(&arguments.load, study.loads),
        seeds: arguments.seeds.map_or(seeds, u32::from),
        seed: arguments.seed,
        duration: arguments.duration.unwrap_or(duration),
        warm_up: arguments.warm_up,
        interval: arguments.interval,
        start: arguments.start,
        keep_alive: arguments.keep_alive,
        ipv6: arguments.ipv6,
        resource: arguments.resource.clone(),
        what_ifs: arguments
            .what_if
            .iter()
            .map(|change| change.what_if().name().to_owned())
            .collect(),
        varied: varied(arguments)?,
        sensitivity: arguments.sensitivity,
        shard: arguments.shard,
        ..study
    })
}

/// The values that were given, or those of the study.
fn or<T: Clone>(given: &[T], study: Vec<T>) -> Vec<T> {
    match given {
        [] => study,
        given => given.to_vec(),
    }
}

fn varied(arguments: &NbiotArguments) -> Result<Vec<VariedParameter>, Failure> {
    let mut all: Vec<VariedParameter> = Vec::new();
    for text in &arguments.vary {
        let (path, values) = path_and_values("--vary", "PATH=V1,V2,...", text)?;
        let one = VariedParameter::new(path, split_values(values))?;
        if all.iter().any(|other| other.path == one.path) {
            return Err(Failure::usage(format!(
                "--vary {path} is given twice: list all its values in one"
            )));
        }
        all.push(one);
    }
    Ok(all)
}

fn path_and_values<'a>(flag: &str, form: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("{flag} must be {form}, got {text}")).with_hint(format!(
            "for example {flag} levels.ce0.npdcch_g=2{}",
            if flag == "--vary" { ",4" } else { "" }
        ))
    })
}
