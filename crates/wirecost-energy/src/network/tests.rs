use proptest::prelude::*;
use wirecost_cost::{ObservedPacket, Observer as _};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

use super::*;
use crate::account::Account;
use crate::battery::{Battery, Chemistry};
use crate::device::{Level, Wake};
use crate::meter::Meter;
use crate::radio::Cellular;
use crate::repeat::{Repeated, mean_power};

const fn level(watts: f64) -> Level {
    Level { watts, spread: 0.1 }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A modem that leaves power saving in 2 s at 0.1 W, is connected for 10 s at 50 mW, and can be reached for 8 s at 5 mW.
pub(crate) fn modem() -> Device {
    let tail = |state, watts, time| Tail {
        state,
        level: level(watts),
        time: seconds(time),
    };
    Device {
        name: "modem".to_owned(),
        title: String::new(),
        chip: None,
        volts: 3.7,
        levels: [1e-5, 5e-3, 0.05, 0.1, 0.4, 0.01].map(level),
        rest: State::Sleep,
        paging: None,
        wake: Some(Wake {
            time: seconds(2),
            level: level(0.1),
        }),
        tails: vec![tail(State::Listen, 0.05, 10), tail(State::Idle, 5e-3, 8)],
        updates: None,
        attach: None,
        window_listen: Some(Duration::from_millis(75)),
        cdrx_listen: Some(Duration::from_millis(20)),
        transmitter: None,
        processor: None,
        radio: Radio::Cellular(Cellular {
            up: "100kbit".parse().expect("a rate"),
            down: "100kbit".parse().expect("a rate"),
            link_bytes: 0,
            grant: Duration::ZERO,
        }),
        provenance: Vec::new(),
    }
}

fn with(settings: Settings) -> Device {
    modem().set(&settings).expect("a network has these")
}

/// Packets of some bytes at these times in milliseconds.
pub(crate) fn spent(device: &Device, bytes: u32, times: &[u64]) -> Account {
    let spans = [Span {
        len: bytes,
        layer: Layer::Payload,
        phase: Phase::Message,
        cause: Cause::Original,
    }];
    let mut meter = Meter::new(device);
    for at in times {
        meter.packet(&ObservedPacket {
            at: Instant::from_millis(*at),
            direction: Direction::Up,
            phase: Phase::Message,
            cause: Cause::Original,
            spans: &spans,
        });
    }
    meter.finish()
}

fn watts(device: &Device, every: f64) -> f64 {
    let account = spent(device, 100, &[0]);
    let repeated = Repeated {
        account: &account,
        every,
    };
    mean_power(device, &[repeated]).total().joules
}

#[test]
fn timers_replace_those_of_the_file() {
    let set = with(Settings {
        active: Some(seconds(4)),
        inactivity: Some(seconds(20)),
        ..Settings::default()
    });
    let times: Vec<Duration> = set.tails.iter().map(|tail| tail.time).collect();
    assert_eq!(times, [seconds(20), seconds(4)]);
}

#[test]
fn a_time_that_no_network_has_is_refused_with_the_nearest() {
    let refused = |settings| modem().set(&settings).expect_err("refused").to_string();
    let active = refused(Settings {
        active: Some(seconds(9)),
        ..Settings::default()
    });
    assert_eq!(
        active,
        "no network has an active time (T3324) of 9 s: the nearest is 8 s"
    );
    let edrx = refused(Settings {
        edrx: Some(seconds(80)),
        ..Settings::default()
    });
    assert_eq!(
        edrx,
        "no network has a cycle of eDRX on LTE of 80 s: the nearest is 81.92 s"
    );
    let dtim = refused(Settings {
        dtim: Some(3),
        ..Settings::default()
    });
    assert_eq!(dtim, "the device has no beacons that it listens to");
}

#[test]
fn an_update_comes_each_period_of_a_rest_and_a_connection_starts_it_anew() {
    let hourly = with(Settings {
        tau: Some(seconds(3_600)),
        ..Settings::default()
    });
    // 0.2 J and 8 s at 5 mW every hour, beside the readings of a day.
    let more = (watts(&hourly, 86_400.0) - watts(&modem(), 86_400.0)) * 86_400.0;
    assert!((more - 23.0 * 0.24).abs() < 0.01, "{more}");
    assert_eq!(watts(&hourly, 900.0), watts(&modem(), 900.0));
    // The same between two packets of one traffic.
    let apart = |device: &Device| spent(device, 100, &[0, 4 * 3_600_000]).total().joules;
    assert!((apart(&hourly) - apart(&modem()) - 3.0 * 0.24).abs() < 0.01);
}

#[test]
fn the_timer_of_an_update_starts_when_the_connection_ends() {
    let tau = with(Settings {
        tau: Some(seconds(60)),
        ..Settings::default()
    });
    // The active time of 8 s is before the rest: an update begins 52 s into it, and the next one 62 s later.
    let updates = [51, 52, 113, 114].map(|rest| tau.updates_in(seconds(rest)));
    assert_eq!(updates, [0, 1, 1, 2]);
}

#[test]
fn timers_that_leave_no_power_saving_are_refused() {
    let refused = |device: Device, settings| device.set(&settings).expect_err("refused").to_string();
    let timers = Settings {
        active: Some(seconds(60)),
        tau: Some(seconds(62)),
        ..Settings::default()
    };
    assert_eq!(
        refused(modem(), timers),
        "a time between tracking area updates (T3412) of 62 s leaves no power saving: wake-up and active time (T3324) take 62 s"
    );
    // A device that rests in idle has no power saving mode.
    let idle = Device {
        rest: State::Idle,
        ..modem()
    };
    let timers = Settings {
        tau: Some(seconds(3_600)),
        ..Settings::default()
    };
    assert_eq!(refused(idle, timers), "the device has no power saving mode");
    // 3G is connected in two states, each with a timer of its own.
    let mut two = modem();
    two.tails.insert(0, two.tails[0]);
    let timers = Settings {
        inactivity: Some(seconds(3)),
        ..Settings::default()
    };
    assert_eq!(
        refused(two, timers),
        "the device has no single state in which it is connected"
    );
    let long = Device {
        window_listen: Some(seconds(6)),
        ..modem()
    };
    let edrx = Settings {
        edrx: Some(Duration::from_millis(5_120)),
        ..Settings::default()
    };
    assert_eq!(
        refused(long, edrx),
        "the device listens 6 s each time, and so not every 5.12 s"
    );
}

#[test]
fn edrx_is_the_rest_without_power_saving_and_the_active_time_with_it() {
    let cycle = Duration::from_millis(81_920);
    let edrx = Settings {
        edrx: Some(cycle),
        ..Settings::default()
    };
    let alone = with(edrx);
    assert_eq!(
        alone.tail_time(),
        seconds(10),
        "no active time after the connection"
    );
    let mean = 1e-5 * (1.0 - 0.075 / 81.92) + 0.05 * 0.075 / 81.92;
    assert!((alone.floor().watts - mean).abs() < 1e-12);
    let both = with(Settings {
        active: Some(seconds(1_800)),
        ..edrx
    });
    assert_eq!(both.floor().watts, 1e-5, "power saving after the active time");
    assert_eq!(both.tails[1].time, seconds(1_800));
    assert!((both.tails[1].level.watts - mean).abs() < 1e-12);
}

#[test]
fn what_is_set_is_in_the_title_and_no_assumed_figure() {
    let mut device = modem();
    let assumed = |line| crate::device::Provenance {
        key: "tails.time".to_owned(),
        line,
        source: None,
    };
    device.provenance = vec![assumed(7), assumed(8)];
    let set = device.set(&Settings {
        active: Some(seconds(8)),
        ..Settings::default()
    });
    let set = set.expect("a network has it");
    assert_eq!((set.title.as_str(), set.assumed()), ("; set: T3324 8 s", (1, 2)));
    assert_eq!(
        set.provenance[0].source, None,
        "the connection is as the file has it"
    );
}

#[test]
fn release_assistance_costs_where_a_packet_follows_within_the_inactivity_time() {
    let rai = with(Settings {
        rai: true,
        active: Some(seconds(0)),
        ..Settings::default()
    });
    let kept = with(Settings {
        active: Some(seconds(0)),
        inactivity: Some(seconds(4)),
        ..Settings::default()
    });
    // 3.5 s apart: 2.5 s connected at 50 mW are less than a wake-up of 0.2 J. After the last packet 3 s are saved.
    let times: Vec<u64> = (0..10).map(|at| at * 3_500).collect();
    let [of_rai, of_kept] = [&rai, &kept].map(|device| spent(device, 100, &times).total().joules);
    assert!(of_rai > of_kept, "{of_rai} and {of_kept}");
}

proptest! {
    #[test]
    fn release_assistance_never_costs_where_nothing_follows_within_the_inactivity_time(
        inactivity in 1..60_u64, bytes in 1..2_000_u32, more_s in 1..100_000_u64,
    ) {
        let settings = Settings { inactivity: Some(seconds(inactivity)), ..Settings::default() };
        let [kept, released] = [false, true].map(|rai| with(Settings { rai, ..settings }));
        let second = (inactivity + 8 + 2 + more_s) * 1_000 + 1_000;
        let [of_kept, of_released] = [&kept, &released].map(|device| {
            let mut account = spent(device, bytes, &[0, second]);
            // Both are at rest again at the same time.
            let rest = (second / 1_000 + 200) as f64 - account.total_nanos() as f64 / 1e9;
            let purpose = crate::account::Purpose { part: crate::account::Part::Rest, packet: None };
            account.add_time(device, State::Sleep, rest, purpose);
            account.total().joules
        });
        prop_assert!(of_released <= of_kept * (1.0 + 1e-9), "{} {}", of_released, of_kept);
    }

    #[test]
    fn a_longer_time_between_updates_never_takes_more_power_and_never_shortens_a_life(
        steps in 1..31_u64, more in 0..31_u64, every in 30.0..1e6_f64,
    ) {
        let of = |steps: u64| with(Settings { tau: Some(seconds(600 * steps)), ..Settings::default() });
        let longer = (steps + more).min(31);
        let [long, short] = [longer, steps].map(|steps| watts(&of(steps), every));
        prop_assert!(long <= short * (1.0 + 1e-12));
        let battery = Battery { joules: 31_104.0, volts: 3.6, chemistry: Chemistry::default() };
        prop_assert!(battery.years(long) >= battery.years(short) * (1.0 - 1e-12));
    }

    #[test]
    fn energy_never_falls_with_bytes(bytes in 1..2_000_u32, more in 0..2_000_u32) {
        let of = |bytes| spent(&modem(), bytes, &[0]).total().joules;
        prop_assert!(of(bytes + more) >= of(bytes));
    }

    #[test]
    fn energy_never_falls_with_the_packets_of_a_handshake_or_with_repetitions(
        packets in 1..20_u64, more in 0..20_u64, rtt_ms in 1..500_u64, repetitions in 1..64_u64, further in 0..64_u64,
    ) {
        let of = |packets: u64| {
            let times: Vec<u64> = (0..packets).map(|at| at * rtt_ms).collect();
            spent(&modem(), 100, &times).total().joules
        };
        prop_assert!(of(packets + more) >= of(packets));
        let repeated = |repetitions_up| {
            let radio = Radio::NbIot(crate::radio::NbIot {
                tones: wirecost_nbiot::tables::Tones::Twelve,
                i_tbs_up: 4,
                repetitions_up,
                i_tbs_down: 4,
                repetitions_down: 1,
                link_bytes: 7,
                grant: Duration::from_millis(30),
            });
            spent(&Device { radio, ..modem() }, 100, &[0]).total().joules
        };
        prop_assert!(repeated(repetitions + further) >= repeated(repetitions));
    }
}
