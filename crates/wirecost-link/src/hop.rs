//! A hop: one of several links, and the devices whose packets cross it.

use std::ops::Range;

use wirecost_proto::hosts::HostIndex;

use crate::config::LinkConfig;

/// A link and the devices whose packets cross it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// The link.
    pub link: LinkConfig,
    /// The devices.
    hosts: Vec<Range<HostIndex>>,
    /// The two sites of servers, where it is between servers. The first one's packets go up.
    servers: Option<[u8; 2]>,
}

impl Hop {
    /// The hop of these devices.
    pub const fn new(link: LinkConfig, hosts: Vec<Range<HostIndex>>) -> Self {
        Self {
            link,
            hosts,
            servers: None,
        }
    }

    /// The hop between the servers of two sites, whose packets are those of `host`.
    pub fn between(link: LinkConfig, servers: [u8; 2], host: HostIndex) -> Self {
        Self {
            servers: Some(servers),
            ..Self::new(link, std::iter::once(host..host + 1).collect())
        }
    }

    /// The sites of the servers at both ends, and the host whose link their packets cross; `None` for a hop of devices.
    pub fn servers(&self) -> Option<([u8; 2], HostIndex)> {
        self.servers.zip(self.hosts.first().map(|range| range.start))
    }

    /// The hop of all devices.
    pub fn of_all(link: LinkConfig) -> Self {
        Self::new(link, std::iter::once(0..HostIndex::MAX).collect())
    }

    /// Whether it is of any device.
    pub fn has_devices(&self) -> bool {
        self.servers.is_none() && self.hosts.iter().any(|range| !range.is_empty())
    }

    /// Whether the packets of a device cross it.
    pub fn is_of(&self, host: HostIndex) -> bool {
        self.hosts.iter().any(|range| range.contains(&host))
    }
}
