use wirecost_nbiot::config::IdleMode;
use wirecost_scenario::spent;

use super::*;

/// A report of half a joule: 917.4 ms of transmission, without the synchronisation.
fn half_a_joule() -> DeviceMeans {
    DeviceMeans {
        transmit_ms: (500.0 - 9.0) / 0.545,
        ..DeviceMeans::default()
    }
}

/// Life in years, and energy of a day in mJ, with a report of half a joule every `hours` hours, and keep-alives that take the same.
fn life(mode: IdleMode, hours: u64, keep_alives: f64) -> (f64, f64) {
    let mut config = Config::default();
    config.idle.mode = mode;
    let device = spent::built_in(DEVICE).expect("a device");
    let life = Lifetime {
        device: &device,
        config: &config,
        interval: Duration::from_secs(hours * 3_600),
    };
    let kept = KeepAliveEnergy {
        per_report: keep_alives,
        each: life.keep_alive(&half_a_joule()),
    };
    let report = life.report(&half_a_joule());
    let mut all = Lifetime::exchanges(&report, &kept);
    all.add_all(&life.between(&report, &kept), 1.0);
    let off = all.total_nanos().abs_diff(hours * 3_600_000_000_000);
    assert!(off <= 5, "the states' times sum to the interval");
    let day = life.day_mj(&report, &kept);
    (life.battery_years(day), day)
}

fn is_near(value: f64, expected: f64) {
    assert!(
        (value / expected - 1.0).abs() < 0.005,
        "{value} instead of {expected}"
    );
}

#[test]
fn battery_life_follows_from_mean_power() {
    // Half a joule per day and per two hours; nothing but sleep.
    is_near(life(IdleMode::Ideal, 24, 0.0).0, 27.4);
    is_near(life(IdleMode::Ideal, 2, 0.0).0, 6.76);
}

#[test]
fn paging_occasions_cost_what_the_mode_says() {
    // Sleep of a day is 15 uW x 86,400 s = 1,296 mJ. 10 s of active time: 2.985 mW x 10 s + 87 mW x 20 ms x 10 / 2.56 = 36.65 mJ.
    is_near(life(IdleMode::Ideal, 24, 0.0).1, 1_796.0);
    is_near(life(IdleMode::Psm, 24, 0.0).1, 1_796.0 + 36.65);
    is_near(life(IdleMode::Psm, 2, 0.0).1, 1_296.0 + 12.0 * 536.65);
    // 2.56 s in each 81.92 s are 2,700 s of the day, at 3.665 mW.
    is_near(life(IdleMode::Edrx, 24, 0.0).1, 1_796.0 + 2_700.0 * 3.665);
    is_near(life(IdleMode::Drx, 24, 0.0).1, 1_796.0 + 86_400.0 * 3.665);
}

#[test]
fn updates_come_only_where_a_device_reports_more_rarely() {
    // Every 3 days: two updates between two reports, each with an active time.
    is_near(life(IdleMode::Psm, 72, 0.0).1, 1_296.0 + 3.0 * 536.65 / 3.0);
    is_near(life(IdleMode::Psm, 24, 0.0).1, 1_296.0 + 536.65);
}

#[test]
fn a_keep_alive_takes_the_place_of_an_update() {
    let (_, updated) = life(IdleMode::Psm, 72, 0.0);
    let (_, kept) = life(IdleMode::Psm, 72, 2.0);
    assert!((kept - updated).abs() < 1e-6, "{kept} {updated}");
}

#[test]
fn the_device_file_has_the_powers_of_the_report() {
    let device = spent::built_in(DEVICE).expect("a device");
    let states = [
        State::Transmit,
        State::Receive,
        State::Listen,
        State::Idle,
        State::Sleep,
    ];
    let milliwatts = states.map(|state| device.level(state).watts * 1e3);
    let expected = [545.0, 90.0, 90.0, 3.0, 0.015];
    for (ours, theirs) in milliwatts.into_iter().zip(expected) {
        assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
    }
}
