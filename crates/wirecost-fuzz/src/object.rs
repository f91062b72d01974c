//! Protected objects and the files of their keys.

use std::sync::OnceLock;

use wirecost_security::object::{
    Curve, Inspection, Opener, Participant, Secret, Signer, SigningKey, UnixTime, inspect,
};

/// The participant that the seeds are sealed for.
const PARTICIPANT: [u8; 32] = [2; 32];
/// The signer of the seeds.
const SIGNER: [u8; 32] = [1; 32];
/// A time in which the rules of the seeds hold.
const AT: UnixTime = UnixTime(1_000_000);

/// An object: what is inspected adds up, and what opens has an inspection. Returns whether part 0 opens, which no
/// changed object does but one with another valid signature.
pub fn object(bytes: &[u8]) -> bool {
    let inspection = inspect(bytes);
    if let Ok(inspection) = &inspection {
        adds_up(inspection, bytes.len());
    }
    let Ok(content) = opener().open(bytes, 0, AT) else {
        return false;
    };
    let inspection = inspection.expect("what opens can be inspected");
    let part = inspection.parts.first().expect("what opens has a part");
    assert_eq!(part.payload_bytes, content.len());
    true
}

fn adds_up(inspection: &Inspection, bytes: usize) {
    assert_eq!(inspection.bytes, bytes);
    assert_eq!(inspection.payload_bytes() + inspection.security_bytes(), bytes);
    let inner: usize = inspection.parts.iter().map(|part| part.bytes).sum();
    assert!(inner + inspection.rules_bytes < bytes);
    assert!(
        inspection
            .parts
            .iter()
            .all(|part| part.payload_bytes < part.bytes)
    );
}

fn opener() -> &'static Opener {
    static OPENER: OnceLock<Opener> = OnceLock::new();
    OPENER.get_or_init(|| {
        let secret = Secret::from_bytes(Curve::X25519, &PARTICIPANT).expect("a key");
        let signer = SigningKey::from_bytes(&SIGNER).expect("a key").signer();
        Opener::new(secret, vec![signer])
    })
}

/// A key file: what is read is written to a file that reads as the same key. Returns whether it is a key.
pub fn key(bytes: &[u8]) -> bool {
    let again = [
        Participant::from_cose_key(bytes).map(|key| {
            (
                key.id(),
                Participant::from_cose_key(&key.to_cose_key()).map(|key| key.id()),
            )
        }),
        Signer::from_cose_key(bytes).map(|key| {
            (
                key.id(),
                Signer::from_cose_key(&key.to_cose_key()).map(|key| key.id()),
            )
        }),
        Secret::from_cose_key(bytes).and_then(|key| {
            let file = key.to_cose_key()?;
            Ok((key.id(), Secret::from_cose_key(&file).map(|key| key.id())))
        }),
        SigningKey::from_cose_key(bytes).and_then(|key| {
            let file = key.to_cose_key()?;
            Ok((key.id(), SigningKey::from_cose_key(&file).map(|key| key.id())))
        }),
    ];
    let understood = again.into_iter().filter_map(Result::ok);
    let keys = understood.map(|(id, again)| assert_eq!(again, Ok(id)));
    // A file is a key of one kind.
    let keys = keys.count();
    assert!(keys <= 1);
    keys == 1
}
