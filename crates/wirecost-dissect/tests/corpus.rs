//! Kept captures, also with flipped, cut and repeated bytes. Reading any file ends, and the table adds up.

use std::path::PathBuf;

use proptest::prelude::*;
use wirecost_dissect::{Dissector, Report, read};
use wirecost_proto::Rng;
use wirecost_wire::capture::{Item, Packet, Reader};

/// Mutations of each kept capture.
const MUTATIONS: u64 = 400;

struct Kept {
    name: String,
    file: Vec<u8>,
    keys: String,
}

fn corpus() -> Vec<Kept> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/capture");
    let entries = std::fs::read_dir(&folder)
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path());
    let mut captures: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|e| e != "keys"))
        .collect();
    captures.sort();
    let kept = |path: &PathBuf| Kept {
        name: path.display().to_string(),
        file: std::fs::read(path).expect("a file"),
        keys: std::fs::read_to_string(path.with_extension("keys")).unwrap_or_default(),
    };
    captures.iter().map(kept).collect()
}

/// The parts of the table sum to the whole.
fn assert_adds_up(report: &Report) {
    let total = &report.total;
    let sections = [&total.connect, &total.message, &total.keep_alive, &total.close];
    let wire: u64 = sections.iter().map(|section| section.wire()).sum();
    assert_eq!(wire, report.wire_bytes);
    let groups: u64 = report.groups.iter().map(|group| group.traffic.all.wire()).sum();
    assert_eq!(groups, report.wire_bytes);
}

/// The packets of a capture, each mutated, as a lossy tap would deliver them.
fn mangled(file: &[u8], keys: &str, rng: &mut Rng) -> Report {
    let mut reader = Reader::new(file).expect("a capture");
    let mut dissector = Dissector::new();
    dissector.add_secrets(keys);
    while let Ok(Some(Item::Packet(packet))) = reader.item() {
        let mut bytes = packet.bytes.to_vec();
        match rng.next_below(12) {
            0 => continue,
            1 => bytes.truncate(rng.next_below(bytes.len() as u64 + 1) as usize),
            2..=4 => flip(&mut bytes, rng),
            5 => dissector.packet(&packet),
            _ => {}
        }
        dissector.packet(&Packet {
            bytes: &bytes,
            ..packet
        });
    }
    dissector.finish()
}

fn flip(bytes: &mut [u8], rng: &mut Rng) {
    let at = rng.next_below(bytes.len().max(1) as u64) as usize;
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << rng.next_below(8);
    }
}

#[test]
fn every_kept_capture_is_fully_attributed() {
    let kept = corpus();
    assert!(kept.len() >= 5, "{}", kept.len());
    for Kept { name, file, keys } in kept {
        let reading = read(file.as_slice(), &keys).expect("a capture");
        assert!(reading.fault.is_none(), "{name}");
        assert_adds_up(&reading.report);
        assert_eq!(reading.report.unattributed, [], "{name}");
        assert!(!wirecost_dissect::table(&reading.report).is_empty());
    }
}

#[test]
fn mangled_packets_add_up() {
    for Kept { file, keys, .. } in corpus() {
        let mut rng = Rng::new(file.len() as u64);
        for _ in 0..MUTATIONS / 4 {
            assert_adds_up(&mangled(&file, &keys, &mut rng));
        }
    }
}

#[test]
fn reading_a_damaged_file_ends() {
    for Kept { file, keys, .. } in corpus() {
        let mut rng = Rng::new(1 + file.len() as u64);
        for _ in 0..MUTATIONS {
            let mut file = file.clone();
            (0..=rng.next_below(8)).for_each(|_| flip(&mut file, &mut rng));
            file.truncate(file.len() - rng.next_below(file.len() as u64) as usize / 4);
            if let Ok(reading) = read(file.as_slice(), &keys) {
                assert_adds_up(&reading.report);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_of_any_link_type_add_up(
        frames in proptest::collection::vec((0u16..300, proptest::collection::vec(any::<u8>(), 0..120)), 0..20)
    ) {
        let mut dissector = Dissector::new();
        for (link_type, bytes) in &frames {
            dissector.packet(&Packet::whole(*link_type, None, bytes));
        }
        assert_adds_up(&dissector.finish());
    }
}

#[test]
fn observers_are_told_every_packet_of_every_flow() {
    for Kept { name, file, keys } in corpus() {
        let (reading, sightings) = wirecost_dissect::observe(&file[..], &keys).expect("a capture");
        let mut totals = wirecost_cost::Totals::new();
        for device in sightings.devices().into_keys() {
            sightings.tell(device, &mut totals);
        }
        let expected = wirecost_dissect::report::Phases::from(&totals);
        let of = |phases: &wirecost_dissect::report::Phases| {
            [phases.connect, phases.message, phases.keep_alive, phases.close]
        };
        assert_eq!(of(&expected), of(&reading.report.total), "{name}");
        assert_eq!(sightings.untimed(), 0, "{name}");
    }
}
