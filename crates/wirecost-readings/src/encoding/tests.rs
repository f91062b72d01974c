use super::*;
use crate::reading::series;

/// A reading whose bytes are written down below.
fn reading(time: u64) -> Reading {
    Reading {
        time,
        temperature: 21.25,
        humidity: 48.5,
        battery: 97,
        ..series(1, 1)[0]
    }
}

#[test]
fn one_reading_in_json_is_an_object_and_several_an_array() {
    let one = Encoding::Json.encoded(&[reading(1_767_225_600)]);
    let text =
        r#"{"sensor":"00005efffe005301","time":1767225600,"temperature":21.25,"humidity":48.5,"battery":97}"#;
    assert_eq!(String::from_utf8(one).expect("text"), text);
    let two = Encoding::Json.encoded(&[reading(1_767_225_600), reading(1_767_225_600)]);
    assert_eq!(String::from_utf8(two).expect("text"), format!("[{text},{text}]"));
}

#[test]
fn a_reading_in_cbor_has_the_bytes_of_rfc_8949() {
    let mut expected = vec![0xA5, 0x66];
    expected.extend(b"sensor\x7000005efffe005301\x64time\x1A");
    expected.extend(1_767_225_600_u32.to_be_bytes());
    // Half precision holds both: 21.25 is 1.328125 x 2^4, 48.5 is 1.515625 x 2^5.
    expected.extend(b"\x6Btemperature\xF9\x4D\x50\x68humidity\xF9\x52\x10\x67battery\x18\x61");
    assert_eq!(Encoding::Cbor.encoded(&[reading(1_767_225_600)]), expected);
}

#[test]
fn senml_names_sensor_and_start_once() {
    let both = [reading(1_767_225_600), reading(1_767_225_660)];
    let json = String::from_utf8(Encoding::SenmlJson.encoded(&both)).expect("text");
    let expected = concat!(
        r#"[{"bn":"urn:dev:mac:00005efffe005301:","bt":1767225600,"n":"temperature","u":"Cel","v":21.25},"#,
        r#"{"n":"humidity","u":"%RH","v":48.5},{"n":"battery","u":"%EL","v":97},"#,
        r#"{"n":"temperature","u":"Cel","v":21.25,"t":60},{"n":"humidity","u":"%RH","v":48.5,"t":60},"#,
        r#"{"n":"battery","u":"%EL","v":97,"t":60}]"#
    );
    assert_eq!(json, expected);
}

#[test]
fn senml_in_cbor_has_the_labels_of_rfc_8428() {
    let bytes = Encoding::SenmlCbor.encoded(&[reading(1_767_225_600)]);
    let mut expected = b"\x83\xA5\x21\x78\x1Durn:dev:mac:00005efffe005301:\x22\x1A".to_vec();
    expected.extend(1_767_225_600_u32.to_be_bytes());
    expected.extend(b"\x00\x6Btemperature\x01\x63Cel\x02\xF9\x4D\x50");
    expected.extend(b"\xA3\x00\x68humidity\x01\x63%RH\x02\xF9\x52\x10");
    expected.extend(b"\xA3\x00\x67battery\x01\x63%EL\x02\x18\x61");
    assert_eq!(bytes, expected);
}

#[test]
fn a_batch_resolves_to_the_series_that_it_was_made_of() {
    let readings = series(42, 5);
    let bytes = Encoding::SenmlJson.encoded(&readings);
    let records: Vec<serde_json::Value> = serde_json::from_slice(&bytes).expect("JSON");
    // RFC 8428, section 4.6: names are appended to the base name, times added to the base time.
    let (base, start) = (&records[0]["bn"], records[0]["bt"].as_u64().expect("a time"));
    for (place, record) in records.iter().enumerate() {
        let reading = readings[place / 3];
        let name = format!(
            "{}{}",
            base.as_str().expect("text"),
            record["n"].as_str().expect("text")
        );
        let (expected, value) = match place % 3 {
            0 => ("temperature", reading.temperature),
            1 => ("humidity", reading.humidity),
            _ => ("battery", f64::from(reading.battery)),
        };
        assert_eq!(name, format!("urn:dev:mac:{SENSOR}:{expected}"));
        assert_eq!(start + record["t"].as_u64().unwrap_or(0), reading.time);
        assert_eq!(record["v"].as_f64(), Some(value));
    }
}
