//! AMQP 1.0: frames, client and container.

use std::slice::Chunks;

use wirecost_amqp::client::{self, Client, Closing, Command, MessageTemplate, SaslConfig};
use wirecost_amqp::codec::{DecodeError, Frame, FrameType, Framer, Performative, Sasl, Sections, Unit};
use wirecost_amqp::container::{self, Container};
use wirecost_proto::Buffer;
use wirecost_proto::bare::Transport;

use crate::rig::Rig;
use crate::script::{Script, read_in_pieces};

/// The largest frame taken, in bytes.
const LIMIT: u32 = 512;

/// A stream in chunks: its units do not depend on where it is cut, and a frame that decodes is written and decodes to
/// the same. The first byte seeds the cuts. Returns whether the stream ends with a frame that decodes.
pub fn frames(bytes: &[u8]) -> bool {
    let Some((stream, Ok(units))) = read_in_pieces(bytes, units) else {
        return false;
    };
    units.concat().len() == stream.len() && units.iter().all(|unit| decodes(unit))
}

/// The headers and frames in the chunks.
fn units(chunks: Chunks<'_, u8>) -> Result<Vec<Vec<u8>>, DecodeError> {
    let mut framer = Framer::new(LIMIT);
    let mut units = Vec::new();
    for mut chunk in chunks {
        while let Some(unit) = framer.next(&mut chunk)? {
            units.push(match unit {
                Unit::Header(header) => header.bytes().to_vec(),
                Unit::Frame(frame) => frame.bytes().to_vec(),
            });
        }
        assert!(framer.held() <= LIMIT as usize);
    }
    Ok(units)
}

fn decodes(unit: &[u8]) -> bool {
    let frame = Frame::new(unit);
    if unit.starts_with(b"AMQP") {
        return true;
    }
    match (frame.frame_type(), frame.body()) {
        (Ok(FrameType::Sasl), Ok(body)) => Sasl::decode(body).is_ok(),
        (Ok(FrameType::Amqp), Ok([])) => true,
        (Ok(FrameType::Amqp), Ok(body)) => performative_decodes(body),
        _ => false,
    }
}

fn performative_decodes(body: &[u8]) -> bool {
    let Ok((performative, payload)) = Performative::decode(body) else {
        return false;
    };
    let mut out = Buffer::new();
    Sections::default().cover(payload, &mut out);
    assert_eq!(out.covered(), payload.len() as u64);
    let mut again = Vec::new();
    performative.write(&mut again);
    let (second, rest) = Performative::decode(&again).expect("what is written can be read");
    assert!(rest.is_empty());
    // A state that is no outcome is not written: after that nothing is lost any more.
    let mut third = Vec::new();
    second.write(&mut third);
    assert_eq!(again, third);
    true
}

/// A client with messages to send, under a script. The first byte chooses its configuration. Returns whether the
/// client took every input as its own.
pub fn client(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let is = |bit: u8| choice & bit != 0;
    let plain = SaslConfig::Plain {
        user: "user".into(),
        password: "secret".into(),
    };
    let client = Client::new(client::Config {
        settled: is(1),
        sasl: match choice >> 1 & 0x03 {
            0 => SaslConfig::None,
            1 => plain,
            _ => SaslConfig::Anonymous,
        },
        closing: if is(8) {
            Closing::Everything
        } else {
            Closing::Connection
        },
        max_frame_size: LIMIT,
        session_window: 2,
        ..client::Config::default()
    });
    let mut rig = Rig::new(client, Transport::Stream, 1, assert_frames);
    rig.play(&mut script, |number| Some(client_command(number)));
    rig.endpoint.stats().foreign_inputs == 0
}

fn client_command(number: u8) -> Command {
    if number & 0x0f == 0x0f {
        return Command::Close;
    }
    let payload = vec![7; usize::from(number) * 10];
    Command::Send {
        message: number.into(),
        template: MessageTemplate::new(payload).into(),
    }
}

/// A container with small limits and up to four flows, under a script. The first byte chooses its configuration.
/// Returns whether the clients made no fault and a message arrived.
pub fn container(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let is = |bit: u8| choice & bit != 0;
    let container = Container::new(container::Config {
        anonymous: !is(1),
        users: vec![("user".into(), "secret".into())],
        max_frame_size: LIMIT,
        channel_max: 1,
        handle_max: 2,
        session_window: if is(2) { 1 } else { 100 },
        credit: if is(4) { 1 } else { 10 },
        max_message_size: 1_000,
        queue_messages: 2,
        queues: 2,
        ..container::Config::default()
    });
    let mut rig = Rig::new(container, Transport::Stream, 4, assert_frames);
    rig.play(&mut script, |_| Some(container::Command::Shutdown));
    let container = &rig.endpoint;
    assert!(container.queued("test") <= 2 + 3 * 4, "at most what was put back");
    let stats = container.stats();
    (stats.faults, stats.foreign_inputs) == (0, 0) && stats.received > 0
}

/// Checks that our side sends whole units that decode.
fn assert_frames(bytes: &[u8]) {
    let mut framer = Framer::new(u32::MAX);
    let mut left = bytes;
    while let Some(unit) = framer.next(&mut left).expect("we send frames") {
        if let Unit::Frame(frame) = unit {
            assert!(decodes(frame.bytes()), "{frame:02x?}");
        }
    }
    assert_eq!(framer.held(), 0, "we send whole frames");
}
