//! Verdicts that a folder keeps without the results that they were made of, such as those of docs/studies.

use std::path::Path;

use wirecost_results::RunFolder;
use wirecost_studies::judge::kept::KeptVerdicts;
use wirecost_studies::{Claims, Judged};

use crate::exit::Failure;

/// The file of the verdicts.
const FILE: &str = "claims.json";

/// The verdicts that a folder keeps; `None` if it has results to judge, or nothing of a run.
pub(super) fn verdicts(study: &Claims, folder: &Path) -> Result<Option<Vec<Judged>>, Failure> {
    let runs = study.needed();
    let has = |file: &str| {
        runs.iter()
            .any(|run| folder.join(&run.folder).join(file).exists())
    };
    // A summary in words says that there were results. Without one, a file of verdicts may be that of an earlier `--no-runs`.
    if has("summary.json") || !has("summary.md") || !folder.join(FILE).exists() {
        return Ok(None);
    }
    let file: KeptVerdicts = RunFolder::open(folder).read_json(FILE)?;
    let kept = study.kept(&file).map_err(|error| {
        Failure::usage(format!("{}: {error}", folder.join(FILE).display()))
            .with_hint("make the runs of the study again, and keep their verdicts")
    });
    kept.map(Some)
}
