//! Files of measurements: what a publication measured, on what, with what was set, and where it says so.

use std::collections::BTreeSet;
use std::time::Duration;

use wirecost_energy::Timer;
use wirecost_energy::measurement::{Measured, Point, Publication, Radio, Settings, Use, WifiMode};
use wirecost_energy::network::exact;
use wirecost_proto::ByteSize;
use wirecost_results::value::ValueError;

use crate::catalog::built_in;
use crate::electric::{CURRENTS, POWERS, above_zero, decibel_milliwatts, quantity, voltage};
use crate::error::{Place, ScenarioError};
use crate::figure::versioned;
use crate::node::{Node, Value};
use crate::table::{Read, Table, flag, parsed, text, time, whole};

/// The measurements that are part of the program: name and text of each publication.
pub const BUILT_IN: [(&str, &str); 13] = built_in!(
    "measurements",
    "californium-1843",
    "espressif-sleep-current",
    "fosse-2020",
    "glenn20",
    "kraus-2022-06",
    "kraus-2022-09",
    "lena-bg96",
    "nordic-power-optimization",
    "nordic-product-specification",
    "raspberry-pi",
    "robinson-2019",
    "rostad-2020",
    "tartabit-2025",
);

/// What a publication does not say, in its file.
const NOT_SAID: &str = "not said";

const KEYS: [&str; 34] = [
    "id",
    "use",
    "device",
    "board",
    "radio",
    "rail",
    "supply",
    "quantity",
    "measured",
    "time",
    "does",
    "up",
    "down",
    "protocol",
    "network",
    "tx_power",
    "peak",
    "coverage",
    "active",
    "inactivity",
    "rai",
    "edrx",
    "paging_window",
    "cdrx",
    "dtim",
    "window",
    "every",
    "mode",
    "address",
    "tau",
    "not_judged",
    "place",
    "second_hand",
    "note",
];

/// Reads a file of measurements. `name` is the publication's name in output.
///
/// # Errors
/// It is not such a file, a unit does not fit its quantity, or a timer is one that no network can have; the error has the line.
pub fn read(name: &str, file: &str) -> Result<Publication, ScenarioError> {
    let file = Node::parse(file)?;
    let keys = ["wirecost_measurements", "publication", "points"];
    let table = versioned(&file, "measurement", "wirecost_measurements", &keys)?;
    let title = table.required("publication", text)?;
    let Some(Value::List(nodes)) = table.get("points").map(|node| &node.value) else {
        return Err(table.error("points", "a list of points is expected"));
    };
    let points = nodes
        .iter()
        .map(point)
        .collect::<Result<Vec<Point>, ScenarioError>>()?;
    let mut ids = BTreeSet::new();
    // Tables name a point by its id.
    if let Some((_, node)) = points.iter().zip(nodes).find(|(point, _)| !ids.insert(&point.id)) {
        return Err(ScenarioError::new(&node.place, "another point has the same id")
            .with_hint("give each point an id of its own"));
    }
    Ok(Publication {
        name: name.to_owned(),
        title,
        points,
    })
}

/// The publications that are part of the program.
///
/// # Errors
/// One cannot be read: a fault of the program, which a test excludes.
pub fn built_in() -> Result<Vec<Publication>, ScenarioError> {
    BUILT_IN.iter().map(|(name, file)| read(name, file)).collect()
}

fn point(node: &Node) -> Result<Point, ScenarioError> {
    let table = Table::new(node, "points.", &KEYS)?;
    let radio = table.one("radio", radio)?.unwrap_or(Radio::None);
    let usage = table.required("use", parsed)?;
    let does = table.one("does", parsed)?;
    if usage == Use::Event && does.is_none() {
        return Err(table.error("does", "an event says what the device does"));
    }
    let measured = table.required("measured", measured(&table)?)?;
    let point = Point {
        id: table.required("id", text)?,
        line: match node.place {
            Place::Line(line) => line,
            Place::Flag(_) | Place::File => 0,
        },
        usage,
        device: table.required("device", text)?,
        board: table.one("board", text)?,
        radio,
        is_bench: table.one("network", network)?.unwrap_or(false),
        rail: table.required("rail", text)?,
        supply: said(&table, "supply", voltage)?,
        measured,
        time: table.one("time", time)?,
        does,
        up: bytes(&table, "up")?,
        down: bytes(&table, "down")?,
        settings: settings(&table, radio)?,
        not_judged: table.one("not_judged", text)?,
        place: table.required("place", text)?,
    };
    judged(&point, &table)?;
    Ok(point)
}

/// A point that judges a model has what a model predicts: a charge of an event, a current of a state.
fn judged(point: &Point, table: &Table<'_>) -> Result<(), ScenarioError> {
    let (is_there, needed) = match point.usage {
        Use::Event => (
            point.charge().is_some(),
            "an event is judged by its charge, or by its energy with the voltage of its supply",
        ),
        Use::State => (point.current().is_some(), "a state is judged by its mean current"),
        Use::Component => (true, ""),
    };
    match is_there || !point.is_judged() {
        true => Ok(()),
        false => Err(table
            .error("measured", needed)
            .with_hint("give it, or write not_judged: with the reason")),
    }
}

fn settings(table: &Table<'_>, radio: Radio) -> Result<Settings, ScenarioError> {
    let edrx = match radio {
        Radio::NbIot => Timer::EdrxNbIot,
        // A device without a cellular radio has no eDRX: `timer` then finds no key.
        _ => Timer::EdrxLte,
    };
    Ok(Settings {
        tx_power: said(table, "tx_power", decibel_milliwatts)?,
        peak: said(table, "peak", |text| {
            quantity(text, &CURRENTS, "a current: write 90mA")
        })?,
        active: timer(table, "active", Timer::Active)?,
        tau: timer(table, "tau", Timer::Update)?,
        inactivity: said(table, "inactivity", time)?,
        rai: said(table, "rai", flag)?,
        cdrx: said(table, "cdrx", time)?,
        edrx: timer(table, "edrx", edrx)?,
        paging_window: said(table, "paging_window", time)?,
        dtim: said(table, "dtim", beacons)?,
        mode: said(table, "mode", mode)?,
        address: said(table, "address", parsed)?,
        window: said(table, "window", time)?,
        every: said(table, "every", period)?,
    })
}

/// A setting; `None` where the publication does not say it.
fn said<T>(table: &Table<'_>, key: &str, read: Read<T>) -> Result<Option<T>, ScenarioError> {
    match table.one(key, text)? {
        Some(words) if words == NOT_SAID => Ok(None),
        _ => table.one(key, read),
    }
}

/// A timer that a network can have.
fn timer(table: &Table<'_>, key: &str, timer: Timer) -> Result<Option<Duration>, ScenarioError> {
    let time = said(table, key, time)?;
    match time.filter(|time| !timer.has(*time)) {
        None => Ok(time),
        Some(time) => Err(table
            .error(key, format!("no network has {} of {}", timer.name(), exact(time)))
            .with_hint(format!("the nearest is {}", exact(timer.nearest(time))))),
    }
}

fn bytes(table: &Table<'_>, key: &str) -> Result<u64, ScenarioError> {
    Ok(table.one(key, parsed::<ByteSize>)?.map_or(0, |size| size.bytes()))
}

/// What reads the measured value: its unit must be one of its quantity.
fn measured(table: &Table<'_>) -> Result<Read<Measured>, ScenarioError> {
    const CHARGES: [(&str, f64); 4] = [("uC", 1e-6), ("mC", 1e-3), ("C", 1.0), ("mAh", 3.6)];
    const ENERGIES: [(&str, f64); 5] = [
        ("uJ", 1e-6),
        ("mJ", 1e-3),
        ("J", 1.0),
        ("uWh", 3.6e-3),
        ("mWh", 3.6),
    ];
    Ok(match table.required("quantity", text)?.as_str() {
        "charge" => |text| positive(text, &CHARGES, "a charge: write 51.13mC").map(Measured::Charge),
        "energy" => |text| positive(text, &ENERGIES, "an energy: write 105mJ").map(Measured::Energy),
        "current" => |text| positive(text, &CURRENTS, "a current: write 2.45mA").map(Measured::Current),
        "power" => |text| positive(text, &POWERS, "a power: write 80mW").map(Measured::Power),
        "share" => {
            |text| positive(text, &[("%/d", 0.01)], "a part of a battery: write 0.2%/d").map(Measured::Share)
        }
        _ => {
            return Err(table
                .error("quantity", "this is no quantity")
                .with_hint("the quantities are charge, energy, current, power and share"));
        }
    })
}

/// Beacons from one to the next, at least 1.
fn beacons(text: &str) -> Result<u32, ValueError> {
    let beacons = whole(text)?;
    (beacons > 0)
        .then_some(beacons)
        .ok_or_else(|| ValueError::range("above 0", text))
}

/// A time above 0.
fn period(text: &str) -> Result<Duration, ValueError> {
    let period = time(text)?;
    (!period.is_zero())
        .then_some(period)
        .ok_or_else(|| ValueError::range("above 0", text))
}

/// A quantity above 0: predictions are compared by their ratio.
fn positive(text: &str, units: &[(&str, f64)], expected: &'static str) -> Result<f64, ValueError> {
    above_zero(quantity(text, units, expected)?, text)
}

/// The value of a name.
fn named<T: Copy>(text: &str, names: &[(&str, T)], expected: &'static str) -> Result<T, ValueError> {
    let found = names.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| ValueError::form(text, expected))
}

fn radio(text: &str) -> Result<Radio, ValueError> {
    let names = [
        ("lte-m", Radio::LteM),
        ("nb-iot", Radio::NbIot),
        ("cellular", Radio::Cellular),
        ("wifi", Radio::Wifi),
        ("wifi-joined", Radio::WifiJoined),
        ("esp-now", Radio::EspNow),
        ("none", Radio::None),
    ];
    named(
        text,
        &names,
        "a radio: lte-m, nb-iot, cellular, wifi, wifi-joined, esp-now or none",
    )
}

/// Whether it is the bench of a maker.
fn network(text: &str) -> Result<bool, ValueError> {
    named(
        text,
        &[("bench", true), ("live", false)],
        "a network: live or bench",
    )
}

fn mode(text: &str) -> Result<WifiMode, ValueError> {
    let names = [
        ("modem-sleep", WifiMode::ModemSleep),
        ("modem-sleep-scaled", WifiMode::ModemSleepScaled),
        ("light-sleep", WifiMode::LightSleep),
        ("deep-sleep", WifiMode::DeepSleep),
    ];
    named(
        text,
        &names,
        "a mode: modem-sleep, modem-sleep-scaled, light-sleep or deep-sleep",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: &str = "wirecost_measurements: 1\npublication: Somebody, 2024\npoints:\n  - id: one\n    use: event\n    \
        device: chip\n    radio: nb-iot\n    rail: all\n    supply: not said\n    quantity: charge\n    measured: 5mC\n    \
        does: update\n    active: 8s\n    place: table 1\n";

    #[test]
    fn the_measurements_of_the_program_are_read_and_no_id_is_twice() {
        let all = built_in().expect("every file can be read");
        let points: Vec<&Point> = all.iter().flat_map(|one| &one.points).collect();
        let ids: BTreeSet<&str> = points.iter().map(|point| point.id.as_str()).collect();
        assert_eq!(ids.len(), points.len());
        let used = |usage| points.iter().filter(|point| point.usage == usage).count();
        assert_eq!((used(Use::Event), used(Use::State)), (37, 67), "what is public");
    }

    #[test]
    fn a_value_has_a_unit_of_its_quantity_and_the_error_has_its_line() {
        let wrong = POINT.replace("5mC", "5mA");
        let error = read("some", &wrong).expect_err("a current is no charge");
        let shown = error.in_file("some.yaml").to_string();
        assert_eq!(
            shown,
            "some.yaml:11: points.measured: \"5mA\" is not a charge: write 51.13mC"
        );
    }

    #[test]
    fn a_value_that_no_model_predicts_is_refused_with_what_is_needed() {
        let refused = |from, to| {
            let error = read("some", &POINT.replace(from, to)).expect_err(to);
            error.in_file("some.yaml").to_string()
        };
        assert_eq!(
            refused("5mC", "0mC"),
            "some.yaml:11: points.measured: must be above 0, got 0mC"
        );
        assert_eq!(
            refused("charge\n    measured: 5mC", "energy\n    measured: 5mJ"),
            "some.yaml:11: points.measured: an event is judged by its charge, or by its energy with the voltage of its supply"
        );
        assert_eq!(
            refused("use: event", "use: state"),
            "some.yaml:11: points.measured: a state is judged by its mean current"
        );
        let beacons = refused("active: 8s", "dtim: 0");
        assert_eq!(beacons, "some.yaml:13: points.dtim: must be above 0, got 0");
        assert!(
            read(
                "some",
                &POINT.replace(
                    "charge\n    measured: 5mC",
                    "energy\n    measured: 5mJ\n    not_judged: no supply"
                )
            )
            .is_ok()
        );
    }

    #[test]
    fn a_timer_that_no_network_has_is_refused_with_the_nearest() {
        let error = read("some", &POINT.replace("8s", "9s")).expect_err("T3324 has steps of 2 s");
        assert_eq!(error.hint(), Some("the nearest is 8 s"));
        assert!(
            error
                .to_string()
                .contains("no network has an active time (T3324) of 9 s"),
            "{error}"
        );
    }

    #[test]
    fn what_a_publication_does_not_say_is_no_setting() {
        let read = read("some", POINT).expect("a file");
        assert_eq!((read.points[0].supply, read.points[0].settings.tau), (None, None));
        assert_eq!(read.points[0].charge(), Some(0.005));
    }

    #[test]
    fn an_event_says_what_the_device_does_and_an_id_is_given_once() {
        assert!(read("some", &POINT.replace("    does: update\n", "")).is_err());
        let list = POINT.split_once("points:\n").expect("points").1;
        assert!(read("some", &format!("{POINT}{list}")).is_err());
    }
}
