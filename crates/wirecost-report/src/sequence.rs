//! What was on the air for one device of an NB-IoT cell, as text.

use std::fmt::Write as _;

use wirecost_results::nbiot::sequence::AirTransmission;

/// The transmissions of a device, one row each, with the waits between them, under `title`.
pub fn table(title: &str, sequence: &[AirTransmission]) -> String {
    let mut text = format!("\non the air: {title}\n");
    text += "   at ms  wait ms   for ms   channel          rep  block  content\n";
    for on_air in sequence {
        let arrow = if on_air.direction == "up" { ">" } else { "<" };
        let block = on_air
            .bytes
            .map_or_else(|| "-".into(), |bytes| format!("{bytes} B"));
        let repetitions = on_air
            .repetitions
            .map_or_else(|| "-".into(), |number| number.to_string());
        let packet = on_air.packet.as_ref();
        let packet = packet.map_or_else(String::new, |packet| format!(": {packet}"));
        let AirTransmission {
            at_ms,
            duration_ms,
            waited_ms,
            channel,
            what,
            ..
        } = on_air;
        writeln!(
            text,
            "{at_ms:8.1} {waited_ms:8.1} {duration_ms:8.1} {arrow} {channel:<15} {repetitions:>4} {block:>6}  {what}{packet}"
        )
        .ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transmission_is_a_row_with_its_wait_and_its_packet() {
        let on_air = AirTransmission {
            at_ms: 256.0,
            duration_ms: 32.0,
            channel: "NPUSCH format 1".into(),
            direction: "up".into(),
            bytes: Some(88),
            repetitions: Some(1),
            what: "Msg5 + packet".into(),
            packet: Some("1 (53 B)".into()),
            waited_ms: 8.0,
            is_received: true,
        };
        let text = table("coap-con, 25 B", &[on_air]);
        let last = text.lines().last().unwrap_or_default();
        assert_eq!(
            last,
            "   256.0      8.0     32.0 > NPUSCH format 1    1   88 B  Msg5 + packet: 1 (53 B)"
        );
        assert!(text.starts_with("\non the air: coap-con, 25 B\n"), "{text}");
    }
}
