//! The keys of a comparison in a scenario, and how they are read.

use std::path::Path;

use wirecost_link::LinkConfig;
use wirecost_stack::{Stack, name};

use super::certificates;
use super::edit::OF_COMPARISONS;
use super::error::ScenarioError;
use super::key::names;
use super::link;
use super::load::ScenarioInputs;
use super::node::{Node, Value};
use super::selector::{Labels, Selector};
use super::shape::{RECORD_OF_CELLS, SCHEDULE};
use super::table::{MAX_LIST, Table, flag, keep_alive, parsed, set, text, time, whole};
use crate::options::compare::{Engine, Options, Running, Schedule, ServerPath, SharedLink, Target};
use crate::options::content;
use crate::options::load::LoadTarget;
use crate::options::row;
use crate::plan;

/// The keys of a comparison.
pub fn keys() -> Vec<&'static str> {
    row::keys::<Options>()
}

/// Reads a comparison. Each key of the matrix has a value or a list.
///
/// # Errors
/// A key is unknown, has no value that it can have, or the comparison cannot be run.
pub fn read(node: &Node, inputs: ScenarioInputs<'_>) -> Result<Options, ScenarioError> {
    let table = Table::new(node, "", &keys())?;
    let mut options = Options::new(stacks(&table)?);
    certificates::refuse_file(&table, inputs.folder)?;
    row::read(&table, &mut options)?;
    matrix(&table, &mut options, inputs.folder)?;
    super::sending::read(&table, &mut options, inputs)?;
    // Before the target: a modelled cell decides for virtual time, a server that runs already only where nothing else decided.
    options.settle_engine();
    target(&table, &mut options)?;
    options.shared_link = shared_link(&table)?;
    if let Some(node) = table.get("record") {
        let own = Table::new(node, "record.", &names(RECORD_OF_CELLS))?;
        set(&mut options.keys, own.one("keys", flag)?);
        set(&mut options.record_hosts, own.one("hosts", whole)?);
    }
    options.exclude = exclude(&table)?;
    // Counted before they are made: lists of a few lines may have billions of combinations.
    let cells = everything(&options);
    if cells > MAX_CELLS {
        let message = format!("there are {cells} cells, more than {MAX_CELLS}: shorten the lists");
        return Err(ScenarioError::new(&super::Place::File, message));
    }
    options.validate().map_err(|refusal| refusal.in_file(node))?;
    check_exclude(&table, &options)?;
    Ok(options)
}

/// Reads the target: the name of a server that wirecost starts, or the URL of one that runs already.
fn target(table: &Table<'_>, options: &mut Options) -> Result<(), ScenarioError> {
    let target = table.one("target", super::load::target)?;
    let (path, ca) = (table.one("path", parsed)?, table.one("ca", text)?);
    let insecure = table.one("insecure", flag)?;
    let url = match target {
        Some(LoadTarget::Url(url)) => url,
        started => {
            if let Some(LoadTarget::Started(started)) = started {
                options.target = started;
            }
            let only_of_urls = [
                ("path", path.is_some()),
                ("ca", ca.is_some()),
                ("insecure", insecure.is_some()),
            ];
            return match only_of_urls.into_iter().find(|(_, is_there)| *is_there) {
                Some((key, _)) => Err(table.error(key, "it belongs to the URL of a target")),
                None => Ok(()),
            };
        }
    };
    let has_link = ["link", "links"].iter().any(|key| table.get(key).is_some());
    let path = path.unwrap_or(if has_link {
        ServerPath::Relay
    } else {
        ServerPath::Real
    });
    // The real path has its own delay and loss: the default link of 25 ms would be added to it.
    if path == ServerPath::Real && !has_link {
        options.links = vec![LinkConfig::default()];
    }
    options.target = Target::Running;
    // Virtual time has only the built-in servers.
    if options.engine == Engine::Auto {
        options.engine = Engine::Live;
    }
    options.running = Some(Running {
        path,
        ca: ca.map(Into::into),
        insecure: insecure.unwrap_or_default(),
        ..Running::new(url)
    });
    Ok(())
}

/// The most cells of a scenario.
pub const MAX_CELLS: usize = 100_000;

/// The number of cells without `exclude`.
fn everything(options: &Options) -> usize {
    let lists = [
        options.stacks.len(),
        options.starts.len(),
        options.contents.count(),
        options.links.len(),
        options.schedules.len(),
    ];
    lists.into_iter().fold(1, usize::saturating_mul)
}

/// The stacks: under `stack`, or under `stacks` in the resolved form.
fn stacks(table: &Table<'_>) -> Result<Vec<Stack>, ScenarioError> {
    let stacks = match (table.get("stack"), table.get("stacks")) {
        // Two keys for one thing: the later of them would win without a word.
        (Some(_), Some(_)) => return Err(table.error("stacks", "stack says the same: leave out one of them")),
        (Some(_), None) => table.many("stack", parsed)?,
        (None, _) => table.many("stacks", parsed)?,
    };
    if !stacks.is_empty() {
        return Ok(stacks);
    }
    let default = name::DEFAULT.iter().map(|name| parsed(name));
    default
        .collect::<Result<_, _>>()
        .map_err(|why| table.error("stack", why))
}

/// Reads the keys that can have several values.
fn matrix(table: &Table<'_>, options: &mut Options, folder: Option<&Path>) -> Result<(), ScenarioError> {
    set(&mut options.contents, content::read(table)?);
    let starts = table.many("start", parsed)?;
    if !starts.is_empty() {
        options.starts = starts;
    }
    options.links = match (table.get("link"), table.get("links")) {
        (None, None) => return schedules(table, options),
        (Some(_), Some(_)) => return Err(table.error("links", "link says the same: leave out one of them")),
        (Some(node), None) => link::links(node, "link.", folder)?,
        (
            None,
            Some(Node {
                value: Value::List(list),
                ..
            }),
        ) => {
            if list.len() > MAX_LIST {
                return Err(table.error("links", format!("a list has at most {MAX_LIST} links")));
            }
            let links = list.iter().map(|node| link::links(node, "links.", folder));
            links.collect::<Result<Vec<_>, _>>()?.concat()
        }
        (None, Some(node)) => link::links(node, "links.", folder)?,
    };
    schedules(table, options)
}

/// Reads the schedules: every combination of intervals and numbers of messages, or a list of both together.
fn schedules(table: &Table<'_>, options: &mut Options) -> Result<(), ScenarioError> {
    let Some(node) = table.get("schedules") else {
        options.schedules = schedules_of(table)?;
        return Ok(());
    };
    let Value::List(list) = &node.value else {
        return Err(table.error(
            "schedules",
            format!("a list is expected, this is {}", node.kind()),
        ));
    };
    let one = |node| {
        let table = Table::new(node, "schedules.", &names(SCHEDULE))?;
        let keep_alive = table.one("keep_alive", keep_alive)?;
        let schedules = schedules_of(&table)?.into_iter();
        Ok(schedules
            .map(|schedule| Schedule {
                keep_alive,
                ..schedule
            })
            .collect::<Vec<_>>())
    };
    options.schedules = list.iter().map(one).collect::<Result<Vec<_>, _>>()?.concat();
    Ok(())
}

fn schedules_of(table: &Table<'_>) -> Result<Vec<Schedule>, ScenarioError> {
    let intervals = table.many("interval", time)?;
    let messages = table.many("messages_per_connection", whole)?;
    Ok(Schedule::every(
        &intervals,
        &messages,
        table.one("warm_up", flag)?,
    ))
}

fn shared_link(table: &Table<'_>) -> Result<Option<SharedLink>, ScenarioError> {
    let spread = table.one("spread", time)?;
    match table.one("shared_link", flag)?.unwrap_or_default() {
        true => Ok(Some(SharedLink { spread })),
        false if spread.is_some() => Err(table.error("spread", "it belongs to shared_link: true")),
        false => Ok(None),
    }
}

/// Reads the excluded cells: a list of tables of dimensions, each with a value or a list.
fn exclude(table: &Table<'_>) -> Result<Vec<Selector>, ScenarioError> {
    let Some(node) = table.get("exclude") else {
        return Ok(Vec::new());
    };
    selectors(node, &OF_COMPARISONS)
}

/// Refuses conditions that exclude nothing, or every cell.
fn check_exclude(table: &Table<'_>, options: &Options) -> Result<(), ScenarioError> {
    if options.exclude.is_empty() {
        return Ok(());
    }
    let everything = Options {
        exclude: Vec::new(),
        ..options.clone()
    };
    let cells = plan::labels(&everything);
    let is_idle = |one: &&Selector| !cells.iter().any(|(_, labels)| one.matches(labels));
    // Most often a value with a typing error: the cells that were meant would be run, and nobody would notice.
    if let Some(idle) = options.exclude.iter().find(is_idle) {
        return Err(table.error("exclude", format!("nothing of this run is {idle}")));
    }
    let is_kept = |labels: &Labels| !options.exclude.iter().any(|one| one.matches(labels));
    if cells.iter().any(|(_, labels)| is_kept(labels)) {
        return Ok(());
    }
    Err(table.error("exclude", "it leaves out every cell"))
}

/// Reads a list of tables as selectors.
///
/// # Errors
/// It is not a list, a table is empty, or a key is not among `dimensions`.
pub(super) fn selectors(node: &Node, dimensions: &[&'static str]) -> Result<Vec<Selector>, ScenarioError> {
    let Value::List(list) = &node.value else {
        let message = format!("exclude: a list of tables is expected, this is {}", node.kind());
        return Err(
            ScenarioError::new(&node.place, message).with_hint("for example - {stack: http3, start: cold}")
        );
    };
    list.iter().map(|node| selector(node, dimensions)).collect()
}

fn selector(node: &Node, dimensions: &[&'static str]) -> Result<Selector, ScenarioError> {
    let table = Table::new(node, "exclude.", dimensions)?;
    let mut selector = Selector::default();
    for (key, node) in node.entries().unwrap_or_default() {
        let values = table.many(&key.name, text)?;
        let required = selector.require(&key.name, &values, dimensions);
        required.map_err(|why| ScenarioError::new(&node.place, format!("exclude.{}: {why}", key.name)))?;
    }
    if selector.is_empty() {
        return Err(ScenarioError::new(
            &node.place,
            "exclude: a table without conditions would leave out everything",
        ));
    }
    Ok(selector)
}
