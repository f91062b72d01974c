//! The devices of a cell with an interval, whose whole lives were kept: from the connect to the close.

use std::time::Duration;

use wirecost_cost::usage::{SentMessage, Usage, What};
use wirecost_energy::{Device, InCell};
use wirecost_nbiot::{Config, ConfigError};
use wirecost_results::Cell;
use wirecost_results::traffic::CellTraffic;

use crate::on_air::Until;
use crate::{Cycle, ReadingTime, Traffic, Way, on_air, replay};

/// Why lives have no account.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoLife {
    /// The packets are those of another version.
    #[error("its packets have names that this version does not know")]
    UnknownNames,
    /// The times on the air of a modelled NB-IoT cell are not there.
    #[error("its times in the states of the NB-IoT cell were not kept, so that it has no energy")]
    NoTimesOnAir,
    /// The NB-IoT cell is that of another version.
    #[error("its NB-IoT cell: {0}")]
    UnknownCell(#[from] ConfigError),
}

/// The life of each device, from one connect to the next. In a modelled NB-IoT cell the times in each state are those of the cell;
/// elsewhere they follow from the packets by the radio of the device.
///
/// # Errors
/// The packets or the cell have names that this version does not know, or the cell's times are missing.
pub fn lives(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Result<Vec<Cycle>, NoLife> {
    until(traffic, cell, device, Until::Next)
}

/// The life of each device, from its connect to the last tail after its close.
///
/// # Errors
/// As of [`lives`].
pub fn sessions(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Result<Vec<Cycle>, NoLife> {
    until(traffic, cell, device, Until::Close)
}

fn until(
    traffic: &CellTraffic,
    cell: &Cell,
    device: Option<&Device>,
    until: Until,
) -> Result<Vec<Cycle>, NoLife> {
    let shapes = replay::shapes(traffic).ok_or(NoLife::UnknownNames)?;
    let interval = cell.interval_ns.map_or(Duration::ZERO, Duration::from_nanos);
    let readings = cell.messages_per_connection as f64;
    // A life is one connection with its readings, which then begins again.
    let every = interval.mul_f64(readings);
    let has_connection = cell.connect.is_some();
    let network = cell.link.nbiot_cell.as_ref();
    let network = network
        .map(|network| Config::profile(&network.profile))
        .transpose()?;
    // In a modelled cell the times on the air are known, and packets alone say less.
    let of_packets = device.filter(|_| network.is_none());
    let lives = traffic.devices.iter().map(|seen| {
        let (mut life, _) = Cycle::metered(of_packets, Some(every.as_secs_f64()), |observer| {
            replay::tell_life(seen, &shapes, observer)
        });
        if let Some((device, config)) = device.zip(network.as_ref()) {
            let account = on_air::account(&InCell { device, config }, seen, &shapes, (every, until));
            life.account = Some(account.ok_or(NoLife::NoTimesOnAir)?);
        }
        one_message_each(&mut life.usage, readings, cell.payload_bytes);
        if !has_connection {
            // What a device without a connection begins is no session that a broker could charge.
            life.usage.sessions.clear();
        }
        Ok(Cycle { readings, ..life })
    });
    lives.collect()
}

/// A reading of several packets is one message, with the mean of the bytes around the payload.
fn one_message_each(usage: &mut Usage, readings: f64, payload_bytes: u64) {
    let sent = usage.messages.iter();
    let sent = sent.filter(|(message, _)| message.what == What::Publish);
    let header_bytes: f64 = sent
        .map(|(message, count)| message.header_bytes as f64 * count)
        .sum();
    usage.messages.retain(|message, _| message.what != What::Publish);
    let message = SentMessage {
        what: What::Publish,
        header_bytes: (header_bytes / readings).round() as u64,
        payload_bytes,
    };
    usage.add(message, readings);
}

/// The traffic of the mean device of a cell.
pub fn of_mean_device(label: String, cell: &Cell, lives: &[Cycle], device: Option<&Device>) -> Traffic {
    Traffic {
        label,
        stack: Some(cell.stack.clone()),
        way: Way::from_cell(cell),
        interval: cell.interval_ns.unwrap_or_default() as f64 / 1e9,
        keep_alive: None,
        cycles: vec![Cycle::mean(lives, lives.len())],
        time: ReadingTime::from_cell(cell, device),
        activity: None,
    }
}
