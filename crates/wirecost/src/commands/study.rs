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
use wirecost_studies::{Evidence, Judged, page, text};

use super::claims;
use crate::arguments::StudyArguments;
use crate::exit::{self, Failure};
use crate::output;

mod baseline;
mod kept;
mod list;

/// Runs the command.
pub fn run(arguments: &StudyArguments) -> Result<ExitCode, Failure> {
    let is_list = arguments.name.as_deref() == Some("list");
    if let Some(folder) = arguments.write.as_ref().filter(|_| !is_list) {
        return write(&built_in(arguments)?, folder);
    }
    let asked = asked(arguments)?;
    if is_list {
        let studies: Vec<Study> = asked.into_iter().map(|one| one.study).collect();
        return list::print(&studies, arguments.json.as_deref());
    }
    for old in asked.iter().filter_map(|one| one.baseline.as_deref()) {
        baseline::check(old)?;
    }
    let interrupt = Interrupt::install()?;
    let (code, shown) = judge(asked, arguments, interrupt)?;
    output::note(format_args!("report:  {}", shown.join("report.html").display()));
    match interrupt.is_set() {
        true => Ok(ExitCode::from(exit::INTERRUPTED)),
        false => Ok(code),
    }
}

/// Judges one study after the other, and prints the verdicts. Returns the folder of the page.
fn judge(
    asked: Vec<Asked>,
    arguments: &StudyArguments,
    interrupt: Interrupt,
) -> Result<(ExitCode, PathBuf), Failure> {
    let is_one = asked.len() == 1;
    let mut done: Vec<Done> = Vec::new();
    let mut changelog = String::new();
    for one in asked {
        let one = one.judged(arguments, is_one, interrupt)?;
        let Done { asked, judged, .. } = &one;
        if let Some(old) = &asked.baseline {
            let is_whole = arguments.claim.is_empty();
            changelog += &baseline::changelog(old, &asked.out, &asked.study.claims, judged, is_whole)?;
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
    let shown = match (done.as_slice(), &arguments.out) {
        ([study], _) => study.asked.out.clone(),
        (_, Some(root)) => root.clone(),
        (_, None) => PathBuf::from("runs").join("studies"),
    };
    if done.len() > 1 {
        let all: Vec<Shown<'_>> = done.iter().map(Done::shown).collect();
        write_page(&shown, &all)?;
    }
    Ok((code, shown))
}

/// A study that is asked for.
struct Asked {
    study: Study,
    /// The folder that it is in; `None` if it is compiled in.
    from: Option<PathBuf>,
    /// The folder of its results.
    out: PathBuf,
    /// That of an earlier run.
    baseline: Option<PathBuf>,
}

/// The names of the studies that are compiled in and asked for.
fn built_in(arguments: &StudyArguments) -> Result<Vec<&str>, Failure> {
    match (arguments.name.as_deref(), &arguments.from) {
        (None, _) => Ok(Vec::new()),
        (Some("all" | "list"), _) => Ok(library::names()),
        (Some(name), None) => Ok(vec![name]),
        (Some(name), Some(folder)) => Err(Failure::usage(format!(
            "{name} and --from {} are two studies",
            folder.display()
        ))
        .with_hint(
            "leave one of them out, or write all for the studies that are compiled in and that of the folder",
        )),
    }
}

/// The studies that are asked for, that of a folder last.
fn asked(arguments: &StudyArguments) -> Result<Vec<Asked>, Failure> {
    let mut studies: Vec<(Study, Option<PathBuf>)> = Vec::new();
    for name in built_in(arguments)? {
        studies.push((Study::named(name).map_err(failure)?, None));
    }
    if let Some(folder) = &arguments.from {
        let study = Study::from_folder(folder).map_err(failure)?;
        let name = &study.claims.study;
        if studies.iter().any(|(other, _)| other.claims.study == *name) {
            let file = claims_file(Some(folder));
            let why = format!("{file}: a study that is compiled in is called {name}, too");
            return Err(Failure::usage(why).with_hint("give the study another name, or leave all out"));
        }
        studies.push((study, Some(folder.clone())));
    }
    let is_one = studies.len() == 1;
    // Below a folder that is named, each of several has one of its own.
    let within = |folder: &Path, name: &str| {
        if is_one {
            folder.to_owned()
        } else {
            folder.join(name)
        }
    };
    let placed = |(study, from): (Study, Option<PathBuf>)| {
        let name = &study.claims.study;
        let usual = || PathBuf::from("runs").join(format!("study-{name}"));
        let out = arguments.out.as_ref();
        Asked {
            out: out.map_or_else(usual, |out| within(out, name)),
            baseline: arguments.baseline.as_ref().map(|old| within(old, name)),
            study,
            from,
        }
    };
    Ok(studies.into_iter().map(placed).collect())
}

impl Asked {
    /// Makes its runs and judges its claims. `is_one` says that no other study is asked for.
    fn judged(
        mut self,
        arguments: &StudyArguments,
        is_one: bool,
        interrupt: Interrupt,
    ) -> Result<Done, Failure> {
        let file = claims_file(self.from.as_deref());
        restrict(&mut self.study, &arguments.claim)?;
        // Suspects change no verdict, and took a quarter of the time of all studies.
        if arguments.quick && !is_one {
            self.study.claims.leave_suspects();
        }
        self.study
            .check_selectors(arguments.quick)
            .map_err(|error| error.in_file(&file))?;
        output::note(format_args!("{}", list::head(&self.study, arguments.quick)));
        if let Some(old) = &self.baseline {
            baseline::check_apart(old, &self.out)?;
        }
        if arguments.no_runs
            && let Some(judged) = kept::verdicts(&self.study.claims, &self.out)?
        {
            // Its own page is kept, too: it has the plots of results that are not here.
            let evidence = Evidence::default();
            return Ok(Done {
                asked: self,
                judged,
                evidence,
            });
        }
        let evidence = self.evidence(arguments, interrupt)?;
        let judged = claims::judge(&self.study.claims, &evidence, &file)?;
        let done = Done {
            asked: self,
            judged,
            evidence,
        };
        write_page(&done.asked.out, &[done.shown()])?;
        Ok(done)
    }

    /// Makes the runs that are missing in its folder, and reads all of them.
    fn evidence(&self, arguments: &StudyArguments, interrupt: Interrupt) -> Result<Evidence, Failure> {
        let runs = self.study.claims.needed();
        let mut evidence = Evidence::default();
        for (at, run) in runs.iter().enumerate() {
            let folder = self.out.join(&run.folder);
            if !arguments.no_runs && !interrupt.is_set() {
                output::note(format_args!("run {} of {}: {}", at + 1, runs.len(), run.name));
                let scenario = self.study.scenario(run, arguments.quick);
                // Studies that are part of the program were read before they were published; a folder may be a stranger's.
                let may_run_programs = arguments.allow_programs || self.from.is_none();
                if let Err(why) = make(scenario, run, &folder, may_run_programs)? {
                    evidence.absent(&run.name, &why);
                    continue;
                }
            }
            match is_complete(&folder)? {
                Ok(()) => claims::add(&mut evidence, &run.name, &folder)?,
                Err(why) => evidence.absent(&run.name, &why),
            }
        }
        Ok(evidence)
    }
}

/// The file of the claims of a study, for messages.
fn claims_file(from: Option<&Path>) -> String {
    let name = Path::new(library::CLAIMS);
    let path = from.map_or_else(|| name.to_owned(), |folder| folder.join(name));
    path.display().to_string()
}

/// A study whose claims are judged.
struct Done {
    asked: Asked,
    judged: Vec<Judged>,
    evidence: Evidence,
}

impl Done {
    fn shown(&self) -> Shown<'_> {
        Shown {
            claims: &self.asked.study.claims,
            judged: &self.judged,
            evidence: &self.evidence,
            from: self.asked.from.as_deref(),
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
