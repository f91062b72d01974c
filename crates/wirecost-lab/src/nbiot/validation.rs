//! The model against closed forms and published figures: `wirecost nbiot --validate`.

use std::time::Duration;

use wirecost_nbiot::adaptation::Adaptation;
use wirecost_nbiot::calendar::DownlinkCalendar;
use wirecost_nbiot::config::{MacConfig, OperationMode};
use wirecost_nbiot::decibel::link_budget_snr_db;
use wirecost_nbiot::npdsch::NpdschFormat;
use wirecost_nbiot::npusch::NpuschFormat;
use wirecost_nbiot::subframe::Subframe;
use wirecost_nbiot::tables::Tones;
use wirecost_nbiot::timing::Timing;
use wirecost_nbiot::{Config, Gains, Network, Packet};
use wirecost_proto::{Direction, Instant, Rng};
use wirecost_results::nbiot::{Target, TargetBounds};

use wirecost_proto::ByteSize;

use super::Options;
use super::{Grid, NbiotError};

/// Mean latency of LENA-NB's example at 1 report/s, in ms.
const LENA_NB_MS: f64 = 238.0;
/// The bits of the largest blocks of Release 13, up and down.
const LARGEST_BITS: [u16; 2] = [1_000, 680];

/// Computes every target.
///
/// # Errors
/// The profile cannot be run.
pub fn validate() -> Result<Vec<Target>, NbiotError> {
    let mut targets = Vec::new();
    peak_rates(&mut targets);
    link_budgets(&mut targets);
    targets.push(devices_of_a_cell());
    rates_at_the_coverage_limit(&mut targets);
    for preambles in [2, 5, 12] {
        targets.push(collisions(preambles)?);
    }
    targets.push(downlink_waits());
    targets.push(unloaded_latency()?);
    Ok(targets)
}

/// A target with the largest difference that is allowed.
fn within(name: impl Into<String>, unit: &str, value: f64, expected: f64, tolerance: f64) -> Target {
    Target {
        name: name.into(),
        unit: unit.into(),
        value,
        bounds: TargetBounds {
            least: expected - tolerance,
            most: expected + tolerance,
        },
        expected,
        passed: (value - expected).abs() <= tolerance,
    }
}

/// Rates of Release 13 from its timing: one DCI, one largest block, and the gaps that follow.
fn peak_rates(targets: &mut Vec<Target>) {
    let first = Subframe::new(1);
    let uplink = |tones: Tones, i_tbs: u8, gap: u32| {
        let timing = Timing::new(&MacConfig {
            npdcch_monitor_gap_ms: gap,
            ..MacConfig::default()
        });
        let formats = NpuschFormat::all(tones);
        let largest = formats
            .iter()
            .find(|format| (format.bits, format.i_tbs, format.repetitions) == (LARGEST_BITS[0], i_tbs, 1));
        let length = largest.map_or(u64::MAX, NpuschFormat::length);
        let cycle = timing.monitor(timing.npusch(first) + length).index();
        (
            f64::from(LARGEST_BITS[0]) / cycle as f64,
            f64::from(LARGEST_BITS[0]) / length as f64,
        )
    };
    let (multi_tone, instantaneous_up) = uplink(Tones::Twelve, 12, 3);
    targets.push(within("peak uplink, 12 tones", "kbit/s", multi_tone, 62.5, 0.005));
    // The published rate of a single tone counts two subframes after NPUSCH, not three.
    let (single_tone, _) = uplink(Tones::Single15k, 10, 2);
    targets.push(within("peak uplink, 1 tone", "kbit/s", single_tone, 16.95, 0.005));
    let timing = Timing::new(&MacConfig::default());
    let formats = NpdschFormat::all(OperationMode::StandAlone);
    let largest = formats
        .iter()
        .find(|format| (format.bits, format.subframes, format.repetitions) == (LARGEST_BITS[1], 4, 1));
    let length = largest.map_or(u64::MAX, NpdschFormat::length);
    // The HARQ-ACK takes two subframes.
    let cycle = timing
        .monitor(timing.ack(timing.npdsch(first) + length) + 2)
        .index();
    let down = f64::from(LARGEST_BITS[1]) / cycle as f64;
    targets.push(within("peak downlink", "kbit/s", down, 26.15, 0.005));
    targets.push(within(
        "uplink during a block",
        "kbit/s",
        instantaneous_up,
        250.0,
        0.05,
    ));
    let rates = formats
        .iter()
        .map(|format| f64::from(format.bits) / format.length() as f64);
    let fastest = rates.fold(0.0, f64::max);
    targets.push(within("downlink during a block", "kbit/s", fastest, 226.7, 0.05));
}

/// Link budgets of TR 45.820 at a coupling loss of 164 dB.
fn link_budgets(targets: &mut Vec<Target>) {
    let uplink = [
        (3.75, -5.74),
        (15.0, -11.76),
        (45.0, -16.53),
        (90.0, -19.54),
        (180.0, -22.55),
    ];
    for (bandwidth_khz, expected) in uplink {
        let snr = link_budget_snr_db(23.0, 164.0, bandwidth_khz * 1e3, 3.0);
        let name = format!("uplink SNR at 164 dB, {bandwidth_khz} kHz");
        // The report writes two digits: what it rounds is half of the last one, with a little for our own arithmetic.
        targets.push(within(name, "dB", snr, expected, 0.006));
    }
    for (power_dbm, expected) in [(43.0, -4.6), (35.0, -12.6)] {
        let snr = link_budget_snr_db(power_dbm, 164.0, 180e3, 5.0);
        let name = format!("downlink SNR at 164 dB, {power_dbm} dBm");
        // One digit here.
        targets.push(within(name, "dB", snr, expected, 0.06));
    }
}

/// TR 45.820 annex E: 1,517 households per square kilometre with 40 devices each; a cell has a third of a site's hexagon.
fn devices_of_a_cell() -> Target {
    let isd_km = Config::default().scenario.isd_m / 1e3;
    let area = isd_km * isd_km * 3.0_f64.sqrt() / 2.0 / 3.0;
    within(
        "devices of a cell",
        "devices",
        1_517.0 * 40.0 * area,
        52_547.0,
        0.5,
    )
}

/// TR 45.820 section 5.1 asks for 160 bit/s at 164 dB.
fn rates_at_the_coverage_limit(targets: &mut Vec<Target>) {
    let mut config = Config::default();
    // The limit is asked for at the nominal signal-to-noise ratio: a margin would choose slower formats.
    config.link.margin_db = 0.0;
    config.mac.npusch_tones = Tones::ALL.to_vec();
    let mut adaptation = Adaptation::new(&config);
    let sinr = link_budget_snr_db(23.0, 164.0, 3_750.0, 3.0);
    let formats = (1..=125).flat_map(|bytes| adaptation.npusch(bytes * 8, sinr));
    let up = formats
        .map(|format| f64::from(format.bits) / format.length() as f64 * 1e3)
        .fold(0.0, f64::max);
    config.scenario.operation_mode = OperationMode::InBand;
    let format = Adaptation::new(&config).npdsch(680, link_budget_snr_db(35.0, 164.0, 180e3, 5.0));
    let down = f64::from(format.bits) / format.length() as f64 * 1e3;
    for (name, value) in [
        ("uplink rate at 164 dB", up),
        ("downlink rate at 164 dB, 35 dBm", down),
    ] {
        targets.push(Target {
            name: name.into(),
            unit: "bit/s".into(),
            value,
            bounds: TargetBounds {
                least: 160.0,
                most: f64::MAX,
            },
            expected: 160.0,
            passed: value >= 160.0,
        });
    }
}

/// The share of preambles that meet another one, where `preambles` devices choose one of 12 subcarriers: 1 - (11/12)^(n-1).
fn collisions(preambles: u64) -> Result<Target, NbiotError> {
    /// How often they choose.
    const OCCASIONS: u64 = 600;
    let mut network = Network::new(&Config::quiet_cell(), 1)?;
    let gains = Gains::fixed(&[-100.0]);
    let (mut collided, mut sent) = (0.0, 0.0);
    for occasion in 0..OCCASIONS {
        let at = Instant::from_millis(320 * occasion);
        let devices: Vec<_> = (0..preambles)
            .map(|index| {
                let ue = network.arrive_with(occasion * preambles + index, gains.clone(), at);
                network.offer(ue, Direction::Up, Packet { token: 1, bytes: 58 }, at);
                ue
            })
            .collect();
        // Occasions start at 256 ms in each period of 320 ms and last 7 ms.
        let end = at + Duration::from_millis(265);
        network.advance(end, &mut |_| {});
        for facts in devices.into_iter().filter_map(|ue| network.remove(ue, end)) {
            collided += f64::from(facts.collisions);
            sent += f64::from(facts.preambles);
        }
    }
    // Each of the others chooses another of the 12 subcarriers with a probability of 11/12.
    let expected = 1.0 - (11.0_f64 / 12.0).powi(preambles as i32 - 1);
    // Preambles of one occasion are not independent: five standard errors, with the occasions as samples.
    let tolerance = 5.0 * (expected * (1.0 - expected) / OCCASIONS as f64).sqrt();
    let name = format!("collisions of {preambles} preambles (slotted ALOHA)");
    Ok(within(name, "share", collided / sent, expected, tolerance))
}

/// Waits for the downlink at half load against those of M/D/1: `rho D / (2 (1 - rho))`.
fn downlink_waits() -> Target {
    /// How many blocks wait: sums of as many correlated waits repeat to about 1 %.
    const BLOCKS: u32 = 100_000;
    let (service, load) = (40_u64, 0.5);
    let mut calendar = DownlinkCalendar::default();
    let mut rng = Rng::new(11);
    let (mut clock, mut waits) = (0.0, 0.0);
    for _ in 0..BLOCKS {
        clock += rng.next_exponential() * service as f64 / load;
        let arrival = f64::ceil(clock) as u64;
        let start = calendar.first_free(arrival, service);
        calendar.book(start, service);
        // What has passed would only slow down the search for a free place.
        calendar.forget(arrival, 0);
        // Half a subframe passes on average until the next one begins.
        waits += (start as f64 - clock) - 0.5;
    }
    let expected = load * service as f64 / (2.0 * (1.0 - load));
    let mean = waits / f64::from(BLOCKS);
    within(
        "wait for the downlink at half load (M/D/1)",
        "ms",
        mean,
        expected,
        expected * 0.05,
    )
}

/// LENA-NB's example: one cell of 1,250 m radius, outdoors, 49 B of payload over UDP, without the internet's delay.
fn unloaded_latency() -> Result<Target, NbiotError> {
    let mut options = Options {
        stacks: "udp".parse().into_iter().collect(),
        sizes: vec![ByteSize::from_bytes(49)],
        loads: vec![1.0],
        seeds: 1,
        duration: Duration::from_secs(400),
        warm_up: Some(Duration::ZERO),
        network: Config::profile("vodafone")?,
        ..Options::default()
    };
    options.network.scenario.n_sites = 1;
    options.network.scenario.sectors_per_site = 1;
    // A hexagonal cell of radius r has its neighbours at r times the square root of 3.
    options.network.scenario.isd_m = 1_250.0 * 3.0_f64.sqrt();
    options.network.radio.indoor_loss_db = 0.0;
    let mut runs = Vec::new();
    let grid = Grid::new(&options)?;
    grid.play(&[0], 1, &mut |run| runs.push(run.figures), &|| false)?;
    let delays = || runs.iter().flat_map(|run| &run.delays_ms).flatten();
    let reports: u64 = delays().map(|(_, count)| count).sum();
    let sum: f64 = delays().map(|(ms, count)| f64::from(*ms) * *count as f64).sum();
    // The published example has no internet between cell and server.
    let internet_ms = 4.0;
    let mean = sum / reports.max(1) as f64 - internet_ms;
    let name = "latency of a report in an unloaded cell (LENA-NB)";
    Ok(within(name, "ms", mean, LENA_NB_MS, 0.25 * LENA_NB_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_met() {
        let targets = validate().expect("the profile runs");
        let failed: Vec<&Target> = targets.iter().filter(|target| !target.passed).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert!(targets.len() >= 18, "{}", targets.len());
    }
}
