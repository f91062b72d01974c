//! `--check`: published figures of energy, battery life and bytes, recomputed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wirecost_files::output::new_folder;
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;
use wirecost_studies::amount::Published;
use wirecost_studies::claims::{Claim, NeededRun};
use wirecost_studies::judge::JudgedPoint;
use wirecost_studies::library::Study;
use wirecost_studies::{Claims, Evidence, Judged};

use super::super::{claims, study};
use crate::arguments::CostArguments;
use crate::exit::Failure;
use crate::output;

/// The columns of the table.
const HEADS: [&str; 6] = [
    "claim",
    "published",
    "bound",
    "ours",
    "verdict",
    "reason of the difference",
];

/// Recomputes the claims of a file. The runs that it names are made in virtual time.
pub fn run(arguments: &CostArguments) -> Result<ExitCode, Failure> {
    let study = Study::from_file(&arguments.source).map_err(study::failure)?;
    let folder = Temporary::create()?;
    let evidence = evidence(&study, &folder.0)?;
    let judged = claims::judge(&study.claims, &evidence, &arguments.source.display().to_string())?;
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&judged),
        || table(&study.claims, &judged),
    )?;
    Ok(ExitCode::from(claims::expected(&judged)))
}

/// The runs of the claims, in virtual time.
fn evidence(study: &Study, folder: &Path) -> Result<Evidence, Failure> {
    let mut runs: Vec<NeededRun> = study.claims.claims.iter().flat_map(Claim::runs).collect();
    runs.sort_unstable();
    // Several claims need the same run.
    runs.dedup();
    let mut evidence = Evidence::default();
    for (at, run) in runs.iter().enumerate() {
        let mut scenario = study.scenario(run, false);
        if let Some((_, set)) = &mut scenario {
            // Bytes and energy of claims are the same in both engines, and virtual time needs neither root nor minutes.
            set.push("engine=sim".to_owned());
        }
        output::note(format_args!(
            "run {} of {}, in virtual time: {}",
            at + 1,
            runs.len(),
            run.name
        ));
        let into = folder.join(at.to_string());
        match study::make(scenario, run, &into, false)? {
            Ok(()) => claims::add(&mut evidence, &run.name, &into)?,
            Err(why) => evidence.absent(&run.name, &why),
        }
    }
    Ok(evidence)
}

/// A folder that is removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn create() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("wirecost-check-{}", std::process::id()));
        new_folder(&path)
            .map(Self)
            .map_err(|error| Failure::usage(format!("cannot create {}: {error}", path.display())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What is left over is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A row for each point of each claim.
fn table(claims: &Claims, judged: &[Judged]) -> String {
    let rows = judged.iter().flat_map(|claim| {
        let each = claim.points.iter();
        each.map(move |point| row(claim, point))
    });
    let last = HEADS.len() - 1;
    let heads = HEADS.iter().enumerate().map(|(column, head)| match column {
        column if column == last => Head::remark(*head),
        _ => Head::name(*head),
    });
    let listing = Listing {
        heads: heads.collect(),
        rows: rows.map(|row| row.to_vec()).collect(),
    };
    let width = output::width();
    let mut text = paragraph(&claims.source, width) + "\n" + &listing.draw(width, "--json");
    let is_modelled = judged.iter().flat_map(|claim| &claim.points).any(is_modelled);
    if is_modelled {
        text.push_str(
            "\n* modelled by a device file, with the range of its powers; everything else is arithmetic\n",
        );
    }
    text
}

fn is_modelled(point: &JudgedPoint) -> bool {
    point.figures.iter().any(|figure| figure.modelled_by.is_some())
}

fn row(claim: &Judged, point: &JudgedPoint) -> [String; 6] {
    let values: Vec<&str> = point.at.values().map(String::as_str).collect();
    let name = match values.as_slice() {
        [] => claim.id.clone(),
        values => format!("{} {}", claim.id, values.join(" ")),
    };
    let published = point
        .published
        .as_deref()
        .and_then(|text| Published::read(text).ok());
    let ours = published.as_ref().and_then(|published| ours(published, point));
    let bound = published
        .as_ref()
        .zip(point.bound_value)
        .map(|(published, bound)| {
            let sign = if point.is_upper_bound { "<=" } else { ">=" };
            format!("{sign} {}", published.unit_of(bound))
        });
    [
        name,
        point.published.clone().unwrap_or_default(),
        bound.unwrap_or_default(),
        ours.or_else(|| point.ours.clone()).unwrap_or_default(),
        point.verdict.to_string(),
        reason(point),
    ]
}

/// Our number in the unit of the published one, with its range.
fn ours(published: &Published, point: &JudgedPoint) -> Option<String> {
    let shown = |value| published.unit_of(value);
    let mark = if is_modelled(point) { "*" } else { "" };
    let value = format!("{}{mark}", shown(point.ours_value?));
    // The unit follows the value alone.
    let number = |value| shown(value).split(' ').next().unwrap_or_default().to_owned();
    Some(match point.ours_interval {
        Some([low, high]) if low.value < high.value => format!("{value} [{}, {}]", number(low), number(high)),
        _ => value,
    })
}

/// What the difference comes from; of a claim that was not judged, why it was not.
fn reason(point: &JudgedPoint) -> String {
    match &point.reason {
        Some(reason) => reason.clone(),
        None if point.ours.is_none() => point.why.clone(),
        None => String::new(),
    }
}
