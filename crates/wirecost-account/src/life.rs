//! The devices of a cell with an interval, whose whole lives were kept: from the connect to the close.

use std::time::Duration;

use wirecost_energy::Device;
use wirecost_results::Cell;
use wirecost_results::traffic::CellTraffic;

use crate::{Cycle, Traffic, Way, replay};

/// The life of each device, from one connect to the next; `None` if the packets have names that this version does not know.
pub fn lives(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Option<Vec<Cycle>> {
    let shapes = replay::shapes(traffic)?;
    let interval = cell.interval_ns.map_or(Duration::ZERO, Duration::from_nanos);
    let readings = cell.messages_per_connection as f64;
    let every = interval.as_secs_f64() * readings;
    let has_connection = cell.connect.is_some();
    let lives = traffic.devices.iter().map(|seen| {
        let (mut life, _) = Cycle::metered(device, Some(every), |observer| {
            replay::tell_life(seen, &shapes, observer)
        });
        // A reading of several packets is one message.
        life.usage.messages = readings;
        life.usage.payload_bytes = cell.payload_bytes as f64;
        if !has_connection {
            // What a device without a connection begins is no session that a broker could charge.
            life.usage.sessions = 0.0;
        }
        Cycle { readings, ..life }
    });
    Some(lives.collect())
}

/// The traffic of the mean device of a cell.
pub fn of_mean_device(label: String, cell: &Cell, lives: &[Cycle]) -> Traffic {
    Traffic {
        label,
        stack: Some(cell.stack.clone()),
        way: Way::of(cell),
        interval: cell.interval_ns.unwrap_or_default() as f64 / 1e9,
        keep_alive: None,
        cycles: vec![Cycle::mean(lives, lives.len())],
        activity: None,
    }
}
