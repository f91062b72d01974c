//! From the link's options to link configurations, one per combination of the lists.

use wirecost_scenario::link::{LinkLists, LinkSettings, ListError};
use wirecost_scenario::options::compare::{DirectionConfig, LinkConfig};

use crate::arguments::{LinkShapeArguments, RateSetting};
use crate::exit::Failure;

/// The links of these options: every combination of RTT, loss, rate and MTU.
pub fn links(shape: &LinkShapeArguments, rates: &[RateSetting]) -> Result<Vec<LinkConfig>, Failure> {
    let default = LinkSettings::default();
    let lists = LinkLists {
        base: LinkSettings {
            delay_variation: shape.delay_variation.flatten(),
            loss_burst: shape.loss_burst,
            reorder: shape.reorder.unwrap_or(default.reorder),
            duplicate: shape.duplicate.unwrap_or_default(),
            corrupt: shape.corrupt.unwrap_or_default(),
            queue: shape.queue.flatten(),
            ..default
        },
        rtt: shape.rtt.clone(),
        loss: shape.loss.clone(),
        rate: rates.to_vec(),
        mtu: shape.mtu.clone(),
    };
    let links = lists.links(|settings| link(shape, settings));
    links.map_err(|error| match error {
        ListError::TooMany(most) => Failure::usage(format!("the lists make more than {most} links")),
        ListError::NothingLost => Failure::usage("--loss-burst needs --loss"),
        ListError::Link(error) => error,
    })
}

fn link(shape: &LinkShapeArguments, settings: &LinkSettings) -> Result<LinkConfig, Failure> {
    let mut link = settings.link().map_err(Failure::usage)?;
    set_all(settings, &mut link.up, "--up", shape.up.as_deref())?;
    set_all(settings, &mut link.down, "--down", shape.down.as_deref())?;
    Ok(link)
}

/// Applies all settings of an option for one direction.
fn set_all(
    settings: &LinkSettings,
    direction: &mut DirectionConfig,
    flag: &str,
    text: Option<&str>,
) -> Result<(), Failure> {
    for setting in text.into_iter().flat_map(|text| text.split(',')) {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(Failure::usage(format!(
                "{flag} takes KEY=VALUE,..., got {setting:?}"
            )));
        };
        let set = settings.set(direction, key.trim(), value.trim());
        set.map_err(|why| Failure::usage(format!("{flag} {setting}: {why}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_scenario::options::compare::{Loss, QueueLimit};

    use super::*;

    fn asked(up: &str, burst: Option<f64>) -> Result<LinkConfig, Failure> {
        let shape = LinkShapeArguments {
            up: Some(up.into()),
            loss_burst: burst,
            ..LinkShapeArguments::default()
        };
        links(&shape, &[]).map(|links| links[0])
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
        let shape = LinkShapeArguments {
            rtt: [10, 20].map(Duration::from_millis).to_vec(),
            mtu: vec![600, 1_500],
            ..LinkShapeArguments::default()
        };
        let links = links(&shape, &[None, Some("1Mbit".parse().expect("a rate"))]).expect("valid");
        assert_eq!(links.len(), 8);
        assert_eq!(
            (links[1].up.mtu, links[1].up.rate),
            (1_500, None),
            "the last list changes first"
        );
        let unlimited = links.iter().filter(|link| link.down.rate.is_none());
        assert_eq!(unlimited.count(), 4);
    }
}
