//! The figures of a capture: a cell whose sections are the phases of the device's own packets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wirecost_account::{Terms, Traffic};
use wirecost_cost::Totals;
use wirecost_dissect::Sightings;
use wirecost_lab::compare::of_sum;
use wirecost_proto::{BothWays, Direction, Phase};
use wirecost_results::Cell;
use wirecost_results::catalogue::{Aggregation, Metric, ModelledBy};
use wirecost_scenario::budget::{BudgetLimit, OfCapture};
use wirecost_scenario::selector::{DEVICE, TARIFF};
use wirecost_scenario::{ScenarioError, device, month, spent, tariff};

use super::against::BaseFolder;
use super::cause::causes;
use super::judged::{BudgetPart, Row};
use crate::commands::cost::capture as captured;
use crate::commands::readings::{self, Hidden, Readings};
use crate::commands::{captures, what_if};
use crate::exit::Failure;

/// What a capture of a device's own traffic says.
pub struct OwnTraffic {
    limits: Vec<BudgetLimit>,
    address: std::net::IpAddr,
    sightings: Sightings,
    every: Option<Duration>,
    path: PathBuf,
    fault: Option<String>,
    kept: KeptCapture,
}

/// What is kept of a capture for the next one.
#[derive(Serialize, Deserialize)]
pub struct KeptCapture {
    /// Readings that the device sent.
    readings: u64,
    /// Its phases as the sections of a cell.
    cell: Cell,
    /// The figures of a month and of energy, by metric with its selector.
    modelled: Vec<(String, f64)>,
}

impl OwnTraffic {
    /// Reads the capture at `path`, which the budget limits.
    pub fn read(limited: &OfCapture, path: &Path, keys: Option<&Path>, file: &str) -> Result<Self, Failure> {
        let shown = captures::name(path);
        let refused = |why: String, hint: &str| -> Failure {
            ScenarioError::new(&limited.place, format!("capture: {why}"))
                .in_file(file)
                .with_hint(hint)
                .into()
        };
        let (reading, sightings) = captured::open(path, keys)?;
        let unread = || captures::mostly_unread(path, &reading.report);
        let address =
            what_if::today::device(&sightings, limited.client).ok_or_else(|| match limited.client {
                Some(client) => refused(
                    format!("{shown} has no packets of {client}"),
                    "wirecost pcap shows what is in it",
                ),
                None => unread().unwrap_or_else(|| {
                    refused(
                        format!("{shown} has no packets of a device"),
                        "wirecost pcap shows what is in it",
                    )
                }),
            })?;
        let mut observers = (Readings::default(), Totals::new());
        sightings.tell(address, &mut observers);
        let (seen, totals) = observers;
        let found = seen.found(Hidden::from_report(&reading.report));
        if found.readings.is_empty() {
            return Err(refused(
                format!("{shown} has no readings of {address}"),
                "give a capture in which the device sends payload; wirecost pcap shows what is in it",
            ));
        }
        let readings = found.readings.len() as u64;
        let kept = KeptCapture {
            readings,
            cell: cell(&totals, readings, seen.connects),
            modelled: Vec::new(),
        };
        let mut captured = Self {
            limits: limited.limits.clone(),
            address,
            every: limited.interval.or_else(|| readings::interval(&found.readings)),
            path: path.to_owned(),
            fault: reading.fault.map(|fault| format!("{shown}: {fault}")),
            sightings,
            kept,
        };
        for limit in limited
            .limits
            .iter()
            .filter(|limit| limit.metric.model().is_some())
        {
            let figure = captured.modelled(limit).map_err(|why| {
                let message = format!("capture: {}: {why}", limit.name);
                Failure::from(ScenarioError::new(&limit.place, message).in_file(file))
            })?;
            captured.kept.modelled.push((limit.name.clone(), figure));
        }
        Ok(captured)
    }

    /// What is kept for the next run.
    pub const fn kept(&self) -> &KeptCapture {
        &self.kept
    }

    /// Why the capture could not be read to its end.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Its limits, beside the figures of an earlier capture.
    pub fn judged(&self, before: &BaseFolder, file: &str) -> Result<BudgetPart, Failure> {
        let old: Option<KeptCapture> = before
            .of_capture()?
            .map(|value| {
                serde_json::from_value(value).map_err(|error| {
                    Failure::usage(format!("--against: its capture.json cannot be read: {error}"))
                })
            })
            .transpose()?;
        let row = |limit: &BudgetLimit| {
            let after =
                self.kept.figure(limit).ok_or_else(|| {
                    let message = format!(
                        "capture: {} has no figure of {}",
                        captures::name(&self.path),
                        limit.figure_name()
                    );
                    Failure::from(ScenarioError::new(&limit.place, message).in_file(file).with_hint(
                        "a capture has bytes and packets, and what a month and energy follow from",
                    ))
                })?;
            let was = old.as_ref().and_then(|old| old.figure(limit));
            Ok(Row {
                of: self.address.to_string(),
                limit: limit.clone(),
                before: was,
                after,
                holds: limit.holds(after, was, None),
                causes: old
                    .as_ref()
                    .map_or_else(Vec::new, |old| causes(limit.metric, &old.cell, &self.kept.cell)),
            })
        };
        let readings = old.as_ref().filter(|old| old.readings != self.kept.readings);
        Ok(BudgetPart {
            name: "capture".to_owned(),
            changes: readings
                .map(|old| {
                    format!(
                        "readings in the capture: {} to {}",
                        old.readings, self.kept.readings
                    )
                })
                .into_iter()
                .collect(),
            rows: self.limits.iter().map(row).collect::<Result<_, Failure>>()?,
            failed: Vec::new(),
        })
    }

    /// A figure of energy, or of a month, of what the device repeats.
    fn modelled(&self, limit: &BudgetLimit) -> Result<f64, String> {
        let every = self
            .every
            .ok_or_else(|| "the readings have no interval: write interval: 15min".to_owned())?;
        let named = |dimension: &str, files: &[(&'static str, &str)]| {
            let mut names = files
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| limit.selector.allows(dimension, name));
            match (names.next(), names.next()) {
                (Some(name), None) => Ok(name),
                _ => Err(format!("name one {dimension}")),
            }
        };
        let traffic = |device| -> Traffic {
            captured::traffic(
                (&self.sightings, self.address),
                self.kept.readings as usize,
                Some(every),
                device,
            )
            .0
        };
        match limit.metric.model() {
            Some(ModelledBy::Device) => {
                let device =
                    spent::built_in(named(DEVICE, &device::BUILT_IN)?).map_err(|why| why.to_string())?;
                energy(limit.metric, &device, &traffic(Some(&device)))
            }
            Some(ModelledBy::Tariff) => {
                month::price(&traffic(None), named(TARIFF, &tariff::BUILT_IN)?).map_err(|why| why.to_string())
            }
            Some(ModelledBy::Month) => Ok(traffic(None).month().wire_bytes()),
            None => Err("it is not modelled".to_owned()),
        }
    }
}

/// Energy of a reading, of the same above rest, or of a session.
fn energy(metric: Metric, device: &wirecost_energy::Device, traffic: &Traffic) -> Result<f64, String> {
    let terms = Terms {
        device: Some(device),
        tariff: None,
        battery: None,
        beside: None,
        fleet: wirecost_account::Fleet::ONE,
    };
    let figures = terms.figures(traffic);
    let joules = match metric {
        Metric::EnergyAboveRest => figures.above_rest(device),
        Metric::SessionEnergy => figures.session().map(|session| session.joules),
        _ => figures.each.map(|each| each.joules),
    };
    joules.ok_or_else(|| "the capture has no such energy".to_owned())
}

impl KeptCapture {
    /// The figure of a limit in base units; `None` if a capture does not have it.
    fn figure(&self, limit: &BudgetLimit) -> Option<f64> {
        if limit.metric.model().is_some() {
            // The least of a session is that of one that follows another at once: a capture has those that it has.
            let is_there = limit.aggregation != Aggregation::Min;
            let found = self.modelled.iter().find(|(name, _)| *name == limit.name);
            return found.map(|(_, figure)| *figure).filter(|_| is_there);
        }
        // Only sums are known, not the messages one by one; and outcomes and times are not judged by a capture.
        let is_sum = matches!(
            limit.aggregation,
            Aggregation::Mean | Aggregation::Sum | Aggregation::Value
        );
        let is_of_bytes = is_sum && !limit.metric.phases().is_empty();
        limit
            .metric
            .of_cell(&self.cell, limit.aggregation)
            .filter(|_| is_of_bytes)
    }
}

/// The phases of a device as the sections of a cell: connects and closes by connection, messages by reading.
fn cell(totals: &Totals, readings: u64, connects: u64) -> Cell {
    let section = |phase, samples| {
        let ways = BothWays::from_fn(|way: Direction| *totals.traffic(phase, way));
        let is_there = ways.iter().any(|way| way.packets() > 0 || way.wire_bytes() > 0);
        is_there.then(|| of_sum(samples, &ways))
    };
    let connections = connects.max(1);
    Cell {
        valid: true,
        messages_per_connection: (readings / connections).max(1),
        connect: section(Phase::Connect, connections),
        message: section(Phase::Message, readings),
        keep_alive: section(Phase::KeepAlive, 1),
        close: section(Phase::Close, connections),
        ..Cell::default()
    }
}
