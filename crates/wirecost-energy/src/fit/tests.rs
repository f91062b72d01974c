use wirecost_proto::Rng;

use super::bins::Binner;
use super::*;
use crate::device::Level;
use crate::network::tests::modem;
use crate::trace::Sample;

const VOLTS: f64 = 3.7;

/// 50 messages with an answer each, at uneven times, so that their pattern is their own.
fn packets(noise: &mut Rng) -> Vec<BurstPacket> {
    let mut at = 100.0;
    let mut all = Vec::new();
    for _ in 0..50 {
        let packet = |at, direction, bytes| BurstPacket { at, direction, bytes };
        all.push(packet(at, Direction::Up, 400));
        all.push(packet(at + 0.1, Direction::Down, 200));
        at += 8.0 + 4.0 * noise.next_f64();
    }
    all
}

/// The base, and the device that was measured: other powers and other times.
fn base_and_truth() -> (Device, Device) {
    let mut base = modem();
    base.wake.as_mut().expect("a wake-up").time = Duration::from_secs(1);
    base.tails[0].time = Duration::from_secs(2);
    base.tails[1].time = Duration::from_secs(1);
    let mut truth = base.clone();
    let level = |watts| Level { watts, spread: 0.1 };
    truth.levels = [3e-4, 5e-3, 0.07, 0.15, 0.33, 0.01].map(level);
    let wake = truth.wake.as_mut().expect("a wake-up");
    (wake.time, wake.level) = (Duration::from_millis(1_337), level(0.12));
    truth.tails[0].time = Duration::from_millis(2_713);
    truth.tails[0].level = level(0.07);
    truth.tails[1].time = Duration::from_millis(1_521);
    truth.tails[1].level = level(8e-3);
    (base, truth)
}

/// What a meter at the supply of the truth sees, with noise of 2 % and 0.2 mA, `ahead` of the clock of the packets.
fn trace(truth: &Device, packets: &[BurstPacket], rate: f64, ahead: f64, noise: &mut Rng) -> TraceBins {
    let parts = segments(truth, packets);
    let first = packets[0].at;
    let end = packets.last().expect("packets").at + 20.0;
    let mut parts = parts
        .into_iter()
        .map(|(begin, segment)| (begin + first, segment))
        .peekable();
    let mut binner = Binner::default();
    let rest = truth.floor().watts;
    let (mut watts, mut until) = (rest, f64::NEG_INFINITY);
    for index in 0..((end - first + 10.0) * rate) as u64 {
        let at = first - 10.0 + index as f64 / rate;
        while let Some((begin, segment)) = parts.next_if(|(begin, _)| *begin <= at) {
            (watts, until) = (segment.watts, begin + segment.nanos as f64 / 1e9);
        }
        let clean = if at < until { watts } else { rest };
        let amperes = clean / VOLTS * (1.0 + 0.02 * noise.next_normal()) + 2e-4 * noise.next_normal();
        binner.add(Sample {
            seconds: at + ahead,
            amperes,
            watts: amperes * VOLTS,
        });
    }
    binner.finish().expect("samples")
}

/// How far the fitted powers are from the truth at most, as a part, and the times, in seconds. The rest is not among them: at 0.08 mA
/// it is below the noise.
fn errors(fitted: &Device, truth: &Device) -> (f64, f64) {
    let part = |one: f64, other: f64| (one / other - 1.0).abs();
    let states = [State::Receive, State::Transmit];
    let powers = states.map(|state| part(fitted.level(state).watts, truth.level(state).watts));
    let tails = fitted.tails.iter().zip(&truth.tails);
    let of_tails = tails
        .clone()
        .map(|(one, other)| part(one.level.watts, other.level.watts));
    let wakes = fitted.wake.zip(truth.wake).expect("wake-ups");
    let of_wake = part(wakes.0.level.watts, wakes.1.level.watts);
    let power = powers
        .into_iter()
        .chain(of_tails)
        .chain([of_wake])
        .fold(0.0, f64::max);
    let apart = |one: Duration, other: Duration| one.abs_diff(other).as_secs_f64();
    let times = tails.map(|(one, other)| apart(one.time, other.time));
    let time = times
        .chain([apart(wakes.0.time, wakes.1.time)])
        .fold(0.0, f64::max);
    (power, time)
}

#[test]
fn a_trace_at_10_khz_gives_powers_within_3_percent_and_times_within_1_ms() {
    let noise = &mut Rng::new(1);
    let (base, truth) = base_and_truth();
    let packets = packets(noise);
    let bins = trace(&truth, &packets, 10_000.0, 1_000.0, noise);
    let markers: Vec<f64> = packets
        .iter()
        .step_by(2)
        .map(|packet| packet.at + 1_000.0)
        .collect();
    for clock in [Clocks::Pattern, Clocks::Marker(&markers)] {
        let fitted = fit(&bins, &packets, &base, clock).expect("a fit");
        let (power, time) = errors(&fitted.device, &truth);
        assert!(power < 0.03 && time < 1e-3, "{clock:?}: {power} {time}");
        assert_eq!((fitted.bursts, fitted.left_out), (50, 0));
        assert_eq!(fitted.delay.is_some(), clock != Clocks::Pattern);
        assert!(
            fitted.delay.is_none_or(|delay| delay.abs() < 1e-3),
            "{:?}",
            fitted.delay
        );
        assert!(fitted.figures.iter().all(|figure| !figure.is_charge_alone));
        let rest = fitted.device.level(State::Sleep).watts;
        assert!((rest / 3e-4 - 1.0).abs() < 0.03, "{rest}");
    }
}

#[test]
fn a_trace_at_1_khz_gives_powers_within_5_percent_and_times_within_2_ms() {
    let noise = &mut Rng::new(1);
    let (base, truth) = base_and_truth();
    let packets = packets(noise);
    let bins = trace(&truth, &packets, 1_000.0, -50.0, noise);
    let fitted = fit(&bins, &packets, &base, Clocks::Pattern).expect("a fit");
    let (power, time) = errors(&fitted.device, &truth);
    assert!(power < 0.05 && time < 2e-3, "{power} {time}");
}

#[test]
fn of_a_frame_below_two_samples_the_charge_alone_is_fitted() {
    let noise = &mut Rng::new(1);
    let (base, truth) = base_and_truth();
    let packets = packets(noise);
    // A frame of 400 B takes 32 ms, one of 200 B 16 ms.
    let bins = trace(&truth, &packets, 40.0, 0.0, noise);
    let fitted = fit(&bins, &packets, &base, Clocks::Pattern).expect("a fit");
    let alone: Vec<Fits> = fitted
        .figures
        .iter()
        .filter(|figure| figure.is_charge_alone)
        .map(|figure| figure.of)
        .collect();
    assert!(alone.contains(&Fits::State(State::Transmit)), "{alone:?}");
    let charge = fitted.device.level(State::Transmit).watts / truth.level(State::Transmit).watts;
    assert!((charge - 1.0).abs() < 0.3, "{charge}");
}

#[test]
fn a_trace_of_another_device_is_refused() {
    let noise = &mut Rng::new(1);
    let (base, truth) = base_and_truth();
    let own = packets(noise);
    // The same device at other times.
    let mut at = 50.0;
    let others: Vec<BurstPacket> = own
        .iter()
        .map(|packet| {
            at += 3.0 + 6.0 * noise.next_f64();
            BurstPacket { at, ..*packet }
        })
        .collect();
    let bins = trace(&truth, &others, 1_000.0, 0.0, noise);
    let refused = fit(&bins, &own, &base, Clocks::Pattern).expect_err("another time");
    assert!(matches!(refused, NotFitted::Misaligned(_)), "{refused}");
    // Another device with the same packets: it neither wakes up nor stays reachable.
    let mut other = truth.clone();
    other.wake = None;
    other.tails.truncate(1);
    let bins = trace(&other, &own, 1_000.0, 0.0, noise);
    let refused = fit(&bins, &own, &base, Clocks::Pattern).expect_err("another device");
    assert!(
        matches!(refused, NotFitted::NoWakeUp | NotFitted::NoTail(_)),
        "{refused}"
    );
}

#[test]
fn a_burst_with_a_gap_in_the_trace_is_left_out() {
    let noise = &mut Rng::new(1);
    let (base, truth) = base_and_truth();
    let packets = packets(noise);
    let whole = trace(&truth, &packets, 1_000.0, 0.0, noise);
    let mut binner = Binner::default();
    for (index, watts) in whole.watts().iter().enumerate() {
        let seconds = whole.time(index);
        if !(seconds > packets[20].at && seconds < packets[20].at + 0.5) {
            let watts = f64::from(*watts);
            binner.add(Sample {
                seconds,
                amperes: watts / VOLTS,
                watts,
            });
        }
    }
    let bins = binner.finish().expect("samples");
    assert_eq!(bins.gaps, 1);
    let fitted = fit(&bins, &packets, &base, Clocks::Pattern).expect("a fit");
    assert_eq!((fitted.bursts, fitted.left_out), (49, 1));
}

#[test]
fn bursts_that_longer_tails_of_the_base_join_are_parted_by_those_of_the_trace() {
    let noise = &mut Rng::new(1);
    let (mut base, truth) = base_and_truth();
    base.tails[0].time = Duration::from_secs(6);
    base.tails[1].time = Duration::from_millis(2_500);
    let packets = packets(noise);
    assert!(
        bursts::groups(&packets, &base).len() < 40,
        "a wake-up of 1 s and tails of 8.5 s join readings 8 to 12 s apart"
    );
    let bins = trace(&truth, &packets, 1_000.0, 0.0, noise);
    let fitted = fit(&bins, &packets, &base, Clocks::Pattern).expect("a fit");
    let (power, time) = errors(&fitted.device, &truth);
    assert!(power < 0.05 && time < 2e-3, "{power} {time}");
    assert_eq!((fitted.bursts, fitted.left_out), (50, 0));
}
