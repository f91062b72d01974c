//! From the link's options to link configurations, one per combination of the lists.

use wirecost_scenario::link::{LinkError, LinkLists};
use wirecost_scenario::options::compare::LinkConfig;

use crate::exit::Failure;

/// The links that the flags ask for: every combination of name, RTT, loss, rate and MTU.
pub fn links(lists: &LinkLists) -> Result<Vec<LinkConfig>, Failure> {
    lists.links().map_err(refused)
}

/// A link that cannot be made, in the words of the options.
pub fn refused(error: LinkError) -> Failure {
    match error {
        LinkError::TooMany(most) => Failure::usage(format!("the lists make more than {most} links")),
        LinkError::NothingLost => Failure::usage("--loss-burst needs --loss"),
        LinkError::NothingForgotten => Failure::usage("--nat needs --nat-timeout udp=TIME")
            .with_hint("for example --nat-timeout udp=60s"),
        LinkError::NoBursts { .. } => Failure::usage(error),
        LinkError::CellDecides(key) => Failure::usage(LinkError::CellDecides(flag(key))),
        LinkError::NoCell(key) => {
            Failure::usage(LinkError::NoCell(flag(key))).with_hint("for example --link nbiot --cell-load 1/s")
        }
        LinkError::Direction { way, key, source } => Failure::usage(format!("--{way} {key}: {source}")),
    }
}

/// The links that the flags ask for, where all must be emulated.
pub fn emulated(lists: &LinkLists) -> Result<Vec<LinkConfig>, Failure> {
    let links = links(lists)?;
    if links.iter().any(|link| link.cell.is_some()) {
        let text =
            "an NB-IoT cell is modelled for single devices in virtual time: this command emulates its link";
        return Err(Failure::usage(text).with_hint(
            "take --link nb-iot, a link with fixed figures, or wirecost compare --link nbiot, or wirecost nbiot for a load",
        ));
    }
    Ok(links)
}

/// The option of a link's key.
fn flag(key: &'static str) -> &'static str {
    match key {
        "rate" => "--link-rate",
        "loss" => "--loss",
        "queue" => "--queue",
        "delay_variation" => "--delay-variation",
        "reorder" => "--reorder",
        "duplicate" => "--duplicate",
        "corrupt" => "--corrupt",
        "nat_timeout" => "--nat-timeout",
        "cell_load" => "--cell-load",
        "coupling_loss" => "--coupling-loss",
        key => key,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_scenario::options::compare::{Loss, QueueLimit};

    use super::*;

    fn asked(up: &str, burst: Option<f64>) -> Result<LinkConfig, Failure> {
        let shape = LinkLists {
            up: Some(up.parse().expect("settings")),
            loss_burst: burst,
            ..LinkLists::default()
        };
        links(&shape).map(|links| links[0])
    }

    #[test]
    fn each_direction_can_have_its_own_settings() {
        let link = asked("loss=5%, rate=50kbit,queue=10packets,delay=1ms,mtu=600B", None).expect("valid");
        assert_eq!(link.up.delay, Duration::from_millis(1));
        assert_eq!(link.up.loss.rate(), 0.05);
        assert_eq!(link.up.rate.map(|rate| rate.bits_per_second()), Some(50_000));
        assert_eq!(link.up.queue, Some(QueueLimit::Packets(10)));
        assert_eq!((link.up.mtu, link.down.mtu), (600, 1_500));
        assert_eq!(link.down.delay, Duration::from_micros(12_500));
    }

    #[test]
    fn an_unknown_key_names_the_known_ones() {
        let error = asked("jitter=1ms", None).expect_err("unknown").to_string();
        assert!(error.contains("delay_variation"), "{error}");
    }

    #[test]
    fn a_direction_can_have_its_own_bursts_of_losses() {
        let link = asked("loss=5%", Some(3.0)).expect("valid");
        assert!(
            matches!(link.up.loss, Loss::GilbertElliott(_)),
            "{:?}",
            link.up.loss
        );
    }

    #[test]
    fn lists_make_every_combination() {
        let shape = LinkLists {
            rtt: [10, 20].map(Duration::from_millis).to_vec(),
            mtu: vec![600, 1_500],
            rate: vec![None, Some("1Mbit".parse().expect("a rate"))],
            ..LinkLists::default()
        };
        let links = links(&shape).expect("valid");
        assert_eq!(links.len(), 8);
        assert_eq!(
            (links[1].up.mtu, links[1].up.rate),
            (1_500, None),
            "the last list changes first"
        );
        let unlimited = links.iter().filter(|link| link.down.rate.is_none());
        assert_eq!(unlimited.count(), 4);
    }

    /// A named link with some values replaced.
    fn named(name: &str, shape: LinkLists) -> LinkConfig {
        let lists = LinkLists {
            link: vec![wirecost_scenario::link::named_or_file(name).expect("a link")],
            ..shape
        };
        links(&lists).expect("valid")[0]
    }

    fn rates(link: &LinkConfig) -> [Option<u64>; 2] {
        [link.up, link.down].map(|way| way.rate.map(|rate| rate.bits_per_second()))
    }

    #[test]
    fn a_flag_replaces_a_value_of_a_named_link_both_ways() {
        let whole = named("3g", LinkLists::default());
        assert_eq!(rates(&whole), [Some(768_000), Some(1_600_000)]);
        assert_eq!(whole.rtt(), Duration::from_millis(300));
        let changed = LinkLists {
            rate: vec![Some("1Mbit".parse().expect("a rate"))],
            ..LinkLists::default()
        };
        let link = named("3g", changed);
        assert_eq!(rates(&link), [Some(1_000_000); 2]);
        assert_eq!(link.rtt(), whole.rtt());
    }

    #[test]
    fn a_direction_replaces_its_own_value_of_a_named_link() {
        let up = LinkLists {
            up: Some("rate=64kbit".parse().expect("settings")),
            ..LinkLists::default()
        };
        assert_eq!(rates(&named("3g", up)), [Some(64_000), Some(1_600_000)]);
        let late = LinkLists {
            rtt: vec![Duration::from_secs(1)],
            up: Some("delay=5ms".parse().expect("settings")),
            ..LinkLists::default()
        };
        let link = named("satellite-geo", late);
        assert_eq!(
            [link.up.delay, link.down.delay],
            [5, 500].map(Duration::from_millis)
        );
    }

    #[test]
    fn bursts_of_a_named_link_end_with_its_losses() {
        let lossless = LinkLists {
            loss: vec![Loss::None],
            ..LinkLists::default()
        };
        assert_eq!(named("lossy", lossless).up.loss, Loss::None);
        let rare = LinkLists {
            loss: vec![Loss::Bernoulli("1%".parse().expect("a share"))],
            ..LinkLists::default()
        };
        let loss = named("lossy", rare).up.loss;
        assert!(matches!(loss, Loss::GilbertElliott(_)), "{loss:?}");
        assert!((loss.rate() - 0.01).abs() < 1e-12, "{loss:?}");
    }

    #[test]
    fn every_named_link_is_a_link_of_the_list() {
        let named =
            ["lte", "nb-iot"].map(|name| wirecost_scenario::link::named_or_file(name).expect("a link"));
        let lists = LinkLists {
            link: named.to_vec(),
            mtu: vec![600, 1_500],
            ..LinkLists::default()
        };
        let links = links(&lists).expect("valid");
        let rtts: Vec<u128> = links.iter().map(|link| link.rtt().as_millis()).collect();
        assert_eq!(rtts, [70, 70, 837, 837]);
        assert_eq!((links[0].up.mtu, links[1].up.mtu), (600, 1_500));
    }
}
