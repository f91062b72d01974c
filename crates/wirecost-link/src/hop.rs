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
}

impl Hop {
    /// The hop of these devices.
    pub const fn new(link: LinkConfig, hosts: Vec<Range<HostIndex>>) -> Self {
        Self { link, hosts }
    }

    /// The hop of all devices.
    pub fn of_all(link: LinkConfig) -> Self {
        Self::new(link, std::iter::once(0..HostIndex::MAX).collect())
    }

    /// Whether it is of any device.
    pub fn has_devices(&self) -> bool {
        self.hosts.iter().any(|range| !range.is_empty())
    }

    /// Whether the packets of a device cross it.
    pub fn is_of(&self, host: HostIndex) -> bool {
        self.hosts.iter().any(|range| range.contains(&host))
    }
}
