//! A target that runs already, behind an emulated link: a relay stands in its place there, and passes everything on.
//!
//! The target is found, and the relay started, in the network namespace of the program. Only then the link is built.

use std::net::SocketAddr;

use wirecost_live::Side;
use wirecost_live::emulation::EmulationError;
use wirecost_live::relay::{Relay, Relayed, Route};
use wirecost_probe::reach::Trial;
use wirecost_proto::ResetReason;
use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::server_address;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};

use crate::devices::destination::{Destination, OnLink};
use crate::error::LoadError;
use crate::parts::outcome::{LoadOutcome, NoConnection, Obstacle};
use crate::targets::server::found;

/// A found target, and the relay to it.
pub(crate) struct Outside {
    relay: Relay,
    destination: Destination,
    transport: Transport,
    /// The addresses of the target's name that did not accept a connection, in one sentence.
    passed_over: Option<String>,
}

impl Outside {
    /// Finds the target of `options` and starts the relay to it; `None` if wirecost starts the target. Call it in the network
    /// namespace from which the target can be reached.
    ///
    /// # Errors
    /// The target has no address, or does not accept a connection.
    pub(crate) fn reach(
        options: &LoadOptions,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, LoadError> {
        let LoadTarget::Url(url) = &options.target else {
            return Ok(None);
        };
        let (destination, reached) = found(options, url, Trial::OfAny, is_over)?;
        Ok(Some(Self {
            relay: Relay::start()?,
            destination,
            transport: options.stack.transport(),
            passed_over: reached.remark(),
        }))
    }

    /// The address of the target itself.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.destination.address
    }

    /// Whether the target is reached over IPv6: so are the relay's devices.
    pub(crate) const fn is_ipv6(&self) -> bool {
        self.destination.address.is_ipv6()
    }

    /// Listens on the server's side of a link. Returns the destination of the devices there.
    ///
    /// # Errors
    /// The side cannot be entered.
    pub(crate) fn stand_on(&self, side: &Side, on_link: OnLink) -> Result<Destination, LoadError> {
        let target = self.destination.address;
        let listen = SocketAddr::new(server_address(self.is_ipv6()), target.port());
        let route = Route {
            listen,
            target,
            transport: self.transport,
        };
        self.relay.listen(side, &[route])?;
        Ok(Destination {
            address: listen,
            link: Some(on_link),
            ..self.destination.clone()
        })
    }

    /// Notes that no server runs if every datagram came back: behind a relay a device does not learn it.
    pub(crate) fn note_silence(&self, outcome: &mut LoadOutcome) {
        let Relayed { lost_datagrams, .. } = self.relay.relayed();
        let is_silent = outcome
            .intervals
            .iter()
            // One answer shows that a server runs, however many datagrams were lost.
            .all(|interval| interval.socket_bytes[1] == 0);
        if self.transport == Transport::Datagram && lost_datagrams > 0 && is_silent {
            outcome.no_connection = Some(NoConnection {
                obstacle: Obstacle::NoAnswer,
                reason: ResetReason::Refused.to_string(),
                hint: None,
            });
        }
    }

    /// The warnings about addresses of the target's name that did not accept a connection, and about what the relay could not
    /// pass on.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let passed_over = self.passed_over.clone();
        let passed_over = passed_over.map(|text| Warning::note(WarningKind::AddressPassedOver, text));
        let shortfall = self.relay.relayed().shortfall();
        let shortfall = shortfall.map(|text| Warning::note(WarningKind::RelayShortfall, text));
        passed_over.into_iter().chain(shortfall).collect()
    }
}

impl From<wirecost_live::relay::RelayError> for LoadError {
    fn from(error: wirecost_live::relay::RelayError) -> Self {
        use wirecost_live::relay::RelayError::{Io, Side};
        Self::Link(match error {
            Side(error) => EmulationError::Environment(error),
            Io { action, source } => EmulationError::doing(action)(source),
        })
    }
}
