//! The configuration of a client.

use alloc::string::String;
use core::time::Duration;

/// How a client authenticates (section 5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaslConfig {
    /// No SASL: the connection begins with the AMQP header.
    None,
    /// Mechanism ANONYMOUS (RFC 4505).
    Anonymous,
    /// Mechanism PLAIN (RFC 4616).
    Plain {
        /// User name.
        user: String,
        /// Password.
        password: String,
    },
}

impl SaslConfig {
    /// The mechanism's registered name.
    pub(super) const fn mechanism(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::Anonymous => "ANONYMOUS",
            Self::Plain { .. } => "PLAIN",
        }
    }
}

/// Which frames a client sends to end its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Only close, which also ends the session and the link (section 2.4.3).
    Connection,
    /// Detach, end and close, in one flight.
    Everything,
}

/// How a client connects and sends. `Default`: container `wc-00001`, SASL ANONYMOUS, target `test`, unsettled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The container-id of the client.
    pub container_id: String,
    /// The hostname in the open frame.
    pub hostname: Option<String>,
    /// How the client authenticates.
    pub sasl: SaslConfig,
    /// The target address of the link.
    pub target: String,
    /// The name of the link.
    pub link_name: String,
    /// Whether messages are sent settled: the receiver does not answer them.
    pub settled: bool,
    /// The largest frame that the client accepts, in bytes; at least 512.
    pub max_frame_size: u32,
    /// The highest channel number that the client accepts. It uses channel 0.
    pub channel_max: u16,
    /// The idle time-out that the client announces. It closes the connection after twice this time (section 2.4.5).
    pub idle_time_out: Option<Duration>,
    /// The incoming window of the session, in transfer frames.
    pub session_window: u32,
    /// Whether everything up to the attach leaves in one flight, without waiting for the SASL layer of the peer. The password of PLAIN is
    /// then sent before the peer has offered the mechanism.
    pub pipelines: bool,
    /// Which frames the client sends to end its connection.
    pub closing: Closing,
    /// How long the client waits for credit after the flow has opened, and for the answer to its close.
    pub answer_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            container_id: "wc-00001".into(),
            hostname: None,
            sasl: SaslConfig::Anonymous,
            target: "test".into(),
            link_name: "wc-00001".into(),
            settled: false,
            max_frame_size: 65_536,
            channel_max: 0,
            idle_time_out: Some(Duration::from_secs(60)),
            session_window: 2_048,
            pipelines: false,
            closing: Closing::Connection,
            answer_timeout: Duration::from_secs(30),
        }
    }
}
