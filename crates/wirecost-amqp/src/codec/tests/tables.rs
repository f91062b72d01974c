//! Frames as hex, both ways.

use std::string::String;
use std::vec::Vec;

use wirecost_proto::Buffer;

use crate::codec::{
    Attach, Attribution, Begin, Condition, DeliveryState, Detach, Disposition, Flow, Frame, Open,
    Performative, ProtocolHeader, Role, Sasl, SenderSettleMode, Terminus, Transfer,
};

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| std::format!("{byte:02x}")).collect();
    bytes.join(" ")
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.split_whitespace();
    digits
        .map(|byte| u8::from_str_radix(byte, 16).expect("hex"))
        .collect()
}

#[test]
fn performatives_are_encoded_as_short_as_they_can_be() {
    let frames = [
        (
            "00 00 00 1c 02 00 00 00 00 53 10 c0 0f 05 a1 01 63 40 70 00 01 00 00 60 00 ff 52 0a",
            Performative::Open(Open {
                container_id: "c",
                hostname: None,
                max_frame_size: 65_536,
                channel_max: 255,
                idle_time_out: Some(10),
            }),
        ),
        (
            "00 00 00 12 02 00 00 00 00 53 11 c0 05 04 40 43 43 43",
            Performative::Begin(Begin {
                remote_channel: None,
                next_outgoing_id: 0,
                incoming_window: 0,
                outgoing_window: 0,
                handle_max: u32::MAX,
            }),
        ),
        (
            "00 00 00 29 02 00 00 00 00 53 12 c0 1c 0a a1 01 6c 43 42 50 01 40 00 53 28 45 \
             00 53 29 c0 07 01 a1 04 74 65 73 74 40 40 43",
            Performative::Attach(Attach {
                name: "l",
                handle: 0,
                role: Role::Sender,
                snd_settle_mode: SenderSettleMode::Settled,
                receiver_settles_second: false,
                source: Some(Terminus::ANONYMOUS),
                target: Some(Terminus::at("test")),
                initial_delivery_count: Some(0),
                max_message_size: None,
            }),
        ),
        (
            "00 00 00 17 02 00 00 00 00 53 13 c0 0a 07 43 52 02 43 43 43 43 52 64",
            Performative::Flow(Flow {
                next_incoming_id: Some(0),
                incoming_window: 2,
                handle: Some(0),
                delivery_count: Some(0),
                link_credit: Some(100),
                ..Flow::default()
            }),
        ),
        (
            "00 00 00 15 02 00 00 00 00 53 14 c0 08 05 43 43 a0 01 07 43 41",
            Performative::Transfer(Transfer {
                handle: 0,
                delivery_id: Some(0),
                delivery_tag: Some(&[7]),
                message_format: Some(0),
                settled: Some(true),
                ..Transfer::default()
            }),
        ),
        (
            "00 00 00 17 02 00 00 00 00 53 15 c0 0a 05 41 52 01 40 41 00 53 24 45",
            Performative::Disposition(Disposition {
                role: Role::Receiver,
                first: 1,
                last: None,
                settled: true,
                state: Some(DeliveryState::Accepted),
            }),
        ),
        (
            "00 00 00 10 02 00 00 00 00 53 16 c0 03 02 43 41",
            Performative::Detach(Detach {
                handle: 0,
                closed: true,
                error: None,
            }),
        ),
        ("00 00 00 0c 02 00 00 00 00 53 17 45", Performative::End(None)),
        (
            "00 00 00 19 02 00 00 00 00 53 18 c0 0c 01 00 53 1d c0 06 01 a3 03 61 3a 62",
            Performative::Close(Some(Condition::new("a:b"))),
        ),
    ];
    for (expected, performative) in frames {
        let mut out = Buffer::new();
        performative
            .emit(
                0,
                Attribution::from_performative(&performative, false),
                usize::MAX,
                &mut out,
            )
            .unwrap();
        assert_eq!(hex(out.bytes()), hex(&bytes(expected)), "{performative:?}");
        let body = Frame::new(out.bytes()).body().expect("a body");
        assert_eq!(Performative::decode(body), Ok((performative, [].as_slice())));
    }
}

#[test]
fn sasl_frames_have_their_own_type() {
    let init = Sasl::Init {
        mechanism: "PLAIN",
        initial_response: Some(b"\0u\0p"),
    };
    let frames = [
        (
            "00 00 00 1b 02 01 00 00 00 53 41 c0 0e 02 a3 05 50 4c 41 49 4e a0 04 00 75 00 70",
            init,
        ),
        (
            "00 00 00 10 02 01 00 00 00 53 44 c0 03 01 50 00",
            Sasl::Outcome(0),
        ),
    ];
    for (expected, sasl) in frames {
        let mut out = Buffer::new();
        sasl.emit(&mut out).unwrap();
        assert_eq!(hex(out.bytes()), hex(&bytes(expected)));
        assert_eq!(
            Sasl::decode(Frame::new(out.bytes()).body().expect("a body")),
            Ok(sasl)
        );
    }
    assert_eq!(hex(&ProtocolHeader::SASL.bytes()), "41 4d 51 50 03 01 00 00");
}

#[test]
fn mechanisms_are_an_array_or_one_symbol() {
    let array = bytes("00 53 40 c0 13 01 e0 10 02 a3 09 41 4e 4f 4e 59 4d 4f 55 53 03 61 62 63");
    let one = bytes("00 53 40 c0 06 01 a3 03 61 62 63");
    for (body, names) in [(array, ["ANONYMOUS", "abc"].as_slice()), (one, &["abc"])] {
        let Ok(Sasl::Mechanisms(mechanisms)) = Sasl::decode(&body) else {
            panic!("mechanisms");
        };
        assert!(names.iter().all(|name| mechanisms.contains(name)));
        assert!(!mechanisms.contains("PLAIN"));
    }
}

#[test]
fn long_fields_make_a_long_list() {
    let name = "n".repeat(300);
    let open = Performative::Open(Open {
        container_id: &name,
        hostname: Some(&name),
        max_frame_size: u32::MAX,
        channel_max: u16::MAX,
        idle_time_out: None,
    });
    let mut body = Vec::new();
    open.write(&mut body);
    assert_eq!(hex(&body[..12]), "00 53 10 d0 00 00 02 66 00 00 00 02");
    assert_eq!(Performative::decode(&body), Ok((open, [].as_slice())));
}
