//! A month of a cell's readings: what a device uses and pays, and any figure of a cell, measured or modelled.

use wirecost_account::life::{self, NoLife};
use wirecost_account::{Fleet, Terms, Traffic};
use wirecost_results::catalogue::{Aggregation, Metric, ModelledBy};
use wirecost_results::{Cell, CellFile, RunFolder};

use crate::spent::{self, NoEnergy};
use crate::tariff;

/// Why a cell has no month.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoMonth {
    /// Nothing says how often its devices send.
    #[error(
        "it has no interval, so that a month has no number of readings: give the scenario one, as in interval: 15min"
    )]
    NoInterval,
    /// Its packets are not there.
    #[error("the folder has no packets of its devices")]
    NoPackets,
    /// Its packets are those of another version.
    #[error(transparent)]
    NoLife(#[from] NoLife),
    /// The tariff does not take its stack.
    #[error("{0}")]
    NotBilled(String),
    /// The tariff file is unknown or cannot be read.
    #[error("{0:?} is not a tariff")]
    NoTariff(String),
}

/// Why a cell does not have a figure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoFigure {
    /// The run did not measure it.
    #[error("the run has no such figure")]
    NotMeasured,
    /// Its energy cannot be modelled.
    #[error(transparent)]
    Energy(#[from] NoEnergy),
    /// Its month cannot be modelled.
    #[error(transparent)]
    Month(#[from] NoMonth),
}

/// A figure of a cell in base units, whether it was measured or is modelled; `by` is the device or tariff file of the program that
/// models it.
///
/// # Errors
/// The cell does not have it.
pub fn figure(
    folder: &RunFolder,
    cell: &Cell,
    (metric, aggregation): (Metric, Aggregation),
    by: Option<&str>,
) -> Result<f64, NoFigure> {
    let by = by.unwrap_or_default();
    Ok(match metric.model() {
        None => metric.of_cell(cell, aggregation).ok_or(NoFigure::NotMeasured)?,
        Some(ModelledBy::Device) => {
            spent::of_cell(folder, cell, metric, aggregation, by)?
                .energy()
                .joules
        }
        Some(ModelledBy::Month) => traffic(folder, cell)?.month().wire_bytes(),
        Some(ModelledBy::Tariff) => price(&traffic(folder, cell)?, by)?,
    })
}

/// What the tariff of this name charges one device for a month of its traffic, in the tariff's currency.
///
/// # Errors
/// There is no such tariff, or it does not take the stack.
pub fn price(traffic: &Traffic, name: &str) -> Result<f64, NoMonth> {
    let tariff = tariff::built_in(name).ok_or_else(|| NoMonth::NoTariff(name.to_owned()))?;
    let terms = Terms {
        device: None,
        tariff: Some(&tariff),
        battery: None,
        beside: None,
        fleet: Fleet::ONE,
    };
    let figures = tariff::figures(&terms, traffic);
    let refused = || NoMonth::NotBilled(figures.refusal.clone().unwrap_or_default());
    figures.bill.as_ref().map(|bill| bill.amount).ok_or_else(refused)
}

/// The mean device of a cell with an interval.
fn traffic(folder: &RunFolder, cell: &Cell) -> Result<Traffic, NoMonth> {
    if cell.interval_ns.is_none() {
        return Err(NoMonth::NoInterval);
    }
    let recorded = CellFile::read(folder, &cell.key)
        .ok()
        .and_then(|file| file.traffic);
    let recorded = recorded.ok_or(NoMonth::NoPackets)?;
    let lives = life::lives(&recorded, cell, None)?;
    Ok(life::of_mean_device(String::new(), cell, &lives, None))
}
