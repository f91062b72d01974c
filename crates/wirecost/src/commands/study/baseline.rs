//! What changed since an earlier folder of the same study: verdicts, then the figures of each run.

use std::path::Path;

use serde_json::Value;
use wirecost_results::RunFolder;
use wirecost_studies::diff::{self, RUNS};
use wirecost_studies::{Claims, Evidence, Judged};

use super::claims;
use crate::exit::Failure;

/// Refuses a folder that no study has written, before anything is run.
pub(super) fn check(old: &Path) -> Result<(), Failure> {
    if old.join("claims.json").exists() {
        return Ok(());
    }
    Err(
        Failure::usage(format!("--baseline: {} has no claims.json", old.display()))
            .with_hint("give the results folder of an earlier wirecost study of the same name"),
    )
}

/// Refuses the folder of this run as its own baseline: the new verdicts would take the place of the old ones before they are compared.
pub(super) fn check_apart(old: &Path, new: &Path) -> Result<(), Failure> {
    let same = |one: &Path, other: &Path| Some(one.canonicalize().ok()? == other.canonicalize().ok()?);
    if same(old, new) != Some(true) {
        return Ok(());
    }
    Err(
        Failure::usage(format!("--baseline: {} is the folder of this run", old.display()))
            .with_hint("write this run to another folder with --out, or copy the earlier one"),
    )
}

/// The changelog, a line for each change; `is_whole` says that all claims were judged. Of a folder that keeps no figures, such as docs/studies,
/// only verdicts are compared.
pub(super) fn changelog(
    old: &Path,
    new: &Path,
    study: &Claims,
    judged: &[Judged],
    is_whole: bool,
) -> Result<String, Failure> {
    let name = old.display();
    let earlier: Vec<Value> = RunFolder::open(old).read_json("claims.json")?;
    let mut lines = vec![format!("{}: changes since {name}", study.study)];
    lines.extend(verdicts(&earlier, judged));
    // If only some claims were judged, the others are not gone: they were not asked for.
    if is_whole {
        lines.extend(gone(&earlier, judged));
    }
    let mut uncompared = 0;
    for run in study.needed() {
        let folders = [old, new].map(|folder| folder.join(&run.folder));
        // docs/studies has verdicts and no results, which would be too large for a repository.
        if folders.iter().any(|folder| !folder.join("summary.json").exists()) {
            uncompared += 1;
            continue;
        }
        let mut evidence = Evidence::default();
        for (name, folder) in RUNS.iter().zip(&folders) {
            claims::add(&mut evidence, name, folder)?;
        }
        if !diff::has_common(&evidence) {
            lines.push(format!("{}: no cell in common", run.folder));
            continue;
        }
        let compared = diff::compare(&evidence, &Default::default());
        if !compared.changes.is_empty() {
            let text = diff::text(&compared.changes);
            lines.extend(text.lines().map(|line| format!("{}: {line}", run.folder)));
        }
    }
    // An empty changelog could also be one that was not made.
    if lines.len() == 1 {
        lines.push("no verdict and no figure changed beyond its interval".to_owned());
    }
    if uncompared > 0 {
        lines.push(format!(
            "note: the figures of {uncompared} of {} runs are not in both folders: only their verdicts are compared",
            study.needed().len()
        ));
    }
    Ok(lines.join("\n") + "\n")
}

/// Claims whose verdict is another one, and new ones.
fn verdicts(earlier: &[Value], judged: &[Judged]) -> Vec<String> {
    let of = |id: &str| earlier.iter().find(|claim| claim["id"] == id);
    let mut lines = Vec::new();
    for claim in judged {
        let now = claim.verdict.to_string();
        match of(&claim.id).and_then(|claim| claim["verdict"].as_str()) {
            None => lines.push(format!("{}: new, {now}: {}", claim.id, claim.why)),
            // JSON has the verdict as one word, and a page as several.
            Some(before) if before.replace('_', " ") != now => {
                lines.push(format!("{}: {before} -> {now}: {}", claim.id, claim.why));
            }
            Some(_) => {}
        }
    }
    lines
}

/// Claims that the study no longer has.
fn gone(earlier: &[Value], judged: &[Judged]) -> Vec<String> {
    let is_gone = |id: &&str| judged.iter().all(|claim| claim.id != *id);
    let ids = earlier
        .iter()
        .filter_map(|claim| claim["id"].as_str())
        .filter(is_gone);
    ids.map(|id| format!("{id}: no longer judged")).collect()
}
