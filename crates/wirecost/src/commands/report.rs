//! `wirecost report`: rebuilds the report of a results folder.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use wirecost_files::Input;
use wirecost_files::output::{PUBLIC, own_folder, write_own};
use wirecost_report::ReportError;
use wirecost_report::standalone::{self, Figure};
use wirecost_results::{ResultsError, RunFolder};

use super::ui;
use crate::arguments::ReportArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let folder = RunFolder::open(&arguments.run);
    check(&folder)?;
    let is_nbiot = wirecost_results::nbiot::is_nbiot(&folder);
    let written = if is_nbiot {
        wirecost_report::nbiot::write_all(&folder)
    } else if wirecost_report::load::is_load(&folder) {
        wirecost_report::load::write_all(&folder)
    } else {
        wirecost_report::write_all(&folder)
    };
    written.map_err(|error| match error {
        ReportError::Results(
            error @ ResultsError::Io {
                action: "create" | "write",
                ..
            },
        ) => Failure::new(exit::USAGE, error)
            .with_hint("copy the folder to a place that you may write to, and report the copy"),
        ReportError::Results(error) => error.into(),
        error @ (ReportError::Template(_) | ReportError::Link(_) | ReportError::Capture(_)) => {
            Failure::new(exit::INTERNAL, error)
        }
    })?;
    let main = wirecost_report::nbiot::main_file(&folder).filter(|_| is_nbiot);
    let main = main.unwrap_or_else(|| folder.file("report.html"));
    output::text(format_args!("{}\n", main.display()));
    if let Some(out) = &arguments.figures {
        figures(&main, out)?;
    }
    if !arguments.open {
        return Ok(ExitCode::from(exit::OK));
    }
    if is_nbiot || wirecost_report::load::is_load(&folder) {
        // Their pages have all that there is of them.
        opened(main.as_os_str());
        return Ok(ExitCode::from(exit::OK));
    }
    // A port that is free: another page may be at the usual one.
    ui::serve(([127, 0, 0, 1], 0).into(), Some(arguments.run.clone()), |url| {
        opened(OsStr::new(url));
    })
}

/// Shows an address or a file in the reader's browser, where there is a desktop that has one.
fn opened(what: &OsStr) {
    let screens = ["DISPLAY", "WAYLAND_DISPLAY"].map(std::env::var_os);
    let has_screen = screens.iter().flatten().any(|name| !name.is_empty());
    let mut opener = Command::new("xdg-open");
    opener
        .arg(what)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Without a screen it may start a browser of the terminal, which would have no keyboard.
    if !has_screen || opener.spawn().is_err() {
        output::note(format_args!("open {} in a browser", Path::new(what).display()));
    }
}

/// Writes each figure of a report to a folder.
fn figures(report: &Path, out: &Path) -> Result<(), Failure> {
    let page = Input::Results.text(report);
    let page = page.map_err(|error| Failure::usage(format!("cannot read {}: {error}", report.display())))?;
    own_folder(out).map_err(|error| output::unwritable("--figures", out, &error))?;
    for Figure { file, svg } in standalone::figures(&page) {
        let path = out.join(file);
        write_own(&path, svg, PUBLIC).map_err(|error| output::unwritable("--figures", &path, &error))?;
        output::text(format_args!("{}\n", path.display()));
    }
    Ok(())
}

/// Refuses a folder without a summary.
fn check(folder: &RunFolder) -> Result<(), Failure> {
    let path = folder.path().display();
    if folder.file("summary.json").exists() {
        return Ok(());
    }
    // The folder of another command, which a user easily confuses with these.
    if folder.file("link.json").exists() {
        let written = format!("{path} holds a run of wirecost link, whose report.html is complete");
        return Err(Failure::usage(written)
            .with_hint("name the folder of a comparison or a load; pcap reads the capture again"));
    }
    let why = match (folder.path().is_dir(), folder.path().exists()) {
        (true, _) => "it has no summary.json",
        (false, true) => "it is no folder",
        (false, false) => "there is no such folder",
    };
    Err(Failure::usage(format!("{path} is not a results folder: {why}"))
        .with_hint("name a folder that compare, run, load or nbiot has written: runs/TIME, or that of --out"))
}
