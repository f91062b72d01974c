//! Every kept input and seeded mutations of it, through the target it belongs to: on stable Rust, without a fuzzer.
//!
//! `fuzz/seeds/<target>` holds real inputs, which must be understood; `fuzz/cases/<target>` holds what must merely do
//! no harm: malformed inputs, and those that once did.

use std::fs;
use std::path::{Path, PathBuf};

use wirecost_fuzz::{TARGETS, Target};
use wirecost_proto::Rng;

/// Mutations of all inputs of a target together.
const MUTATIONS: u64 = 10_000;

/// The same where an input makes keys and signatures, or is a whole capture or simulation: each takes a millisecond or
/// more.
const SLOW_MUTATIONS: u64 = 300;

/// What is in the names of such targets.
const SLOW: [&str; 12] = [
    "edhoc_",
    "tls_client",
    "tls_server",
    "_connection",
    "http3_client",
    "http3_server",
    "tls_pem",
    "_capture",
    "_pcapng",
    "_pair",
    "_world",
    "_scenario",
];

#[test]
fn every_seed_is_understood() {
    for (name, target) in TARGETS {
        let seeds = inputs("seeds", name);
        assert!(!seeds.is_empty(), "{name} has no seed");
        for (path, bytes) in seeds {
            assert!(target(&bytes), "{} is not understood", path.display());
        }
    }
}

#[test]
fn no_case_does_harm() {
    for (name, target) in TARGETS {
        for (_, bytes) in inputs("cases", name) {
            target(&bytes);
        }
    }
}

#[test]
fn no_mutation_harms_a_parser() {
    mutate_targets(false);
}

/// In a test of its own, so that both run side by side.
#[test]
fn no_mutation_harms_an_endpoint() {
    mutate_targets(true);
}

fn mutate_targets(slow: bool) {
    for (name, target) in TARGETS {
        if is_slow(name) != slow {
            continue;
        }
        let inputs = [inputs("seeds", name), inputs("cases", name)].concat();
        let bytes: Vec<_> = inputs.into_iter().map(|(_, bytes)| bytes).collect();
        replay_mutations(name, target, &bytes);
    }
}

#[test]
fn every_folder_of_inputs_has_its_target() {
    for kind in ["seeds", "cases"] {
        for folder in fs::read_dir(folder_of(kind)).expect("the folder is there") {
            let folder = folder.expect("the folder can be read").file_name();
            let is_target = TARGETS.iter().any(|(name, _)| folder.to_str() == Some(name));
            assert!(is_target, "{folder:?}");
        }
    }
}

fn folder_of(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz")
        .join(kind)
}

/// The inputs of a target, in the order of their names; none where it has no folder.
fn inputs(kind: &str, target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(files) = fs::read_dir(folder_of(kind).join(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = files
        .map(|file| file.expect("the folder can be read").path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| (fs::read(&path).expect("the file can be read"), path);
    paths
        .into_iter()
        .map(read)
        .map(|(bytes, path)| (path, bytes))
        .collect()
}

/// Panics name the target and the mutation.
fn is_slow(name: &str) -> bool {
    SLOW.iter().any(|part| name.contains(part))
}

fn replay_mutations(name: &str, target: Target, inputs: &[Vec<u8>]) {
    let mut rng = Rng::new(1);
    let mutations = if is_slow(name) { SLOW_MUTATIONS } else { MUTATIONS };
    for _ in 0..mutations {
        let mut bytes = pick(inputs, &mut rng).clone();
        for _ in 0..=rng.next_below(3) {
            mutate(&mut bytes, inputs, &mut rng);
        }
        let harm = std::panic::catch_unwind(|| target(&bytes));
        assert!(harm.is_ok(), "{name} of {bytes:02x?}");
    }
}

fn pick<'a, T>(from: &'a [T], rng: &mut Rng) -> &'a T {
    &from[rng.next_below(from.len() as u64) as usize]
}

/// Cuts, inserts, flips, replaces, or puts another input in.
fn mutate(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], rng: &mut Rng) {
    let place = rng.next_below(bytes.len() as u64 + 1) as usize;
    let kind = rng.next_below(6);
    match (kind, bytes.get_mut(place)) {
        (0, _) => bytes.truncate(place),
        (1, _) => bytes.insert(place, rng.next_u64() as u8),
        (2, _) => drop(bytes.splice(place..place, pick(inputs, rng).iter().copied())),
        (3, Some(byte)) => *byte ^= 1 << rng.next_below(8),
        (4, Some(byte)) => *byte = *pick(&[0, 1, 4, 8, 0x7f, 0x80, 0xff], rng),
        (_, Some(byte)) => *byte = byte.wrapping_add(1),
        (_, None) => {}
    }
}
