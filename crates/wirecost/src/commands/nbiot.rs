//! `wirecost nbiot`: reports of devices in NB-IoT cells, in virtual time.

mod asked;
mod fit;
pub mod merge;
mod recorded;
pub mod reports;

use std::process::ExitCode;

use wirecost_lab::nbiot::grids::GridsError;
use wirecost_lab::nbiot::{DeviceError, NbiotError, validation};
use wirecost_live::signals::Interrupt;
use wirecost_scenario::Work;
use wirecost_scenario::parameter::ParameterError;

use crate::arguments::NbiotArguments;
use crate::commands::job::{Job, JobFolder};
use crate::exit::{self, Failure};
use crate::output;
use reports::{ReportJob, ReportOutput};

/// Runs the command.
pub fn run(arguments: &NbiotArguments) -> Result<ExitCode, Failure> {
    if arguments.validate {
        output::check_files(&[("--json", arguments.json.as_deref())])?;
        return validate(arguments);
    }
    let scenario = asked::scenario(arguments)?;
    let Work::Nbiot(options) = &scenario.work else {
        return Err(Failure::internal(
            "the scenario of wirecost nbiot is of another kind",
        ));
    };
    if let Some(free) = &arguments.free {
        return fit::run(arguments, options, free);
    }
    let interrupt = Interrupt::install()?;
    let (resume, out) = (arguments.resume.as_deref(), arguments.out.as_deref());
    let reports = ReportJob {
        job: Job {
            scenario: &scenario,
            place: JobFolder::new(resume, out, arguments.resume_changed),
            quiet: arguments.quiet,
            interrupt,
        },
        options,
        output: ReportOutput {
            json: arguments.json.clone(),
            jobs: arguments.engine_threads.map(usize::from),
            has_sequence: arguments.sequence,
            has_capture: arguments.capture,
        },
    };
    reports.run().map(ExitCode::from)
}

/// Compares the model with its targets; fails where one is not met.
fn validate(arguments: &NbiotArguments) -> Result<ExitCode, Failure> {
    let targets = validation::validate()?;
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&targets),
        || wirecost_report::nbiot::targets(&targets),
    )?;
    let failed: Vec<&str> = targets
        .iter()
        .filter(|target| !target.passed)
        .map(|target| target.name.as_str())
        .collect();
    if failed.is_empty() {
        return Ok(ExitCode::from(exit::OK));
    }
    let message = format!("the model misses {}", failed.join(", "));
    // The targets hold for every version: one that is missed is a defect of this one, and no mistake of the user.
    Err(Failure::new(exit::INTERNAL, message)
        .with_hint("report it with this version: its other figures cannot be trusted"))
}

/// Where the parameters of the network are described.
const PARAMETERS: &str = "docs/models/nbiot.md lists the parameters of the network with their units";

/// Where its options are described.
const HELP: &str = "wirecost nbiot --help-all lists what it takes";

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        Self::usage(error).with_hint(PARAMETERS)
    }
}

impl From<GridsError> for Failure {
    fn from(error: GridsError) -> Self {
        match error {
            GridsError::Parameter(error) => error.into(),
            GridsError::Grid(error) => error.into(),
            GridsError::TooMany(_) => Self::usage(error).with_hint(HELP),
        }
    }
}

impl From<NbiotError> for Failure {
    fn from(error: NbiotError) -> Self {
        match error {
            NbiotError::Device(DeviceError::TooSmall { least, .. }) => Self::usage(&error)
                .with_hint(format!("take --size {least}B or more, or a shorter --resource")),
            NbiotError::Device(DeviceError::NotTaken { .. }) => {
                Self::usage(&error).with_hint("take the default --resource, test")
            }
            NbiotError::Device(DeviceError::Client(_)) => {
                Self::usage(&error).with_hint("take another stack, size or resource")
            }
            NbiotError::Network(error) => Self::usage(error).with_hint(PARAMETERS),
            NbiotError::Device(_) | NbiotError::Powers(_) | NbiotError::Stopped => Self::internal(error),
        }
    }
}
