//! The sites of a load: places, and the links between them.
//!
//! ```text
//! field (devices) -- link -- fog (server) -- link -- office (devices that subscribe)
//! ```
//!
//! A site has devices or servers; a broker may pass on what it receives to that of another site. A packet crosses the one link between the site that sends and the site that receives it: that
//! link is its hop. Nothing is routed through a third site.

use std::ops::Range;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirecost_link::{Hop, LinkConfig};
use wirecost_proto::hosts::HostIndex;
use wirecost_results::link_text::LinkText;
use wirecost_stack::target::Target;

use super::LoadOptions;
use super::settings::Settings;

/// The sites of a load, the links between them, and where its devices are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sites {
    /// Every site, in the order of the file.
    #[serde(rename = "sites", serialize_with = "named_sites")]
    pub all: Vec<Site>,
    /// Every link, in the order of the file.
    #[serde(serialize_with = "named_links")]
    pub links: Vec<SiteLink>,
    /// Where the devices are.
    pub at: At,
}

/// The sites of the devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct At {
    /// The site of those that send.
    pub senders: String,
    /// The site of those that subscribe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<String>,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    /// Its name.
    #[serde(skip)]
    pub name: String,
    /// The servers that wirecost starts there, each at the port of what it speaks.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "names_of")]
    pub servers: Vec<Target>,
    /// The settings of its server.
    #[serde(skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// What its server passes on to those of other sites.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bridges: Vec<Bridge>,
}

/// What a broker passes on to another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bridge {
    /// The site of the other broker.
    pub to: String,
    /// The topics, as a filter.
    pub topic: String,
    /// The most QoS of what is passed on.
    pub qos: u8,
}

/// A link between two sites.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteLink {
    /// The names of the two sites. Up is from devices to their server, and between two servers from the first site to the second.
    pub ends: [String; 2],
    /// The link.
    pub config: LinkConfig,
}

/// What is wrong with sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of keys of the value that causes it.
    pub key: String,
    /// The reason, in one sentence.
    pub why: String,
}

/// Where the devices of a load and their servers are.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The server of the devices that send.
    pub target: Target,
    /// Its settings.
    pub settings: Settings,
    /// The link of the devices that send.
    pub link: LinkConfig,
    /// The names of the sites with servers that what is sent reaches, in the order in which it does. Their indices are those of
    /// their addresses; the first one is that of the devices that send.
    pub servers: Vec<String>,
    /// The index of the server of the subscribers.
    pub of_subscribers: u8,
}

fn fault(key: impl Into<String>, why: String) -> Fault {
    Fault { key: key.into(), why }
}

impl Sites {
    fn site(&self, name: &str) -> Option<&Site> {
        self.all.iter().find(|site| site.name == name)
    }

    /// The links that end at a site.
    fn links_of(&self, name: &str) -> Vec<&SiteLink> {
        let ends_here = |link: &&SiteLink| link.ends.iter().any(|end| end == name);
        self.links.iter().filter(ends_here).collect()
    }

    /// Where devices and servers are.
    ///
    /// # Errors
    /// The first fault of the sites.
    pub fn place(&self) -> Result<Placement, Fault> {
        self.check_links()?;
        self.check_servers()?;
        self.check_bridges()?;
        let (server, link) = self.server_of(&self.at.senders, "at.senders")?;
        let subscribers = self.at.subscribers.as_deref();
        let own = self.site(server);
        let target = own.and_then(|site| site.servers.first());
        let servers = self.reached(server);
        let mut of_subscribers = Some(0);
        if let Some(site) = subscribers {
            let (other, _) = self.server_of(site, "at.subscribers")?;
            of_subscribers = servers.iter().position(|name| name == other);
            if of_subscribers.is_none() {
                let why = format!(
                    "{site} is joined to {other}, and no bridge passes on to it what {server} receives"
                );
                return Err(fault("at.subscribers", why));
            }
        }
        let idle = self.all.iter().find(|site| {
            let has_devices = site.name == self.at.senders || Some(site.name.as_str()) == subscribers;
            !has_devices && !servers.contains(&site.name)
        });
        // A site without a part in the load would look, in the results, as if it had one.
        if let Some(idle) = idle {
            let why = "nothing of the load is there: leave it out".to_owned();
            return Err(fault(format!("sites.{}", idle.name), why));
        }
        Ok(Placement {
            target: target.copied().unwrap_or(Target::Builtin),
            settings: own.map(|site| site.settings.clone()).unwrap_or_default(),
            link: link.config,
            of_subscribers: of_subscribers
                .and_then(|index| u8::try_from(index).ok())
                .unwrap_or_default(),
            servers,
        })
    }

    fn check_links(&self) -> Result<(), Fault> {
        for (index, link) in self.links.iter().enumerate() {
            let [one, other] = &link.ends;
            let key = format!("links.{one}-{other}");
            if let Some(unknown) = link.ends.iter().find(|end| self.site(end).is_none()) {
                let names: Vec<&str> = self.all.iter().map(|site| site.name.as_str()).collect();
                let why = format!("there is no site {unknown}: the sites are {}", names.join(", "));
                return Err(fault(key, why));
            }
            if one == other {
                return Err(fault(key, "a link joins two different sites".to_owned()));
            }
            let joins = |earlier: &SiteLink| link.ends.iter().all(|end| earlier.ends.contains(end));
            if self.links[..index].iter().any(joins) {
                return Err(fault(key, "these two sites have a link already".to_owned()));
            }
            let mtu = |link: &SiteLink| link.config.up.mtu.min(link.config.down.mtu);
            // One interface carries the packets of all links on this machine, and has one MTU.
            if mtu(link) != mtu(&self.links[0]) {
                let why = "the links between sites have one MTU, and an earlier one has another".to_owned();
                return Err(fault(key, why));
            }
        }
        let unreached = self.all.iter().find(|site| self.links_of(&site.name).is_empty());
        unreached.map_or(Ok(()), |site| {
            let why = "no link reaches it: join it to another site under links".to_owned();
            Err(fault(format!("sites.{}", site.name), why))
        })
    }

    fn check_servers(&self) -> Result<(), Fault> {
        for site in &self.all {
            if site.servers.is_empty() && !site.settings.is_empty() {
                let why = "they are those of a server, and there is none".to_owned();
                return Err(fault(format!("sites.{}.settings", site.name), why));
            }
            if let [one, other, ..] = site.servers.as_slice() {
                let why =
                    format!("{one} and {other} would listen at one port: a site has one server of a stack");
                return Err(fault(format!("sites.{}.servers", site.name), why));
            }
        }
        Ok(())
    }

    fn check_bridges(&self) -> Result<(), Fault> {
        for site in &self.all {
            for bridge in &site.bridges {
                let key = || format!("sites.{}.bridges", site.name);
                let (from, to) = (&site.name, &bridge.to);
                let is_joined = self
                    .links_of(from)
                    .iter()
                    .any(|link| from != to && link.ends.contains(to));
                let has_server = self.site(to).is_some_and(|site| !site.servers.is_empty());
                if site.servers.is_empty() || !has_server || !is_joined {
                    let why = format!("{from} and {to} are to have a server each, and a link between them");
                    return Err(fault(key(), why));
                }
                // A bridge does not mark messages: a broker passes on what comes from another as if a device had sent it.
                if self.reached(to).contains(from) {
                    let why = format!(
                        "what {from} passes on to {to} comes back to it: bridges in a circle pass on for ever"
                    );
                    return Err(fault(key(), why));
                }
            }
        }
        Ok(())
    }

    /// The sites that what the server at a site receives reaches by bridges, that site first.
    fn reached(&self, from: &str) -> Vec<String> {
        let mut reached = vec![from.to_owned()];
        let mut next = 0;
        while let Some(site) = reached.get(next).and_then(|name| self.site(name)) {
            for bridge in &site.bridges {
                if !reached.contains(&bridge.to) {
                    reached.push(bridge.to.clone());
                }
            }
            next += 1;
        }
        reached
    }

    /// The site with the server of the devices at a site, and the link to it. `key` says where the site is named.
    fn server_of(&self, name: &str, key: &'static str) -> Result<(&str, &SiteLink), Fault> {
        let Some(site) = self.site(name) else {
            return Err(fault(key, format!("there is no site {name}")));
        };
        if !site.servers.is_empty() {
            let why = format!("{name} has a server, and between it and devices there would be no link");
            return Err(fault(key, why));
        }
        let links = self.links_of(name);
        let [link] = links.as_slice() else {
            let why =
                format!("{name} has several links, so that its devices could take any of them: leave one");
            return Err(fault(key, why));
        };
        let other = link.ends.iter().find(|end| *end != name);
        match other.and_then(|other| self.site(other)) {
            Some(other) if !other.servers.is_empty() => Ok((other.name.as_str(), link)),
            _ => Err(fault(key, format!("{name} has no link to a site with a server"))),
        }
    }
}

impl Sites {
    /// The site with this name.
    pub fn named(&self, name: &str) -> Option<&Site> {
        self.site(name)
    }

    /// Whether a broker passes on anything.
    pub fn has_bridges(&self) -> bool {
        self.all.iter().any(|site| !site.bridges.is_empty())
    }
}

impl SiteLink {
    /// Its name, in scenarios and results.
    pub fn name(&self) -> String {
        self.ends.join("-")
    }
}

impl LoadOptions {
    /// The link of each hop with the devices that it is of, in the order of the file; one link of all devices without sites.
    pub fn hops(&self) -> Vec<Hop> {
        let senders = 0..self.clients;
        let subscribers = self.clients..self.clients.saturating_add(self.receivers());
        let Some(sites) = &self.sites else {
            return self.link.map(Hop::of_all).into_iter().collect();
        };
        let At {
            senders: sending,
            subscribers: receiving,
        } = &sites.at;
        let servers = sites
            .place()
            .map(|placement| placement.servers)
            .unwrap_or_default();
        let index = |name: &String| servers.iter().position(|server| server == name);
        let bridges = subscribers.end;
        let hop = |(number, link): (u32, &SiteLink)| {
            let [one, other] = &link.ends;
            if let Some((one, other)) = index(one).zip(index(other)) {
                let between = [one, other].map(|site| u8::try_from(site).unwrap_or(u8::MAX));
                return Hop::between(link.config, between, bridges + number);
            }
            let is_at = |site: &String| link.ends.contains(site);
            let hosts: Vec<Range<HostIndex>> = [
                is_at(sending).then(|| senders.clone()),
                is_at(receiving.as_ref().unwrap_or(sending)).then(|| subscribers.clone()),
            ]
            .into_iter()
            .flatten()
            .collect();
            Hop::new(link.config, hosts)
        };
        (0..).zip(&sites.links).map(hop).collect()
    }
}

fn names_of<S: Serializer>(servers: &[Target], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(servers.iter().map(ToString::to_string))
}

fn named_sites<S: Serializer>(sites: &[Site], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(sites.len()))?;
    for site in sites {
        map.serialize_entry(&site.name, site)?;
    }
    map.end()
}

fn named_links<S: Serializer>(links: &[SiteLink], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(links.len()))?;
    for link in links {
        map.serialize_entry(&link.name(), &LinkText(link.config))?;
    }
    map.end()
}
