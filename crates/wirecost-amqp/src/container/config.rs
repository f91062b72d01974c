//! What a container is asked to be.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// What a container offers and allows. `Default`: anyone may come in, without SASL too; 1,000 messages of credit and
/// of room in each queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The container's name.
    pub container_id: String,
    /// Whether clients may come in without a name: by SASL ANONYMOUS, or without SASL.
    pub anonymous: bool,
    /// User names and passwords for SASL PLAIN.
    pub users: Vec<(String, String)>,
    /// The largest frame that the container takes, in bytes; at least 512.
    pub max_frame_size: u32,
    /// The highest channel number that it takes.
    pub channel_max: u16,
    /// The highest link handle that it takes in a session.
    pub handle_max: u32,
    /// The time without a frame that it announces; it gives up after twice as long (section 2.4.5).
    pub idle_time_out: Option<Duration>,
    /// How many transfer frames it takes at once in a session.
    pub session_window: u32,
    /// How many messages it takes at once on a link; renewed when half is used.
    pub credit: u32,
    /// The largest message that it takes, in bytes.
    pub max_message_size: u64,
    /// How many messages a queue holds; the oldest makes room for a new one.
    pub queue_messages: usize,
    /// How many bytes the messages of all queues have together, those on their way to receivers included; above it the
    /// oldest messages of a queue make room for its new one, which may find none.
    pub stored_bytes: usize,
    /// How many queues there are; an attach to a further address is refused.
    pub queues: usize,
    /// How long a client may take from its flow's begin to open, and to answer a close.
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
