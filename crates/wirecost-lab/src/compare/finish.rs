//! Everything that a run has left, into its results folder.

use wirecost_live::environment::{Environment as Machine, Load};
use wirecost_stats::hgrm::Hgrm;
use wirecost_stats::{Histogram, Sample};

use super::analysis::{AnalysedDevice, Analysis, analyse};
use super::capture::CaptureFile;
use super::cells::{self, Context};
use super::ladder::{DrawnPackets, ladder};
use super::live::{NetworkFacts, Run, RunError};
use super::options::Options;
use super::plan::Plan;
use crate::results::environment::Emulator;
use crate::results::journal::{self, Entry};
use crate::results::summary::SCHEMA;
use crate::results::{Cell, Environment, Ladder, RunFolder, SampleRow, Summary};
use crate::scenario::ResolvedScenario;

/// The machine before a run, to be compared with the machine after it.
#[derive(Debug)]
pub struct Before {
    machine: Machine,
    load: Load,
    started_at: std::time::SystemTime,
    started: std::time::Instant,
}

impl Before {
    /// Looks at the machine.
    pub fn look() -> Self {
        Self {
            machine: Machine::read(),
            load: Load::read(),
            started_at: std::time::SystemTime::now(),
            started: std::time::Instant::now(),
        }
    }
}

/// What a run has come to.
#[derive(Debug)]
pub struct Finished {
    /// The contents of `summary.json`.
    pub summary: Summary,
    /// Why the run or its capture ended early, other than by the user.
    pub failure: Option<String>,
}

/// Analyses a run and writes `summary.json`, `env.json`, `ladder.json`, `samples.csv`, `scenario.resolved.yaml`,
/// `latency/*.hgrm` and `capture/all.pcapng`.
///
/// # Errors
/// The recording cannot be read back, or a file cannot be written. What was written before stays.
pub fn finish(
    options: &Options,
    mut run: Run,
    folder: &RunFolder,
    before: &Before,
    command: String,
) -> Result<Finished, RunError> {
    let drawn = drawn_devices(&run);
    let capture_path = folder.file("capture/all.pcapng");
    let io = |what| move |source| RunError::Io { what, source };
    let hosts = 0..run.plan.devices.len() as u32;
    let recorded = hosts.map(|host| run.plan.is_recorded(host, options)).collect();
    let keys = run.key_log.text();
    let mut capture = CaptureFile::create(&capture_path, &run.plan, run.clock, recorded, drawn, &keys)
        .map_err(io("write the capture"))?;
    let recording = &mut run.forwarder.recording;
    let devices = std::mem::take(&mut run.devices);
    let devices = devices
        .into_iter()
        .map(|report| AnalysedDevice::of_plan(&run.plan, report));
    let analysis = analyse(devices, &run.flows, recording, &mut capture);
    let analysis = analysis.map_err(io("read the recorded packets back"))?;
    let (ladders, capture_error) = capture.finish();
    // On a disk that is full its space is what the results are written to.
    recording.discard().map_err(io("discard the recorded packets"))?;
    let cut_short = |error| format!("the capture is cut short: {error}");
    let failure = run.failure.take().or_else(|| capture_error.map(cut_short));
    let dropped_packets = run
        .forwarder
        .dropped()
        .map_err(io("read the interfaces' counters"))?;
    let context = Context {
        options,
        plan: &run.plan,
        links: &run.forwarder.links,
        checks: &run.checks,
        dropped_packets,
        foreign_cpu: run.server.as_ref().and_then(|server| server.cpu),
    };
    let (cells, rows) = cells::cells(&context, &analysis.devices);
    let scenario = options.to_scenario();
    folder.write("scenario.resolved.yaml", yaml(&scenario).as_bytes())?;
    folder.write_json("env.json", &environment(&run, &analysis, before, dropped_packets))?;
    folder.write_json(
        "ladder.json",
        &named_ladders(&scenario, &run.plan, &analysis, ladders),
    )?;
    folder.write("samples.csv", samples_csv(&rows).as_bytes())?;
    write_histograms(folder, &cells, &rows)?;
    let summary = Summary {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command,
        scenario,
        seed: options.seed,
        interrupted: run.interrupted || failure.is_some(),
        cells,
    };
    folder.write_json("summary.json", &summary)?;
    write_journal(folder, &summary)?;
    Ok(Finished { summary, failure })
}

/// Notes each cell and the end of the run.
fn write_journal(folder: &RunFolder, summary: &Summary) -> Result<(), RunError> {
    for (index, cell) in summary.cells.iter().enumerate() {
        journal::append(folder, &Entry::of_cell(index, cell, summary))?;
    }
    let at = rfc3339(std::time::SystemTime::now());
    journal::append(
        folder,
        &Entry::Ended {
            at,
            interrupted: summary.interrupted,
        },
    )?;
    Ok(())
}

/// For each host: the cell whose ladder it draws. It is the cell's first device that came to its end.
fn drawn_devices(run: &Run) -> Vec<Option<usize>> {
    let mut drawn = vec![None; run.plan.devices.len()];
    let mut taken = vec![false; run.plan.cells.len()];
    for report in run.devices.iter().filter(|report| report.finished) {
        let host = report.host as usize;
        let cell = run.plan.devices[host].cell;
        if !std::mem::replace(&mut taken[cell], true) {
            drawn[host] = Some(cell);
        }
    }
    drawn
}

fn named_ladders(
    scenario: &ResolvedScenario,
    plan: &Plan,
    analysis: &Analysis,
    packets: Vec<DrawnPackets>,
) -> Vec<Ladder> {
    let mut ladders = Vec::new();
    for (cell, packets) in packets
        .into_iter()
        .enumerate()
        .filter(|(_, packets)| !packets.is_empty())
    {
        // The drawn device is the first finished one of the cell in the order of hosts.
        let finished =
            |device: &&super::analysis::DeviceMeasurement| device.cell == cell && device.report.finished;
        let Some(device) = analysis.devices.iter().find(finished) else {
            continue;
        };
        let planned = &plan.cells[cell];
        let link = scenario.links[planned.link].to_string();
        ladders.extend(ladder(planned, link, device, packets));
    }
    ladders
}

fn samples_csv(rows: &[SampleRow]) -> String {
    let header = SampleRow::COLUMNS.join(",");
    let lines = rows.iter().map(SampleRow::to_csv);
    std::iter::once(header)
        .chain(lines)
        .map(|line| line + "\n")
        .collect()
}

/// One histogram of response times per cell that has any: `latency/<cell>-<stack>-<bytes>B.hgrm`.
fn write_histograms(folder: &RunFolder, cells: &[Cell], rows: &[SampleRow]) -> Result<(), RunError> {
    for (index, cell) in cells.iter().enumerate() {
        let mut histogram = Histogram::new();
        let of_cell = rows.iter().filter(|row| row.cell == index as u64);
        of_cell
            .filter_map(|row| row.response_time_ns)
            .for_each(|nanos| histogram.record(nanos));
        if !histogram.is_empty() {
            let name = format!("latency/{index:03}-{}-{}B.hgrm", cell.stack, cell.payload_bytes);
            folder.write(&name, Hgrm(&histogram).to_string().as_bytes())?;
        }
    }
    Ok(())
}

fn yaml(scenario: &ResolvedScenario) -> String {
    // A scenario is strings, numbers and lists: there is nothing that YAML cannot hold.
    serde_saphyr::to_string(scenario).unwrap_or_else(|error| format!("# not writable as YAML: {error}\n"))
}

fn environment(run: &Run, analysis: &Analysis, before: &Before, dropped_packets: u64) -> Environment {
    let machine = &before.machine;
    let after = Load::read();
    let NetworkFacts {
        packet_path,
        device_settings,
        server_settings,
        ..
    } = &run.network;
    let name = |program: &String| program.split('/').next_back().unwrap_or(program).to_owned();
    Environment {
        started_at: rfc3339(before.started_at),
        duration_s: before.started.elapsed().as_secs_f64(),
        wirecost_version: env!("CARGO_PKG_VERSION").into(),
        kernel: machine.kernel.clone(),
        cpu_model: machine.cpu_model.clone().unwrap_or_else(|| "unknown".into()),
        cpus: machine.cores as u64,
        cpu_governor: machine.governor.clone(),
        memory_bytes: machine.memory_bytes,
        clock_source: machine.clock_source.clone(),
        clock_resolution_ns: machine.clock.resolution.as_nanos() as u64,
        clock_read_ns: machine.clock.read_cost.as_nanos() as u64,
        cpu_clock_read_ns: machine.cpu_clock.read_cost.as_nanos() as u64,
        load_average: [before.load.average[0], after.average[0]],
        steal: Some(after.steal_share_since(&before.load)),
        packet_path: (*packet_path).into(),
        device_network: device_settings.clone(),
        server_network: server_settings.clone(),
        emulator: emulator(analysis, run),
        servers: run
            .server
            .iter()
            .map(|server| (name(&server.version), server.version.clone()))
            .collect(),
        server_resident_bytes: run.server.as_ref().and_then(|server| server.resident_bytes),
        unattributed_packets: analysis.unattributed_packets,
        dropped_packets,
    }
}

fn emulator(analysis: &Analysis, run: &Run) -> Option<Emulator> {
    let sample = Sample::new(analysis.lateness_ns.clone())?;
    let quantile = |probability| sample.quantile(probability).map_or(0, |quantile| quantile.value);
    Some(Emulator {
        packets: analysis.lateness_ns.len() as u64,
        lateness_p50_ns: quantile(0.5),
        lateness_p99_ns: quantile(0.99),
        lateness_max_ns: analysis.lateness_ns.last().copied().unwrap_or(0),
        cpu_ns: run.forwarder.statistics.cpu.as_nanos() as u64,
        head_start_ns: run.forwarder.head_start.as_nanos() as u64,
        priority: run.forwarder.priority.to_string(),
    })
}

/// A time as RFC 3339 writes it, in UTC, whole seconds.
pub fn rfc3339(time: std::time::SystemTime) -> String {
    let seconds = time
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_from_days(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// The Gregorian date of a day counted from 1970-01-01, by counting in eras of 400 years that begin in March.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_written_as_rfc_3339_writes_them() {
        let at = |seconds| rfc3339(std::time::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_181_696), "2026-11-20T13:34:56Z");
    }
}
