//! What a server that wirecost starts is set to.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use wirecost_stack::target::Target;

/// What a server is set to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Every setting that a load may replace, by its name.
    pub settings: BTreeMap<String, String>,
    /// What it passes on to other servers (Mosquitto).
    pub bridges: Vec<BridgeTo>,
}

impl Setup {
    /// A server with the settings that wirecost gives it.
    pub fn from_target(target: Target) -> Self {
        Self {
            settings: target.settings_with(&BTreeMap::new()),
            bridges: Vec::new(),
        }
    }

    /// The value of a setting; empty for one that the server does not have.
    pub fn value(&self, name: &str) -> &str {
        self.settings.get(name).map_or("", String::as_str)
    }
}

/// What a broker passes on to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeTo {
    /// The name of the connection.
    pub name: String,
    /// The other broker.
    pub address: SocketAddr,
    /// The topics, as a filter.
    pub topic: String,
    /// The most QoS of what is passed on.
    pub qos: u8,
}
