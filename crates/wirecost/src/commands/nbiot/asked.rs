//! What is run in the cells, as the command line asks for it.

use std::time::Duration;

use wirecost_scenario::nbiot::split_values;
use wirecost_scenario::options::nbiot::{NbiotOptions, VariedParameter};
use wirecost_scenario::parameter::{self, ParameterError};
use wirecost_scenario::thresholds::Thresholds;
use wirecost_scenario::{Scenario, Work};

use super::HELP;
use crate::arguments::{NbiotArguments, of_flags};
use crate::exit::Failure;

/// Replications and duration of the study.
const FULL: (u32, Duration) = (10, Duration::from_secs(600));
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
    // After all changes: one of them alone may be valid only together with another one.
    study.network.validate().map_err(ParameterError::from)?;
    // Before the options below, so that a --seeds or --duration that is given stands above --full.
    if arguments.full {
        (study.seeds, study.duration) = FULL;
    }
    let mut options = NbiotOptions {
        stacks: or(&arguments.stacks, study.stacks),
        sizes: or(&arguments.size, study.sizes),
        loads: or(&arguments.load, study.loads),
        warm_up: arguments.warm_up,
        what_ifs: arguments.what_if.clone(),
        varied: varied(arguments)?,
        shard: arguments.shard,
        ..study
    };
    arguments.typed.set(&mut options)?;
    options
        .validate()
        .map_err(|refusal| of_flags("nbiot", &refusal).with_hint(HELP))?;
    Ok(options)
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
