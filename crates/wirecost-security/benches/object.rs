//! Objects of one part and one rule per participant: sealing, by participants and curve, and opening.

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
#[allow(dead_code, reason = "an object has no two ends to loop between")]
mod measure;

use measure::{Bench, PAYLOAD};
use wirecost_security::entropy::Entropy;
use wirecost_security::object::{Curve, Opener, Preset, Rule, Sealer, Secret, SigningKey, UnixTime};

const NOON: UnixTime = UnixTime(43_200);

fn main() {
    let mut bench = Bench::from_arguments();
    for curve in Curve::ALL {
        for participants in [1, 2, 8] {
            let (sealer, opener) = cast(curve, participants);
            let mut entropy = Entropy::system();
            let mut seal = || sealer.seal(&[&PAYLOAD], &mut entropy).expect("an object").bytes;
            let object = seal();
            bench.peer(&format!("seal, {curve}, participants {participants}"), || {
                std::hint::black_box(seal());
            });
            bench.peer(&format!("open, {curve}, participants {participants}"), || {
                std::hint::black_box(opener.open(&object, 0, NOON).expect("the payload"));
            });
        }
    }
    let mut entropy = Entropy::system();
    let preset = Preset::deterministic(&mut entropy).expect("a preset");
    bench.peer("seal, deterministic signature", || {
        std::hint::black_box(preset.seal(&PAYLOAD, &mut entropy).expect("an object"));
    });
}

fn cast(curve: Curve, participants: usize) -> (Sealer, Opener) {
    let mut entropy = Entropy::system();
    let key = SigningKey::generate(&mut entropy).expect("a key");
    let signer = key.signer();
    let secrets = (0..participants).map(|_| Secret::generate(curve, &mut entropy).expect("a key"));
    let mut secrets: Vec<Secret> = secrets.collect();
    let rules = secrets
        .iter()
        .map(|secret| Rule::always(secret.id(), 0))
        .collect();
    let participants = secrets.iter().map(Secret::participant).collect();
    let sealer = Sealer::new(key, participants, rules).expect("a sealer");
    let opener = Opener::new(secrets.remove(0), vec![signer]);
    (sealer, opener)
}
