//! The length of objects, and their payload bytes.

use wirecost_proto::content::Part;
use wirecost_proto::{Buffer, Cause, Layer, Phase};

use super::*;
use crate::object::algorithm::TAG_BYTES;

/// The overhead of a preset's object with `payload` bytes of payload: 281 up to 7 bytes, 287 from 65,520 bytes,
/// because the heads of the two byte strings around the payload grow.
const fn overhead(payload: usize) -> usize {
    /// All bytes except the payload and the heads of the byte strings around it. The tag is included.
    const FIXED: usize = 278;
    /// The part's message without payload and without the head of its ciphertext.
    const MESSAGE: usize = 123;
    let ciphertext = head(payload + TAG_BYTES);
    FIXED + ciphertext + head(MESSAGE + ciphertext + payload)
}

/// Bytes of the head of a byte string (RFC 8949 section 3).
const fn head(len: usize) -> usize {
    match len {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}

#[test]
fn only_payload_and_participants_determine_the_size() {
    let mut lengths: Vec<usize> = (0..20)
        .map(|seed| {
            let mut entropy = entropy(seed);
            let preset = Preset::new(&mut entropy).expect("a preset");
            preset
                .seal(&[seed as u8; 128], &mut entropy)
                .expect("an object")
                .len()
        })
        .collect();
    lengths.dedup();
    assert_eq!(lengths, [128 + overhead(128)]);
}

#[test]
fn the_preset_has_the_documented_overhead() {
    let mut entropy = entropy(1);
    let preset = Preset::new(&mut entropy).expect("a preset");
    for payload in [
        0, 1, 7, 8, 9, 16, 107, 108, 109, 128, 239, 240, 241, 1_000, 8_192, 65_396, 65_397, 65_519, 65_520,
        100_000,
    ] {
        let object = preset.seal(&vec![7; payload], &mut entropy).expect("an object");
        assert_eq!(object.len() - payload, overhead(payload), "{payload} B");
    }
    let overheads = [0, 16, 128, 1_000, 100_000].map(overhead);
    assert_eq!(overheads, [281, 282, 282, 284, 288]);
}

#[test]
fn the_ciphertext_is_payload_and_the_rest_is_security() {
    let cast = Cast::new();
    let sealed = cast
        .sealer
        .seal(&[FIRST, SECOND], &mut entropy(2))
        .expect("an object");
    let of = |layer| {
        let parts = sealed.layout.iter().filter(|part: &&Part| part.layer == layer);
        parts.map(|part| part.len).collect::<Vec<_>>()
    };
    assert_eq!(of(Layer::Payload), [FIRST.len(), SECOND.len()]);
    let total: usize = sealed.layout.iter().map(|part| part.len).sum();
    assert_eq!(total, sealed.bytes.len());
    let inspection = inspect(&sealed.bytes).expect("an object");
    assert_eq!(inspection.payload_bytes(), FIRST.len() + SECOND.len());
    assert_eq!(
        inspection.security_bytes(),
        of(Layer::Security).iter().sum::<usize>()
    );
    assert_eq!(inspection.signer, cast.signer.id());
    // As in docs/models/objects.md: frame, two parts, three rules, three recipients and four heads.
    assert_eq!(
        inspection.security_bytes(),
        93 + 2 * (34 + 39) + 3 * 28 + 2 * 84 + 119 + (2 + 3 + 2 + 2)
    );
}

#[test]
fn on_the_wire_an_object_has_its_layers() {
    let mut entropy = entropy(1);
    let preset = Preset::new(&mut entropy).expect("a preset");
    let content = preset.seal(&[7; 100], &mut entropy).expect("an object");
    let mut out = Buffer::new();
    content.push(0..content.len(), Phase::Message, Cause::Original, &mut out);
    let spans: Vec<_> = out.spans().iter().map(|span| (span.len, span.layer)).collect();
    assert!(matches!(
        spans.as_slice(),
        [(_, Layer::Security), (100, Layer::Payload), (_, Layer::Security)]
    ));
    assert_eq!(preset.open(content.bytes(), day(1)).as_deref(), Ok(&[7; 100][..]));
}

#[test]
fn a_seed_and_deterministic_signatures_repeat_an_object() {
    let object = || {
        let mut entropy = entropy(8);
        let preset = Preset::deterministic(&mut entropy).expect("a preset");
        let content = preset.seal(b"payload", &mut entropy).expect("an object");
        assert_eq!(
            preset.open(content.bytes(), day(1)).as_deref(),
            Ok(&b"payload"[..])
        );
        content
    };
    assert_eq!(object(), object());
}

#[test]
fn a_participant_on_p_256_adds_35_bytes() {
    let len = |curve| {
        let mut entropy = entropy(1);
        let key = SigningKey::generate(&mut entropy).expect("a key");
        let secret = Secret::generate(curve, &mut entropy).expect("a key");
        let rules = vec![Rule::always(secret.id(), 0)];
        let sealer = Sealer::new(key, vec![secret.participant()], rules).expect("a sealer");
        sealer
            .seal(&[&[0; 200]], &mut entropy)
            .expect("an object")
            .bytes
            .len()
    };
    assert_eq!(len(Curve::P256) - len(Curve::X25519), 35);
}
