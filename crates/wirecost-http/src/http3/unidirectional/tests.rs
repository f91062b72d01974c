use super::*;

fn read(receiver: Side, stream: &[u8], piece: usize) -> Result<Vec<u64>, Code> {
    let (mut reader, mut streams, mut said) = (Reader::default(), PeerStreams::new(receiver), Vec::new());
    for bytes in stream.chunks(piece) {
        reader
            .read(bytes, &mut streams, |what| said.push(what))
            .map_err(|fault| fault.code)?;
    }
    Ok(said)
}

#[test]
fn allowed_frames_are_reported_or_skipped() {
    let both = [Side::Client, Side::Server];
    let table: [(&[Side], &[u8], &[u64]); 8] = [
        (&both, b"\x00\x04\x00", &[]),
        (&both, b"\x00\x04\x02\x01\x00\x21\x03xyz\x07\x01\x08", &[8]),
        (&both, b"\x00\x04\x00\x07\x01\x08\x07\x01\x04", &[8, 4]),
        (&both, b"\x02\x20", &[]),
        // Two cancelled streams, the first of which takes two bytes.
        (&both, b"\x03\x7f\x01\x44", &[]),
        (&both, b"\x40\x54whatever", &[]),
        // A client's GOAWAY names a push.
        (&[Side::Server], b"\x00\x04\x00\x07\x01\x03", &[3]),
        (&[Side::Server], b"\x00\x04\x00\x0d\x01\x03\x0d\x01\x03", &[]),
    ];
    for (receivers, stream, said) in table {
        for (receiver, piece) in receivers
            .iter()
            .flat_map(|side| (1..=stream.len()).map(|piece| (*side, piece)))
        {
            assert_eq!(
                read(receiver, stream, piece).as_deref(),
                Ok(said),
                "{receiver:?}: {stream:x?} by {piece}"
            );
        }
    }
}

#[test]
fn forbidden_frames_have_their_code() {
    let both = [Side::Client, Side::Server];
    let (client, server) = ([Side::Client], [Side::Server]);
    let table: [(&[Side], &[u8], Code); 24] = [
        (&both, b"\x00\x07\x01\x00", Code::MissingSettings),
        (&both, b"\x00\x21\x00", Code::MissingSettings),
        (&both, b"\x00\x04\x00\x04\x00", Code::FrameUnexpected),
        (&both, b"\x00\x04\x00\x00\x01x", Code::FrameUnexpected),
        (&both, b"\x00\x04\x00\x01\x01x", Code::FrameUnexpected),
        (&both, b"\x00\x04\x00\x05\x01x", Code::FrameUnexpected),
        (&both, b"\x00\x04\x00\x02\x00", Code::FrameUnexpected),
        (&both, b"\x00\x04\x00\x09\x00", Code::FrameUnexpected),
        (&both, b"\x00\x04\x02\x02\x00", Code::SettingsError),
        (&both, b"\x00\x04\x04\x06\x01\x06\x01", Code::SettingsError),
        (&both, b"\x00\x04\x01\x06", Code::FrameError),
        (&both, b"\x00\x04\x00\x07\x02\x00\x00", Code::FrameError),
        (&both, b"\x00\x04\x00\x07\x00", Code::FrameError),
        (&both, b"\x00\x04\x80\x00\xff\xff", Code::ExcessiveLoad),
        (&both, b"\x00\x04\x00\x03\x01\x00", Code::IdError),
        (&both, b"\x00\x04\x00\x07\x01\x04\x07\x01\x08", Code::IdError),
        (&both, b"\x02\x3f\xe1\x1f", Code::QpackEncoderStreamError),
        (&both, b"\x02\x00", Code::QpackEncoderStreamError),
        (&both, b"\x03\x80", Code::QpackDecoderStreamError),
        (&both, b"\x03\x01", Code::QpackDecoderStreamError),
        (&client, b"\x00\x04\x00\x07\x01\x02", Code::IdError),
        (&client, b"\x00\x04\x00\x0d\x01\x00", Code::FrameUnexpected),
        (&client, b"\x01\x00", Code::IdError),
        (&server, b"\x01\x00", Code::StreamCreationError),
    ];
    for (receivers, stream, code) in table {
        for (receiver, piece) in receivers
            .iter()
            .flat_map(|side| (1..=stream.len()).map(|piece| (*side, piece)))
        {
            assert_eq!(
                read(receiver, stream, piece),
                Err(code),
                "{receiver:?}: {stream:x?} by {piece}"
            );
        }
    }
    let less = b"\x00\x04\x00\x0d\x01\x03\x0d\x01\x02";
    assert_eq!(read(Side::Server, less, 1), Err(Code::IdError));
}

#[test]
fn critical_streams_are_unique_and_do_not_end() {
    for kind in [&b"\x00\x04\x00"[..], b"\x02", b"\x03"] {
        let mut streams = PeerStreams::new(Side::Server);
        let (mut one, mut two) = (Reader::default(), Reader::default());
        one.read(kind, &mut streams, |_| {}).expect("a stream");
        let second = two.read(kind, &mut streams, |_| {});
        assert_eq!(second.map_err(|fault| fault.code), Err(Code::StreamCreationError));
        assert_eq!(
            one.end().map_err(|fault| fault.code),
            Err(Code::ClosedCriticalStream)
        );
    }
}

#[test]
fn a_stream_may_end_before_its_type() {
    assert_eq!(Reader::default().end(), Ok(()));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(stream: Vec<u8>, piece in 1usize..9) {
        let _ = read(Side::Client, &stream, piece);
        let _ = read(Side::Server, &stream, piece);
    }
}
