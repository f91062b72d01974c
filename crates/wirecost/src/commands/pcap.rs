//! `wirecost pcap`: the bytes of an existing capture, and what became of them on the way to the other host.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use wirecost_files::FileFault;
use wirecost_proto::units::counted;

use wirecost_dissect::hosts::{self, Hosts, Log, NoHosts};
use wirecost_dissect::{Reading, Report};

use super::captures;
use crate::arguments::PcapArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &PcapArguments) -> Result<ExitCode, Failure> {
    match &arguments.merge_hosts {
        Some(other) => two_hosts(arguments, other),
        None => one_host(arguments),
    }
}

fn one_host(arguments: &PcapArguments) -> Result<ExitCode, Failure> {
    let file = &arguments.file;
    let reading = framed(
        arguments,
        read(arguments, file, |source, key_log| {
            wirecost_dissect::read(source, key_log)
        })?,
    );
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&reading.report),
        || table(file, &reading.report),
    )?;
    warn_of_keys(arguments, &[&reading]);
    ending(&[(file, &reading)])
}

/// The captures of two hosts: first what is between them, then what each has.
fn two_hosts(arguments: &PcapArguments, other: &Path) -> Result<ExitCode, Failure> {
    let files = [arguments.file.as_path(), other];
    if files[0] == files[1] {
        return Err(Failure::usage(format!(
            "{} cannot be the capture of both hosts",
            captures::name(other)
        )));
    }
    let [(first, first_log), (second, second_log)] = [
        read_logged(arguments, files[0])?,
        read_logged(arguments, files[1])?,
    ];
    let names = files.map(captures::name);
    let hosts = Hosts::compare(first_log, second_log).map_err(|why| incomparable(why, &names))?;
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&json!({"hosts": hosts, "captures": [first.report, second.report]})),
        || {
            let between = hosts::table(&hosts, [&names[0], &names[1]]);
            format!(
                "{between}\n{}\n{}",
                table(files[0], &first.report),
                table(files[1], &second.report)
            )
        },
    )?;
    warn_of_keys(arguments, &[&first, &second]);
    ending(&[(files[0], &first), (files[1], &second)])
}

fn incomparable(why: NoHosts, [first, second]: &[String; 2]) -> Failure {
    match why {
        NoHosts::Nothing => Failure::usage(format!("no packet of {first} is in {second}"))
            .with_hint("record the same traffic on both hosts, at the same time; what a proxy sends on is another connection"),
        NoHosts::OneWay => Failure::usage(format!(
            "{first} and {second} have packets of one direction alone in common, which does not tell how far the clocks are apart"
        ))
        .with_hint("record both directions"),
        NoHosts::SameTimes => Failure::usage(format!(
            "{first} and {second} have the same times for the packets of both directions, as two captures of one host"
        ))
        .with_hint("record on both hosts, in a local network with times of microseconds"),
    }
}

/// Reads a capture with its secrets.
fn read<T, E: std::fmt::Display>(
    arguments: &PcapArguments,
    file: &Path,
    by: impl FnOnce(Box<dyn std::io::Read>, &str) -> Result<T, E>,
) -> Result<T, Failure> {
    // The mistake is frequent: `compare` names a folder, and its capture is a file in it.
    captures::no_folder(file)?;
    let source = captures::source(file).map_err(|error| unreadable(file, &error))?;
    let keys = arguments.keylog.as_deref();
    let key_log =
        captures::key_log(keys).map_err(|error| unreadable(keys.unwrap_or(Path::new("")), &error))?;
    by(source, &key_log).map_err(|error| {
        Failure::usage(format!("{}: {error}", captures::name(file)))
            .with_hint("give a file that tcpdump, dumpcap or Wireshark wrote")
    })
}

fn read_logged(arguments: &PcapArguments, file: &Path) -> Result<(Reading, Log), Failure> {
    let (reading, log) = read(arguments, file, |source, key_log| {
        wirecost_dissect::read_logged(source, key_log)
    })?;
    Ok((framed(arguments, reading), log))
}

fn framed(arguments: &PcapArguments, Reading { report, fault }: Reading) -> Reading {
    Reading {
        report: report.with_framing(arguments.framing),
        fault,
    }
}

/// The figures look as without a key log, and the user would not know why.
fn warn_of_keys(arguments: &PcapArguments, readings: &[&Reading]) {
    if arguments.keylog.is_some() && readings.iter().all(|reading| reading.report.secrets == 0) {
        output::note("warning: the key log has no secret that is known here");
    }
}

/// What the command ends with: whether the captures could be read to their ends.
fn ending(readings: &[(&Path, &Reading)]) -> Result<ExitCode, Failure> {
    let mut code = exit::OK;
    for (file, Reading { report, fault }) in readings {
        let Some(fault) = fault else {
            if let Some(failure) = captures::mostly_unread(file, report) {
                return Err(failure);
            }
            continue;
        };
        output::note(format_args!(
            "error: {}: after {}: {fault}",
            captures::name(file),
            counted(report.packets, "packet")
        ));
        output::note("hint: what was read before is reported; the rest of the file is not");
        code = exit::INVALID;
    }
    Ok(ExitCode::from(code))
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
