//! `samples.csv`: one row per device, in the order of the cells and of their samples.

use super::columns::{Field, Row};

/// The measurements of one device. Times are in nanoseconds; a missing time is an empty field.
#[derive(Clone, Debug, Default, PartialEq)]
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

impl Row for SampleRow {
    fn fields(&mut self, each: &mut dyn FnMut(&'static str, Field<'_>)) {
        use Field::{Count, Optional, Text};
        // No text needs quoting: names are of `[a-z0-9.+-]`.
        each("cell", Count(&mut self.cell));
        each("stack", Text(&mut self.stack));
        each("start", Text(&mut self.start));
        each("payload_bytes", Count(&mut self.payload_bytes));
        each("sample", Count(&mut self.sample));
        each("started_ns", Count(&mut self.started_ns));
        each("outcome", Text(&mut self.outcome));
        each("connect_ns", Optional(&mut self.connect_ns));
        each("response_time_ns", Optional(&mut self.response_time_ns));
        each("service_time_ns", Optional(&mut self.service_time_ns));
        each("one_way_delay_ns", Optional(&mut self.one_way_delay_ns));
        each("connect_up_bytes", Count(&mut self.connect_up_bytes));
        each("connect_down_bytes", Count(&mut self.connect_down_bytes));
        each("message_up_bytes", Count(&mut self.message_up_bytes));
        each("message_down_bytes", Count(&mut self.message_down_bytes));
        each("message_up_packets", Count(&mut self.message_up_packets));
        each("message_down_packets", Count(&mut self.message_down_packets));
        each("close_up_bytes", Count(&mut self.close_up_bytes));
        each("close_down_bytes", Count(&mut self.close_down_bytes));
        each("client_cpu_ns", Optional(&mut self.client_cpu_ns));
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
        assert_eq!(SampleRow::from_line(&row.line()), Some(row));
        assert_eq!(SampleRow::from_line("1,2"), None);
        let line = SampleRow::default().line();
        assert_eq!(line.split(',').count(), SampleRow::head().split(',').count());
        assert_eq!(
            SampleRow::from_line(&format!("{line},")),
            None,
            "a column too many"
        );
    }
}
