//! What an echo takes between the device and the server through the unloaded cell, from idle and within a connection.

use std::time::Duration;

use wirecost_link::{LinkConfig, NbiotCell};
use wirecost_nbiot::ConfigError;
use wirecost_proto::{Direction, Instant, Rng};
use wirecost_sim::Cells;
use wirecost_sim::cells::CellEvent;

use super::{DEVICE, cells_of, packet};

/// Bytes of an echo request over IPv4, as `ping` sends it: 20 + 8 + 56.
const ECHO_BYTES: usize = 84;
/// The echoes from idle, and as many within a connection.
const ECHOES: u32 = 50;
/// The time between two echoes from idle. It is no multiple of the periods of NPRACH, so that the echoes meet all its phases.
const GAP: Duration = Duration::from_millis(30_007);
/// The randomness of the echoes, which are the same for every run.
const SEED: u64 = 1;

/// The medians of simulated echoes through the unloaded cell of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoFigures {
    /// Bytes of the IP packet of an echo.
    pub bytes: usize,
    /// Echoes of each kind.
    pub echoes: u32,
    /// From idle: with random access, in ms.
    pub idle_ms: u64,
    /// Within a connection, in ms.
    pub connected_ms: u64,
}

impl EchoFigures {
    /// Simulates echoes through the cell of `link`, without other devices.
    ///
    /// # Errors
    /// The profile of the cell is not one of the model.
    pub fn from_link(link: &LinkConfig) -> Result<Self, ConfigError> {
        let [idle, connected] = round_trips(link)?;
        Ok(Self {
            bytes: ECHO_BYTES,
            echoes: ECHOES,
            idle_ms: median_ms(idle),
            connected_ms: median_ms(connected),
        })
    }
}

fn median_ms(mut times: Vec<Duration>) -> u64 {
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    u64::try_from(median.as_millis()).unwrap_or(u64::MAX)
}

/// The round-trip times of echoes through the cell of `link` without other devices: from idle, and within a connection. Lost echoes
/// have none.
///
/// # Errors
/// The profile of the cell is not one of the model.
pub fn round_trips(link: &LinkConfig) -> Result<[Vec<Duration>; 2], ConfigError> {
    let Some(cell) = link.cell else {
        return Ok([Vec::new(), Vec::new()]);
    };
    // Other devices would make each round trip another; the check is of the link as it is asked for.
    let alone = NbiotCell { load: 0.0, ..cell };
    let (mut cells, _) = cells_of(link, &alone, Rng::new(SEED))?;
    let mut times = [Vec::new(), Vec::new()];
    for echo in 0..ECHOES {
        let mut from = Instant::START + GAP * echo;
        cells.advance(from, &mut |_| {});
        // The second echo follows at once, while the device is still connected, and so needs no random access.
        for times in &mut times {
            let Some(arrived) = echoed(&mut cells, from) else {
                break;
            };
            times.push(arrived.saturating_since(from));
            from = arrived;
        }
    }
    Ok(times)
}

/// Sends an echo at `from`; returns when its reply is back, if it is before the next echo is due.
fn echoed(cells: &mut Cells, from: Instant) -> Option<Instant> {
    cells.offer(&packet(DEVICE, Direction::Up, ECHO_BYTES), from);
    let at_server = delivered(cells, from + GAP)?;
    // The reply leaves when the request has crossed the internet.
    cells.advance(at_server, &mut |_| {});
    cells.offer(&packet(DEVICE, Direction::Down, ECHO_BYTES), at_server);
    delivered(cells, from + GAP)
}

/// When the packet on its way arrives.
fn delivered(cells: &mut Cells, until: Instant) -> Option<Instant> {
    let mut arrived = None;
    while arrived.is_none() {
        let at = cells.next_event().filter(|at| *at < until)?;
        cells.advance(at, &mut |event| {
            if let CellEvent::Delivered { arrives, .. } = event {
                arrived = Some(arrives);
            }
        });
    }
    arrived
}
