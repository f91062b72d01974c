//! Channels of devices that share one offer.

use super::*;

/// A cell has a device, and a server, for each report.
#[test]
fn devices_and_servers_of_one_offer_share_the_keys_of_edhoc() {
    let credentials = Credentials::simulated(1).expect("credentials");
    let client = ClientChannels::new(&credentials, ChannelOptions::default());
    let server = ServerChannels::new(credentials, ChannelOptions::default(), 1);
    let [one, other] = [1, 2].map(|seed| server.seeded(Rng::new(seed)));
    let agreed = one.edhoc().expect("keys").expect("contexts are agreed on");
    assert!(other.lab.get().is_some(), "made by the first");
    assert!(Some(agreed) == other.edhoc().expect("keys"));
    let [one, other] = [1, 2].map(|seed| client.seeded(Rng::new(seed)));
    assert!(one.edhoc(Start::Edhoc, 1, Rng::new(1)).is_ok());
    assert!(other.0.lab.get().is_some(), "made by the first");
}
