//! The readings that were found, and how sure they are.

use wirecost_dissect::Report;
use wirecost_proto::units::counted;

use super::{Reading, SECURE_MQTT, SMALLEST_QUIC, SMALLEST_RECORD};

/// What of a capture's content could not be described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Nothing.
    Nothing,
    /// Some content.
    Content,
    /// Some content, and all secure channels go to the port of MQTT, whose first record is CONNECT.
    Mqtt,
}

impl Hidden {
    /// What is hidden in a capture with this report.
    pub fn from_report(report: &Report) -> Self {
        if !report.unattributed.iter().any(|left| left.in_flow) {
            return Self::Nothing;
        }
        let secure = report
            .groups
            .iter()
            .filter(|group| group.protocol.contains("TLS"));
        let mut ports = secure
            .filter_map(|group| group.server)
            .map(|server| server.port());
        let is_mqtt = |port| port == SECURE_MQTT;
        // `all` of no ports is true: at least one has to be there.
        match ports.next().is_some_and(is_mqtt) && ports.all(is_mqtt) {
            true => Self::Mqtt,
            false => Self::Content,
        }
    }
}

/// The readings of a device, and how sure they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Their times and sizes.
    pub readings: Vec<Reading>,
    pub(super) by: By,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum By {
    /// Payload, all of it.
    #[default]
    Payload,
    /// Payload; other content could not be described.
    SomePayload,
    /// Encrypted records.
    Records {
        /// Records that are too small for a reading.
        small: u64,
        /// Records that open a connection.
        openings: u64,
        /// Readings that may open a connection instead.
        unclear: u64,
    },
}

impl Found {
    /// Whether the readings are payload.
    pub const fn has_payload(&self) -> bool {
        matches!(self.by, By::Payload | By::SomePayload)
    }

    /// The fewest and the most readings that the device may have sent, as far as the capture shows them.
    pub fn bounds(&self) -> [u64; 2] {
        let found = self.readings.len() as u64;
        match self.by {
            By::Payload | By::SomePayload => [found, found],
            By::Records { unclear, .. } => [found.saturating_sub(unclear), found],
        }
    }

    /// The number of readings, and how sure it is.
    pub fn counted(&self) -> String {
        let found = counted(self.readings.len() as u64, "reading");
        match self.by {
            By::Payload => format!("{found} found, by their payload: sure"),
            By::SomePayload => format!(
                "{found} found, by their payload; there may be more in content that could not be described"
            ),
            By::Records { unclear: 0, .. } => {
                format!("{found} found, by the sizes of encrypted records: likely, not sure")
            }
            By::Records { unclear, .. } => format!(
                "{found} found, by the sizes of encrypted records: not sure, {unclear} of them may open a connection, as MQTT's CONNECT does, \
                 so that there are {} to {}",
                self.bounds()[0],
                self.bounds()[1]
            ),
        }
    }

    /// What the readings leave out.
    pub fn notes(&self) -> Vec<String> {
        let By::Records { small, openings, .. } = self.by else {
            return match self.by {
                By::SomePayload => vec![
                    "some content could not be described: readings in it are not seen, but its bytes count"
                        .to_owned(),
                ],
                By::Payload | By::Records { .. } => Vec::new(),
            };
        };
        let mut notes = vec!["the content could not be decrypted: each packet up that starts a record counts as a reading of its records' size, with headers of the application and tags; --keylog gives the payloads".to_owned()];
        if small > 0 {
            notes.push(format!(
                "{} up left out: too small for a reading (below {SMALLEST_RECORD} B, in QUIC {SMALLEST_QUIC} B)",
                counted(small, "encrypted record")
            ));
        }
        if openings > 0 {
            notes.push(format!(
                "{} up left out: the first one of a connection to port {SECURE_MQTT}, or one that is answered as MQTT's CONNECT is",
                counted(openings, "encrypted record")
            ));
        }
        notes
    }
}
