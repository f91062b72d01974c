//! What devices send, leave behind and subscribe to.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wirecost_proto::ByteSize;
use wirecost_readings::Batch;
use wirecost_stack::Pattern;

use super::print;

/// Devices that receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subscribers {
    /// How many.
    pub devices: u32,
    /// Topic filter or path; `%d` is the subscriber's number.
    pub filter: String,
    /// How often each of them asks for the messages since its last question (HTTP); `None` if its server pushes them.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_time"
    )]
    pub poll: Option<Duration>,
    /// The group of a shared subscription (MQTT 5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// The requested QoS.
    pub qos: u8,
}

/// What a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// Pseudo-random bytes of this length.
    #[serde(serialize_with = "print::text")]
    Size(ByteSize),
    /// The same bytes in each message.
    #[serde(rename = "hex", serialize_with = "print::hex")]
    File(Arc<[u8]>),
    /// Readings of a sensor, the same in each message.
    #[serde(serialize_with = "print::batch")]
    Readings(BatchBytes),
    /// A text with placeholders: `%d` the device's number, `%n` the message's, `%t` the intended time in
    /// milliseconds of the epoch, `%r` eight random hexadecimal digits.
    #[serde(serialize_with = "print::text")]
    Template(Arc<str>),
}

impl Payload {
    /// The length of the payload with `devices` devices; `None` if messages differ in it.
    pub fn message_bytes(&self, devices: u32) -> Option<u64> {
        match self {
            Self::Template(text) => text.parse::<Pattern>().ok()?.length(devices),
            Self::Size(_) | Self::File(_) | Self::Readings(_) => Some(self.bytes()),
        }
    }

    /// The length; for a template, before its placeholders are replaced.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Size(size) => size.bytes(),
            Self::File(bytes) => bytes.len() as u64,
            Self::Readings(readings) => readings.bytes.len() as u64,
            Self::Template(text) => text.len() as u64,
        }
    }
}

/// Readings, and the bytes that follow from them and the seed of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchBytes {
    /// The readings.
    pub batch: Batch,
    /// The payload.
    pub bytes: Arc<[u8]>,
}

impl BatchBytes {
    /// The bytes of `batch` in a load with this seed.
    pub fn new(batch: Batch, seed: u64) -> Self {
        Self {
            batch,
            bytes: batch.payload(seed).into(),
        }
    }
}

/// A will (MQTT).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Will {
    /// Topic; `%d` is the device's number.
    pub topic: String,
    /// Payload.
    pub payload: String,
}
