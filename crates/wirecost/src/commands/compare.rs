//! `wirecost compare`: stacks side by side on one link.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use wirecost_lab::compare::finish::{Before, Finished, finish, rfc3339};
use wirecost_lab::compare::options::Schedule;
use wirecost_lab::compare::plan::Plan;
use wirecost_lab::compare::{Options, Run, run as run_plan};
use wirecost_lab::results::journal::{self, Entry};
use wirecost_lab::results::{RunFolder, Summary};
use wirecost_live::environment::OpenFiles;
use wirecost_live::signals::Interrupt;
use wirecost_report::terminal::{self, TableOptions};

use super::link_flags::links;
use crate::arguments::CompareArguments;
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::{Screen, plural};

/// Runs the command.
pub fn run(arguments: CompareArguments) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::install()?;
    let options = options(&arguments)?;
    options.validate()?;
    once("stack", &options.stacks)?;
    once("start", &options.starts)?;
    once("size", &options.sizes)?;
    once("link", &options.links)?;
    check_json(&arguments)?;
    let out = arguments.out.clone().unwrap_or_else(default_folder);
    if !arguments.quiet {
        introduce(&options, &out);
    }
    check_open_files(&options)?;
    let folder = RunFolder::create(&out)?;
    let started = Entry::Started {
        at: rfc3339(std::time::SystemTime::now()),
        version: env!("CARGO_PKG_VERSION").into(),
        command: command_line(),
    };
    journal::append(&folder, &started)?;
    let before = Before::look();
    let devices = options.cells() * u64::from(options.samples);
    let mut screen = Screen::new(devices, arguments.quiet, interrupt);
    let run = run_plan(&options, Plan::new(&options), &folder, &mut screen);
    screen.clear();
    let run = run.inspect_err(|_| remove_if_empty(&folder))?;
    conclude(&arguments, &options, run, &folder, &before, &screen)
}

/// Refuses a list in which something stands twice: its cells could not be told apart.
fn once<T: PartialEq>(what: &str, list: &[T]) -> Result<(), Failure> {
    let mut places = list.iter().enumerate();
    match places.find(|(place, item)| list[..*place].contains(item)) {
        Some((place, _)) => {
            let number = place + 1;
            let message = format!(
                "{what} {number} of {} has been asked for before: name each {what} once",
                list.len()
            );
            Err(Failure::usage(message))
        }
        None => Ok(()),
    }
}

/// Makes the file of `--json`, so that one that cannot be written is known before the run and not after it.
fn check_json(arguments: &CompareArguments) -> Result<(), Failure> {
    match arguments.json.as_deref() {
        Some(path) if path != Path::new("-") => {
            let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
            opened.map(drop).map_err(|error| unwritable(path, &error))
        }
        _ => Ok(()),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {error}", path.display()))
        .with_hint("choose a file that can be written to with --json, or - for stdout")
}

/// Writes the results, prints them, and judges how the run ended.
fn conclude(
    arguments: &CompareArguments,
    options: &Options,
    run: Run,
    folder: &RunFolder,
    before: &Before,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let interrupted = run.interrupted;
    let Finished { summary, failure } = screen.working("analysing", || {
        let finished = finish(options, run, folder, before, command_line())?;
        wirecost_report::write_all(folder).map_err(|error| Failure::new(exit::INTERNAL, error))?;
        Ok::<_, Failure>(finished)
    })?;
    print_results(arguments, &summary, folder)?;
    if let Some(failure) = failure {
        output::note(format_args!("error: {failure}"));
        output::note(format_args!(
            "hint: what was measured before is in {}",
            folder.path().display()
        ));
        return Ok(ExitCode::from(exit::CELLS_FAILED));
    }
    if interrupted {
        output::note(format_args!(
            "interrupted: what was measured is in {}",
            folder.path().display()
        ));
        return Ok(ExitCode::from(exit::INTERRUPTED));
    }
    Ok(ExitCode::from(verdict(&summary)))
}

/// 14 where a cell is invalid, 13 where nothing of a cell arrived, else 0.
fn verdict(summary: &Summary) -> u8 {
    let mut ran = summary.cells.iter().filter(|cell| cell.not_run.is_none());
    if ran.clone().any(|cell| !cell.valid) {
        return exit::INVALID;
    }
    let failed = ran.any(|cell| cell.outcomes.acknowledged + cell.outcomes.delivered == 0);
    if failed { exit::CELLS_FAILED } else { exit::OK }
}

fn print_results(arguments: &CompareArguments, summary: &Summary, folder: &RunFolder) -> Result<(), Failure> {
    let internal = |error: &dyn std::fmt::Display| Failure::new(exit::INTERNAL, error);
    let json = || serde_json::to_string_pretty(summary).map_err(|error| internal(&error));
    match arguments.json.as_deref() {
        Some(path) if path == Path::new("-") => output::data(format_args!("{}\n", json()?)),
        Some(path) => {
            output::data(table(arguments, summary));
            std::fs::write(path, json()? + "\n").map_err(|error| unwritable(path, &error))?;
        }
        None => output::data(table(arguments, summary)),
    }
    if !arguments.quiet {
        output::note(format_args!("report:  {}", folder.file("report.html").display()));
        output::note(format_args!(
            "capture: {}",
            folder.file("capture/all.pcapng").display()
        ));
    }
    Ok(())
}

fn table(arguments: &CompareArguments, summary: &Summary) -> String {
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    let no_color = arguments.no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = terminal_width().filter(|_| is_terminal).unwrap_or(140);
    terminal::table(
        summary,
        &TableOptions {
            width,
            color: is_terminal && !no_color,
        },
    )
}

/// The width of the terminal on stdout, in columns.
fn terminal_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}

fn options(arguments: &CompareArguments) -> Result<Options, Failure> {
    let keep_alive = u16::try_from(arguments.keep_alive.as_secs());
    let keep_alive = keep_alive
        .ok()
        .filter(|seconds| Duration::from_secs(u64::from(*seconds)) == arguments.keep_alive)
        .ok_or_else(|| Failure::usage("--keep-alive must be whole seconds, at most 65535s"))?;
    Ok(Options {
        stacks: arguments.stacks.clone(),
        sizes: arguments.size.clone(),
        links: links(&arguments.link)?,
        samples: arguments.count,
        settle: arguments.settle,
        timeout: arguments.timeout,
        target: arguments.target,
        ipv6: arguments.ipv6,
        medium: arguments.packet_path.medium(),
        seed: arguments.seed,
        resource: arguments.resource.clone(),
        keep_alive,
        starts: arguments.start.clone(),
        schedules: vec![Schedule {
            messages: arguments.messages_per_connection.unwrap_or(1),
            // One message asked for on each connection is the whole of it.
            warm_up: arguments.messages_per_connection != Some(1),
            interval: arguments.interval,
        }],
        keys: !arguments.no_keys,
        client_certificates: arguments.client_certificates,
        dtls_cookie: arguments.dtls_cookie,
        record_hosts: arguments.record_hosts,
    })
}

/// The first line: what runs, and where the results will be.
fn introduce(options: &Options, out: &Path) {
    let stacks: Vec<String> = options.stacks.iter().map(ToString::to_string).collect();
    let (sizes, links) = (options.sizes.len(), options.links.len());
    output::note(format_args!(
        "wirecost {}: {}, {sizes} {}, {links} {}, {} {} each, seed {}, into {}",
        env!("CARGO_PKG_VERSION"),
        stacks.join(" "),
        plural(sizes, "size"),
        plural(links, "link"),
        options.samples,
        plural(options.samples as usize, "sample"),
        options.seed,
        out.display()
    ));
}

/// `runs/` and the time, so that runs sort by age.
pub fn default_folder() -> PathBuf {
    let time = rfc3339(std::time::SystemTime::now()).replace([':', 'Z'], "");
    let base = Path::new("runs").join(&time);
    if !base.exists() {
        return base;
    }
    let numbered = (2..).map(|number| Path::new("runs").join(format!("{time}-{number}")));
    numbered.into_iter().find(|path| !path.exists()).unwrap_or(base)
}

/// Every device at work has a socket on each side; the limit is raised as far as it goes, and tested before the run.
fn check_open_files(options: &Options) -> Result<(), Failure> {
    let limit = OpenFiles::raise().map_err(|error| Failure::new(exit::INTERNAL, error))?;
    let devices = Plan::new(options).overlapping_devices(options);
    let needed = devices * 2 + 64;
    if needed <= limit {
        return Ok(());
    }
    let message =
        format!("{devices} devices at a time need {needed} open files, this process may have {limit}");
    let reachable = (limit.saturating_sub(64) / 2 / options.cells().max(1)).max(1);
    Err(Failure::new(exit::PRIVILEGE, message).with_hint(format!(
        "raise it: ulimit -n {needed}; or take -n {reachable} or shorter lists"
    )))
}

/// A run that ended before anything was measured leaves no folder, unless there is something in it that helps, such
/// as a server's log.
fn remove_if_empty(folder: &RunFolder) {
    for sub in ["latency", "capture"] {
        // A folder that is not empty stays, and so it should.
        drop(std::fs::remove_dir(folder.file(sub)));
    }
    let entries = std::fs::read_dir(folder.path()).map(Iterator::count);
    if entries.is_ok_and(|entries| entries == 1) {
        drop(std::fs::remove_file(folder.file("journal.jsonl")));
        drop(std::fs::remove_dir(folder.path()));
    }
}

/// The command that repeats the run, quoted for a shell where it must be.
pub fn command_line() -> String {
    let quote = |argument: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:%@".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    std::iter::once("wirecost".to_owned())
        .chain(std::env::args().skip(1).map(quote))
        .collect::<Vec<_>>()
        .join(" ")
}
