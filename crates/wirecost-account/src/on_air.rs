//! The energy of a device's life in a modelled NB-IoT cell: from the times in each state that the cell's model has, in place of the
//! radio, the wake-up and the tails of the device file.

use std::time::Duration;

use wirecost_energy::{Account, InCell};
use wirecost_nbiot::StateTimes;
use wirecost_proto::{Cause, Phase};
use wirecost_results::traffic::{AirConnection, DeviceTraffic};

use crate::replay::Shape;

/// Until when a life is accounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Until the next one begins.
    Next,
    /// Until the last tail after its close.
    Close,
}

/// A packet may enter after the begin of the subframe in which the way into the connection begins.
const SUBFRAME: Duration = Duration::from_millis(1);

/// What the connections of a device take with what is between them, of a life that comes again after `every`; `None` if the
/// connections were not kept.
pub(super) fn account(
    in_cell: &InCell<'_>,
    device: &DeviceTraffic,
    shapes: &[Shape],
    (every, until): (Duration, Until),
) -> Option<Account> {
    // Connections that ended before the first packet are those of what does not count, such as the way to a ticket.
    let first = device.packets.first().map_or(0, |(at, _)| *at);
    let connections: Vec<&AirConnection> = device.air.iter().filter(|air| air.ended_ns >= first).collect();
    let (begin, end) = connections.first().zip(connections.last())?;
    let mut life = Account::default();
    let (mut rest_s, mut updates) = (0.0, 0.0);
    for (index, air) in connections.iter().enumerate() {
        // After the last connection comes the first one of the next life.
        let next = connections.get(index + 1);
        let pause = match next {
            Some(next) => since(next.ended_ns, air.ended_ns),
            None => every.saturating_sub(since(end.ended_ns, begin.ended_ns)),
        };
        let until_next = pause.saturating_sub(active(next.unwrap_or(begin)));
        let packet = asked(device, shapes, air);
        life.add_all(&in_cell.connected(&times(air), packet), 1.0);
        let beside = in_cell.beside(until_next, packet);
        life.add_all(&beside, 1.0);
        // What lies behind the last connection belongs to the life only if the next one follows.
        if next.is_some() || until == Until::Next {
            rest_s += until_next.as_secs_f64() - seconds(&beside);
            // The timer T3412 starts again with each connection (TS 24.301, section 5.3.5): only a long pause has updates.
            updates += in_cell.updates(pause.as_secs_f64());
        }
    }
    let mut update = Account::default();
    update.add_all(&life, updates / connections.len() as f64);
    life.add_all(&update, 1.0);
    in_cell.rest((rest_s - seconds(&update)).max(0.0), &mut life);
    Some(life)
}

/// Phase and cause of the packet that asked for a connection, or, where the device was paged, of the one before it.
fn asked(device: &DeviceTraffic, shapes: &[Shape], air: &AirConnection) -> (Phase, Cause) {
    let began = Duration::from_nanos(air.ended_ns).saturating_sub(active(air)) + SUBFRAME;
    let entered = |(at, _): &(u64, usize)| Duration::from_nanos(*at) <= began;
    let before = device.packets.partition_point(entered);
    let packet = device.packets.get(before.saturating_sub(1));
    let shape = packet.and_then(|(_, shape)| shapes.get(*shape));
    shape.map_or((Phase::Message, Cause::Original), |(_, phase, cause, _)| {
        (*phase, *cause)
    })
}

/// How long a connection was.
fn active(air: &AirConnection) -> Duration {
    let times = times(air);
    times.transmit + times.receive + times.monitor + times.idle_connected
}

const fn times(air: &AirConnection) -> StateTimes {
    StateTimes {
        transmit: Duration::from_nanos(air.transmit_ns),
        receive: Duration::from_nanos(air.receive_ns),
        monitor: Duration::from_nanos(air.monitor_ns),
        idle_connected: Duration::from_nanos(air.wait_ns),
    }
}

fn since(later_ns: u64, earlier_ns: u64) -> Duration {
    Duration::from_nanos(later_ns.saturating_sub(earlier_ns))
}

fn seconds(account: &Account) -> f64 {
    account.total_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests;
