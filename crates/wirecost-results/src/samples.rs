//! `samples.csv`: one row per device, in the order of the cells and of their samples.

use std::fmt;

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
        format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            self.cell,
            self.stack,
            self.start,
            self.payload_bytes,
            self.sample,
            self.started_ns,
            self.outcome,
            Field(self.connect_ns),
            Field(self.response_time_ns),
            Field(self.service_time_ns),
            Field(self.one_way_delay_ns),
            self.connect_up_bytes,
            self.connect_down_bytes,
            self.message_up_bytes,
            self.message_down_bytes,
            self.message_up_packets,
            self.message_down_packets,
            self.close_up_bytes,
            self.close_down_bytes,
            Field(self.client_cpu_ns),
        )
    }

    /// Reads a line that [`SampleRow::to_csv`] wrote; `None` where it is not one.
    pub fn from_csv(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let row = Self::from_fields(&mut fields)?;
        fields.next().is_none().then_some(row)
    }

    fn from_fields<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        // The fields of a struct literal are evaluated in the order in which they are written, which is that of the columns.
        Some(Self {
            cell: number(fields)?,
            stack: fields.next()?.to_owned(),
            start: fields.next()?.to_owned(),
            payload_bytes: number(fields)?,
            sample: number(fields)?,
            started_ns: number(fields)?,
            outcome: fields.next()?.to_owned(),
            connect_ns: optional(fields)?,
            response_time_ns: optional(fields)?,
            service_time_ns: optional(fields)?,
            one_way_delay_ns: optional(fields)?,
            connect_up_bytes: number(fields)?,
            connect_down_bytes: number(fields)?,
            message_up_bytes: number(fields)?,
            message_down_bytes: number(fields)?,
            message_up_packets: number(fields)?,
            message_down_packets: number(fields)?,
            close_up_bytes: number(fields)?,
            close_down_bytes: number(fields)?,
            client_cpu_ns: optional(fields)?,
        })
    }
}

/// A number, or nothing.
struct Field(Option<u64>);

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |number| number.fmt(f))
    }
}

fn number<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<u64> {
    fields.next()?.parse().ok()
}

fn optional<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Option<u64>> {
    match fields.next()? {
        "" => Some(None),
        text => text.parse().ok().map(Some),
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
        let line = SampleRow::default().to_csv();
        assert_eq!(line.split(',').count(), SampleRow::COLUMNS.len());
        assert_eq!(
            SampleRow::from_csv(&format!("{line},")),
            None,
            "a column too many"
        );
    }
}
