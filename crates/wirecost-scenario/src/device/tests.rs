use super::*;

/// The error of the first device with one text replaced, its line, and the line of that text.
fn error_of(from: &str, to: &str) -> (String, Option<u64>, Option<u64>) {
    let (name, file) = BUILT_IN[0];
    assert!(file.contains(from), "{from}");
    let error = read(name, &file.replacen(from, to, 1)).expect_err("an error");
    let line = file.lines().position(|line| line.contains(from));
    (
        error.message().to_owned(),
        error.line(),
        line.map(|line| line as u64 + 1),
    )
}

#[test]
fn every_built_in_device_is_read_with_its_sources() {
    for (name, file) in BUILT_IN {
        let device = read(name, file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (assumed, all) = device.assumed();
        assert!(assumed < all && all >= 8, "{name}: {assumed} of {all}");
        assert!(device.provenance.iter().all(|figure| figure.line > 0), "{name}");
        assert!(
            device.level(State::Transmit).watts > device.floor().watts,
            "{name}"
        );
    }
}

#[test]
fn currents_are_powers_at_the_supply() {
    let device = read(BUILT_IN[0].0, BUILT_IN[0].1).expect("a device");
    assert!((device.level(State::Transmit).watts - 0.283 * 3.3).abs() < 1e-12);
    // 1.95 ms in 307.2 ms at 88 mA, else 0.77 mA.
    let part = 1.95 / 307.2;
    assert!((device.floor().watts - (part * 0.088 + (1.0 - part) * 0.00077) * 3.3).abs() < 1e-12);
}

#[test]
fn a_wrong_device_file_is_refused_with_its_line() {
    for (from, to, message) in [
        (
            "transmit: {value: 283mA",
            "transmit: {value: -283mA",
            "must be 0 or more",
        ),
        ("transmit: {", "transmitt: {", "unknown key \"states.transmitt\""),
        (
            "value: 88mA, source: datasheet",
            "value: 88, source: datasheet",
            "is not a current",
        ),
        ("source: vendor", "source: vendr", "not among the sources"),
        ("state: listen", "state: doze", "expected one of sleep, idle"),
        ("rest: idle", "rest: transmit", "does not rest in"),
        ("{value: 1.95ms", "{value: 3s", "cannot listen longer"),
        ("value: 50ms", "value: 2d", "must be at most 1d"),
        ("value: 54B", "value: 1MB", "must be at most 65535B"),
        (", 2022-07\"", "\"", "a source needs a date"),
        (
            "wirecost_device: 1",
            "wirecost_device: 2",
            "this version reads version 1",
        ),
    ] {
        let (got, at, line) = error_of(from, to);
        assert!(got.contains(message), "{to}: {got}");
        assert_eq!(at, line, "{to}: {got}");
    }
}

#[test]
fn a_figure_without_a_source_is_assumed() {
    let (name, file) = BUILT_IN[0];
    for alone in ["88mA", "{value: 88mA}", "{value: 88mA, source: assumed}"] {
        let own = file.replacen("{value: 88mA, source: datasheet}", alone, 1);
        let device = read(name, &own).expect("a device");
        assert_eq!(device.level(State::Listen).spread, 0.3, "{alone}");
        let known = read(name, file).expect("a device").assumed().0;
        assert_eq!(device.assumed().0, known + 1, "{alone}");
    }
}

#[test]
fn tails_whose_power_rises_are_refused() {
    let (_, file) = BUILT_IN[2];
    let swapped = file.replace("state: listen, time", "state: sleep, time");
    let error = read("nrf", &swapped).expect_err("an error");
    assert!(
        error.message().contains("the power of the tails rises"),
        "{error}"
    );
}

#[test]
fn an_unknown_name_is_refused_with_all_names() {
    let error = known("esp32").expect_err("no such device").to_string();
    for (name, _) in BUILT_IN {
        assert!(error.contains(name), "{error} lacks {name}");
        assert_eq!(known(name), Ok(name));
    }
}
