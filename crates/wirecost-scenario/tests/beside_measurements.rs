//! The device files of the program beside what their chips were measured to take.

use wirecost_energy::State;
use wirecost_energy::measurement::{Point, WifiMode};
use wirecost_energy::network::Settings;
use wirecost_scenario::{device, measurement};

fn points() -> Vec<Point> {
    let all = measurement::built_in().expect("every file can be read");
    all.into_iter().flat_map(|one| one.points).collect()
}

fn of(name: &str, settings: &Settings) -> f64 {
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
fn the_kept_association_takes_what_the_maker_measured_at_each_dtim() {
    let kept =
        |point: &Point| point.device == "ESP32-S3" && point.settings.mode == Some(WifiMode::LightSleep);
    let measured: Vec<Point> = points().into_iter().filter(kept).collect();
    assert_eq!(measured.len(), 3);
    for point in measured {
        let settings = Settings {
            dtim: point.settings.dtim,
            ..Settings::default()
        };
        let off = of("esp32s3-wifi", &settings) / point.current().expect("a current") - 1.0;
        assert!(off.abs() < 0.02, "{}: {off}", point.id);
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
        let off = of(name, &settings) / point.current().expect("a current") - 1.0;
        assert!(off < 0.0 && off > -0.3, "{id}: {off}");
    }
}
