//! Simulated sweeps over size, RTT and loss.

use wirecost_proto::Rng;
use wirecost_results::resolved::Tree;
use wirecost_results::summary::CauseBytes;
use wirecost_results::{Cell, Results, SampleRow};

use super::engines::simulated;

/// Every combination, loss as a share of the packets of each direction.
pub(crate) fn sweep(stacks: &[&'static str], sizes: &[u64], rtts_ms: &[u64], losses: &[f64]) -> Results {
    let links = losses
        .iter()
        .flat_map(|loss| rtts_ms.iter().map(move |rtt| (*loss, *rtt)));
    let points: Vec<(f64, u64, u64)> = links
        .flat_map(|(loss, rtt)| sizes.iter().map(move |size| (loss, rtt, *size)))
        .collect();
    let plan = points
        .iter()
        .flat_map(|(_, rtt, size)| stacks.iter().map(|stack| (*stack, *size, *rtt)));
    let mut results = super::results(plan.collect());
    results.summary.scenario.set("engine", Tree::text("sim"));
    let losses = points
        .iter()
        .flat_map(|(loss, _, _)| stacks.iter().map(|_| *loss));
    let samples = results.summary.scenario.samples() as usize;
    let rows = results.samples.chunks_mut(samples);
    for (((cell, rows), loss), number) in results.summary.cells.iter_mut().zip(rows).zip(losses).zip(0..) {
        *cell = simulated(cell.clone());
        cell.key = format!("{number:016x}");
        lose(cell, rows, loss, number);
    }
    let lossy = results.summary.cells.iter().zip(&mut results.ladders);
    for (cell, ladder) in lossy.filter(|(cell, _)| cell.link.up.loss > 0.0) {
        ladder.link += &format!(", loss {}%", cell.link.up.loss * 100.0);
    }
    results
}

/// What loss does to a cell: some messages are sent again.
fn lose(cell: &mut Cell, rows: &mut [SampleRow], loss: f64, number: u64) {
    (cell.link.up.loss, cell.link.down.loss) = (loss, loss);
    let Some(message) = cell.message.as_mut().filter(|_| loss > 0.0) else {
        return;
    };
    let mut random = Rng::new(11).cell(number);
    let whole = message.up.wire.max;
    for row in rows.iter_mut().filter(|_| random.next_f64() < 2.0 * loss) {
        row.message_up_bytes += whole;
        row.response_time_ns = row.response_time_ns.map(|nanos| nanos + 2_000_000_000);
    }
    let extra: u64 = rows.iter().map(|row| row.message_up_bytes - whole).sum();
    let mean = extra as f64 / rows.len() as f64;
    message.up.wire.mean += mean;
    message.up.application.mean += mean;
    message.up.wire.max += whole;
    message.round_trips = None;
    message
        .by_cause
        .insert("retransmission".into(), CauseBytes { up: mean, down: 0.0 });
    message.response_time_ns = super::times(rows.iter().filter_map(|row| row.response_time_ns));
    cell.first_message_round_trips = None;
}
