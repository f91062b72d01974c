//! What a server that wirecost starts is set to.

use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Settings of a server's own configuration, by their names there. They replace those of wirecost.
pub type Settings = BTreeMap<String, u64>;

/// What a server is set to beyond what wirecost gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Settings of its own configuration.
    pub settings: Settings,
    /// What it passes on to other servers (Mosquitto).
    pub bridges: Vec<BridgeTo>,
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
