//! A run of both engines.

use wirecost_results::resolved::Tree;
use wirecost_results::summary::{Agreement, Cpu};
use wirecost_results::{Cell, Ladder, Results};

/// What one stack first differs in.
pub(crate) const DIFFERENCE: &str = "message down: 2 packets live, 1 simulated";

/// The eight stacks simulated, then live; they agree but for the bytes of one.
pub(crate) fn both_engines() -> Results {
    let mut results = super::eight_stacks();
    let live = std::mem::take(&mut results.summary.cells);
    results.summary.scenario.set("engine", Tree::text("auto"));
    results.summary.cells = live
        .iter()
        .cloned()
        .map(simulated)
        .chain(live.iter().cloned().map(agreeing))
        .collect();
    let first_live = live.len() as u64;
    let drawn = (0..).zip(std::mem::take(&mut results.ladders));
    let simulated = drawn.map(|(index, ladder)| Ladder {
        cell: Some(index),
        ..ladder
    });
    let simulated: Vec<Ladder> = simulated.collect();
    let live = simulated.iter().map(|ladder| Ladder {
        cell: ladder.cell.map(|index| index + first_live),
        ..ladder.clone()
    });
    results.ladders = simulated.iter().cloned().chain(live).collect();
    let rows = std::mem::take(&mut results.samples);
    results.samples = rows.clone();
    results.samples.extend(rows.into_iter().map(|mut row| {
        row.cell += first_live;
        row
    }));
    results
}

/// The cell as virtual time has it: every sample takes the same time, and nobody takes CPU.
pub(crate) fn simulated(mut cell: Cell) -> Cell {
    cell.engine = "sim".into();
    cell.cpu = Cpu {
        reason: Some("virtual time has no CPU time".into()),
        ..Cpu::default()
    };
    for section in [&mut cell.connect, &mut cell.message].into_iter().flatten() {
        let Some(times) = &mut section.response_time_ns else {
            continue;
        };
        let exact = times.min / 1_000_000 * 1_000_000;
        (times.mean, times.min, times.max) = (exact as f64, exact, exact);
        times.ci95 = Some([exact as f64; 2]);
        for quantile in [&mut times.p50, &mut times.p90, &mut times.p95, &mut times.p99] {
            *quantile = Some(exact);
        }
    }
    cell
}

fn agreeing(mut cell: Cell) -> Cell {
    let differs = cell.stack == "mqtt-qos2";
    cell.agreement = Some(Agreement {
        equal: !differs,
        first_difference: differs.then(|| DIFFERENCE.into()),
        median_ratio: Some(1.0042),
    });
    cell
}
