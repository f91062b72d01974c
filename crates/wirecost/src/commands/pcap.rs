//! `wirecost pcap`: the bytes of an existing capture.

use std::path::Path;
use std::process::ExitCode;

use wirecost_files::FileFault;
use wirecost_proto::units::counted;

use wirecost_dissect::{Reading, Report};

use super::captures;
use crate::arguments::PcapArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &PcapArguments) -> Result<ExitCode, Failure> {
    // The mistake is frequent: `compare` names a folder, and its capture is a file in it.
    captures::no_folder(&arguments.file)?;
    let source = captures::source(&arguments.file).map_err(|error| unreadable(&arguments.file, &error))?;
    let keys = arguments.keylog.as_deref();
    let key_log =
        captures::key_log(keys).map_err(|error| unreadable(keys.unwrap_or(Path::new("")), &error))?;
    let shown = captures::name(&arguments.file);
    let Reading { report, fault } = wirecost_dissect::read(source, &key_log).map_err(|error| {
        Failure::usage(format!("{shown}: {error}"))
            .with_hint("give a file that tcpdump, dumpcap or Wireshark wrote")
    })?;
    let report = report.with_framing(arguments.framing);
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&report),
        || table(&arguments.file, &report),
    )?;
    // The figures look as without a key log, and the user would not know why.
    if arguments.keylog.is_some() && report.secrets == 0 {
        output::note("warning: the key log has no secret that is known here");
    }
    let Some(fault) = fault else {
        return match captures::mostly_unread(&arguments.file, &report) {
            Some(failure) => Err(failure),
            None => Ok(ExitCode::from(exit::OK)),
        };
    };
    output::note(format_args!(
        "error: {shown}: after {}: {fault}",
        counted(report.packets, "packet")
    ));
    output::note("hint: what was read before is reported; the rest of the file is not");
    Ok(ExitCode::from(exit::INVALID))
}

/// The report about a capture, for a terminal.
pub fn table(capture: &Path, report: &Report) -> String {
    let times = report.first_ns.zip(report.last_ns);
    let seconds = times.map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e9);
    format!(
        "{}: {} in {seconds:.3} s, {}\n\n{}",
        captures::name(capture),
        counted(report.packets, "packet"),
        counted(report.secrets, "secret"),
        wirecost_dissect::table(report)
    )
}

fn unreadable(path: &Path, error: &FileFault) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", captures::name(path)))
}
