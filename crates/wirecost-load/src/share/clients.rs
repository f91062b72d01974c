//! The endpoints of a part's devices.

use wirecost_coap::shared as coap;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_stack::Client;
use wirecost_stack::channels::ClientChannels;
use wirecost_stack::client::{ClientConfig, Session, Will};
use wirecost_stack::pattern::{Pattern, Values};

use super::{Share, pattern};
use crate::shared::SharedEndpoints;

impl Share {
    /// The endpoints of all devices: senders, then subscribers.
    pub(crate) fn clients(
        &self,
        channels: &ClientChannels,
        endpoints: &SharedEndpoints,
    ) -> Result<Vec<Client>, String> {
        let identities = Identities::new(&self.options)?;
        let senders = self.devices.clone().map(|device| (device, device, ""));
        // What both sides know a device by, such as its OSCORE context, is no other's: nonces come of it.
        let behind = |device: u32| self.options.clients.saturating_add(device);
        let subscribers = self
            .subscribers
            .clone()
            .map(|device| (behind(device), device, "sub-"));
        senders
            .chain(subscribers)
            .enumerate()
            .map(|(number, (host, device, prefix))| {
                let endpoint = endpoints.share(number as u32);
                self.client(host, (device, prefix), endpoint, &identities, channels)
            })
            .collect()
    }

    fn client(
        &self,
        host: u32,
        (device, prefix): (u32, &str),
        endpoint: Option<coap::Share>,
        identities: &Identities,
        channels: &ClientChannels,
    ) -> Result<Client, String> {
        let options = &self.options;
        let of_device = |pattern: &Pattern| pattern.text(&Values::of_device(device));
        let client_id = format!("{prefix}{}", of_device(&identities.client_id));
        let config = ClientConfig {
            keep_alive: options.keep_alive,
            host,
            start: options.start,
            describes_received: false,
            session: identities.session(device, options).map(Box::new),
            endpoint,
            ..ClientConfig::new(client_id, self.rng(prefix).host(u64::from(device)))
        };
        let resource = of_device(&identities.resource);
        let client = Client::idle(options.stack, &resource, &config, channels);
        client.map_err(|error| error.to_string())
    }
}

/// Patterns of what devices say of themselves.
struct Identities {
    client_id: Pattern,
    resource: Pattern,
    login: Option<(Pattern, Pattern)>,
    will: Option<(Pattern, String)>,
}

impl Identities {
    fn new(options: &LoadOptions) -> Result<Self, String> {
        let of_device = |text: &str| Pattern::of_device(text).map_err(|error| error.to_string());
        let login = options.login.as_ref();
        let will = options.will.as_ref();
        Ok(Self {
            client_id: of_device(&options.client_id)?,
            resource: pattern(&options.resource)?,
            login: login
                .map(|(user, password)| Ok::<_, String>((of_device(user)?, of_device(password)?)))
                .transpose()?,
            will: will
                .map(|will| Ok::<_, String>((of_device(&will.topic)?, will.payload.clone())))
                .transpose()?,
        })
    }

    fn session(&self, device: u32, options: &LoadOptions) -> Option<Session> {
        let of_device = |pattern: &Pattern| pattern.text(&Values::of_device(device));
        let session = Session {
            login: self
                .login
                .as_ref()
                .map(|(user, password)| (of_device(user), of_device(password))),
            will: self.will.as_ref().map(|(topic, payload)| Will {
                topic: of_device(topic),
                payload: payload.clone(),
            }),
            expiry: options.session_expiry,
        };
        (session != Session::default()).then_some(session)
    }
}
