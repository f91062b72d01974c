//! What a link of a file may hold, key by key.

use wirecost_link::CellProfile;
use wirecost_link::nat::NatPort;

use crate::key::Holds::{Either, Number, Of, Pattern, Several, Table, Text, Word};
use crate::key::{BIT_RATE, PROBABILITY, SIZE, TIME, defined, keys};

defined! {
    LOSS "loss" Pattern(r"^([0-9]+(\.[0-9]+)? ?%|gilbert-elliott( [0-9]+(\.[0-9]+)?%){4})$")
        => "A share of packets that is lost, or the four probabilities of a Gilbert-Elliott model: good to bad, bad to good, loss in good, loss in bad.",
        "1%", "gilbert-elliott 1% 25% 0% 100%";
    REORDER "reorder" Pattern(r"^[0-9]+(\.[0-9]+)?%( +[0-9]+(\.[0-9]+)? ?(ns|us|ms|s|min))?$")
        => "A share of packets that is held back behind later ones, and how long.", "1%", "1% 5ms";
    VARIATION "delay_variation" Pattern(r"^(normal )?[0-9]+(\.[0-9]+)? ?(ns|us|ms|s)( reordering)?$")
        => "Evenly within plus or minus a time, or normal with a standard deviation; reordering lets packets overtake one another.",
        "2ms", "normal 2ms";
    QUEUE "queue" Pattern(r"^(auto|[0-9]+ ?packets|[0-9]+(\.[0-9]+)? ?(B|kB|KB|MB|KiB|MiB))$")
        => "The limit of the queue in front of the rate: packets, bytes, or auto for the larger of one bandwidth-delay product and 64 packets.",
        "64packets", "32kB", "auto";
    OWN "direction" Table(DIRECTION) => "What one direction has of its own.";
    pub(crate) LINK_NAME "link_name" Pattern(".") => "The name of a link (wirecost links lists them), or a file of the same form.", "lte", "./my.yaml";
    VALUES "link_values" Table(LINK) => "The values of the emulated link.";
    pub(crate) LINKS "link" Either(&[Several(&Of(&LINK_NAME)), Of(&VALUES)]) => "The emulated link: a name, several names, or values.";
}

keys! {
    /// The table of a link.
    pub LINK {
        may name Several(&Of(&LINK_NAME)) => "A named link, whose values the other keys replace.";
        may rtt Several(&Of(&TIME)) => "Round-trip time, half of it each way.";
        may delay Several(&Of(&TIME)) => "One-way delay, instead of rtt.";
        may delay_variation Of(&VARIATION) => "How the delay varies.";
        may loss Several(&Of(&LOSS)) => "Loss per direction.";
        may loss_burst Either(&[Number(1), Text]) => "Mean length of a burst of losses in packets.";
        may reorder Of(&REORDER) => "Reordering.";
        may duplicate Of(&PROBABILITY) => "Share of packets that arrive twice.";
        may corrupt Of(&PROBABILITY) => "Share of packets that arrive with a flipped bit.";
        may rate Several(&Of(&BIT_RATE)) => "Rate per direction.";
        may queue Of(&QUEUE) => "Queue in front of the rate.";
        may mtu Several(&Of(&SIZE)) => "Largest IP packet.";
        may nat_timeout Table(NAT) => "How long an address translator (NAT) keeps a mapping that no packet uses. Default: for ever.";
        may nat Word(&NatPort::NAMES)
            => "The port that this translator gives to a UDP port that it has forgotten. Default: same-port.";
        may up Of(&OWN) => "From the device to the server.";
        may down Of(&OWN) => "From the server to the device.";
        may cell Word(&CellProfile::NAMES)
            => "A modelled NB-IoT cell in place of an emulated link, by the name of its parameters; engine sim only.";
        may cell_load Text => "Reports of other devices in a modelled cell, per second and cell, as in 1/s. Default: unloaded.";
        may coupling_loss Text => "Coupling loss between the device and its modelled cell, as in 144dB. Default: 123dB.";
    }
    /// `up` and `down`.
    pub(crate) DIRECTION {
        may delay Of(&TIME) => "One-way delay.";
        may delay_variation Of(&VARIATION) => "How the delay varies.";
        may loss Of(&LOSS) => "Loss.";
        may reorder Of(&REORDER) => "Reordering.";
        may duplicate Of(&PROBABILITY) => "Share of packets that arrive twice.";
        may corrupt Of(&PROBABILITY) => "Share of packets that arrive with a flipped bit.";
        may rate Of(&BIT_RATE) => "Rate.";
        may queue Of(&QUEUE) => "Queue in front of the rate.";
        may mtu Of(&SIZE) => "Largest IP packet.";
    }
    /// `nat_timeout`.
    pub(crate) NAT {
        may udp Of(&TIME) => "";
        may tcp Of(&TIME) => "";
    }
}

#[cfg(test)]
mod tests {
    use wirecost_results::link_text::{DIRECTION_KEYS, NAT_KEYS};

    use super::*;
    use crate::key::names;

    #[test]
    fn a_direction_and_a_translator_have_the_keys_that_results_write() {
        assert_eq!(names(DIRECTION), DIRECTION_KEYS);
        assert_eq!(names(NAT), NAT_KEYS);
    }
}
