//! The device files of the program beside what their chips were measured to take.

use wirecost_energy::State;
use wirecost_energy::measurement::{Point, WifiMode};
use wirecost_energy::network::Settings;
use wirecost_scenario::{device, measurement};

fn points() -> Vec<Point> {
    let all = measurement::built_in().expect("every file can be read");
    all.into_iter().flat_map(|one| one.points).collect()
}

fn predict(name: &str, settings: &Settings) -> f64 {
    let (_, file) = device::BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a device");
    let device = device::read(name, file)
        .expect("a device file")
        .set(settings)
        .expect("its settings");
    device.floor().watts / device.volts
}

#[test]
fn the_kept_association_takes_what_the_maker_measured_in_each_mode_and_at_each_dtim() {
    let files = [
        (WifiMode::LightSleep, "esp32s3-wifi"),
        (WifiMode::ModemSleep, "esp32s3-wifi-modem"),
        (WifiMode::ModemSleepScaled, "esp32s3-wifi-modem-scaled"),
    ];
    let mut measured = 0;
    for (mode, name) in files {
        let kept = |point: &Point| point.device == "ESP32-S3" && point.settings.mode == Some(mode);
        for point in points().into_iter().filter(kept) {
            let settings = Settings {
                dtim: point.settings.dtim,
                ..Settings::default()
            };
            let off = predict(name, &settings) / point.current().expect("a current") - 1.0;
            assert!(off.abs() < 0.02, "{}: {off}", point.id);
            measured += 1;
        }
    }
    assert_eq!(measured, 9, "the nine rows of the maker");
}

#[test]
fn joining_anew_takes_what_was_measured_with_either_kind_of_address() {
    for (id, name) in [
        ("glenn-wifi-static", "esp32-wifi-join"),
        ("glenn-wifi-dhcp", "esp32-wifi-join-dhcp"),
    ] {
        let point = points()
            .into_iter()
            .find(|point| point.id == id)
            .expect("a point");
        let known = device::BUILT_IN.iter().find(|(known, _)| *known == name);
        let device = device::read(name, known.expect("a device").1).expect("a device file");
        let wake = device.wake.expect("it joins");
        let coulombs = wake.level.watts / device.volts * wake.time.as_secs_f64();
        let off = coulombs / point.charge().expect("a charge") - 1.0;
        assert!(off.abs() < 0.001, "{id}: {off}");
    }
}

#[test]
fn sending_takes_about_what_the_maker_measured_at_each_power() {
    let both = [
        ("nordicps-m-up", "nrf9160-lte-m", &[0.0, 10.0, 23.0][..]),
        ("nordicps-nb-up", "nrf9160-nb-iot", &[0.0, 10.0]),
    ];
    let each = both
        .iter()
        .flat_map(|(id, name, powers)| powers.iter().map(move |dbm| (id, name, *dbm)));
    for (id, name, dbm) in each {
        let at = |point: &Point| point.id.starts_with(id) && point.settings.tx_power == Some(dbm);
        let point = points().into_iter().find(at).expect("a point");
        let settings = Settings {
            tx_power: Some(dbm),
            ..Settings::default()
        };
        let known = device::BUILT_IN.iter().find(|(known, _)| known == name);
        let (_, file) = known.expect("a device");
        let device = device::read(name, file)
            .expect("a device file")
            .set(&settings)
            .expect("a power");
        let amperes = device.level(State::Transmit).watts / device.volts;
        let off = amperes / point.current().expect("a current") - 1.0;
        assert!(off.abs() < 0.05, "{}: {off}", point.id);
    }
}

#[test]
fn idle_with_edrx_takes_about_what_the_maker_measured() {
    for (id, name) in [
        ("nordicps-m-edrx-82", "nrf9160-lte-m"),
        ("nordicps-nb-edrx-82", "nrf9160-nb-iot"),
        ("nordicps-m-edrx-655", "nrf9160-lte-m"),
        ("nordicps-nb-edrx-655", "nrf9160-nb-iot"),
    ] {
        let point = points()
            .into_iter()
            .find(|point| point.id == id)
            .expect("a point");
        let settings = Settings {
            edrx: point.settings.edrx,
            ..Settings::default()
        };
        // The sleep of power saving is below that between two paging windows: 27 % of the least of these currents.
        let off = predict(name, &settings) / point.current().expect("a current") - 1.0;
        assert!(off < 0.0 && off > -0.3, "{id}: {off}");
    }
}
