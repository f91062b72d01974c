//! Feeds every parser the real packets under `fuzz/corpus` and seeded mutations of them.

use std::fs;
use std::path::Path;

use wirecost_proto::Rng;
use wirecost_wire::ip::{Packet, Version};
use wirecost_wire::upper::Upper;
use wirecost_wire::{icmp, pcapng, tcp, udp};

const MUTATIONS_PER_FILE: u64 = 1_000;

#[test]
fn ip_reads_its_corpus_and_survives_mutations() {
    replay("ip", |bytes| {
        let packet = Packet::new(bytes).ok()?;
        packet.ports();
        packet.fragment();
        Upper::new(&packet).ok().map(drop)
    });
}

#[test]
fn tcp_reads_its_corpus_and_survives_mutations() {
    replay("tcp", |bytes| {
        let segment = tcp::Segment::new(bytes).ok()?;
        let options: Result<Vec<_>, _> = segment.options().collect();
        options
            .ok()
            .and_then(|options| tcp::Options::new(&options).ok())
            .map(drop)
    });
}

#[test]
fn udp_reads_its_corpus_and_survives_mutations() {
    replay("udp", |bytes| udp::Datagram::new(bytes).ok().map(drop));
}

#[test]
fn icmp_reads_its_corpus_and_survives_mutations() {
    replay("icmp", |bytes| {
        for version in [Version::V4, Version::V6] {
            let message = icmp::Message::new(version, bytes).ok()?;
            if let icmp::Repr::DestinationUnreachable { quoted, .. } = message.repr() {
                Packet::new(quoted).ok()?.ports()?;
            }
        }
        Some(())
    });
}

#[test]
fn pcapng_reads_its_corpus_and_survives_mutations() {
    replay("pcapng", |bytes| {
        let blocks: Result<Vec<_>, _> = pcapng::Reader::new(bytes).collect();
        blocks.ok().map(drop)
    });
}

/// Parses every file of `parser`'s corpus, which must be understood, and mutations, which must not panic.
fn replay(parser: &str, parse: impl Fn(&[u8]) -> Option<()>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(parser);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for (index, file) in files.iter().enumerate() {
        let original = fs::read(file).unwrap();
        assert!(parse(&original).is_some(), "{} is not understood", file.display());
        let mut rng = Rng::new(index as u64);
        for _ in 0..MUTATIONS_PER_FILE {
            parse(&mutated(&original, &mut rng));
        }
    }
}

/// `original` with one to four flipped bits, replaced bytes, cuts or repeats.
fn mutated(original: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=rng.next_below(4) {
        let at = rng.next_below(bytes.len() as u64) as usize;
        let Some(byte) = bytes.get_mut(at) else {
            break;
        };
        match rng.next_below(4) {
            0 => *byte ^= 1 << rng.next_below(8),
            1 => *byte = [0, 1, 4, 8, 0x7f, 0x80, 0xff][rng.next_below(7) as usize],
            2 => bytes.truncate(at),
            _ => bytes.extend_from_within(at..),
        }
    }
    bytes
}
