//! Attach: what a device that lost its network does until it rests again: the search of a cell, the way into a connection, the messages
//! of the attach procedure (TS 24.301 section 5.5.1.2) and the tails after the last of them.
//!
//! ```text
//! search | wake-up | request, authentication, security, accept, complete | tails -> rest
//! ```
//!
//! No publication has both the time and the charge of a search, so its time is an input. The network answers each message at once.

use core::time::Duration;

use wirecost_cost::{ObservedPacket, Observer as _};
use wirecost_nbiot::Config;
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

use super::{Impossible, exact};
use crate::account::Energy;
use crate::device::{Device, NetworkLoss, State};
use crate::meter::Meter;

/// The messages of an attach in their order, in bytes. Authentication Request has mandatory elements alone (TS 24.301 table 8.2.7.1); the
/// optional elements of the others are assumed: T3324 and T3412, protocol configuration options, one tracking area, IPv4.
const MESSAGES: [(Direction, u32); 7] = [
    // Attach Request with a GUTI and a PDN Connectivity Request (sections 8.2.4, 8.3.20).
    (Direction::Up, 60),
    // Authentication Request: RAND, AUTN (section 8.2.7).
    (Direction::Down, 36),
    // Authentication Response: RES of 8 B (section 8.2.8).
    (Direction::Up, 11),
    // Security Mode Command with replayed capabilities (section 8.2.20).
    (Direction::Down, 16),
    // Security Mode Complete with the IMEISV (section 8.2.21).
    (Direction::Up, 19),
    // Attach Accept with GUTI and Activate Default EPS Bearer Context Request (sections 8.2.1, 8.3.6).
    (Direction::Down, 79),
    // Attach Complete with Activate Default EPS Bearer Context Accept (sections 8.2.2, 8.3.4).
    (Direction::Up, 13),
];

/// What one attach takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attached {
    /// The energy of the search.
    pub search: Energy,
    /// The energy from the wake-up to the end of the tails.
    pub procedure: Energy,
    /// The time of both.
    pub time: Duration,
}

impl Attached {
    /// The energy of search and procedure.
    pub fn energy(&self) -> Energy {
        let mut sum = self.search;
        sum += self.procedure;
        sum
    }
}

/// Words for a title.
pub(super) fn words(loss: &NetworkLoss) -> String {
    let assumed = if loss.search.is_none() { " (assumed)" } else { "" };
    format!(
        "attach every {} after a search of {}{assumed}",
        exact(loss.every),
        exact(loss.search())
    )
}

impl Device {
    /// What one attach takes; `None` where the device never loses its network.
    pub fn attached(&self) -> Option<Attached> {
        let search = self.attach?.search();
        let mut meter = Meter::new(self);
        for (direction, len) in MESSAGES.into_iter().chain(access_stratum()) {
            let spans = [Span {
                len,
                layer: Layer::Application,
                phase: Phase::Connect,
                cause: Cause::Original,
            }];
            // All begin at once: the meter lets each wait until the one before has ended.
            meter.packet(&ObservedPacket {
                at: Instant::from_millis(0),
                direction,
                phase: Phase::Connect,
                cause: Cause::Original,
                spans: &spans,
            });
        }
        let account = meter.finish();
        let nanos = u64::try_from(search.as_nanos()).unwrap_or(u64::MAX);
        Some(Attached {
            search: Energy::at_level(self.level(State::Listen), nanos),
            procedure: account.total(),
            time: search.saturating_add(Duration::from_nanos(account.total_nanos())),
        })
    }

    /// Puts an attach into a device whose other settings are in it.
    pub(super) fn lose_network(&mut self, loss: NetworkLoss) -> Result<(), Impossible> {
        self.attach = Some(loss);
        let takes = self.attached().map_or(Duration::ZERO, |attached| attached.time);
        // The device would search and attach all the time.
        match takes < loss.every {
            true => Ok(()),
            false => Err(Impossible::Attaching {
                takes,
                every: loss.every,
            }),
        }
    }
}

/// Security and bearers of the access stratum, as the modelled cells have them: the command with the reconfiguration, and its answers.
fn access_stratum() -> [(Direction, u32); 2] {
    let rrc = Config::default().rrc;
    [
        (Direction::Down, rrc.security_down_bytes),
        (Direction::Up, rrc.security_up_bytes),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::account::Part;
    use crate::network::Settings;
    use crate::network::tests::{modem, spent};
    use crate::repeat::{Repeated, mean_power};

    const DAY: Duration = Duration::from_secs(86_400);

    fn losing(every: Duration, search: Option<Duration>) -> Result<Device, Impossible> {
        modem().set(&Settings {
            attach: Some(NetworkLoss { every, search }),
            ..Settings::default()
        })
    }

    fn power(device: &Device, every: f64) -> crate::account::Purposes {
        let account = spent(device, 100, &[0]);
        let repeated = Repeated {
            account: &account,
            every,
        };
        mean_power(device, &[repeated])
    }

    #[test]
    fn an_attach_is_a_search_a_wake_up_its_messages_and_the_tails() {
        let device = losing(DAY, Some(Duration::from_secs(10))).expect("possible");
        let attached = device.attached().expect("it loses its network");
        // 10 s at 50 mW.
        assert!((attached.search.joules - 0.5).abs() < 1e-9);
        // At 100 kbit/s a byte takes 80 us: 133 B up at 0.4 W, 191 B down at 0.1 W.
        let [up, down] = [133.0, 191.0].map(|bytes: f64| bytes * 80e-6);
        let expected = 2.0 * 0.1 + up * 0.4 + down * 0.1 + 10.0 * 0.05 + 8.0 * 5e-3;
        assert!(
            (attached.procedure.joules - expected).abs() < 1e-9,
            "{attached:?}"
        );
        let seconds = 10.0 + 2.0 + up + down + 18.0;
        assert!((attached.time.as_secs_f64() - seconds).abs() < 1e-6);
        assert!(
            device
                .title
                .ends_with("set: attach every 1 d after a search of 10 s"),
            "{}",
            device.title
        );
    }

    #[test]
    fn its_share_is_a_part_of_the_mean_power_and_a_device_that_keeps_its_network_has_none() {
        let [kept, losing] = [modem(), losing(DAY, None).expect("possible")];
        assert!(losing.title.ends_with("a search of 20 s (assumed)"));
        let attached = losing.attached().expect("it loses its network");
        let [without, with] = [&kept, &losing].map(|device| power(device, 900.0));
        assert_eq!(without.of_part(Part::Attach).joules, 0.0);
        let of_attach = with.of_part(Part::Attach).joules;
        assert!((of_attach * 86_400.0 / attached.energy().joules - 1.0).abs() < 1e-9);
        let parts: f64 = Part::ALL.iter().map(|part| with.of_part(*part).joules).sum();
        assert!((parts / with.total().joules - 1.0).abs() < 1e-12, "parts sum");
        // In that time it does not rest.
        let more = with.total().joules - without.total().joules;
        let rest = kept.floor().watts * attached.time.as_secs_f64() / 86_400.0;
        assert!((more - (of_attach - rest)).abs() < 1e-12, "{more}");
    }

    #[test]
    fn an_attach_that_never_ends_and_a_device_without_a_network_are_refused() {
        let refused = losing(Duration::from_secs(20), Some(Duration::from_secs(10)));
        let refused = refused.expect_err("longer than a minute").to_string();
        assert!(
            refused.starts_with("an attach takes 30.0")
                && refused.ends_with("s, and so comes not every 20 s"),
            "{refused}"
        );
        let mut two = modem();
        two.tails.insert(0, two.tails[0]);
        let settings = Settings {
            attach: Some(NetworkLoss {
                every: DAY,
                search: None,
            }),
            ..Settings::default()
        };
        let refused = two.set(&settings).expect_err("3G").to_string();
        assert_eq!(refused, "the device has no single state in which it is connected");
    }

    proptest! {
        #[test]
        fn power_never_falls_with_attaches_or_with_the_time_of_a_search(
            every in 60..100_000_u64, rarer in 0..100_000_u64, search in 0..30_u64, longer in 0..20_u64, reading in 60.0..1e5_f64,
        ) {
            let of = |every, search| {
                let device = losing(Duration::from_secs(every), Some(Duration::from_secs(search)));
                device.map(|device| power(&device, reading).total().joules)
            };
            let (Ok(often), Ok(rare)) = (of(every, search), of(every + rarer, search)) else {
                return Ok(());
            };
            prop_assert!(rare <= often * (1.0 + 1e-12));
            if let Ok(long) = of(every, search + longer) {
                prop_assert!(often <= long * (1.0 + 1e-12));
            }
            prop_assert!(power(&modem(), reading).total().joules <= rare * (1.0 + 1e-12));
        }
    }
}
