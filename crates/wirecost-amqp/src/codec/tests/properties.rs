use std::string::String;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use wirecost_proto::{Buffer, Layer};

use crate::codec::{
    Attach, Attribution, Begin, Condition, DeliveryState, Detach, Disposition, Flow, Frame, FrameType,
    Framer, Open, Performative, Reader, Role, Sasl, Sections, SenderSettleMode, Terminus, Transfer, Unit,
};

/// The values that the fields of the performatives are made of.
#[derive(Clone, Debug)]
struct Parts {
    text: String,
    other: Option<String>,
    bytes: Vec<u8>,
    number: u32,
    maybe: Option<u32>,
    flags: [bool; 3],
}

fn parts() -> impl Strategy<Value = Parts> {
    let number = prop_oneof![Just(0), 1u32..300, any::<u32>()];
    let text = prop_oneof!["[a-z/é]{0,9}", "[a-z]{250,260}"];
    let other = proptest::option::of(text.clone());
    let bytes = proptest::collection::vec(any::<u8>(), 0..33);
    let maybe = proptest::option::of(number.clone());
    (text, other, bytes, number, maybe, any::<[bool; 3]>()).prop_map(
        |(text, other, bytes, number, maybe, flags)| Parts {
            text,
            other,
            bytes,
            number,
            maybe,
            flags,
        },
    )
}

impl Parts {
    fn performatives(&self) -> [Performative<'_>; 9] {
        let [first, second, third] = self.flags;
        let error = self.other.as_deref().map(|description| Condition {
            name: &self.text,
            description: Some(description),
        });
        let role = if first { Role::Receiver } else { Role::Sender };
        let short = self.maybe.map(|number| number as u16);
        let states = [
            Some(DeliveryState::Accepted),
            Some(DeliveryState::Rejected(error)),
            Some(DeliveryState::Released),
            Some(DeliveryState::Modified {
                delivery_failed: second,
                undeliverable_here: third,
            }),
            None,
        ];
        let state = states[self.number as usize % states.len()];
        [
            Performative::Open(Open {
                container_id: &self.text,
                hostname: self.other.as_deref(),
                max_frame_size: self.number,
                channel_max: self.number as u16,
                idle_time_out: self.maybe,
            }),
            Performative::Begin(Begin {
                remote_channel: short,
                next_outgoing_id: self.number,
                incoming_window: 1,
                outgoing_window: self.number,
                handle_max: self.maybe.unwrap_or(u32::MAX),
            }),
            Performative::Attach(Attach {
                name: &self.text,
                handle: self.number,
                role,
                snd_settle_mode: if second {
                    SenderSettleMode::Mixed
                } else {
                    SenderSettleMode::Settled
                },
                receiver_settles_second: third,
                source: first.then_some(Terminus::ANONYMOUS),
                target: self.other.as_deref().map(Terminus::at),
                initial_delivery_count: self.maybe,
                max_message_size: self.maybe.map(|number| u64::from(number) << 8),
            }),
            Performative::Flow(Flow {
                next_incoming_id: self.maybe,
                incoming_window: self.number,
                next_outgoing_id: 3,
                outgoing_window: 0,
                handle: self.maybe,
                delivery_count: self.maybe,
                link_credit: Some(self.number),
                available: None,
                drain: first,
                echo: second,
            }),
            Performative::Transfer(Transfer {
                handle: self.number,
                delivery_id: self.maybe,
                delivery_tag: first.then_some(self.bytes.as_slice()),
                message_format: Some(0),
                settled: second.then_some(third),
                more: first,
                aborted: third,
            }),
            Performative::Disposition(Disposition {
                role,
                first: self.number,
                last: self.maybe,
                settled: second,
                state,
            }),
            Performative::Detach(Detach {
                handle: self.number,
                closed: first,
                error,
            }),
            Performative::End(error),
            Performative::Close(error),
        ]
    }
}

/// The frame after another implementation has decoded and encoded it.
fn recoded(bytes: &[u8]) -> Vec<u8> {
    let theirs: fe2o3_amqp_types::performatives::Performative =
        serde_amqp::from_slice(bytes).expect("the peer reads what we write");
    serde_amqp::to_vec(&theirs).expect("the peer writes what it has read")
}

/// The performative without a state that is not an outcome: such a state is never sent.
fn as_written(performative: Performative<'_>) -> Performative<'_> {
    match performative {
        Performative::Disposition(disposition) => Performative::Disposition(Disposition {
            state: disposition.state.filter(DeliveryState::is_outcome),
            ..disposition
        }),
        other => other,
    }
}

proptest! {
    #[test]
    fn every_performative_round_trips_also_through_another_codec(parts in parts()) {
        for performative in parts.performatives() {
            let mut bytes = Vec::new();
            performative.write(&mut bytes);
            prop_assert_eq!(Performative::decode(&bytes), Ok((performative, [].as_slice())));
            let theirs = recoded(&bytes);
            prop_assert_eq!(Performative::decode(&theirs), Ok((performative, [].as_slice())));
        }
    }

    #[test]
    fn random_bytes_never_panic_the_decoder(bytes in any::<Vec<u8>>()) {
        let frame = Frame::new(&bytes);
        let _ = (frame.frame_type(), frame.channel(), frame.body());
        let _ = (Performative::decode(&bytes), Sasl::decode(&bytes), Reader::new(&bytes).value());
    }

    #[test]
    fn decoded_performatives_are_written_and_decode_to_the_same(
        code in 0x10u8..0x19,
        fields in proptest::collection::vec(field(), 0..12),
    ) {
        let mut body = vec![0x00, 0x53, code, 0xd0];
        let data = fields.concat();
        body.extend_from_slice(&(data.len() as u32 + 4).to_be_bytes());
        body.extend_from_slice(&(fields.len() as u32).to_be_bytes());
        body.extend_from_slice(&data);
        let Ok((performative, [])) = Performative::decode(&body) else {
            return Ok(());
        };
        let mut again = Vec::new();
        performative.write(&mut again);
        prop_assert!(again.len() <= body.len());
        prop_assert_eq!(Performative::decode(&again), Ok((as_written(performative), [].as_slice())));
    }

    #[test]
    fn a_frame_is_as_long_as_it_says_or_refused(
        len in prop_oneof![0usize..600, 65_000usize..66_000, 0usize..300_000],
        limit in prop_oneof![512usize..700, Just(65_536), Just(usize::MAX)],
    ) {
        let text = "x".repeat(len);
        let open = Performative::Open(Open {
            container_id: &text,
            hostname: Some(&text),
            max_frame_size: 512,
            channel_max: 0,
            idle_time_out: None,
        });
        let mut out = Buffer::new();
        match open.emit(3, Attribution::CONNECT, limit, &mut out) {
            Err(too_large) => {
                prop_assert!(too_large.bytes > limit && out.is_empty());
            }
            Ok(()) => {
                let said = u32::from_be_bytes(out.bytes()[..4].try_into().unwrap());
                prop_assert_eq!(said as usize, out.bytes().len());
                prop_assert!(out.bytes().len() <= limit);
                let body = Frame::new(out.bytes()).body().unwrap();
                prop_assert_eq!(Performative::decode(body), Ok((open, [].as_slice())));
            }
        }
    }

    #[test]
    fn frames_do_not_depend_on_where_the_stream_is_cut(
        bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6),
        stride in 1usize..60,
    ) {
        let mut stream = b"AMQP\0\x01\0\0".to_vec();
        for body in &bodies {
            crate::codec::frame::write_frame(&mut stream, FrameType::Amqp, 3, |out| out.extend(body));
        }
        let mut framer = Framer::new(512);
        let mut found = Vec::new();
        for mut chunk in stream.chunks(stride) {
            while let Some(unit) = framer.next(&mut chunk).expect("whole frames") {
                if let Unit::Frame(frame) = unit {
                    found.push(frame.body().expect("a body").to_vec());
                }
            }
        }
        prop_assert_eq!(framer.held(), 0);
        prop_assert_eq!(found, bodies);
    }

    #[test]
    fn sections_do_not_depend_on_where_the_message_is_cut(
        mut message in proptest::collection::vec(prop_oneof![Just(0u8), Just(0x53), 0x70u8..0x79, any::<u8>()], 0..60),
        payload in 0usize..300,
        stride in 1usize..70,
    ) {
        let mut data = crate::codec::section::message_head("a", None, payload);
        data.resize(data.len() + payload, 7);
        data.append(&mut message);
        let totals = |stride: usize| {
            let (mut sections, mut out) = (Sections::default(), Buffer::new());
            data.chunks(stride).for_each(|part| sections.cover(part, &mut out));
            assert_eq!(out.covered(), data.len() as u64);
            let is_payload = |span: &&wirecost_proto::Span| span.layer == Layer::Payload;
            let payload: u32 = out.spans().iter().filter(is_payload).map(|span| span.len).sum();
            assert_eq!(u64::from(payload), sections.payload_bytes());
            (sections, payload)
        };
        let whole = totals(data.len());
        prop_assert!(whole.1 as usize >= payload);
        prop_assert_eq!(whole, totals(stride));
    }
}

/// An encoded value of a field.
fn field() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(vec![0x40]),
        Just(vec![0x41]),
        Just(vec![0x42]),
        Just(vec![0x43]),
        any::<u8>().prop_map(|byte| vec![0x52, byte]),
        any::<[u8; 4]>().prop_map(|bytes| [&[0x70], bytes.as_slice()].concat()),
        "[a-z]{0,4}".prop_map(|text| [&[0xa1, text.len() as u8], text.as_bytes()].concat()),
        Just(vec![0x00, 0x53, 0x24, 0x45]),
        Just(vec![0x00, 0x53, 0x28, 0x45]),
        Just(vec![0x00, 0x53, 0x29, 0xc0, 0x04, 0x01, 0xa1, 0x01, 0x74]),
        Just(vec![0x00, 0x53, 0x1d, 0xc0, 0x04, 0x01, 0xa3, 0x01, 0x74]),
    ]
}

#[test]
fn a_state_that_is_not_an_outcome_is_not_written() {
    let received = Disposition {
        role: Role::Receiver,
        first: 0,
        last: None,
        settled: false,
        state: Some(DeliveryState::Other(0x28)),
    };
    let mut bytes = Vec::new();
    Performative::Disposition(received).write(&mut bytes);
    let written = as_written(Performative::Disposition(received));
    assert_eq!(Performative::decode(&bytes), Ok((written, [].as_slice())));
}
