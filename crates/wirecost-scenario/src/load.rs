//! The keys of a load in a scenario, and how they are read.
//!
//! - [`credentials`]: who its devices say that they are
//! - [`phases`]: the phases of a load
//! - `sites`: its sites and the links between them

pub mod credentials;
pub mod phases;
pub mod sites;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use wirecost_files::Input;
use wirecost_readings::Batch;
use wirecost_stack::Stack;
use wirecost_stack::target::Target;
use wirecost_stack::url::Url;

use super::certificates;
use super::error::ScenarioError;
use super::key::names;
use super::link;
use super::node::{Key, Node, Value};
use super::shape::{BATCH, CONTENT, RECORD, SUBSCRIBERS, WILL};
use super::table::{Table, ValueError, clients, flag, parsed, readings, set, text, time};
use crate::options::content::READINGS_KEYS;
use crate::options::load::trace::Trace;
use crate::options::load::{BatchBytes, DEFAULT_SIZE, LoadOptions, LoadTarget, Payload, Subscribers, Will};
use crate::options::row;

/// The path of the built-in server's pages of messages, which subscribers poll.
pub const MESSAGES: &str = "messages";

/// The files and variables that a scenario may use.
#[derive(Clone, Copy)]
pub struct ScenarioInputs<'a> {
    /// The folder of the scenario, to which names of files are relative; `None` refuses files.
    pub folder: Option<&'a Path>,
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl ScenarioInputs<'_> {
    /// No files and no variables.
    pub const NONE: ScenarioInputs<'static> = ScenarioInputs {
        folder: None,
        variable: &|_| None,
    };
}

impl std::fmt::Debug for ScenarioInputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScenarioInputs")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl LoadOptions {
    /// The default topic, path or address of messages. The observable resource of CoAP test servers is `obs`.
    pub fn unnamed_resource(stack: Stack, has_subscribers: bool) -> &'static str {
        match stack.is_coap() && has_subscribers {
            true => "obs",
            false => "test",
        }
    }
}

/// Reads a load from the text that [`Resolved`](crate::options::load::print::Resolved) gives, in YAML or JSON.
///
/// # Errors
/// The text is not a load in the resolved form.
pub fn parse(text: &str) -> Result<LoadOptions, ScenarioError> {
    read(&Node::parse(text)?, ScenarioInputs::NONE)
}

/// Reads one load. Every key has one value.
///
/// # Errors
/// A key is unknown, is missing, or has no value that it can have.
pub fn read(node: &Node, inputs: ScenarioInputs<'_>) -> Result<LoadOptions, ScenarioError> {
    let table = Table::new(node, "", &row::keys::<LoadOptions>())?;
    let target = table.one("target", target)?;
    let target = target.unwrap_or(LoadTarget::Started(Target::Builtin));
    let mut load = LoadOptions::new(stack(&table, &target)?, target);
    load.resource = LoadOptions::unnamed_resource(load.stack, table.get("subscribers").is_some()).into();
    if let LoadTarget::Url(url) = &load.target {
        // Before the row of the key `resource`, which stands instead of the path of the URL.
        set(&mut load.resource, url.resource_pattern());
    }
    certificates::refuse_file(&table, inputs.folder)?;
    row::read(&table, &mut load)?;
    connection(&table, &mut load, inputs)?;
    // With sites, the target is one of theirs.
    let server = match load.target {
        LoadTarget::Started(target) if table.get("sites").is_none() => Some(target),
        LoadTarget::Started(_) | LoadTarget::Url(_) => None,
    };
    load.settings = sites::settings(&table, "", server)?;
    sites::place(&table, &mut load, inputs.folder)?;
    devices(&table, &mut load)?;
    load.sources = table.many("sources", parsed::<IpAddr>)?;
    if let Some(node) = table.get("record") {
        let own = Table::new(node, "record.", &names(RECORD))?;
        set(&mut load.keys, own.one("keys", flag)?);
    }
    load.payload = payload_or_size(&table, inputs, load.seed)?;
    load.trace = trace(&table, inputs)?;
    load.user_properties = user_properties(&table)?;
    load.phases = phases::read(&table, load.start)?;
    Ok(load)
}

/// Validates a load. An error is placed at the value that causes it.
///
/// # Errors
/// [`LoadOptions::validate`] refuses it.
pub fn check(node: &Node, load: &LoadOptions) -> Result<(), ScenarioError> {
    load.validate().map_err(|refusal| refusal.in_file(node))
}

/// The stack: the named one, or that of the scheme of a URL.
fn stack(table: &Table<'_>, target: &LoadTarget) -> Result<Stack, ScenarioError> {
    match (table.one::<Stack>("stack", parsed)?, target) {
        // A load of another protocol than the URL's would be refused by the server, with a reason that leads astray.
        (Some(stack), LoadTarget::Url(url)) if !url.names(stack) => {
            let (scheme, own) = (url.scheme, url.scheme.stack());
            Err(table.error(
                "stack",
                format!("{scheme}:// does not name {stack}: write a stack like {own}, or leave it out"),
            ))
        }
        (Some(stack), _) => Ok(stack),
        (None, LoadTarget::Url(url)) => Ok(url.scheme.stack()),
        (None, LoadTarget::Started(_)) => table.required("stack", parsed),
    }
}

/// Reads the connection of devices to their target.
fn connection(
    table: &Table<'_>,
    load: &mut LoadOptions,
    inputs: ScenarioInputs<'_>,
) -> Result<(), ScenarioError> {
    load.login = credentials::login(table, inputs)?;
    load.roster = credentials::roster(table, inputs)?;
    if let LoadTarget::Url(url) = &mut load.target
        // Taken out in any case: a password in a URL would be shown with it.
        && let Some(of_url) = url.login.take()
        // The key `login` stands instead of what is in the URL.
        && load.login.is_none()
    {
        load.login = Some((of_url.user, of_url.password));
    }
    load.link = match table.get("link") {
        None => None,
        Some(node) => match link::links(node, "link.", inputs.folder)?.as_slice() {
            [link] if link.cell.is_some() => {
                let text =
                    "an NB-IoT cell is modelled for single devices; take nb-iot, a link with fixed figures";
                return Err(table.error("link", text));
            }
            [link] => Some(*link),
            _ => return Err(table.error("link", "a load has one link")),
        },
    };
    Ok(())
}

/// Reads senders and subscribers.
fn devices(table: &Table<'_>, load: &mut LoadOptions) -> Result<(), ScenarioError> {
    if let Some(node) = table.get("subscribers") {
        let own = Table::new(node, "subscribers.", &names(SUBSCRIBERS))?;
        let poll = own.one("poll", time)?;
        load.subscribers = Some(Subscribers {
            devices: own.required("devices", clients)?,
            filter: match own.one("filter", text)? {
                // The built-in server has its pages of messages at one path; a subscription needs a topic that only the user knows.
                None if poll.is_some() => MESSAGES.into(),
                None => own.required("filter", text)?,
                Some(filter) => filter,
            },
            poll,
            shared: own.one("shared", text)?,
            qos: own.one("qos", qos)?.unwrap_or(0),
        });
    }
    if let Some(node) = table.get("will") {
        let own = Table::new(node, "will.", &names(WILL))?;
        load.will = Some(Will {
            topic: own.required("topic", text)?,
            payload: own.one("payload", text)?.unwrap_or_default(),
        });
    }
    Ok(())
}

fn qos(text: &str) -> Result<u8, ValueError> {
    let qos = text.parse().ok().filter(|qos| *qos <= 2);
    qos.ok_or_else(|| ValueError::form(text, "a QoS: 0, 1 or 2"))
}

/// Reads a target: a name, or a URL.
///
/// # Errors
/// It is not a target.
pub fn target(text: &str) -> Result<LoadTarget, ValueError> {
    if text.contains("://") {
        return parsed::<Url>(text).map(LoadTarget::Url);
    }
    parsed(text).map(LoadTarget::Started)
}

/// Reads the user properties: a table of texts by name.
fn user_properties(table: &Table<'_>) -> Result<BTreeMap<String, String>, ScenarioError> {
    let Some(node) = table.get("user_properties") else {
        return Ok(BTreeMap::new());
    };
    let wrong = || {
        table.error(
            "user_properties",
            "texts by name are expected, as in {site: north}",
        )
    };
    let pairs = node.entries().ok_or_else(wrong)?.iter();
    let pair = |(key, value): &(Key, Node)| Some((key.name.clone(), value.scalar()?));
    pairs.map(pair).collect::<Option<_>>().ok_or_else(wrong)
}

fn payload_or_size(
    table: &Table<'_>,
    inputs: ScenarioInputs<'_>,
    seed: u64,
) -> Result<Payload, ScenarioError> {
    let size = table.one("size", parsed)?;
    let readings = READINGS_KEYS.into_iter().find(|key| table.get(key).is_some());
    let emulated = table.get("payload").map(without_trace);
    let Some(node) = emulated.as_ref().filter(|node| node.entries() != Some(&[])) else {
        return match readings {
            Some(key) if size.is_some() => Err(table.error(
                "size",
                format!("{key} says what messages carry: leave out one of them"),
            )),
            Some(_) => batch(table, "readings", seed),
            None => Ok(Payload::Size(size.unwrap_or(DEFAULT_SIZE))),
        };
    };
    if let Some(key) = readings {
        return Err(table.error(key, "payload says what a message carries: leave out one of them"));
    }
    if size.is_some() {
        return Err(table.error(
            "size",
            "payload says what a message carries: leave out one of them",
        ));
    }
    payload(node, inputs, seed)
}

/// A payload without its trace.
fn without_trace(payload: &Node) -> Node {
    let mut others = payload.clone();
    if let Value::Table(entries) = &mut others.value {
        entries.retain(|(key, _)| key.name != "trace");
    }
    others
}

/// Reads the trace of the first device: a file that the payload names, or its text in the resolved form.
fn trace(table: &Table<'_>, inputs: ScenarioInputs<'_>) -> Result<Option<Trace>, ScenarioError> {
    if let Some(csv) = table.one("trace", text)? {
        let trace = Trace::read(&csv);
        return trace.map(Some).map_err(|error| table.error("trace", error));
    }
    let Some(payload) = table.get("payload").filter(|node| node.get("trace").is_some()) else {
        return Ok(None);
    };
    let own = Table::at(payload, "payload.");
    let name = own.required("trace", text)?;
    let folder = inputs
        .folder
        .ok_or_else(|| own.error("trace", "no files can be read here"))?;
    let csv = Input::Arrivals.text(&folder.join(&name));
    let csv = csv.map_err(|why| own.error("trace", format!("cannot read {name}: {why}")))?;
    let trace = Trace::read(&csv);
    trace
        .map(Some)
        .map_err(|error| own.error("trace", format!("{name}, {error}")))
}

/// Reads the table of a payload, whose readings follow from the seed.
pub(crate) fn payload(node: &Node, inputs: ScenarioInputs<'_>, seed: u64) -> Result<Payload, ScenarioError> {
    let keys = names(CONTENT);
    let own = Table::new(node, "payload.", &keys)?;
    let given: Vec<&str> = keys
        .iter()
        .copied()
        .filter(|key| own.get(key).is_some())
        .collect();
    let &[key] = given.as_slice() else {
        let text = format!("payload: one of {} is expected", keys.join(", "));
        return Err(ScenarioError::new(&node.place, text));
    };
    match key {
        "size" => own.required(key, parsed).map(Payload::Size),
        "template" => Ok(Payload::Template(own.required(key, text)?.into())),
        "hex" => Ok(Payload::File(own.required(key, hex)?)),
        "readings" => {
            let node = own.get(key).unwrap_or(node);
            let readings = Table::new(node, "payload.readings.", &names(BATCH))?;
            batch(&readings, "count", seed)
        }
        _ => {
            let name = own.required(key, text)?;
            let folder = inputs
                .folder
                .ok_or_else(|| own.error(key, "no files can be read here"))?;
            let read = Input::Payload.bytes(&folder.join(&name));
            let bytes = read.map_err(|why| own.error(key, format!("cannot read {name}: {why}")))?;
            Ok(Payload::File(bytes.into()))
        }
    }
}

/// Readings in one encoding with one compression; `count` is the key of their number.
fn batch(table: &Table<'_>, count: &str, seed: u64) -> Result<Payload, ScenarioError> {
    let default = Batch::default();
    let batch = Batch {
        readings: table.one(count, readings)?.unwrap_or(default.readings),
        encoding: table.one("encoding", parsed)?.unwrap_or(default.encoding),
        compression: table.one("compression", parsed)?.unwrap_or(default.compression),
    };
    Ok(Payload::Readings(BatchBytes::new(batch, seed)))
}

fn hex(text: &str) -> Result<Arc<[u8]>, ValueError> {
    let wrong = || ValueError::Refused("pairs of hexadecimal digits are expected".to_owned());
    let digits = text.as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(wrong());
    }
    let byte = |pair: &[u8; 2]| {
        let two = std::str::from_utf8(pair)
            .ok()
            // from_str_radix takes a sign: "+f" would pass as a byte.
            .filter(|two| !two.starts_with('+'))?;
        u8::from_str_radix(two, 16).ok()
    };
    pairs.iter().map(|pair| byte(pair).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests;
