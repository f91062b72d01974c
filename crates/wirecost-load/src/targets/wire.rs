//! Packets and bytes of a load to a URL on the real path, where they can be counted.

use std::net::SocketAddr;
use std::sync::Arc;

use wirecost_live::Clock;
use wirecost_live::own_sockets::OwnSockets;
use wirecost_live::wire_meter::WireMeter;
use wirecost_results::link_use::{DirectionUse, LinkUse};
use wirecost_results::load::{WireUse, WireWay};
use wirecost_scenario::options::load::{LoadOptions, LoadTarget, Offer, Phase};

use crate::parts::outcome::LoadOutcome;

/// The highest rate of messages per second whose packets are counted. At higher rates the count would take CPU time from the
/// load.
const MOST_COUNTED_RATE: f64 = 2_000.0;

/// The count of a load, or why there is none.
#[derive(Debug)]
pub(crate) enum Wire {
    /// The load has an emulated link, or a target that wirecost starts.
    NotAsked,
    /// Packets are counted.
    Counted(WireMeter),
    /// Packets are not counted.
    Uncounted(String),
}

impl Wire {
    /// Begins to count for a load to a URL: the packets of `own` sockets, if they are known.
    pub(crate) fn start(
        options: &LoadOptions,
        server: SocketAddr,
        own: Option<Arc<OwnSockets>>,
        clock: Clock,
    ) -> Self {
        if !is_asked(options) {
            return Self::NotAsked;
        }
        if is_fast(options) {
            return Self::Uncounted(format!(
                "a load above {MOST_COUNTED_RATE} messages/s would lose CPU time to the count"
            ));
        }
        match WireMeter::start(server, own, clock) {
            Ok(meter) => Self::Counted(meter),
            Err(error) => Self::Uncounted(format!(
                "packets cannot be seen ({error}): sudo, or CAP_NET_RAW, shows them"
            )),
        }
    }

    /// The count, if there is one.
    pub(crate) const fn meter(&self) -> Option<&WireMeter> {
        match self {
            Self::Counted(meter) => Some(meter),
            Self::NotAsked | Self::Uncounted(_) => None,
        }
    }

    /// Ends the count. Returns why the phases have no count, if they have none.
    pub(crate) fn end(self, outcome: &mut LoadOutcome) -> Option<String> {
        let meter = match self {
            Self::NotAsked => return None,
            Self::Uncounted(why) => return Some(why),
            Self::Counted(meter) => meter,
        };
        let readings = Arc::clone(meter.meter());
        let why = match meter.stop() {
            Ok(0) => {
                outcome.settle_link(&readings.read());
                return None;
            }
            Ok(dropped) => format!("the machine was too busy to show {dropped} packets"),
            Err(error) => format!("packets could not be read: {error}"),
        };
        for phase in &mut outcome.phases {
            // A count with gaps looks like a cheaper load: none is better.
            phase.links.clear();
        }
        Some(why)
    }
}

/// The sockets by which the packets of a load are told from those of other programs; `None` if its packets are not counted.
pub(crate) fn own_sockets(options: &LoadOptions) -> Option<Arc<OwnSockets>> {
    (is_asked(options) && !is_fast(options)).then(Arc::default)
}

/// Whether a load to a URL is on the real path.
const fn is_asked(options: &LoadOptions) -> bool {
    options.link.is_none() && matches!(options.target, LoadTarget::Url(_))
}

/// Whether a phase sends too fast for a count.
fn is_fast(options: &LoadOptions) -> bool {
    let rate = |offer: &Offer| offer.rate(options.emulated());
    let mut rates = options.phases.iter().filter_map(Phase::offer).map(rate);
    rates.any(|rate| rate.is_none_or(|rate| rate > MOST_COUNTED_RATE))
}

/// What was counted in a phase.
pub(crate) fn wire_use(counted: &LinkUse) -> WireUse {
    let way = |used: &DirectionUse| WireWay {
        packets: used.packets,
        bytes: used.bytes,
    };
    WireUse {
        up: way(&counted.up),
        down: way(&counted.down),
    }
}
