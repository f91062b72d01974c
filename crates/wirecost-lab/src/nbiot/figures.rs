//! From devices to the figures of a run, and from runs to those of a point.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_nbiot::geometry::Point as Place;
use wirecost_nbiot::{CellFacts, UeFacts};
use wirecost_results::nbiot::map::{DevicePlace, PlaceSample};
use wirecost_results::nbiot::{
    DelayQuantile, Delays, DeviceMeans, Difference, EnergyByState, Estimate, KeepAlives, KeptConnections,
    LevelDelay, Point, RunFigures, quantile_s,
};
use wirecost_stats::mean::MeanInterval;

use super::Options;
use super::energy::Lifetime;
use super::way::Task;

/// A device that has left the cells.
pub(super) struct Leaver {
    /// The number of its report.
    pub(super) report: u64,
    pub(super) place: Place,
    pub(super) facts: UeFacts,
    /// From the generation of its report to the arrival at the server; `None`: it did not arrive.
    pub(super) delay: Option<Duration>,
    /// Bytes of its IP packets, up and down.
    pub(super) bytes: [u64; 2],
    /// Bytes of them that crossed the air.
    pub(super) air_bytes: [u64; 2],
}

/// Adds up the measured devices of a run.
pub(super) struct RunCounter {
    size_bytes: usize,
    deadline: Duration,
    generated: u64,
    most_devices: usize,
    /// Sum of size over delay, in bit/s.
    throughput: f64,
    arrived: u64,
    /// Devices that have left.
    left: u64,
    /// The devices that are measured at every load.
    in_every_load: u64,
    /// Of those that have left: path gain, and whether they were served.
    same_devices: Vec<(f64, bool)>,
    figures: RunFigures,
}

impl RunCounter {
    /// A counter of devices of which the first `in_every_load` are measured at every load, and the places of the first `mapped` are
    /// kept, if any.
    pub(super) fn new(
        size_bytes: usize,
        deadline: Duration,
        in_every_load: u64,
        mapped: Option<u64>,
    ) -> Self {
        let places = mapped.map(|first| PlaceSample {
            first,
            devices: Vec::new(),
        });
        Self {
            size_bytes,
            deadline,
            generated: 0,
            most_devices: 0,
            throughput: 0.0,
            arrived: 0,
            left: 0,
            in_every_load,
            same_devices: Vec::new(),
            figures: RunFigures {
                places,
                ..RunFigures::default()
            },
        }
    }

    /// A measured device comes.
    pub(super) fn note_generated(&mut self, task: Task) {
        match task {
            Task::Report => self.generated += 1,
            Task::KeepAlive => self.kept_alive().sent += 1,
        }
    }

    fn kept_alive(&mut self) -> &mut KeepAlives {
        self.figures.keep_alives.get_or_insert_default()
    }

    /// A device that came for a keep-alive leaves.
    pub(super) fn note_kept_alive(&mut self, leaver: &Leaver, is_answered: bool) {
        let figures = self.kept_alive();
        figures.answered += u64::from(is_answered);
        for (sum, bytes) in figures.bytes.iter_mut().zip(leaver.bytes) {
            *sum += bytes as f64;
        }
        add(&mut figures.device, &means(&leaver.facts));
    }

    pub(super) fn note_active(&mut self, devices: usize) {
        self.most_devices = self.most_devices.max(devices);
    }

    /// A report has arrived. The throughput of its device is its size over its delay (study nbiot, section 3.1).
    pub(super) fn note_arrival(&mut self, delay: Duration) {
        self.arrived += 1;
        self.throughput += throughput_bit_s(self.size_bytes, delay);
        match delay <= self.deadline {
            true => self.figures.served += 1,
            false => self.figures.late += 1,
        }
    }

    pub(super) fn note_leaver(&mut self, leaver: &Leaver) {
        self.left += 1;
        let figures = &mut self.figures;
        let facts = &leaver.facts;
        for (sum, bytes) in figures.bytes.iter_mut().zip(leaver.bytes) {
            *sum += bytes as f64;
        }
        for (sum, bytes) in figures.air_bytes.iter_mut().zip(leaver.air_bytes) {
            *sum += bytes as f64;
        }
        add(&mut figures.device, &means(facts));
        // By the level that the threshold gives: a device whose random access fails moves on (TS 36.321, section 5.1.4).
        figures.reports_by_level[facts.coverage_level] += 1;
        if let Some(sample) = figures.places.as_mut()
            && leaver.report < sample.first
        {
            sample.devices.push(device_place(leaver));
        }
        if let Some(delay) = leaver.delay {
            *figures.delays_ms[facts.coverage_level]
                .entry(rounded_ms(delay))
                .or_default() += 1;
        }
        // Higher loads have more devices, which are other ones: only those of the lowest load can be compared between loads.
        if leaver.report < self.in_every_load {
            let is_served = leaver.delay.is_some_and(|delay| delay <= self.deadline);
            self.same_devices.push((facts.path_gain_db, is_served));
        }
    }

    /// The figures, with what the cells did between two times `duration` apart.
    pub(super) fn finish(
        mut self,
        before: &[CellFacts],
        after: &[CellFacts],
        duration: Duration,
        air_events: u64,
    ) -> RunFigures {
        let cells = after.len().max(1) as f64;
        let figures = &mut self.figures;
        figures.lowest_served_path_gain_db = lowest_served(&self.same_devices);
        figures.deep_served = deep_served(&self.same_devices);
        figures.reports = self.generated;
        figures.most_devices = self.most_devices;
        figures.air_events = air_events;
        figures.device_throughput_bit_s = (self.arrived > 0).then(|| self.throughput / self.arrived as f64);
        let bits = figures.served as f64 * self.size_bytes as f64 * 8.0;
        figures.cell_throughput_bit_s = bits / duration.as_secs_f64() / cells;
        // No device left: sums are zero then, and 0/0 would be no number.
        let left = self.left.max(1) as f64;
        figures.bytes = figures.bytes.map(|sum| sum / left);
        figures.air_bytes = figures.air_bytes.map(|sum| sum / left);
        scale(&mut figures.device, 1.0 / left);
        if let Some(kept) = &mut figures.keep_alives {
            let sent = kept.sent.max(1) as f64;
            kept.bytes = kept.bytes.map(|sum| sum / sent);
            scale(&mut kept.device, 1.0 / sent);
        }
        let pairs = || before.iter().zip(after);
        let dci: u64 = pairs()
            .map(|(b, a)| a.dci_used.iter().sum::<u64>() - b.dci_used.iter().sum::<u64>())
            .sum();
        figures.dci_per_report = dci as f64 / self.generated.max(1) as f64;
        let share = |used: f64, available: f64| if available > 0.0 { used / available } else { 0.0 };
        let seconds = |of: fn(&CellFacts) -> Duration| {
            pairs()
                .map(|(b, a)| (of(a).saturating_sub(of(b))).as_secs_f64())
                .sum::<f64>()
        };
        let count = |of: fn(&CellFacts) -> u64| pairs().map(|(b, a)| (of(a) - of(b)) as f64).sum::<f64>();
        figures.use_of = [
            share(
                count(|facts| facts.dci_used[0]),
                count(|facts| facts.dci_available[0]),
            ),
            share(
                seconds(|facts| facts.npdcch + facts.npdsch),
                seconds(|facts| facts.downlink_available),
            ),
            share(
                seconds(|facts| facts.npusch),
                seconds(|facts| facts.uplink_available),
            ),
        ];
        self.figures
    }
}

/// The share of the served devices that are deeper than the lowest served path gain: an outlier of a few thousand does not decide.
const LOWEST: f64 = 0.01;
/// The share of the devices that are the deepest ones.
const DEEPEST: f64 = 0.05;
/// The devices of a run without which neither figure is one: 1 % of fewer is no device.
const FEWEST: usize = 100;

/// The path gain that 1 % of the served devices are below, of devices with their gains and whether they were served; `None` of fewer than
/// 100 devices, and where none was served.
fn lowest_served(devices: &[(f64, bool)]) -> Option<f64> {
    if devices.len() < FEWEST {
        return None;
    }
    let served = devices.iter().filter(|(_, is_served)| *is_served);
    let mut gains: Vec<f64> = served.map(|(gain, _)| *gain).collect();
    gains.sort_by(f64::total_cmp);
    let rank = (gains.len() as f64 * LOWEST).ceil() as usize;
    gains.get(rank.saturating_sub(1)).copied()
}

/// The share served of the 5 % of devices with the lowest path gains; `None` of fewer than 100 devices.
fn deep_served(devices: &[(f64, bool)]) -> Option<f64> {
    let mut by_gain = devices.to_vec();
    by_gain.sort_by(|one, other| one.0.total_cmp(&other.0));
    let count = (by_gain.len() as f64 * DEEPEST).ceil() as usize;
    let served = by_gain.iter().take(count).filter(|(_, is_served)| *is_served);
    (devices.len() >= FEWEST).then(|| served.count() as f64 / count as f64)
}

/// Report size over delay, in bit/s.
pub(super) fn throughput_bit_s(size_bytes: usize, delay: Duration) -> f64 {
    size_bytes as f64 * 8.0 / delay.as_secs_f64().max(1e-3)
}

/// A delay in ms with three significant digits.
fn rounded_ms(delay: Duration) -> u32 {
    let ms = u32::try_from(delay.as_millis()).unwrap_or(u32::MAX);
    let step = match ms {
        0..1_000 => 1,
        1_000..10_000 => 10,
        _ => 100,
    };
    ms / step * step
}

fn device_place(leaver: &Leaver) -> DevicePlace {
    let facts = &leaver.facts;
    DevicePlace {
        x_m: leaver.place.x.round() as i32,
        y_m: leaver.place.y.round() as i32,
        cell: facts.cell as u16,
        level: facts.coverage_level as u8,
        path_gain_db: (facts.path_gain_db * 10.0).round() / 10.0,
        delay_ms: leaver.delay.map(rounded_ms),
    }
}

fn means(facts: &UeFacts) -> DeviceMeans {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    DeviceMeans {
        transmit_ms: ms(facts.states.transmit),
        receive_ms: ms(facts.states.receive),
        monitor_ms: ms(facts.states.monitor),
        wait_ms: ms(facts.states.idle_connected),
        nprach_ms: ms(facts.airtime.nprach),
        npdcch_ms: ms(facts.airtime.npdcch),
        npdsch_ms: ms(facts.airtime.npdsch),
        npusch_ms: ms(facts.airtime.npusch_data),
        ack_ms: ms(facts.airtime.npusch_ack),
        preambles: f64::from(facts.preambles),
        collisions: f64::from(facts.collisions),
        connections: f64::from(facts.connections),
        harq_retransmissions: f64::from(facts.harq_retransmissions),
        rlc_retransmissions: facts.rlc_retransmissions as f64,
    }
}

/// Every field.
const fn fields(means: &mut DeviceMeans) -> [&mut f64; 14] {
    [
        &mut means.transmit_ms,
        &mut means.receive_ms,
        &mut means.monitor_ms,
        &mut means.wait_ms,
        &mut means.nprach_ms,
        &mut means.npdcch_ms,
        &mut means.npdsch_ms,
        &mut means.npusch_ms,
        &mut means.ack_ms,
        &mut means.preambles,
        &mut means.collisions,
        &mut means.connections,
        &mut means.harq_retransmissions,
        &mut means.rlc_retransmissions,
    ]
}

fn add(sum: &mut DeviceMeans, other: &DeviceMeans) {
    let mut other = *other;
    for (sum, value) in fields(sum).into_iter().zip(fields(&mut other)) {
        *sum += *value;
    }
}

fn scale(means: &mut DeviceMeans, factor: f64) {
    for value in fields(means) {
        *value *= factor;
    }
}

/// The mean of replications, with an interval where they are enough for one.
pub(super) fn estimate(values: &[f64]) -> Option<Estimate> {
    let interval = MeanInterval::from_values(values)?;
    Some(Estimate {
        mean: interval.mean,
        low: interval.low,
        high: interval.high,
    })
}

/// The delays of one coverage level over all replications.
fn level_delay(runs: &[RunFigures], level: usize) -> LevelDelay {
    let delays = || runs.iter().map(move |run| &run.delays_ms[level]);
    let quantile = |share| {
        let delay_s = quantile_s(delays(), share)?;
        Some(DelayQuantile { share, delay_s })
    };
    LevelDelay {
        measured: runs.iter().map(|run| run.reports_by_level[level]).sum(),
        reports: delays().flat_map(Delays::values).sum(),
        p50_s: quantile_s(delays(), 0.5),
        p95_s: quantile_s(delays(), 0.95),
        quantiles: DelayQuantile::SHARES.into_iter().filter_map(quantile).collect(),
    }
}

/// The figures of a point from its replications.
pub(super) fn point(
    stack: String,
    size_bytes: usize,
    load: f64,
    runs: Vec<RunFigures>,
    life: &Lifetime<'_>,
    options: &Options,
    keeps_connections: bool,
) -> Option<Point> {
    let all = |of: &dyn Fn(&RunFigures) -> Option<f64>| {
        let values: Vec<f64> = runs.iter().filter_map(of).collect();
        estimate(&values)
    };
    let reports: u64 = runs.iter().map(|run| run.reports).sum();
    // A replication without a report has no share of served reports; only where all are such is it zero.
    let served = |run: &RunFigures| run.served_share().or_else(|| (reports == 0).then_some(0.0));
    let weighted = |of: &dyn Fn(&RunFigures) -> f64| {
        let sum: f64 = runs.iter().map(|run| of(run) * run.reports as f64).sum();
        sum / reports.max(1) as f64
    };
    let every = || runs.iter().flat_map(|run| &run.delays_ms);
    let mut device = DeviceMeans::default();
    for run in &runs {
        let mut part = run.device;
        // A run with few reports must not count as much as one with many.
        scale(&mut part, run.reports as f64 / reports.max(1) as f64);
        add(&mut device, &part);
    }
    let kept = keeps_connections.then(|| kept(load, &runs, options, life));
    let report = life.report(&device);
    let energy_by_state_mj = EnergyByState {
        keep_alive: kept.as_ref().map_or(0.0, keep_alive_mj),
        ..report.by_state_mj()
    };
    let energy_mj = energy_by_state_mj.total();
    let per_report = kept.as_ref().map_or(0.0, |kept| kept.per_report);
    let day_mj = life.day_mj(&report, &life.keep_alives(per_report, &runs));
    Some(Point {
        stack,
        what_if: None,
        varied: BTreeMap::new(),
        dci_spacing_ms: 0.0,
        size_bytes,
        load,
        reports,
        served: all(&served)?,
        delay_p50_s: quantile_s(every(), 0.5),
        delay_p95_s: quantile_s(every(), 0.95),
        delay_by_level: [0, 1, 2].map(|level| level_delay(&runs, level)),
        device_throughput_bit_s: all(&|run| run.device_throughput_bit_s),
        cell_throughput_bit_s: all(&|run| Some(run.cell_throughput_bit_s))?,
        lowest_served_path_gain_db: all(&|run| run.lowest_served_path_gain_db),
        deep_served: all(&|run| run.deep_served),
        bytes_up: weighted(&|run| run.bytes[0]),
        bytes_down: weighted(&|run| run.bytes[1]),
        air_bytes_up: weighted(&|run| run.air_bytes[0]),
        air_bytes_down: weighted(&|run| run.air_bytes[1]),
        dci_use: all(&|run| Some(run.use_of[0]))?,
        downlink_use: all(&|run| Some(run.use_of[1]))?,
        uplink_use: all(&|run| Some(run.use_of[2]))?,
        energy_mj,
        energy_by_state_mj,
        energy_over_seeds_mj: all(&|run| Some(life.report_mj(&run.device) + energy_by_state_mj.keep_alive))?,
        day_mj,
        battery_years: life.battery_years(day_mj),
        device,
        kept,
        difference: None,
        runs,
    })
}

/// The connections that devices keep at a load.
fn kept(load: f64, runs: &[RunFigures], options: &Options, life: &Lifetime<'_>) -> KeptConnections {
    let all = || runs.iter().filter_map(|run| run.keep_alives.as_ref());
    let sent: u64 = all().map(|kept| kept.sent).sum();
    let each = life.keep_alives(options.keep_alives_per_report(), runs).each;
    KeptConnections {
        keep_alive_s: options.keep_alive.as_secs_f64(),
        devices: load * options.interval.as_secs_f64(),
        per_report: options.keep_alives_per_report(),
        sent,
        answered: all().map(|kept| kept.answered).sum(),
        energy_mj: (sent > 0).then(|| each.mj()),
    }
}

/// Energy of the keep-alives between two reports, as far as keep-alives were measured, in mJ.
fn keep_alive_mj(kept: &KeptConnections) -> f64 {
    kept.per_report * kept.energy_mj.unwrap_or_default()
}

/// A change less its base, replication by replication; `None` where they have no replication in common.
pub(super) fn difference(
    (base, base_life): (&Point, &Lifetime<'_>),
    (change, life): (&Point, &Lifetime<'_>),
) -> Option<Difference> {
    let paired_of = |of: &dyn Fn(&RunFigures) -> f64, of_base: &dyn Fn(&RunFigures) -> f64| {
        let pairs = change
            .runs
            .iter()
            .filter(|run| run.reports > 0)
            .filter_map(|run| {
                // A replication has the same devices at the same places: pairs leave that chance out of the difference.
                let same = |other: &&RunFigures| other.replication == run.replication;
                base.runs.iter().find(same).map(|other| of(run) - of_base(other))
            });
        estimate(&pairs.collect::<Vec<f64>>())
    };
    let paired = |of: &dyn Fn(&RunFigures) -> f64| paired_of(of, of);
    let per_report = change.kept.map_or(0.0, |kept| kept.per_report);
    let energy_mj = |run: &RunFigures| {
        let kept = run.keep_alives.as_ref();
        let kept_mj = kept.map_or(0.0, |kept| per_report * life.keep_alive(&kept.device).mj());
        life.report_mj(&run.device) + kept_mj
    };
    Some(Difference {
        base: base.stack.clone(),
        dci: paired(&|run| run.dci_per_report)?,
        bytes_up: paired(&|run| run.bytes[0])?,
        bytes_down: paired(&|run| run.bytes[1])?,
        energy_mj: paired_of(&energy_mj, &|run| base_life.report_mj(&run.device))?,
        served: paired(&|run| run.served as f64 / run.reports.max(1) as f64)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_size_over_delay_to_the_cloud() {
        // 25 B that are complete in the cloud 400 ms after they were generated.
        assert!((throughput_bit_s(25, Duration::from_millis(400)) - 500.0).abs() < 1e-9);
    }

    #[test]
    fn the_deepest_devices_are_counted_among_the_same_ones() {
        // 200 devices from -1 to -200 dB, of which those below -195 dB were not served.
        let devices: Vec<(f64, bool)> = (1..=200).map(|depth| (-f64::from(depth), depth <= 195)).collect();
        // 195 are served: 2 of them are the lowest 1 %.
        assert_eq!(lowest_served(&devices), Some(-194.0));
        assert_eq!(deep_served(&devices), Some(0.5), "5 of the 10 deepest");
        let all: Vec<(f64, bool)> = devices.iter().map(|(gain, _)| (*gain, true)).collect();
        assert_eq!(
            (lowest_served(&all), deep_served(&all)),
            (Some(-199.0), Some(1.0))
        );
        let few = &all[..99];
        assert_eq!((lowest_served(few), deep_served(few)), (None, None), "99 devices");
    }

    #[test]
    fn delays_keep_three_significant_digits() {
        let ms = |millis| rounded_ms(Duration::from_millis(millis));
        assert_eq!([ms(7), ms(999), ms(1_234), ms(12_345)], [7, 999, 1_230, 12_300]);
    }

    #[test]
    fn few_replications_have_a_mean_without_interval() {
        let estimate = estimate(&[1.0]).expect("a mean");
        assert_eq!((estimate.mean, estimate.low), (1.0, None));
    }
}
