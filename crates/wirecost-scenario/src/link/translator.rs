//! What is asked of the address translator (NAT) of a link.

use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_link::nat::{NatPort, NatTimeouts};
use wirecost_results::link_text::nat_timeouts;
use wirecost_stack::Stack;

use super::LinkError;

/// What is asked of an address translator. What is not asked for stays as the link has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Translator {
    /// How long an address translator (NAT) keeps a mapping that no packet uses: udp=60s,tcp=20min, or one of them
    /// [default: as the link says, or for ever]
    #[arg(long, hide_short_help = true, value_name = "KEY=TIME,...", value_parser = nat_timeouts)]
    pub nat_timeout: Option<NatTimeouts>,

    /// The port that this translator gives to a UDP port that it has forgotten: same-port or new-port. Behind another port,
    /// a DTLS session without connection ID is gone [default: as the link says, or same-port]
    #[arg(long, hide_short_help = true, value_name = "PORT")]
    pub nat: Option<NatPort>,
}

impl Translator {
    /// The first option that is given, as it is written.
    pub const fn flag(&self) -> Option<&'static str> {
        match (self.nat_timeout, self.nat) {
            (Some(_), _) => Some("--nat-timeout"),
            (None, Some(_)) => Some("--nat"),
            (None, None) => None,
        }
    }

    /// What this asks for, and what `base` asks for where this says nothing. Each time-out is one value.
    pub(super) fn over(self, base: Self) -> Self {
        let timeouts = self
            .nat_timeout
            .map(|own| of_both(own, base.nat_timeout.unwrap_or_default()));
        Self {
            nat_timeout: timeouts.or(base.nat_timeout),
            nat: self.nat.or(base.nat),
        }
    }

    /// The translator of a link that had this one.
    #[must_use]
    pub fn on(self, link: NatTimeouts) -> NatTimeouts {
        NatTimeouts {
            port: self.nat.unwrap_or(link.port),
            ..of_both(self.nat_timeout.unwrap_or_default(), link)
        }
    }

    /// Checks that a port that is asked for has an effect on one of these links.
    ///
    /// # Errors
    /// The translator of none of them forgets a UDP port.
    pub fn check(self, links: &[LinkConfig]) -> Result<(), LinkError> {
        let forgets = |link: &LinkConfig| link.nat.udp.is_some();
        match self.nat.is_some() && !links.iter().any(forgets) {
            true => Err(LinkError::NothingForgotten),
            false => Ok(()),
        }
    }
}

/// The time-outs of `own`, and those of `base` that it does not have.
fn of_both(own: NatTimeouts, base: NatTimeouts) -> NatTimeouts {
    NatTimeouts {
        udp: own.udp.or(base.udp),
        tcp: own.tcp.or(base.tcp),
        ..base
    }
}

/// After which silence a device takes its session for lost and makes a new one before it sends: the address translator then gives
/// it a port that its server does not know. A device that did not know the time-out would first send into the void, as often as
/// its protocol repeats a message. It does not know when its last packet passed the translator, at most a round trip before.
pub fn forgotten_after(link: &LinkConfig, stack: Stack) -> Option<Duration> {
    let timeout = link.nat.new_udp_port().filter(|_| stack.is_known_by_port())?;
    Some(timeout.saturating_sub(link.rtt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_stays_as_the_link_has_it() {
        let minutes = |minutes: u64| Some(Duration::from_secs(60 * minutes));
        let link = NatTimeouts {
            udp: minutes(1),
            tcp: minutes(20),
            port: NatPort::New,
        };
        assert_eq!(Translator::default().on(link), link);
        let udp = Translator {
            nat_timeout: Some(nat_timeouts("udp=10min").expect("a time-out")),
            nat: None,
        };
        let expected = NatTimeouts {
            udp: minutes(10),
            ..link
        };
        assert_eq!(udp.on(link), expected);
        let base = Translator {
            nat_timeout: Some(link),
            nat: Some(NatPort::New),
        };
        assert_eq!(
            udp.over(base).on(NatTimeouts::default()),
            expected,
            "of a named link"
        );
        let port = Translator {
            nat_timeout: None,
            nat: Some(NatPort::Same),
        };
        assert_eq!(
            port.on(link),
            NatTimeouts {
                port: NatPort::Same,
                ..link
            }
        );
    }
}
