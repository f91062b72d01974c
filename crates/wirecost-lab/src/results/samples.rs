//! `samples.csv`: one row per device, in the order of the cells and of their samples.

use serde::{Deserialize, Serialize};

/// What one device measured. Times in nanoseconds, empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleRow {
    /// Index of the cell in `summary.json`.
    pub cell: u64,
    /// Name of the stack.
    pub stack: String,
    /// How its connection starts.
    pub start: String,
    /// Payload of a message in bytes.
    pub payload_bytes: u64,
    /// Index of the sample within its cell.
    pub sample: u64,
    /// When the device started, since the start of the run.
    pub started_ns: u64,
    /// How the measured message ended.
    pub outcome: String,
    /// Connect: from its start until the client may send.
    pub connect_ns: Option<u64>,
    /// Message: from the intended send time.
    pub response_time_ns: Option<u64>,
    /// Message: from the actual send time.
    pub service_time_ns: Option<u64>,
    /// Message: until the link delivered its last byte.
    pub one_way_delay_ns: Option<u64>,
    /// Wire bytes of the connect, up.
    pub connect_up_bytes: u64,
    /// Wire bytes of the connect, down.
    pub connect_down_bytes: u64,
    /// Wire bytes of the measured message, up.
    pub message_up_bytes: u64,
    /// Wire bytes of the measured message, down.
    pub message_down_bytes: u64,
    /// Packets of the measured message, up.
    pub message_up_packets: u64,
    /// Packets of the measured message, down.
    pub message_down_packets: u64,
    /// Wire bytes of the close, up.
    pub close_up_bytes: u64,
    /// Wire bytes of the close, down.
    pub close_down_bytes: u64,
    /// CPU time of our client over the device's life.
    pub client_cpu_ns: Option<u64>,
}

impl SampleRow {
    /// The columns, in order.
    pub const COLUMNS: [&'static str; 20] = [
        "cell",
        "stack",
        "start",
        "payload_bytes",
        "sample",
        "started_ns",
        "outcome",
        "connect_ns",
        "response_time_ns",
        "service_time_ns",
        "one_way_delay_ns",
        "connect_up_bytes",
        "connect_down_bytes",
        "message_up_bytes",
        "message_down_bytes",
        "message_up_packets",
        "message_down_packets",
        "close_up_bytes",
        "close_down_bytes",
        "client_cpu_ns",
    ];

    /// The row as one line of CSV, without line end. No field needs quoting: names are of `[a-z0-9.+-]`.
    pub fn to_csv(&self) -> String {
        let optional = |value: Option<u64>| value.map(|v| v.to_string()).unwrap_or_default();
        [
            self.cell.to_string(),
            self.stack.clone(),
            self.start.clone(),
            self.payload_bytes.to_string(),
            self.sample.to_string(),
            self.started_ns.to_string(),
            self.outcome.clone(),
            optional(self.connect_ns),
            optional(self.response_time_ns),
            optional(self.service_time_ns),
            optional(self.one_way_delay_ns),
            self.connect_up_bytes.to_string(),
            self.connect_down_bytes.to_string(),
            self.message_up_bytes.to_string(),
            self.message_down_bytes.to_string(),
            self.message_up_packets.to_string(),
            self.message_down_packets.to_string(),
            self.close_up_bytes.to_string(),
            self.close_down_bytes.to_string(),
            optional(self.client_cpu_ns),
        ]
        .join(",")
    }

    /// Reads a line that [`SampleRow::to_csv`] wrote; `None` where it is not one.
    pub fn from_csv(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != Self::COLUMNS.len() {
            return None;
        }
        let number = |index: usize| fields[index].parse::<u64>().ok();
        let optional = |index: usize| match fields[index] {
            "" => Some(None),
            text => text.parse::<u64>().ok().map(Some),
        };
        Some(Self {
            cell: number(0)?,
            stack: fields[1].to_owned(),
            start: fields[2].to_owned(),
            payload_bytes: number(3)?,
            sample: number(4)?,
            started_ns: number(5)?,
            outcome: fields[6].to_owned(),
            connect_ns: optional(7)?,
            response_time_ns: optional(8)?,
            service_time_ns: optional(9)?,
            one_way_delay_ns: optional(10)?,
            connect_up_bytes: number(11)?,
            connect_down_bytes: number(12)?,
            message_up_bytes: number(13)?,
            message_down_bytes: number(14)?,
            message_up_packets: number(15)?,
            message_down_packets: number(16)?,
            close_up_bytes: number(17)?,
            close_down_bytes: number(18)?,
            client_cpu_ns: optional(19)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_survives_the_file() {
        let row = SampleRow {
            cell: 3,
            stack: "mqtt5-qos1+tls1.3".into(),
            start: "resumed".into(),
            outcome: "acknowledged".into(),
            connect_ns: Some(5),
            client_cpu_ns: Some(9),
            ..SampleRow::default()
        };
        assert_eq!(SampleRow::from_csv(&row.to_csv()), Some(row));
        assert_eq!(SampleRow::from_csv("1,2"), None);
    }
}
