//! MQTT-SN 1.2 without IO: MQTT for datagrams, as a client and as a gateway with its broker in one.
//!
//! - [`codec`]: messages on borrowed bytes
//! - [`client`]: connects, registers its topics, publishes, pings, disconnects; or publishes at QoS -1 without any of that
//! - [`gateway`]: accepts clients and counts what they publish
//! - [`describe`](mod@describe): the layer, the phase and the cause of each byte
//!
//! Section numbers in this module are those of the MQTT-SN specification, version 1.2.

pub mod client;
pub mod codec;
pub mod describe;
pub mod gateway;

pub use describe::describe;

use core::time::Duration;

/// T_retry: how long a client waits for the answer to a message before it sends the message again (section 7.2: 10 to 15 s).
pub const RETRY_TIME: Duration = Duration::from_secs(10);

/// N_retry: how often a client sends a message again before it gives up its gateway (section 7.2: 3 to 5).
pub const RETRIES: u32 = 3;

/// Bytes of the header of a PUBLISH of at least 256 bytes: length, type, flags, topic id, message id (section 5.4.12).
pub const LARGEST_PUBLISH_HEADER_BYTES: usize = 9;

/// The longest client identifier, in bytes (section 5.3.1).
pub const LONGEST_CLIENT_ID_BYTES: usize = 23;
