//! `--fit`: a device file from a power meter.

use std::fmt::Write as _;
use std::path::Path;

use crate::files::assert_refused;
use crate::{cost, open_folder};

/// Seconds at which a message begins: no two steps are alike.
fn begins() -> Vec<f64> {
    (0..12_u32)
        .map(|at| f64::from(5 + at * 16) + f64::from(at * at % 5) * 0.7)
        .collect()
}

/// A capture of a message of 128 B and an answer of 60 B, 120 ms later.
fn capture(path: &Path) {
    let mut file = Vec::new();
    for field in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(field.to_le_bytes());
    }
    let mut packet = |at: f64, [from, to]: [u8; 2], ports: [u16; 2], bytes: u16| {
        let micros = ((1_700_000_000.0 + at) * 1e6).round() as u64;
        for field in [
            (micros / 1_000_000) as u32,
            (micros % 1_000_000) as u32,
            bytes.into(),
            bytes.into(),
        ] {
            file.extend(field.to_le_bytes());
        }
        let mut header = vec![0x45, 0];
        header.extend(bytes.to_be_bytes());
        header.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
        let sum: u32 = header
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
            .sum();
        let check = !((sum & 0xffff) + (sum >> 16)) as u16;
        header[10..12].copy_from_slice(&check.to_be_bytes());
        for field in [ports[0], ports[1], bytes - 20, 0] {
            header.extend(field.to_be_bytes());
        }
        header.resize(bytes.into(), 0);
        file.extend(header);
    };
    for at in begins() {
        packet(at, [2, 1], [40_000, 5_683], 128);
        packet(at + 0.12, [1, 2], [5_683, 40_000], 60);
    }
    std::fs::write(path, file).expect("a capture");
}

/// The trace of a device on LTE-M at 500 samples a second, on a clock of its own: 22 mA for 1.2 s, frames, 13 mA for 4.2 s, 3 mA for 3.3 s.
fn trace(path: &Path, header: &str, shift: f64) {
    let (up, down) = (135.0 * 8.0 / 180e3, 67.0 * 8.0 / 300e3);
    let steps: Vec<(f64, f64)> = begins()
        .into_iter()
        .flat_map(|at| {
            let answer = at + 0.12 + down;
            [
                (at - 1.2, 22.0),
                (at, 13.0),
                (at + 0.01, 110.0),
                (at + 0.01 + up, 13.0),
                (at + 0.12, 48.0),
                (answer, 13.0),
                (answer + 4.2, 3.0),
                (answer + 7.5, 0.02),
            ]
        })
        .collect();
    let mut text = format!("{header}\n");
    for index in 0..100_000_u32 {
        let at = f64::from(index) / 500.0;
        let done = steps.partition_point(|(begin, _)| *begin <= at);
        let current = done.checked_sub(1).map_or(0.02, |last| steps[last].1);
        let is_sending = begins().iter().any(|begin| at >= *begin && at < begin + 0.05);
        let seconds = at + shift;
        writeln!(text, "{seconds:.3},{current},{}", u8::from(is_sending)).expect("a text");
    }
    std::fs::write(path, text).expect("a trace");
}

const HEADER: &str = "Timestamp(s),Current(mA),D0";

#[test]
fn a_trace_becomes_a_device_file_that_the_program_reads() {
    let home = open_folder();
    capture(&home.path().join("c.pcap"));
    trace(&home.path().join("t.csv"), HEADER, 300.0);
    let fit = "--fit t.csv --volts 3.7V --capture c.pcap --device nrf9160-lte-m --residual r.svg";
    for (clock, said_of_it) in [
        (" --marker-channel D0", "by D0; the trace is 305 s ahead"),
        ("", "by the pattern of the bursts"),
    ] {
        let said = cost(home.path(), &format!("{fit}{clock}"));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains(said_of_it), "{}", said.stderr);
        assert!(
            said.stderr.contains("fitted to 12 bursts; 0 left out"),
            "{}",
            said.stderr
        );
        let svg = std::fs::read_to_string(home.path().join("r.svg")).expect("a figure");
        assert!(svg.contains("measured - fitted"));
        std::fs::write(home.path().join("mine.yaml"), &said.stdout).expect("a file");
        let again = cost(home.path(), "c.pcap --device mine.yaml --json -");
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        // The currents above, without the frames; a capture that repeats as it is has no tails after its last packet.
        let bursts = begins().len() as f64;
        let milliamperes = bursts * (1.2 * 22.0 + 0.12 * 13.0) + (bursts - 1.0) * (4.2 * 13.0 + 3.3 * 3.0);
        let joules = milliamperes * 3.7e-3;
        let value: serde_json::Value = serde_json::from_str(&again.stdout).expect("JSON");
        let once = &value["rows"][0]["once"]["states"];
        let modelled: f64 = once
            .as_object()
            .expect("states")
            .values()
            .map(|state| state["joules"]["mean"].as_f64().expect("a number"))
            .sum();
        assert!((modelled / joules - 1.0).abs() < 0.02, "{modelled} and {joules}");
    }
}

#[test]
fn a_wrong_trace_is_one_sentence_with_its_file_and_line() {
    let home = open_folder();
    let at = |name: &str| home.path().join(name);
    capture(&at("c.pcap"));
    trace(&at("units.csv"), "Timestamp(s),Current(mW),D0", 0.0);
    trace(&at("right.csv"), HEADER, 0.0);
    std::fs::write(at("short.csv"), format!("{HEADER}\n0,1,0\n1,x,0\n")).expect("a file");
    std::fs::write(at("other.ppk2"), "no ZIP").expect("a file");
    std::fs::write(at("first.jls"), b"\xd3tagfmt \r\n \n  \x1a\x1c".repeat(4)).expect("a file");
    let noisy = (0..400_u32).map(|row| match row % 100 {
        0..20 => 50.0,
        row => f64::from(row * 7 % 11) * 0.1,
    });
    let rows: String = (0..)
        .zip(noisy)
        .map(|(row, current)| format!("{row},{current},0\n"))
        .collect();
    std::fs::write(at("clipped.csv"), format!("{HEADER}\n{rows}")).expect("a file");
    std::fs::write(at("quiet.csv"), format!("{HEADER}\n0,1,0\n1,1,0\n2,1,0\n")).expect("a file");
    for (arguments, message) in [
        (
            "--fit units.csv --volts 3V",
            "units.csv:1: column \"Current(mW)\" has no unit of current",
        ),
        ("--fit right.csv", "right.csv:1: no column of voltage"),
        (
            "--fit right.csv --volts 3V --marker-channel D3",
            "right.csv:1: no column \"D3\" for the marker",
        ),
        (
            "--fit short.csv --volts 3V",
            "short.csv:3: current \"x\" is not a number",
        ),
        (
            "--fit quiet.csv --volts 3V --marker-channel D0",
            "quiet.csv: the marker D0 never rises",
        ),
        (
            "--fit quiet.csv --volts 3V",
            "quiet.csv: the trace is of another device or another time",
        ),
        (
            "--fit other.ppk2 --volts 3V",
            "other.ppk2: is no .ppk2 file: it is no ZIP",
        ),
        ("--fit other.ppk2", "other.ppk2: a .ppk2 file has no voltage"),
        (
            "--fit first.jls",
            "first.jls: is a .jls file of version 1, which is not read",
        ),
        (
            "--fit clipped.csv --volts 3V",
            "clipped.csv: the current stays at exactly 50 mA, its highest, 4 times, first at 7 s: the meter's range cut it off",
        ),
    ] {
        let said = cost(
            home.path(),
            &format!("{arguments} --capture c.pcap --device nrf9160-lte-m"),
        );
        assert_refused(&said, message);
    }
    let said = cost(home.path(), "--fit right.csv --volts 3V --device nrf9160-lte-m");
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("--capture"), "{}", said.stderr);
}
