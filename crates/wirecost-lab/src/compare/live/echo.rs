//! How a link is probed before it measures, and what is said of it.

use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_live::check::{self, EchoPlan};
use wirecost_live::hosts::{HostIndex, device_address, server_address};

use crate::compare::verdict::asked_rtt;

/// Echo requests of a link's check.
const ECHO_COUNT: u16 = 150;
/// Between two of them.
const ECHO_INTERVAL: Duration = Duration::from_millis(2);

/// How a link is probed by `host`.
pub(super) fn plan(link: &LinkConfig, host: HostIndex, ipv6: bool) -> EchoPlan {
    let server = server_address(ipv6);
    // A slow link is probed slowly: requests of a tenth of its rate do not queue behind one another.
    let bytes = check::echo_wire_bytes(ipv6);
    let slowest = [link.up.rate, link.down.rate].into_iter().flatten().min();
    let interval = slowest.map_or(ECHO_INTERVAL, |rate| ECHO_INTERVAL.max(rate.time_for(bytes) * 10));
    let budget = Duration::from_millis(600);
    let affordable = budget.as_nanos() / interval.as_nanos().max(1);
    let count = u16::try_from(affordable)
        .unwrap_or(u16::MAX)
        .clamp(10, ECHO_COUNT);
    let patience = link.rtt() * 2 + Duration::from_millis(200);
    EchoPlan {
        device: device_address(host, ipv6).unwrap_or(server),
        server,
        count,
        interval,
        patience,
    }
}

/// The RTT asked of a link beside the one that its check found.
pub(super) fn asked_and_achieved(link: &LinkConfig, round_trips: &[Duration], ipv6: bool) -> String {
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let asked = ms(asked_rtt(link, ipv6));
    let mut sorted = round_trips.to_vec();
    sorted.sort_unstable();
    match sorted.get(sorted.len() / 2) {
        Some(median) => {
            let count = sorted.len();
            let achieved = ms(*median);
            format!("link: RTT asked {asked:.3} ms, achieved {achieved:.3} ms (median of {count} echoes)")
        }
        None => format!("link: RTT asked {asked:.3} ms, not achieved: no echo came back"),
    }
}
