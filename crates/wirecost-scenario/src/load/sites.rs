//! The keys of sites: `sites`, `links`, `at`; and the settings of servers.

use std::path::Path;

use wirecost_link::LinkConfig;
use wirecost_results::setting::SettingValue;
use wirecost_stack::target::Target;

use crate::error::ScenarioError;
use crate::key::names;
use crate::link;
use crate::node::{Key, Node, Value};
use crate::options::load::settings::Settings;
use crate::options::load::sites::{At, Bridge, Fault, Site, SiteLink, Sites};
use crate::options::load::{LoadOptions, LoadTarget};
use crate::shape::{AT, BRIDGE, SITE};
use crate::table::{Table, parsed, text};

/// The settings of a server: names with numbers or words. `target` is the server, unless it runs already or is not known.
pub(super) fn settings(
    table: &Table<'_>,
    prefix: &str,
    target: Option<Target>,
) -> Result<Settings, ScenarioError> {
    let Some(node) = table.get("settings") else {
        return Ok(Settings::default());
    };
    let entries = node.entries().ok_or_else(|| {
        let kind = node.kind();
        table.error(
            "settings",
            format!("a table of names and values is expected, this is {kind}"),
        )
    })?;
    let prefix = format!("{prefix}settings.");
    let own = Table::at(node, &prefix);
    let value = |text: &str| Ok(SettingValue::from(text));
    let setting = |(key, _): &(Key, Node)| Ok((key.name.clone(), own.required(&key.name, value)?));
    let read = entries.iter().map(setting).collect::<Result<_, ScenarioError>>();
    let settings = Settings(read?);
    // Which settings there are depends on the server, which is not known here.
    let Some(target) = target else {
        return Ok(settings);
    };
    let mut names = entries.iter().map(|(key, _)| key.name.as_str());
    let refused = names.find_map(|name| Some((name, settings.refuses(target, name)?)));
    refused.map_or(Ok(settings), |(name, why)| Err(own.error(name, why)))
}

/// Reads the sites of a load, from which its link, its target and the target's settings follow.
pub(super) fn place(
    table: &Table<'_>,
    load: &mut LoadOptions,
    folder: Option<&Path>,
) -> Result<(), ScenarioError> {
    let Some(node) = table.get("sites") else {
        let stray = ["links", "at"].into_iter().find(|key| table.get(key).is_some());
        return stray.map_or(Ok(()), |key| Err(table.error(key, "it needs sites")));
    };
    let sites = read(table, node, folder)?;
    let placement = sites.place().map_err(|fault| at_fault(table, &fault))?;
    // `link` completes each of `links`: only where it completed none it is told to be left out.
    if load.link.is_some_and(|link| link != placement.link) {
        all_is_used(table)?;
    }
    let target = LoadTarget::Started(placement.target);
    // The resolved form has the target of its sites: reading it back must not fail.
    if table.get("target").is_some() && load.target != target {
        return Err(table.error("target", "the servers of sites are under sites: leave it out"));
    }
    // As the target: the resolved form has both.
    if !load.settings.is_empty() && load.settings != placement.settings {
        return Err(table.error(
            "settings",
            "those of the servers of sites are under sites: leave them out",
        ));
    }
    (load.link, load.target, load.settings) = (Some(placement.link), target, placement.settings);
    load.sites = Some(sites);
    Ok(())
}

/// Refuses what `link` says of all links where each of them says it itself.
fn all_is_used(table: &Table<'_>) -> Result<(), ScenarioError> {
    let (Some(shared), Some(links)) = (table.get("link"), table.get("links")) else {
        return Ok(());
    };
    let each = || links.entries().unwrap_or_default().iter().map(|(_, node)| node);
    let Some(entries) = shared.entries() else {
        let has_none = |node: &Node| node.value != Value::Null;
        return match each().all(has_none) {
            true => Err(table.error("link", "each of links is one itself: leave it out")),
            false => Ok(()),
        };
    };
    let is_unused = |(key, _): &&(Key, Node)| each().all(|link| link.get(&key.name).is_some());
    // A value that never applies was meant for something: nobody would notice that it does not.
    match entries.iter().find(is_unused) {
        None => Ok(()),
        Some((key, _)) => {
            let why = format!(
                "link.{}: each of links has one of its own: leave it out",
                key.name
            );
            Err(ScenarioError::new(&key.place, why))
        }
    }
}

/// An error at the value that a fault names.
fn at_fault(table: &Table<'_>, Fault { key, why }: &Fault) -> ScenarioError {
    let mut parts = key.split('.');
    let place = parts.next().and_then(|first| table.get(first)).map(|node| {
        let deepest = parts.try_fold(node, |node, part| node.get(part).ok_or(node));
        deepest.unwrap_or_else(|node| node)
    });
    match place {
        Some(node) => ScenarioError::new(&node.place, format!("{key}: {why}")),
        None => table.error(key, why),
    }
}

fn read(table: &Table<'_>, node: &Node, folder: Option<&Path>) -> Result<Sites, ScenarioError> {
    let wrong = |node: &Node, key: &str| {
        let kind = node.kind();
        table.error(key, format!("a table by name is expected, this is {kind}"))
    };
    let entries = node.entries().ok_or_else(|| wrong(node, "sites"))?;
    let all = entries
        .iter()
        .map(|(key, node)| site(key, node))
        .collect::<Result<_, _>>()?;
    let joined = table
        .get("links")
        .ok_or_else(|| table.error("links", "sites need links between them"))?;
    let entries = joined.entries().ok_or_else(|| wrong(joined, "links"))?;
    let shared = table.get("link");
    let links = entries
        .iter()
        .map(|(key, node)| site_link(key, &completed(node, shared), folder));
    let links = links.collect::<Result<_, _>>()?;
    let devices = table.get("at").ok_or_else(|| {
        table.error(
            "at",
            "it says at which sites the devices are, e.g. {senders: field}",
        )
    })?;
    let own = Table::new(devices, "at.", &names(AT))?;
    let at = At {
        senders: own.required("senders", text)?,
        subscribers: own.one("subscribers", text)?,
    };
    Ok(Sites { all, links, at })
}

fn site(key: &Key, node: &Node) -> Result<Site, ScenarioError> {
    let is_plain = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    // A name is part of names of hops (`field-core`), of folders and of settings: a hyphen or a slash would be ambiguous.
    if !is_plain(&key.name) {
        let why = format!(
            "sites: {:?} is no name of a site: use letters, digits and _",
            key.name
        );
        return Err(ScenarioError::new(&key.place, why));
    }
    let prefix = format!("sites.{}.", key.name);
    let none = Node::at(&node.place, Value::Table(Vec::new()));
    // `field:` alone is a site without a server, as most are.
    let is_empty = node.value == Value::Null;
    let own = Table::new(if is_empty { &none } else { node }, &prefix, &names(SITE))?;
    let servers: Vec<Target> = own.many("servers", parsed)?;
    Ok(Site {
        name: key.name.clone(),
        settings: settings(&own, &prefix, servers.first().copied())?,
        servers,
        bridges: bridges(&own, &format!("{prefix}bridges."))?,
    })
}

fn bridges(site: &Table<'_>, prefix: &str) -> Result<Vec<Bridge>, ScenarioError> {
    let list = match site.get("bridges").map(|node| &node.value) {
        None => return Ok(Vec::new()),
        Some(Value::List(list)) => list,
        Some(_) => return Err(site.error("bridges", "a list is expected, e.g. [{to: region, topic: \"#\"}]")),
    };
    let bridge = |node: &Node| {
        let own = Table::new(node, prefix, &names(BRIDGE))?;
        Ok(Bridge {
            to: own.required("to", text)?,
            topic: own.required("topic", text)?,
            qos: own.one("qos", super::qos)?.unwrap_or(0),
        })
    };
    list.iter().map(bridge).collect()
}

/// A link of `links` with what `link` says of all of them where it says nothing itself.
fn completed(own: &Node, shared: Option<&Node>) -> Node {
    let Some(shared) = shared else {
        return own.clone();
    };
    match (&own.value, &shared.value) {
        // A link without anything behind its name: all of it comes from the shared one.
        (Value::Null, _) => shared.clone(),
        (Value::Table(entries), Value::Table(all)) => {
            let is_said = |name: &str| entries.iter().any(|(key, _)| key.name == name);
            let others = all.iter().filter(|(key, _)| !is_said(&key.name));
            Node::at(
                &own.place,
                Value::Table(entries.iter().chain(others).cloned().collect()),
            )
        }
        _ => own.clone(),
    }
}

fn site_link(key: &Key, node: &Node, folder: Option<&Path>) -> Result<SiteLink, ScenarioError> {
    let at = |why: String| ScenarioError::new(&key.place, format!("links.{}: {why}", key.name));
    let (one, other) = key
        .name
        .split_once('-')
        .ok_or_else(|| at("the name of a link is that of its two sites, e.g. field-fog".to_owned()))?;
    let prefix = format!("links.{}.", key.name);
    let links = link::links(node, &prefix, folder)?;
    let config: LinkConfig = match links.as_slice() {
        [link] if link.cell.is_none() => *link,
        [_] => return Err(at("an NB-IoT cell is modelled for single devices".to_owned())),
        _ => return Err(at("it is one link".to_owned())),
    };
    Ok(SiteLink {
        ends: [one.to_owned(), other.to_owned()],
        config,
    })
}
