//! Payloads of readings, read by decoders of other makers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wirecost_readings::{Batch, Compression, Encoding, series};

const SEED: u64 = 42;

fn python() -> PathBuf {
    let beside_sources = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    let environment = std::env::var_os("WIRECOST_VENV").map_or_else(beside_sources, PathBuf::from);
    environment.join("bin/python")
}

/// Every encoding with every compression, of one reading and of many.
fn batches() -> Vec<Batch> {
    let mut batches = Vec::new();
    for readings in [1, 2, 500] {
        for encoding in Encoding::ALL {
            let of = |compression| Batch {
                readings,
                encoding,
                compression,
            };
            batches.extend(Compression::ALL.map(of));
        }
    }
    batches
}

/// What the decoder prints of a batch.
fn printed(batch: Batch) -> String {
    let readings = series(SEED, batch.readings);
    let numbers = readings.iter().flat_map(|reading| {
        let (time, battery) = (reading.time as f64, f64::from(reading.battery));
        [time, reading.temperature, reading.humidity, battery]
    });
    let texts: Vec<String> = numbers.map(|number| format!("{number:.2}")).collect();
    texts.join(",")
}

#[test]
#[ignore = "needs the Python packages"]
fn other_decoders_read_the_series_from_every_payload() {
    let lines = batches().into_iter().map(|batch| {
        let digits: String = batch
            .payload(SEED)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{} {} {digits}\n", batch.encoding, batch.compression)
    });
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("payloads.txt");
    std::fs::write(&input, lines.collect::<String>()).expect("a file");
    let decoder = Command::new(python())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decode.py"))
        .stdin(File::open(&input).expect("the file"))
        .stderr(Stdio::inherit())
        .output();
    let output = decoder.expect("Python with scripts/requirements-test.txt");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let read: Vec<&str> = text.lines().collect();
    assert_eq!(read.len(), batches().len());
    for (batch, read) in batches().into_iter().zip(read) {
        assert_eq!(read, printed(batch), "{batch}");
    }
}
