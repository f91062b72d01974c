//! CoAP endpoints, hence UDP sockets, that several devices of a part share, and the routing of datagrams to devices.

use std::sync::Arc;

use wirecost_coap::shared::{Share, SharedEndpoint};
use wirecost_proto::Rng;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::load::shared::sockets;

/// The shared endpoints of a part; none if each device has its own.
#[derive(Clone, Debug, Default)]
pub struct SharedEndpoints {
    endpoints: Vec<Arc<SharedEndpoint>>,
}

impl SharedEndpoints {
    /// The endpoints of a part with `devices`.
    pub fn from_options(options: &LoadOptions, devices: u32, rng: Rng) -> Self {
        let endpoint = |number| Arc::new(SharedEndpoint::new(devices, rng.at(number) as u16));
        Self {
            endpoints: (0..sockets(options, devices) as u64).map(endpoint).collect(),
        }
    }

    /// A device's share of its endpoint, by its number in the part.
    pub fn share(&self, device: u32) -> Option<Share> {
        let endpoint = self.endpoints.get(self.socket(device)?)?;
        Some(Share::new(Arc::clone(endpoint), device))
    }

    /// The device of a datagram that has arrived on a socket.
    pub fn route(&self, socket: usize, datagram: &[u8]) -> Option<usize> {
        let device = self.endpoints.get(socket)?.route(datagram)?;
        (self.socket(device) == Some(socket)).then_some(device as usize)
    }

    /// The socket of a device: the loop assigns sockets round-robin.
    const fn socket(&self, device: u32) -> Option<usize> {
        (device as usize).checked_rem(self.endpoints.len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_scenario::options::load::{Arrivals, LoadTarget, Offer, Phase};
    use wirecost_stack::target::Target;

    use super::*;

    fn load(stack: &str, offer: Offer) -> LoadOptions {
        LoadOptions {
            clients: 1_000,
            shared_socket: true,
            phases: vec![Phase::Publish(offer)],
            ..LoadOptions::new(
                stack.parse().expect("a stack"),
                LoadTarget::Started(Target::Builtin),
            )
        }
    }

    fn open(rate: f64, seconds: u64) -> Offer {
        Offer {
            arrivals: Arrivals::Open {
                rate,
                per_client: false,
                poisson: false,
            },
            duration: Some(Duration::from_secs(seconds)),
            count: None,
            warm_up: Duration::ZERO,
            ramp: Duration::ZERO,
            spread: None,
        }
    }

    #[test]
    fn a_datagram_is_accepted_from_its_devices_socket_only() {
        let load = load("coap-con", open(1_000.0, 3_600));
        let endpoints = SharedEndpoints::from_options(&load, 1_000, Rng::new(1));
        // A NON response whose token begins with 513.
        let datagram = [0x54, 0x44, 0, 1, 2, 1, 0xab, 0xcd];
        assert_eq!(endpoints.route(513 % 4, &datagram), Some(513));
        assert_eq!(endpoints.route(0, &datagram), None);
        assert_eq!(endpoints.route(9, &datagram), None);
        assert!(SharedEndpoints::default().share(0).is_none());
    }
}
