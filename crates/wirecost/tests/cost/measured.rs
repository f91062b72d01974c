//! `--meter`: a power meter's file beside the model.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::files::assert_refused;
use crate::{common, cost, number, open_folder, rows};

const CAPTURE: &str = "run/capture/sim.pcapng";
/// The supply of the device, in volts.
const VOLTS: f64 = 3.7;

/// A capture of one device in a home.
fn captured(home: &Path) {
    let arguments = "compare coap-con --engine sim -n 1 --size 48B --out run";
    let said = common::said(common::wirecost(home).args(arguments.split(' ')));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// A meter's file made from the model: 2 s of rest, each state of the capture for its time at its power, the highest first, and 2 s
/// of rest.
/// A sample every 10 ms; at a change of power two samples, a nanosecond apart.
fn modelled_file(home: &Path) -> String {
    let arguments = format!("{CAPTURE} --device nrf9160-lte-m --interval 1h");
    let once = rows(home, &arguments)[0]["once"].clone();
    let watts_and_seconds = |state: &Value| {
        let seconds = number(&state["seconds"]);
        (number(&state["joules"]["mean"]) / seconds.max(1e-12), seconds)
    };
    let states = once["states"].as_object().expect("states");
    let mut levels: Vec<(f64, f64)> = states.values().map(watts_and_seconds).collect();
    levels.retain(|(_, seconds)| *seconds > 0.0);
    // The order of the states does not change their sum; the first one has to rise above the rest.
    levels.sort_by(|left, right| right.0.total_cmp(&left.0));
    let floor = rest_watts(home);
    levels.insert(0, (floor, 2.0));
    levels.push((floor, 2.0));
    let mut text = "Timestamp(ms),Current(uA)\n".to_owned();
    let mut from = 0.0;
    for (watts, seconds) in levels {
        let to = from + seconds;
        let steps = (seconds / 0.01).floor() as u32;
        let inner = (1..=steps).map(|step| from + f64::from(step) * 0.01);
        let times = [from + 1e-9].into_iter().chain(inner.filter(|time| *time < to));
        for time in times.chain([to]) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:.6},{:.9}", time * 1e3, watts / VOLTS * 1e6);
        }
        from = to;
    }
    text
}

/// The power of the device's rest, in watts: what a long interval costs. The capture has two readings: one warms up.
fn rest_watts(home: &Path) -> f64 {
    let arguments = format!("{CAPTURE} --device nrf9160-lte-m --interval 1h");
    let row = &rows(home, &arguments)[0];
    let rest = number(&row["mean_power_w"]["part"]["rest"]["mean"]);
    rest * 7_200.0 / (7_200.0 - number(&row["once"]["seconds"]))
}

#[test]
fn a_meter_file_made_from_the_model_leaves_no_residual() {
    let home = open_folder();
    captured(home.path());
    std::fs::write(home.path().join("ppk.csv"), modelled_file(home.path())).expect("a file");
    let arguments = format!("{CAPTURE} --device nrf9160-lte-m --meter ppk.csv --volts 3.7V");
    let said = cost(home.path(), &format!("{arguments} --json -"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let meter = serde_json::from_str::<Value>(&said.stdout).expect("JSON")["meter"].clone();
    for key in ["joules", "joules_per_reading", "mean_watts", "idle_watts"] {
        let figure = &meter["figures"][key];
        let share = number(&figure["residual_of_measured"]).abs();
        assert!(share < 0.001, "{key}: {figure}");
        assert!(number(&figure["modelled"]["mean"]) > 0.0);
    }
    let table = cost(home.path(), &arguments).stdout;
    for expected in [
        "ppk.csv beside the model of devices/nrf9160-lte-m.yaml",
        "modelled*",
        "mJ per reading, of 2",
        "residual: measured - modelled, in % of the measured",
        "meter: 100 samples/s",
    ] {
        assert!(table.contains(expected), "{expected}:\n{table}");
    }
}

/// A session of the Power Profiler app at 10,000 samples a second: a ZIP of two stored files.
fn session(microamperes: &[f32]) -> Vec<u8> {
    let frames: Vec<u8> = microamperes
        .iter()
        .flat_map(|current| {
            let [a, b, c, d] = current.to_le_bytes();
            [a, b, c, d, 0, 0]
        })
        .collect();
    let metadata = br#"{"metadata":{"samplesPerSecond":10000},"formatVersion":2}"#;
    let mut file = Vec::new();
    for (name, content) in [("session.raw", &frames[..]), ("metadata.json", metadata)] {
        file.extend(b"PK\x03\x04");
        file.extend([20, 0, 0, 0, 0, 0]);
        file.extend([0; 8]);
        let size = u32::try_from(content.len()).expect("a short file").to_le_bytes();
        file.extend([size, size].concat());
        file.extend(u16::try_from(name.len()).expect("a short name").to_le_bytes());
        file.extend([0, 0]);
        file.extend(name.as_bytes());
        file.extend(content);
    }
    file
}

#[test]
fn a_session_of_the_power_profiler_app_is_read_as_its_export_is() {
    let home = open_folder();
    captured(home.path());
    let text = modelled_file(home.path());
    let points: Vec<(f64, f64)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let (time, current) = line.split_once(',').expect("two values");
            (
                time.parse().expect("a number"),
                current.parse().expect("a number"),
            )
        })
        .collect();
    let (last, _) = points.last().expect("a sample");
    // The export has a sample at each end of a power: the one at or after a time has the power of that time.
    let samples: Vec<f32> = (0..(last * 10.0) as u32)
        .map(|index| {
            let millis = f64::from(index) / 10.0;
            points[points.partition_point(|(time, _)| *time < millis)].1 as f32
        })
        .collect();
    std::fs::write(home.path().join("ppk.ppk2"), session(&samples)).expect("a file");
    let arguments = format!("{CAPTURE} --device nrf9160-lte-m --meter ppk.ppk2 --volts 3.7V --json -");
    let said = cost(home.path(), &arguments);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let meter = serde_json::from_str::<Value>(&said.stdout).expect("JSON")["meter"].clone();
    // The sample at a change of power is of one of both: 0.1 ms of waking up are some of the energy of 4 s of rest.
    for (key, most) in [("joules", 0.01), ("idle_watts", 0.05)] {
        let figure = &meter["figures"][key];
        let share = number(&figure["residual_of_measured"]).abs();
        assert!(share < most, "{key}: {figure}");
    }
    // A gap of 2 ms in the rest: the energy in it was not measured.
    let mut gap = samples;
    gap[100..120].fill(f32::NAN);
    std::fs::write(home.path().join("gap.ppk2"), session(&gap)).expect("a file");
    let arguments = format!("{CAPTURE} --device nrf9160-lte-m --meter gap.ppk2 --volts 3.7V");
    assert_refused(
        &cost(home.path(), &arguments),
        "gap.ppk2: a gap of 0.002100 s from 0.00995",
    );
}

#[test]
fn a_current_that_the_model_lacks_is_the_residual() {
    let home = open_folder();
    captured(home.path());
    let modelled = modelled_file(home.path());
    let mut lines = modelled.lines();
    let mut text = lines.next().expect("a header").to_owned() + "\n";
    for line in lines {
        let (time, current) = line.split_once(',').expect("two values");
        let current = current.parse::<f64>().expect("a number") + 1_000.0;
        text += &format!("{time},{current}\n");
    }
    std::fs::write(home.path().join("more.csv"), text).expect("a file");
    let arguments = format!("{CAPTURE} --device nrf9160-lte-m --meter more.csv --volts 3.7V --json -");
    let said = cost(home.path(), &arguments);
    let meter = serde_json::from_str::<Value>(&said.stdout).expect("JSON")["meter"].clone();
    // 1 mA more at 3.7 V.
    for key in ["mean_watts", "idle_watts"] {
        let residual = number(&meter["figures"][key]["residual"]);
        assert!((residual - 0.003_7).abs() < 1e-5, "{key}: {residual}");
    }
}

#[test]
fn a_wrong_meter_file_is_refused_with_its_line() {
    let home = open_folder();
    captured(home.path());
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).expect("a file");
    write("empty.csv", "");
    write("back.csv", "time (s),current (A)\n0,0\n2,0\n1,0\n");
    write("gap.csv", "time (s),current (A)\n0,0\n1,0\n2,0\n20,0\n");
    write("unit.csv", "Timestamp(ms),Current\n0,0\n");
    write("short.csv", "time (s),current (A)\n0,0\n0.1,0.1\n0.2,0\n0.3,0\n");
    write("flat.csv", "time (s),current (A)\n0,0\n1,0.001\n");
    let noisy: String = (0..400_u32)
        .map(|row| match row % 100 {
            0..20 => format!("{row},0.05\n"),
            other => format!("{row},{}\n", f64::from(other * 7 % 11) * 1e-4),
        })
        .collect();
    write("clipped.csv", &format!("time (s),current (A)\n{noisy}"));
    write("first.jls", &"\u{0}".repeat(40));
    write("late.csv", "time (s),current (A)\n0,0.1\n1,0\n");
    let volts = "--volts 3.7V";
    for (arguments, message) in [
        (format!("empty.csv {volts}"), "empty.csv: no samples"),
        (
            format!("back.csv {volts}"),
            "back.csv:4: the time goes back from 2 s to 1 s",
        ),
        (format!("gap.csv {volts}"), "gap.csv:5: a gap of 18.000000 s"),
        (
            format!("unit.csv {volts}"),
            "unit.csv:1: column \"Current\" has no unit",
        ),
        ("back.csv".to_owned(), "back.csv:1: no column of voltage"),
        (
            format!("short.csv {volts}"),
            "short.csv does not cover the capture",
        ),
        (
            format!("short.csv {volts} --marker 5s"),
            "short.csv does not cover the capture",
        ),
        (
            format!("flat.csv {volts}"),
            "flat.csv never rises 20 mA above its rest of 0 mA",
        ),
        (
            format!("late.csv {volts}"),
            "late.csv begins more than 20 mA above its rest",
        ),
        (
            format!("clipped.csv {volts}"),
            "clipped.csv: the current stays at exactly 50 mA, its highest, 4 times",
        ),
        (format!("first.jls {volts}"), "first.jls: is no .jls file"),
        (format!("nowhere.csv {volts}"), "cannot read nowhere.csv"),
    ] {
        let arguments = format!("{CAPTURE} --device nrf9160-lte-m --meter {arguments}");
        assert_refused(&cost(home.path(), &arguments), message);
    }
    let folder = format!("run --device nrf9160-lte-m --meter short.csv {volts}");
    assert_refused(&cost(home.path(), &folder), "--meter needs a capture");
}

#[test]
fn a_meter_measures_one_device() {
    let home = open_folder();
    crate::compared(home.path());
    let arguments = format!("{CAPTURE} --device nrf9160-lte-m --meter none.csv --volts 3.7V");
    assert_refused(&cost(home.path(), &arguments), "a meter measures one device");
}
