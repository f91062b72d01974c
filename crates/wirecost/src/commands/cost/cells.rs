//! Reports in NB-IoT cells: the folder holds the times of a device's states, not its packets.

use std::time::Duration;

use wirecost_account::{Cycle, Traffic, Way};
use wirecost_cost::usage::{PhaseTraffic, SentMessage};
use wirecost_cost::{Usage, What};
use wirecost_energy::Device;
use wirecost_lab::nbiot::changes::applied;
use wirecost_lab::nbiot::energy::Lifetime;
use wirecost_nbiot::Config;
use wirecost_proto::Phase;
use wirecost_proto::shown::number;
use wirecost_results::RunFolder;
use wirecost_results::nbiot::map::{self, DeviceMap};
use wirecost_results::nbiot::{EnergyByState, NbiotSummary, Point, Setting};
use wirecost_scenario::options::nbiot::keep_alives_per_report;
use wirecost_scenario::options::what_if::WhatIf;
use wirecost_scenario::parameter;
use wirecost_security::Start;
use wirecost_stack::Stack;

use super::lives;
use super::traffic::Source;
use crate::arguments::CostArguments;
use crate::exit::Failure;

/// Reads the points of a results folder.
///
/// # Errors
/// Something is asked for that needs packets, the folder cannot be read, or it is that of another version.
pub fn read(
    arguments: &CostArguments,
    folder: &RunFolder,
    device: Option<&Device>,
) -> Result<Source, Failure> {
    arguments.network.refuse_timers_of_a_cell()?;
    let shown = arguments.source.display();
    let Some(device) = device.filter(|_| arguments.tariff.is_none()) else {
        return Err(Failure::usage(format!(
            "{shown} holds reports in NB-IoT cells, whose packets are not kept"
        ))
        .with_hint("give --device alone, or price a run of compare --link nbiot"));
    };
    let summary: NbiotSummary = folder.read_json("summary.json")?;
    let mut source = Source::default();
    let map: Option<DeviceMap> = match folder.file(map::FILE).exists() {
        true => Some(folder.read_json(map::FILE)?),
        false => None,
    };
    for point in &summary.points {
        let config = network(&summary.setting, point).map_err(|why| {
            Failure::usage(format!("{shown}: the network of {}: {why}", point.stack))
                .with_hint("run it again with this version")
        })?;
        source
            .traffic
            .push(traffic(arguments, &summary.setting, point, (device, &config)));
        let gains = map.as_ref().and_then(|map| gains_db(map, point));
        let beside = gains.and_then(|gains| beside_closed_form(point, &gains, (device, &config)));
        source.notes.extend(beside);
    }
    source.notes.push(lives::TIMES_OF_CELL.to_owned());
    if summary.points.iter().any(|point| point.kept.is_some()) {
        source
            .notes
            .push("mJ has the keep-alives between two reports in it; bytes have not".to_owned());
    }
    Ok(source)
}

/// The network that the devices of a point met.
fn network(setting: &Setting, point: &Point) -> Result<Config, String> {
    let given = serde_json::from_value(setting.network.clone()).map_err(|error| error.to_string())?;
    let varied = point.varied.iter().try_fold(given, |config, (path, value)| {
        parameter::set(&config, path, value).map_err(|error| error.to_string())
    })?;
    let Some(name) = &point.what_if else {
        return Ok(varied);
    };
    let change = WhatIf::ALL.iter().find(|change| change.name() == name);
    let stack: Result<Stack, _> = point.stack_alone().parse();
    match (change, stack) {
        (Some(change), Ok(stack)) => Ok(applied(*change, &varied, stack)),
        _ => Err(format!("there is no change {name}")),
    }
}

/// A device of a point: its report with the keep-alives that follow, and what else there is until the next report.
fn traffic(
    arguments: &CostArguments,
    setting: &Setting,
    point: &Point,
    (device, config): (&Device, &Config),
) -> Traffic {
    let interval = arguments
        .interval
        .unwrap_or_else(|| Duration::from_secs_f64(setting.interval_s));
    let every = interval.as_secs_f64();
    let life = Lifetime {
        device,
        config,
        interval,
    };
    let kept = point.kept.as_ref();
    let per_report = kept.map_or(0.0, |kept| keep_alives_per_report(every, kept.keep_alive_s));
    let (report, kept_alive) = (
        life.report(&point.device),
        life.keep_alives(per_report, &point.runs),
    );
    let cycle = |account, usage, readings| Cycle {
        account: Some(account),
        usage,
        readings,
        every,
    };
    // Packets and sessions are not counted in the cells.
    let mut usage = Usage::default();
    usage.carried[Phase::Message as usize] = PhaseTraffic {
        // Unknown, not zero: a zero would say that no packet was sent.
        packets: [f64::NAN; 2],
        bytes: [point.bytes_up, point.bytes_down],
    };
    usage.sessions.insert(1, f64::NAN);
    let mut add = |what, payload_bytes, count| {
        let message = SentMessage {
            what,
            header_bytes: 0,
            payload_bytes,
        };
        usage.add(message, count);
    };
    add(What::Publish, point.size_bytes as u64, 1.0);
    add(What::KeepAlive, 0, per_report);
    Traffic {
        label: format!("{} {}B {}/s", point.stack, point.size_bytes, point.load),
        stack: Some(point.stack.clone()),
        way: Way::InCells,
        interval: every,
        keep_alive: kept.map(|kept| kept.keep_alive_s),
        cycles: vec![
            cycle(Lifetime::exchanges(&report, &kept_alive), usage, 1.0),
            cycle(life.between(&report, &kept_alive), Usage::default(), 0.0),
        ],
        time: None,
        activity: None,
    }
}

/// Path gains of the devices of a point that the map has, in dB.
fn gains_db(map: &DeviceMap, point: &Point) -> Option<Vec<f64>> {
    let is_of = |run: &&map::MappedRun| {
        (&run.stack, run.size_bytes, run.load) == (&point.stack, point.size_bytes, point.load)
    };
    // In a varied network the same stack at the same load is there several times.
    let run = map.runs.iter().find(is_of).filter(|_| point.varied.is_empty())?;
    Some(
        run.sample
            .devices
            .iter()
            .map(|device| device.path_gain_db)
            .collect(),
    )
}

/// What a report takes in the cell beside the closed form of the same devices, each alone where nothing fails, and the difference by
/// cause. `None` for reports with connects, keep-alives or several packets, of which there is no closed form.
fn beside_closed_form(
    point: &Point,
    gains_db: &[f64],
    (device, config): (&Device, &Config),
) -> Option<String> {
    let stack: Stack = point.stack_alone().parse().ok()?;
    let is_one_packet =
        stack.is_one_exchange(point.size_bytes) && !stack.has_connect(Start::Cold) && point.kept.is_none();
    let bytes = |of: [f64; 2]| of.into_iter().find(|bytes| *bytes > 0.0);
    let up = bytes([point.air_bytes_up, point.bytes_up])?;
    let down = match stack.awaits_answer(point.size_bytes) {
        true => Some(bytes([point.air_bytes_down, point.bytes_down])?.round() as u32),
        false => None,
    };
    let life = Lifetime {
        device,
        config,
        interval: Duration::MAX,
    };
    let alone = life
        .alone(gains_db, up.round() as u32, down)
        .filter(|_| is_one_packet)?;
    let [cell, closed] = [&point.device, &alone].map(|means| life.report(means).by_state_mj());
    let more = |of: fn(&EnergyByState) -> f64| number_with_sign(of(&cell) - of(&closed));
    let again = |count: f64| number(count.max(0.0));
    Some(format!(
        "{} {}B {}/s: a report takes {} mJ in the cell, and {} mJ in closed form, where each device is alone and nothing fails: sending {} \
         ({} preambles and {} blocks again), receiving {}, monitoring {}, waiting {} mJ",
        point.stack,
        point.size_bytes,
        point.load,
        number(cell.total()),
        number(closed.total()),
        more(|energy| energy.transmit),
        again(point.device.preambles - 1.0),
        again(point.device.harq_retransmissions),
        more(|energy| energy.receive),
        more(|energy| energy.monitor),
        more(|energy| energy.wait),
    ))
}

fn number_with_sign(value: f64) -> String {
    let sign = if value < 0.0 { "" } else { "+" };
    format!("{sign}{}", number(value))
}
