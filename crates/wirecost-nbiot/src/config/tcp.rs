//! The TCP of devices and servers in the cells.

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, within};

/// The TCP of both ends. The network carries packets alone: who makes its endpoints applies this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// The first retransmission time-out, in ms (RFC 6298 section 2.1): of the SYN, of the SYN-ACK, and of data before a round trip is
    /// measured. Study nbiot section 2.2 sets the initial estimate of the ROUND TRIP to one second: with the time-out meant it is 1 s,
    /// with an estimate of 1 s and its initial deviation of half of it (RFC 6298 section 2.2) 3 s.
    pub initial_timeout_ms: u32,
    /// Segments of the initial window. Study nbiot section 2.2.
    pub initial_window: u32,
    /// The largest congestion window, in segments. Study nbiot section 2.2.
    pub congestion_window: u32,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            initial_timeout_ms: 1_000,
            initial_window: 3,
            congestion_window: 10,
        }
    }
}

impl TcpConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("tcp.initial_timeout_ms", self.initial_timeout_ms, 100, 60_000)?;
        within("tcp.initial_window", self.initial_window, 1, 100)?;
        within(
            "tcp.congestion_window",
            self.congestion_window,
            self.initial_window,
            10_000,
        )
    }
}
