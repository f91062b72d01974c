//! The dimensions of cells, loads and phases with their values, which selectors are checked against.

use wirecost_link::LinkConfig;
use wirecost_proto::ByteSize;
use wirecost_proto::units::DisplayDuration;

use crate::link::{loss_text, rate_text};
use crate::options::content::Content;
use crate::options::load::{Arrivals, LoadOptions, Offer, Payload, Phase};
use crate::selector::{Labels, OF_NBIOT_CELLS};
use crate::table::message_rate_text;

/// The dimensions of a load with its values. `phase` is a dimension of phases only.
pub fn labels_of_load(options: &LoadOptions) -> Labels {
    let size = match &options.payload {
        Payload::Size(size) => Some(*size),
        Payload::File(bytes) => Some(ByteSize::from_bytes(bytes.len() as u64)),
        // Their size is no value of one's own choice: it follows from readings and encoding, or differs by message.
        Payload::Readings(_) | Payload::Template(_) => None,
    };
    let offers = options.phases.iter().filter_map(Phase::offer);
    let rates = offers.filter_map(open_rate);
    let mut labels = Labels::from([
        ("stack", options.stack.to_string()),
        ("start", options.start.to_string()),
        ("target", options.target.to_string()),
        ("clients", options.clients.to_string()),
        ("resource", options.resource.clone()),
    ]);
    labels.extend(options.link.iter().flat_map(labels_of_link));
    if let Payload::Readings(readings) = &options.payload {
        labels.extend(Content::Readings(readings.batch).labels());
    }
    labels.extend(size.map(|size| ("size", size.to_string())));
    labels.extend(
        options
            .inflight
            .map(|inflight| ("inflight", inflight.to_string())),
    );
    // Of several phases the highest rate is what the load is about; the others lead to it.
    labels.extend(rates.reduce(f64::max).map(rate_label));
    labels
}

/// The dimensions of a phase with its values. The rate is that of the phase, if it has one.
pub fn labels_of_phase(options: &LoadOptions, phase: &Phase) -> Labels {
    let mut labels = labels_of_load(options);
    labels.insert("phase", phase.name().to_owned());
    labels.extend(phase.offer().and_then(open_rate).map(rate_label));
    labels
}

const fn open_rate(offer: &Offer) -> Option<f64> {
    match offer.arrivals {
        Arrivals::Open { rate, .. } => Some(rate),
        Arrivals::Closed => None,
    }
}

fn rate_label(rate: f64) -> (&'static str, String) {
    ("rate", message_rate_text(rate))
}

/// The dimensions of a link with its values. Equal values of both directions are given once. A modelled cell has three of its own.
pub fn labels_of_link(link: &LinkConfig) -> Vec<(&'static str, String)> {
    let both = |up: String, down: String| {
        if up == down {
            up
        } else {
            format!("{up} up {down} down")
        }
    };
    let (up, down) = (&link.up, &link.down);
    let mut labels = vec![
        ("link.rtt", DisplayDuration(link.rtt()).to_string()),
        ("link.loss", both(loss_text(&up.loss), loss_text(&down.loss))),
        ("link.rate", both(rate_text(up.rate), rate_text(down.rate))),
        (
            "link.mtu",
            ByteSize::from_bytes(up.mtu.min(down.mtu).into()).to_string(),
        ),
    ];
    if let Some(cell) = link.cell {
        labels.extend(OF_NBIOT_CELLS.into_iter().zip([
            cell.profile.to_string(),
            message_rate_text(cell.load),
            format!("{}dB", cell.coupling_loss_db),
        ]));
    }
    labels
}
