//! A load whose devices are divided: each process runs a part of them, and what the parts count adds up.

use std::ops::Range;

use super::{LoadEngine, LoadOptions, Phase};

impl LoadOptions {
    /// The senders that this process runs, by their numbers among all senders: those of its shard, or all.
    pub fn own_devices(&self) -> Range<u32> {
        self.shard
            .map_or(0..self.clients, |shard| shard.range(self.clients))
    }

    /// How many senders this process runs.
    pub fn own_clients(&self) -> u32 {
        self.own_devices().len() as u32
    }

    /// Requested messages or handshakes per second of the senders that this process runs; `None` in a closed loop and without messages.
    pub fn own_rate(&self, phase: &Phase) -> Option<f64> {
        let rate = phase.rate(self.emulated())?;
        let of_shard = |_| rate * f64::from(self.own_clients()) / f64::from(self.clients);
        Some(self.shard.map_or(rate, of_shard))
    }

    /// Why its devices cannot be divided, if that is asked for.
    pub(super) fn cannot_divide(&self) -> Option<String> {
        let [_, parts] = self.shard?.place();
        let refusals = [
            (
                self.engine == LoadEngine::Live,
                "a shard has the devices of a load in virtual time: use the engine sim; agents divide a live load among machines",
            ),
            (
                self.receivers() > 0,
                "subscribers receive what the devices of all shards publish: leave them out, or the shard",
            ),
            (
                self.sites.is_some(),
                "the brokers of sites pass on what the devices of all shards publish: leave out the shard",
            ),
            (
                self.trace.is_some(),
                "the first device has a trace, and the other shards have none: leave out the trace, or the shard",
            ),
            (
                self.clients < parts,
                "there are more shards than devices: divide them into fewer",
            ),
        ];
        let why = refusals
            .into_iter()
            .find_map(|(is_refused, why)| is_refused.then_some(why))?;
        Some(why.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_stack::target::Target;

    use super::*;
    use crate::options::load::{Arrivals, LoadTarget, Offer, Subscribers};

    fn refused(shard: &str, change: fn(&mut LoadOptions)) -> Option<String> {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let mut options = LoadOptions {
            engine: LoadEngine::Sim,
            shard: Some(shard.parse().expect("a shard")),
            ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
        };
        change(&mut options);
        options.validate().err().map(|refusal| refusal.why)
    }

    #[test]
    fn only_devices_that_send_in_virtual_time_are_divided() {
        assert_eq!(refused("3/10", |_| {}), None);
        let says = |shard, change: fn(&mut LoadOptions), words: &str| {
            let why = refused(shard, change).expect(words);
            assert!(why.contains(words), "{why}");
        };
        says("1/2", |load| load.engine = LoadEngine::Live, "use the engine sim");
        says("1/11", |_| {}, "more shards than devices");
        let with_subscribers = |load: &mut LoadOptions| {
            load.subscribers = Some(Subscribers {
                devices: 1,
                filter: "#".into(),
                poll: None,
                shared: None,
                qos: 0,
            });
        };
        says("1/2", with_subscribers, "subscribers receive");
    }

    #[test]
    fn a_shard_has_its_share_of_the_rate() {
        let stack = "coap-con".parse().expect("a stack");
        let mut options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
        let offer = |arrivals| {
            Phase::Publish(Offer {
                arrivals,
                duration: Some(Duration::from_secs(1)),
                count: None,
                warm_up: Duration::ZERO,
                ramp: Duration::ZERO,
                spread: None,
            })
        };
        let open = offer(Arrivals::Open {
            rate: 30.0,
            per_client: false,
            poisson: false,
        });
        assert_eq!(
            (options.own_devices(), options.own_rate(&open)),
            (0..10, Some(30.0))
        );
        options.shard = "2/3".parse().ok();
        assert_eq!((options.own_devices(), options.own_clients()), (3..6, 3));
        assert_eq!(options.own_rate(&open), Some(9.0));
        assert_eq!(options.own_rate(&offer(Arrivals::Closed)), None);
    }
}
