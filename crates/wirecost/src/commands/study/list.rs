//! What studies hold, before anything of them is run.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use wirecost_proto::units::counted;
use wirecost_studies::claims::Claim;
use wirecost_studies::library::Study;

use crate::exit::{self, Failure};
use crate::output;

/// Prints the studies: their claims, published numbers and rows beside them.
pub fn print(studies: &[Study], json: Option<&Path>) -> Result<ExitCode, Failure> {
    output::table_or_json(
        json,
        || serde_json::to_string_pretty(&studies.iter().map(record).collect::<Vec<_>>()),
        || studies.iter().map(row).collect::<String>(),
    )?;
    Ok(ExitCode::from(exit::OK))
}

/// `latency: 15 claims, 97 figures; 7 runs, about 8 min`.
pub fn head(study: &Study, is_quick: bool) -> String {
    let claims = &study.claims;
    let runs = study.claims.needed();
    let about = study
        .takes(is_quick)
        .filter(|_| !runs.is_empty())
        .map(|time| format!(", about {}", rounded(time)));
    format!(
        "{}: {}, {}; {}{}",
        claims.study,
        counted(claims.names().len() as u64, "claim"),
        counted(claims.figures() as u64, "figure"),
        counted(runs.len() as u64, "run"),
        about.unwrap_or_default()
    )
}

/// A time without false precision: seconds below a minute and a half, else whole minutes.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

fn row(study: &Study) -> String {
    let claims = &study.claims;
    format!(
        "{:<14} {:>2} claims, {:>3} numbers, {:>2} recomputed, {:>2} further   {}\n",
        claims.study,
        claims.names().len(),
        claims.numbers(),
        claims.recomputed().len(),
        claims.further().len(),
        claims.source
    )
}

fn record(study: &Study) -> Value {
    let claims = &study.claims;
    let all = claims.claims.iter();
    json!({
        "study": claims.study,
        "source": claims.source,
        "claims": claims.names(),
        "numbers": claims.numbers(),
        "recomputed": claims.recomputed(),
        "further": claims.further(),
        "figures": all.flat_map(figures).collect::<Vec<_>>(),
        "runs": claims.runs.iter().map(|run| &run.name).collect::<Vec<_>>(),
        "notes": claims.notes,
    })
}

/// One record for each published number, or for a shape without a number.
fn figures(claim: &Claim) -> impl Iterator<Item = Value> {
    claim.points.iter().map(|point| {
        let at = point.at.iter();
        let at: serde_json::Map<String, Value> = at
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        json!({
            "id": claim.id,
            "claim": claim.group(),
            "list": claim.list,
            "again": claim.again,
            "says": claim.says,
            "where": claim.place,
            "kind": point.first().question.kind(),
            "at": at,
            "published": point.published.as_ref().map(ToString::to_string),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_to_what_it_can_mean() {
        let texts = [42, 89, 90, 480].map(|seconds| rounded(Duration::from_secs(seconds)));
        assert_eq!(texts, ["42 s", "89 s", "2 min", "8 min"]);
    }
}
