//! What a client is asked to be.

use alloc::string::String;
use core::time::Duration;

/// How a client proves who it is (section 5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaslConfig {
    /// Without SASL: AMQP begins at once.
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

/// How a client ends its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// By close alone, which ends session and link with it (section 2.4.3).
    Connection,
    /// By detach, end and close, in one flight.
    Everything,
}

/// How a client connects and sends. `Default`: container `wc-00001`, SASL ANONYMOUS, target `test`, unsettled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The name of the container that the client is.
    pub container_id: String,
    /// The host that the client asks for.
    pub hostname: Option<String>,
    /// How the client proves who it is.
    pub sasl: SaslConfig,
    /// The address that messages go to.
    pub target: String,
    /// The link's name.
    pub link_name: String,
    /// Whether messages are sent settled: nothing will answer.
    pub settled: bool,
    /// The largest frame that the client takes, in bytes; at least 512.
    pub max_frame_size: u32,
    /// The highest channel number that the client takes; it uses channel 0.
    pub channel_max: u16,
    /// The time without a frame that the client announces; it gives up after twice as long (section 2.4.5).
    pub idle_time_out: Option<Duration>,
    /// How many transfer frames the client takes at once.
    pub session_window: u32,
    /// How the client ends its connection.
    pub closing: Closing,
    /// How long to wait for credit after the flow has opened, and for the answer to a close.
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
            closing: Closing::Connection,
            answer_timeout: Duration::from_secs(30),
        }
    }
}
