//! `wirecost study`: makes the runs of a study, and judges its claims.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use wirecost_files::FileFault;
use wirecost_files::output::{PUBLIC, write_own};
use wirecost_live::signals::Interrupt;
use wirecost_results::RunFolder;
use wirecost_studies::claims::{Claim, NeededRun};
use wirecost_studies::library::{self, Study, StudyError};
use wirecost_studies::page::{PageError, Shown};
use wirecost_studies::{Claims, Evidence, Judged, page, text};

use super::claims;
use crate::arguments::StudyArguments;
use crate::exit::{self, Failure};
use crate::output;

mod baseline;
mod list;

/// Runs the command.
pub fn run(arguments: &StudyArguments) -> Result<ExitCode, Failure> {
    if arguments.name.as_deref() == Some("list") {
        return list::print(arguments.json.as_deref());
    }
    let names = match arguments.name.as_deref() {
        Some("all") => library::names(),
        Some(name) => vec![name],
        None => vec!["study"],
    };
    if let Some(folder) = &arguments.write {
        return write(&names, folder);
    }
    for name in &names {
        if let Some(old) = baseline_of(arguments, name, names.len()) {
            baseline::check(&old)?;
        }
    }
    let interrupt = Interrupt::install()?;
    let mut done: Vec<Done> = Vec::new();
    let root = arguments.out.clone();
    let mut changelog = String::new();
    for name in &names {
        let mut study = match &arguments.from {
            Some(folder) => Study::from_folder(folder),
            None => Study::named(name),
        }
        .map_err(failure)?;
        restrict(&mut study, &arguments.claim)?;
        // Suspects change no verdict, and took a quarter of the time of all studies.
        if arguments.quick && names.len() > 1 {
            study.claims.leave_suspects();
        }
        study
            .check_selectors(arguments.quick)
            .map_err(|error| error.in_file(&claims_file(arguments)))?;
        output::note(format_args!("{}", list::head(&study, arguments.quick)));
        let out = match (&root, names.len()) {
            (Some(root), 1) => root.clone(),
            (Some(root), _) => root.join(name),
            (None, _) => PathBuf::from("runs").join(format!("study-{}", study.claims.study)),
        };
        if let Some(old) = baseline_of(arguments, name, names.len()) {
            baseline::check_apart(&old, &out)?;
        }
        let evidence = evidence(&study, &out, arguments, interrupt)?;
        let judged = claims::judge(&study.claims, &evidence, &claims_file(arguments))?;
        let one = Done {
            claims: study.claims,
            judged,
            evidence,
        };
        write_page(&out, &[one.shown()])?;
        if let Some(old) = baseline_of(arguments, name, names.len()) {
            let is_whole = arguments.claim.is_empty();
            changelog += &baseline::changelog(&old, &out, &one.claims, &one.judged, is_whole)?;
        }
        done.push(one);
        if interrupt.is_set() {
            break;
        }
    }
    let judged: Vec<Judged> = done.iter().flat_map(|study| study.judged.clone()).collect();
    let code = claims::print(&judged, arguments.json.as_deref())?;
    output::note(format_args!("{}", text::judged_figures(&judged)));
    if arguments.baseline.is_some() {
        output::note(changelog.trim_end());
    }
    let shown = match (done.as_slice(), &root) {
        ([study], None) => PathBuf::from("runs").join(format!("study-{}", study.claims.study)),
        (_, Some(root)) => root.clone(),
        (_, None) => PathBuf::from("runs").join("studies"),
    };
    if done.len() > 1 {
        let all: Vec<Shown<'_>> = done.iter().map(Done::shown).collect();
        write_page(&shown, &all)?;
    }
    output::note(format_args!("report:  {}", shown.join("report.html").display()));
    match interrupt.is_set() {
        true => Ok(ExitCode::from(exit::INTERRUPTED)),
        false => Ok(code),
    }
}

/// The earlier folder of a study; below `--baseline` where there are several studies.
fn baseline_of(arguments: &StudyArguments, name: &str, studies: usize) -> Option<PathBuf> {
    let old = arguments.baseline.as_ref()?;
    Some(if studies > 1 { old.join(name) } else { old.clone() })
}

/// The file of the claims of a study, for messages.
fn claims_file(arguments: &StudyArguments) -> String {
    let name = Path::new(library::CLAIMS);
    let path = arguments
        .from
        .as_deref()
        .map_or_else(|| name.to_owned(), |folder| folder.join(name));
    path.display().to_string()
}

/// A study whose claims are judged.
struct Done {
    claims: Claims,
    judged: Vec<Judged>,
    evidence: Evidence,
}

impl Done {
    fn shown(&self) -> Shown<'_> {
        Shown {
            claims: &self.claims,
            judged: &self.judged,
            evidence: &self.evidence,
        }
    }
}

/// Writes `claims.json` and `report.html`.
fn write_page(folder: &Path, studies: &[Shown<'_>]) -> Result<(), Failure> {
    let page = page::page(studies).map_err(|error| match error {
        PageError::Template(error) => Failure::internal(error),
        error @ PageError::Plot { .. } => Failure::usage(error)
            .with_hint("a plot names one cell of its run for each value of both dimensions"),
    })?;
    let judged: Vec<&Judged> = studies.iter().flat_map(|study| study.judged).collect();
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::usage(format!("cannot create {}: {error}", folder.display())))?;
    let folder = RunFolder::open(folder);
    folder.write_derived("report.html", page.as_bytes())?;
    folder.write_json("claims.json", &judged)?;
    Ok(())
}

/// Leaves the claims that were asked for: `L3` means all parts of it.
fn restrict(study: &mut Study, ids: &[String]) -> Result<(), Failure> {
    let claims = &study.claims.claims;
    let is_known = |id: &&String| claims.iter().any(|claim| claim.is_named(id));
    if let Some(unknown) = ids.iter().find(|id| !is_known(id)) {
        let mut all: Vec<&str> = claims.iter().map(Claim::group).collect();
        // Parts of a claim stand one after the other and have one name.
        all.dedup();
        return Err(Failure::usage(format!(
            "the study {} has no claim {unknown:?}",
            study.claims.study
        ))
        .with_hint(format!("its claims are {}", all.join(", "))));
    }
    let is_meant = |claim: &Claim| ids.is_empty() || ids.iter().any(|id| claim.is_named(id));
    study.claims.claims.retain(is_meant);
    Ok(())
}

/// Makes the runs that are missing in `out`, and reads all of them.
fn evidence(
    study: &Study,
    out: &Path,
    arguments: &StudyArguments,
    interrupt: Interrupt,
) -> Result<Evidence, Failure> {
    let runs = study.claims.needed();
    let mut evidence = Evidence::default();
    for (at, run) in runs.iter().enumerate() {
        let folder = out.join(&run.folder);
        if !arguments.no_runs && !interrupt.is_set() {
            output::note(format_args!("run {} of {}: {}", at + 1, runs.len(), run.name));
            let scenario = study.scenario(run, arguments.quick);
            // Studies that are part of the program were read before they were published; a folder may be a stranger's.
            let may_run_programs = arguments.allow_programs || arguments.from.is_none();
            if let Err(why) = make(scenario, run, &folder, may_run_programs)? {
                evidence.absent(&run.name, &why);
                continue;
            }
        }
        let made = is_complete(&folder)?;
        match made {
            Ok(()) => claims::add(&mut evidence, &run.name, &folder)?,
            Err(why) => evidence.absent(&run.name, &why),
        }
    }
    Ok(evidence)
}

/// Makes one run of a scenario with changes as a process of its own, so that it gets namespaces and privileges of its own. Returns why it has no
/// results, if it has none.
pub fn make(
    scenario: Option<(&str, Vec<String>)>,
    run: &NeededRun,
    folder: &Path,
    may_run_programs: bool,
) -> Result<Result<(), String>, Failure> {
    let Some((scenario, set)) = scenario else {
        return Ok(Err(format!("the study has no run {:?}", run.name)));
    };
    let began = Instant::now();
    let program = std::env::current_exe().map_err(Failure::internal)?;
    let above = folder.parent().unwrap_or(Path::new(""));
    let file = above.join(format!("{}.yaml", run.folder));
    std::fs::create_dir_all(above)
        .map_err(FileFault::from)
        .and_then(|()| write_own(&file, scenario, PUBLIC))
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", file.display())))?;
    let mut command = Command::new(program);
    command.arg("run").arg(&file).arg("--out").arg(folder);
    // Of a run that is there, only what is missing is made; one of another scenario is refused.
    if RunFolder::open(folder).can_be_resumed() {
        command.arg("--resume");
    }
    if may_run_programs {
        command.arg("--allow-programs");
    }
    command.args(set.iter().flat_map(|change| ["--set", change.as_str()]));
    let output = command
        // A run that asks something would wait for ever.
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    let output = output.map_err(Failure::internal)?;
    let messages = String::from_utf8_lossy(&output.stderr);
    output::note(format_args!("     {} s", began.elapsed().as_secs()));
    let why = messages
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("error: "));
    let why = why.unwrap_or("the run ended without results").to_owned();
    if output.status.code() == Some(i32::from(exit::USAGE)) {
        let hint = match may_run_programs {
            true => "take another folder with --out if this one has another run, such as a quick one",
            false => {
                "add --allow-programs if the run names a program and you trust the study; take another folder with --out if \
                 this one has another run, such as a quick one"
            }
        };
        return Err(Failure::usage(format!("{}: {why}", run.name)).with_hint(hint));
    }
    // A run that lacked its server, or privileges, looks like an interrupted one: the reason is its own.
    let lacks = [exit::PRIVILEGE, exit::UNREACHABLE].map(i32::from);
    let has_failed = output.status.code().is_some_and(|code| lacks.contains(&code));
    match folder.join("summary.json").exists() && !has_failed {
        true => Ok(Ok(())),
        false => Ok(Err(why)),
    }
}

/// Why the figures of a run cannot be judged, if they cannot: it is not there, or was interrupted.
fn is_complete(folder: &Path) -> Result<Result<(), String>, Failure> {
    if !folder.join("summary.json").exists() {
        return Ok(Err("it was not run".to_owned()));
    }
    let summary: serde_json::Value = RunFolder::open(folder).read_json("summary.json")?;
    match summary["interrupted"].as_bool() {
        Some(true) => Ok(Err("it was interrupted: the same command continues it".to_owned())),
        _ => Ok(Ok(())),
    }
}

/// Writes the files of studies that are compiled in.
fn write(names: &[&str], into: &Path) -> Result<ExitCode, Failure> {
    for name in names {
        // The files of all studies have the same names.
        let folder = if names.len() > 1 {
            into.join(name)
        } else {
            into.to_owned()
        };
        let refused = |path: &Path, error: FileFault| {
            Failure::usage(format!("cannot write {}: {error}", path.display()))
        };
        std::fs::create_dir_all(&folder).map_err(|error| refused(&folder, error.into()))?;
        for (file, text) in library::files(name).map_err(failure)? {
            let path = folder.join(file);
            write_own(&path, text, PUBLIC).map_err(|error| refused(&path, error))?;
        }
        output::text(format_args!("{}\n", folder.display()));
    }
    Ok(ExitCode::from(exit::OK))
}

/// Says what is wrong with a study.
pub fn failure(error: StudyError) -> Failure {
    match error {
        StudyError::Unknown(name) => {
            let known = library::names();
            let hint = wirecost_stack::name::nearest_of(&name, known.iter().copied()).map_or_else(
                || format!("the studies are {}", known.join(", ")),
                |near| format!("did you mean {near:?}?"),
            );
            Failure::usage(format!("there is no study {name:?}")).with_hint(hint)
        }
        StudyError::Wrong(error) => error.into(),
        error @ StudyError::Read { .. } => Failure::usage(error)
            .with_hint("give a file of claims with its scenarios beside it: see docs/studies.md"),
    }
}
