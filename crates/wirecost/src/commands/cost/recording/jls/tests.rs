//! Recordings of the format's makers, and damaged ones.

use clap::Parser as _;

use super::*;

/// Written by pyjls 0.17.0, which the format's makers publish: 3 s of 1,000 samples a second. Sample n has 1 + n modulo 7 mA, at 3.0 V in the
/// first half and 3.1 V then; those from 1,500 to 1,519 are no numbers; gpi[0] is high from 1,200 to 2,499.
const RECORDING: &[u8] = include_bytes!("../../../../../tests/cost/traces/joulescope.jls");

fn arguments(further: &[&str]) -> CostArguments {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        cost: CostArguments,
    }
    let words = ["cost", "--fit", "a", "--capture", "b", "--device", "c"];
    Line::parse_from(words.iter().chain(further)).cost
}

fn read(file: &[u8], further: &[&str]) -> Result<(Option<TraceBins>, Vec<f64>), JlsFault> {
    super::read(|| Ok(file), &arguments(further))
}

fn refused(file: &[u8], further: &[&str]) -> String {
    read(file, further).expect_err("refused").to_string()
}

#[test]
fn a_recording_of_the_formats_makers_is_read() {
    let (bins, rises) = read(RECORDING, &["--marker-channel", "GPI[0]"]).expect("a recording");
    let bins = bins.expect("samples");
    assert_eq!((bins.len(), bins.gaps, rises), (3_000, 1, vec![1.2]));
    assert!((bins.width - 1e-3).abs() < 1e-9);
    assert!((bins.watts()[6] - 7e-3 * 3.0).abs() < 1e-7 && (bins.watts()[2_999] - 4e-3 * 3.1).abs() < 1e-7);
    assert!(bins.watts()[1_500].is_nan() && bins.watts()[1_520].is_finite());
}

#[test]
fn a_voltage_is_that_of_the_recording_or_of_the_command_line() {
    let alone = file(&[
        described(1, "current", "A", F32, 1_000),
        samples(1, 0, &[1e-3; 50]),
    ]);
    assert_eq!(refused(&alone, &[]), "has no voltage");
    let (bins, _) = read(&alone, &["--volts", "2V"]).expect("a recording");
    assert!((bins.expect("samples").watts()[7] - 2e-3).abs() < 1e-9);
    // The voltage begins later, and ends earlier: what lacks it is a gap.
    let both = file(&[
        described(1, "current", "A", F32, 1_000),
        described(2, "voltage", "V", F32, 1_000),
        samples(1, 100, &[1e-3; 50]),
        samples(2, 110, &[3.0; 20]),
    ]);
    let (bins, _) = read(&both, &["--volts", "2V"]).expect("a recording");
    let bins = bins.expect("samples");
    assert_eq!((bins.len(), bins.volts.round()), (20, 3.0));
}

#[test]
fn a_marker_without_samples_is_what_its_summaries_say() {
    // 128 samples an entry: low, low, a mixture with its samples, high, low (left out), high.
    let mixture: Vec<u8> = (0..16).map(|byte| if byte < 8 { 0 } else { 0xff }).collect();
    let recording = file(&[
        described(1, "current", "A", F32, 1_000),
        described(3, "in0", "", BIT, 1_000),
        samples(1, 0, &[1e-3; 800]),
        bits(3, 256, &mixture),
        summary(3, 0, &[0.0, 0.0, 0.5, 1.0, 0.0, 1.0]),
    ]);
    let (_, rises) = read(&recording, &["--volts", "2V", "--marker-channel", "in0"]).expect("a recording");
    assert_eq!(rises, [0.320, 0.640]);
    let other = refused(&recording, &["--volts", "2V", "--marker-channel", "D0"]);
    assert_eq!(other, "has no digital signal D0, but in0");
}

#[test]
fn a_marker_that_changes_all_the_time_is_refused_within_its_chunk() {
    let mut edges = Edges::default();
    let mut read = 0;
    let levels = (0..3 * MOST_EDGES).map(|at| {
        read += 1;
        Some(at % 2 == 0)
    });
    assert_eq!(edges.add(0, 1, levels), Err(TooManyEdges));
    assert_eq!((edges.seen.len(), read), (MOST_EDGES, MOST_EDGES + 1));
    let recording = file(&[
        described(1, "current", "A", F32, 1_000),
        described(3, "in0", "", BIT, 1_000),
        samples(1, 0, &[1e-3; 50]),
        bits(3, 0, &vec![0b0101_0101; MOST_EDGES / 8 + 1]),
    ]);
    assert_eq!(
        refused(&recording, &["--volts", "2V", "--marker-channel", "in0"]),
        "in0 changes more than 1048576 times: it marks no messages"
    );
}

#[test]
fn the_last_index_that_there_is_is_read() {
    let recording = file(&[
        described(1, "current", "A", F32, 1_000),
        described(3, "in0", "", BIT, 1_000),
        samples(1, i64::MAX - 1, &[1e-3; 3]),
        bits(3, i64::MAX - 1, &[0b0000_0010]),
    ]);
    let arguments = arguments(&["--volts", "2V", "--marker-channel", "in0"]);
    let mut all =
        Samples::new(&recording[..], &signals(&recording[..]).expect("signals")[0]).expect("samples");
    let indices: Vec<i64> = std::iter::from_fn(|| all.next().expect("a sample"))
        .map(|(index, _)| index)
        .collect();
    assert_eq!(indices, [i64::MAX - 1, i64::MAX, i64::MAX]);
    let (_, rises) = super::read(|| Ok(&recording[..]), &arguments).expect("a recording");
    assert_eq!(rises, [1e-3]);
}

#[test]
fn of_many_signals_with_long_names_little_is_kept() {
    let name = "x".repeat(10_000);
    let many: Vec<Vec<u8>> = (0..300).map(|_| described(1, &name, "", BIT, 1_000)).collect();
    let found = signals(&file(&many)[..]).expect("signals");
    assert_eq!((found.len(), found[0].name.len()), (MOST_SIGNALS, MOST_NAME));
}

#[test]
fn what_is_no_recording_is_refused() {
    assert_eq!(refused(b"time,current", &[]), "is no .jls file");
    let first = [&VERSION_1[..], &[0; 64]].concat();
    assert_eq!(
        refused(&first, &[]),
        "is a .jls file of version 1, which is not read"
    );
    for cut in [40, 2_000, 20_000, RECORDING.len() - 1] {
        let said = refused(&RECORDING[..cut], &[]);
        assert_eq!(said, "has no end: its recording was cut off", "{cut}");
    }
    let mut long = RECORDING.to_vec();
    long[32 + 20..32 + 24].copy_from_slice(&[0xff; 4]);
    assert_eq!(
        refused(&long, &[]),
        "has a chunk of 4294967295 B, which no recorder writes"
    );
    assert_eq!(refused(&file(&[]), &[]), "has no signal in A");
    let doubles = file(&[described(1, "current", "A", 0x4004, 1_000)]);
    let said = refused(&doubles, &["--volts", "2V"]);
    assert_eq!(said, "current has no samples of 32-bit floating-point numbers");
    let rates = [
        described(1, "current", "A", F32, 1_000),
        described(2, "voltage", "V", F32, 500),
    ];
    let said = refused(&file(&rates), &[]);
    assert_eq!(
        said,
        "has 1000 samples a second of the current and 500 of the voltage"
    );
    let summaries = file(&[
        described(1, "current", "A", F32, 1_000),
        summary(1, 0, &[1e-3; 9]),
    ]);
    let said = refused(&summaries, &["--volts", "2V"]);
    assert_eq!(said, "current has summaries alone: its samples were left out");
}

fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut all = VERSION_2.to_vec();
    all.extend([0; 16]);
    all.extend(chunks.concat());
    all.extend(chunk(END, 0, &[]));
    all
}

fn chunk(tag: u8, meta: u16, payload: &[u8]) -> Vec<u8> {
    let mut all = vec![0; 16];
    all.extend([tag, 0]);
    all.extend(meta.to_le_bytes());
    all.extend((payload.len() as u32).to_le_bytes());
    all.extend([0; 8]);
    all.extend(payload);
    if !payload.is_empty() {
        all.extend([0; 4]);
        all.resize(all.len().next_multiple_of(8), 0);
    }
    all
}

fn described(number: u16, name: &str, unit: &str, kind: u32, rate: u32) -> Vec<u8> {
    let mut payload = vec![0; 4];
    for value in [kind, rate, 1_024, 128] {
        payload.extend(value.to_le_bytes());
    }
    payload.resize(BEFORE_NAME, 0);
    payload.extend(format!("{name}\0\x1f{unit}\0\x1f").into_bytes());
    chunk(SIGNAL, number, &payload)
}

fn entries(tag: u8, meta: u16, begin: i64, count: u32, bits: u16, content: &[u8]) -> Vec<u8> {
    let mut payload = begin.to_le_bytes().to_vec();
    payload.extend(count.to_le_bytes());
    payload.extend(bits.to_le_bytes());
    payload.extend([0; 2]);
    payload.extend(content);
    chunk(tag, meta, &payload)
}

fn samples(number: u16, begin: i64, values: &[f32]) -> Vec<u8> {
    let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    entries(DATA, number, begin, values.len() as u32, 32, &content)
}

fn bits(number: u16, begin: i64, content: &[u8]) -> Vec<u8> {
    entries(DATA, number, begin, content.len() as u32 * 8, 1, content)
}

/// A summary of the first level: means, with no deviation.
fn summary(number: u16, begin: i64, means: &[f32]) -> Vec<u8> {
    let four = means.iter().flat_map(|mean| [*mean, 0.0, *mean, *mean]);
    let content: Vec<u8> = four.flat_map(f32::to_le_bytes).collect();
    entries(SUMMARY, 0x1000 | number, begin, means.len() as u32, 128, &content)
}
