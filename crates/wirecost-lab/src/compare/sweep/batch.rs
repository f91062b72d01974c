//! Runs a batch of cells on kernel sockets: as many as one live run holds.

use std::time::Duration;

use wirecost_live::capture::{AT_ENTRY, BEHIND_OFFLOAD};
use wirecost_live::emulation::EmulationError;
use wirecost_live::environment::OpenFiles;
use wirecost_results::link_text::LinkText;
use wirecost_results::traffic::CellTraffic;
use wirecost_results::{Cell, CellFile, RunFolder, SampleRow};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{Plan, mtu_of};

use crate::compare::analysis::{AnalysedDevice, Analysis, DeviceMeasurement, analyse};
use crate::compare::capture::CaptureFile;
use crate::compare::cells::{self, Context};
use crate::compare::finish::{LiveFacts, emulator};
use crate::compare::ladder::{DrawnPackets, ladder};
use crate::compare::live::{Run, RunError};
use crate::compare::traffic::TrafficSink;

/// The most links of one batch. Each is checked before the measurement, one after the other.
const MAX_LINKS: usize = 200;

/// Cells in batches, in order: each batch has one MTU, because its network has one, and a limited number of devices.
pub(super) fn batches(options: &Options, plan: &Plan, cells: &[usize], max_devices: u64) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mtu = |cell: usize| mtu_of(&options.links[plan.cells[cell].link]);
    for cell in cells {
        let fits = |batch: &&mut Vec<usize>| {
            let links = batch.iter().map(|cell| plan.cells[*cell].link);
            let links = links
                .chain([plan.cells[*cell].link])
                .collect::<std::collections::BTreeSet<_>>();
            let devices = (batch.len() as u64 + 1) * u64::from(options.samples);
            mtu(batch[0]) == mtu(*cell) && devices <= max_devices && links.len() <= MAX_LINKS
        };
        // Only the last batch: cells keep their order, in which the results are written.
        match batches.last_mut().filter(fits) {
            Some(batch) => batch.push(*cell),
            None => batches.push(vec![*cell]),
        }
    }
    batches
}

/// Checks the limit of open files before the run, after raising it: every running device has a socket on each side.
pub(super) fn check_open_files(options: &Options, plan: &Plan) -> Result<(), RunError> {
    let limit = OpenFiles::raise().map_err(EmulationError::doing("raise the limit of open files"))?;
    let devices = plan.overlapping_devices(options);
    // 64 for what the program itself has open: the folder's files, the link, the pipes.
    let needed = devices * 2 + 64;
    if needed <= limit {
        return Ok(());
    }
    let cells = plan.cells.len().max(1) as u64;
    Err(RunError::OpenFiles {
        devices,
        needed,
        limit,
        samples: (limit.saturating_sub(64) / 2 / cells).max(1),
    })
}

/// Waits until earlier threads are gone: only a process with one thread can make a user namespace.
pub(super) fn wait_until_alone() {
    const PATIENCE: u32 = 200;
    let is_alone = || std::fs::read_dir("/proc/self/task").map_or(true, |tasks| tasks.count() <= 1);
    for _ in 0..PATIENCE {
        if is_alone() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Analyses a batch: the figures of its cells in order, its packets into `capture`.
pub(super) fn figures(
    options: &Options,
    mut run: Run,
    folder: &RunFolder,
    capture: &str,
) -> Result<(Vec<CellFile>, LiveFacts), RunError> {
    let drawn = drawn_devices(&run);
    let io = EmulationError::doing;
    let hosts = 0..run.plan.devices.len() as u32;
    let recorded = hosts.map(|host| run.plan.is_recorded(host, options)).collect();
    let keys = run.key_log.text();
    // With offload the packets are as the host handed them over, larger than the MTU: a reader of the capture must know that.
    let about = match options.sending.offload {
        true => BEHIND_OFFLOAD,
        false => AT_ENTRY,
    };
    let path = folder.file(capture);
    let capture = CaptureFile::create(&path, &run.plan, run.clock, recorded, drawn, &keys, about)
        .map_err(io("write the capture"))?;
    let recording = &mut run.seen.recording;
    let reports = std::mem::take(&mut run.devices);
    let devices = reports
        .into_iter()
        .map(|report| AnalysedDevice::of_plan(&run.plan, report));
    let mut sinks = (capture, TrafficSink::new(&run.plan));
    let analysis = analyse(devices, &run.flows, recording, &mut sinks);
    let analysis = analysis.map_err(io("read the recorded packets back"))?;
    let (capture, traffic) = sinks;
    let traffic = traffic.finish(&analysis.devices);
    let (ladders, capture_error) = capture.finish();
    // If the disk is full, the results need this space.
    recording.discard().map_err(io("discard the recorded packets"))?;
    let cut_short = |error| format!("the capture is cut short: {error}");
    let failure = run.failure.take().or_else(|| capture_error.map(cut_short));
    let dropped_packets = run.seen.dropped;
    let emulator = emulator(&analysis, &run);
    let lateness = emulator.as_ref().map_or(0, |emulator| emulator.lateness_p50_ns);
    let context = Context {
        options,
        plan: &run.plan,
        links: &run.seen.links,
        checks: &run.checks,
        dropped_packets,
        lateness: Duration::from_nanos(lateness),
        foreign_cpu: run.server.as_ref().and_then(|server| server.cpu),
    };
    let (cells, rows) = cells::cells(&context, &analysis.devices);
    let messages = cells.iter().map(|cell| cell.outcomes.offered).sum();
    let figures = by_cell(options, &run.plan, &analysis, (cells, traffic), rows, ladders);
    let facts = LiveFacts {
        emulator,
        messages,
        unattributed_packets: analysis.unattributed_packets,
        interrupted: run.interrupted,
        network: run.network,
        power: run.power,
        server: run.server,
        dropped_packets,
        failure,
    };
    Ok((figures, facts))
}

/// For each host, the cell whose ladder shows it: the cell of which it is the first finished device.
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

fn by_cell(
    options: &Options,
    plan: &Plan,
    analysis: &Analysis,
    (cells, traffic): (Vec<Cell>, Vec<Option<CellTraffic>>),
    rows: Vec<SampleRow>,
    ladders: Vec<DrawnPackets>,
) -> Vec<CellFile> {
    let mut rows_of: Vec<Vec<SampleRow>> = vec![Vec::new(); cells.len()];
    for row in rows {
        rows_of[row.cell as usize].push(row);
    }
    let drawn = |cell: usize, packets: DrawnPackets| {
        // The drawn device is the cell's first finished one in the order of hosts.
        let finished = |device: &&DeviceMeasurement| device.cell == cell && device.report.finished;
        let device = analysis.devices.iter().find(finished)?;
        let planned = &plan.cells[cell];
        let link = LinkText(options.links[planned.link]).to_string();
        ladder(planned, link, device, packets, None)
    };
    let parts = cells.into_iter().zip(rows_of).zip(ladders).zip(traffic);
    parts
        .enumerate()
        .map(|(index, (((cell, rows), packets), traffic))| {
            let ladder = if packets.is_empty() {
                None
            } else {
                drawn(index, packets)
            };
            let of_cell = |device: &&DeviceMeasurement| device.cell == index && device.report.finished;
            let mut devices: Vec<&DeviceMeasurement> = analysis.devices.iter().filter(of_cell).collect();
            devices.sort_by_key(|device| device.sample);
            let times = cells::times(&plan.cells[index], &devices, options.timeout);
            CellFile {
                traffic,
                ..CellFile::new(cell, times, &rows, ladder)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use wirecost_proto::ByteSize;
    use wirecost_scenario::options::content::Contents;

    use super::*;
    use crate::compare::fixture::options;

    #[test]
    fn a_batch_holds_as_many_devices_as_fit_and_one_mtu() {
        let mut options = options(&["tcp", "coap-con"]);
        options.contents = Contents::Sizes((1..=3).map(ByteSize::from_bytes).collect());
        let mut smaller = options.links[0];
        smaller.up.mtu = 1_280;
        options.links.push(smaller);
        let plan = Plan::new(&options);
        let all: Vec<usize> = (0..plan.cells.len()).collect();
        let batches = batches(&options, &plan, &all, 40);
        assert_eq!(
            batches,
            [vec![0, 1, 2, 3], vec![4, 5], vec![6, 7, 8, 9], vec![10, 11]]
        );
    }

    #[test]
    fn a_part_of_a_plan_has_the_same_cells_with_the_same_keys() {
        use wirecost_scenario::plan::identity::key;
        let mut options = options(&["tcp", "coap-con"]);
        let mut smaller = options.links[0];
        smaller.up.mtu = 1_280;
        options.links.push(smaller);
        let plan = Plan::new(&options);
        let (part_options, part) = plan.part(&options, &[3]);
        assert_eq!(part_options.links, [smaller]);
        assert_eq!(part.devices.len(), 10);
        assert_eq!(part.cells[0].rng, plan.cells[3].rng);
        assert_eq!(
            key(&part_options, &part.cells[0], "live"),
            key(&options, &plan.cells[3], "live")
        );
    }
}
