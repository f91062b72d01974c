//! `wirecost doctor`: tests what this machine allows.

use std::process::ExitCode;

use wirecost_live::doctor::{Verdict, apparmor_profile, examine};

use crate::arguments::DoctorArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    if arguments.apparmor {
        let program = std::env::current_exe().map_err(Failure::internal)?;
        // Alone and on stdout, so that it can be piped into a file.
        output::data(apparmor_profile(&program));
        return Ok(ExitCode::from(exit::OK));
    }
    for finding in examine() {
        let verdict = match finding.verdict {
            Verdict::Works => "works",
            Verdict::Limited => "limited",
            Verdict::Missing => "missing",
        };
        output::data(format_args!(
            "{verdict:<8} {:<20} {}\n",
            finding.what, finding.detail
        ));
        if let Some(advice) = finding.advice {
            output::data(format_args!("{:<29} -> {advice}\n", ""));
        }
    }
    Ok(ExitCode::from(exit::OK))
}
