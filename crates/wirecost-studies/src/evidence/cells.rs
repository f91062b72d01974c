//! The figures of the cells of a comparison.

use wirecost_results::catalogue::{Aggregation, ModelledBy, Quantity};
use wirecost_results::folder::RunFolder;
use wirecost_results::summary::Cell;
use wirecost_results::{Results, SampleRow};
use wirecost_scenario::selector::Labels;
use wirecost_scenario::thresholds::nature::of_model;
use wirecost_scenario::{month, spent};

use super::{Candidate, Figure, figure, no_figure, of_mean, of_times, usable};
use crate::model::Modelled;
use crate::reference::Reference;

pub(super) fn of_cells<'a>(
    reference: &Reference,
    labels: &[Labels],
    results: &'a Results,
    folder: &RunFolder,
) -> Vec<Candidate<'a>> {
    let cells = results.summary.cells.iter().zip(labels).enumerate();
    let of_models = cells.flat_map(|(index, (cell, labels))| {
        let each = of_model(reference.metric, labels).into_iter();
        each.map(move |(labels, by)| (index, cell, labels, by))
    });
    of_models
        .filter(|(_, _, labels, _)| reference.selector.matches(labels))
        .map(|(index, cell, labels, by)| Candidate {
            labels,
            engine: &cell.engine,
            found: match (reference.metric.model(), by) {
                (None, _) => of_cell(reference, index as u64, cell, &results.samples),
                (Some(ModelledBy::Device), Some(device)) => modelled(reference, cell, folder, device),
                (Some(ModelledBy::Device | ModelledBy::Month | ModelledBy::Tariff), by) => {
                    of_month(reference, cell, folder, by)
                }
            },
            agrees: cell.agreement.as_ref().is_none_or(|agreement| agreement.equal),
        })
        .collect()
}

/// The energy of a cell, with the spread of the device's powers as its interval.
fn modelled(
    reference: &Reference,
    cell: &Cell,
    folder: &RunFolder,
    device: &'static str,
) -> Result<Figure, String> {
    if let Some(why) = &cell.not_run {
        return Err(why.clone());
    }
    usable(reference, cell.valid, cell.warnings.iter())?;
    let spent = spent::of_cell(folder, cell, reference.metric, reference.aggregation, device)
        .map_err(|why| why.to_string())?;
    let (energy, (mostly, share)) = (spent.energy(), spent.largest());
    let n = cell.message.as_ref().map_or(0, |message| message.samples);
    let interval = Some([energy.low, energy.high]);
    Ok(Figure {
        model: Some(Modelled {
            device,
            mostly,
            share,
        }),
        // No samples: the devices of a cell do not differ in the uncertainty, which is that of the device file.
        ..figure(reference, energy.joules, interval, n, &cell.engine, Vec::new())
    })
}

/// What a month of a cell's readings takes.
fn of_month(
    reference: &Reference,
    cell: &Cell,
    folder: &RunFolder,
    by: Option<&str>,
) -> Result<Figure, String> {
    if let Some(why) = &cell.not_run {
        return Err(why.clone());
    }
    usable(reference, cell.valid, cell.warnings.iter())?;
    let of = (reference.metric, reference.aggregation);
    let value = month::figure(folder, cell, of, by).map_err(|why| why.to_string())?;
    let n = cell.message.as_ref().map_or(0, |message| message.samples);
    Ok(figure(reference, value, None, n, &cell.engine, Vec::new()))
}

fn of_cell(reference: &Reference, index: u64, cell: &Cell, samples: &[SampleRow]) -> Result<Figure, String> {
    if let Some(why) = &cell.not_run {
        return Err(why.clone());
    }
    usable(reference, cell.valid, cell.warnings.iter())?;
    let (metric, aggregation) = (reference.metric, reference.aggregation);
    let value = metric
        .of_cell(cell, aggregation)
        .ok_or_else(|| no_figure(reference))?;
    // With several messages on a connection, a row of samples.csv is their sum: bytes have a mean of it, times do not.
    let messages = cell.messages_per_connection;
    let has_samples = messages == 1 || metric.quantity() != Quantity::Time;
    let rows = samples.iter().filter(|row| row.cell == index && has_samples);
    let samples: Vec<f64> = rows.filter_map(|row| metric.of_sample(row, messages)).collect();
    let interval = match metric.times_of_cell(cell) {
        Some(times) => of_times(times, aggregation),
        None if aggregation == Aggregation::Mean => of_mean(&samples),
        None => None,
    };
    let n = match metric.quantity_of(aggregation) {
        Quantity::Share => cell.outcomes.offered,
        _ => cell.message.as_ref().map_or(0, |message| message.samples),
    };
    let figure = figure(reference, value, interval, n, &cell.engine, samples);
    Ok(Figure {
        // Some figures have no samples, such as round trips that all devices have in common.
        is_exact: figure.is_exact || metric.is_constant(cell),
        ..figure
    })
}
