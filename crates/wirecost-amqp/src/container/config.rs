//! The configuration of a container.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// The offers and the limits of a container. `Default`: every client may connect, also without SASL; 1,000 messages of
/// credit, and of capacity per queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The container-id.
    pub container_id: String,
    /// Whether clients may connect without a login: with SASL ANONYMOUS or without SASL.
    pub anonymous: bool,
    /// User names and passwords for SASL PLAIN.
    pub users: Vec<(String, String)>,
    /// The largest frame that the container accepts, in bytes; at least 512.
    pub max_frame_size: u32,
    /// The highest channel number that the container accepts.
    pub channel_max: u16,
    /// The highest link handle that the container accepts in a session.
    pub handle_max: u32,
    /// The idle time-out that the container announces. It closes the connection after twice this time (section 2.4.5).
    pub idle_time_out: Option<Duration>,
    /// The incoming window of a session, in transfer frames.
    pub session_window: u32,
    /// The credit of a link, in messages; the container renews it when half is used.
    pub credit: u32,
    /// The largest message that the container accepts, in bytes.
    pub max_message_size: u64,
    /// The capacity of a queue in messages. When it is full, the oldest message is dropped.
    pub queue_messages: usize,
    /// The capacity of all queues together in bytes, including messages in flight to receivers. When it is exceeded,
    /// the queue that receives a message drops its oldest messages, which may include the new one.
    pub stored_bytes: usize,
    /// The largest number of queues. An attach to a further address is refused.
    pub queues: usize,
    /// How long the container waits for open after the flow has opened, and for the answer to its close.
    pub connect_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            container_id: "wirecost".into(),
            anonymous: true,
            users: Vec::new(),
            max_frame_size: 65_536,
            channel_max: 255,
            handle_max: 255,
            idle_time_out: Some(Duration::from_secs(60)),
            session_window: 2_048,
            credit: 1_000,
            max_message_size: 16_000_000,
            queue_messages: 1_000,
            stored_bytes: 256_000_000,
            queues: 10_000,
            connect_timeout: Duration::from_secs(30),
        }
    }
}
