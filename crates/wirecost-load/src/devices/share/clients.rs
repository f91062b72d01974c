//! The endpoints of a part's devices.

use wirecost_coap::shared as coap;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::load::roster::Registered;
use wirecost_scenario::options::sending::frame_bytes;
use wirecost_stack::Client;
use wirecost_stack::channels::ClientChannels;
use wirecost_stack::client::{ClientConfig, Session, Will};
use wirecost_stack::error::ClientError;
use wirecost_stack::pattern::{Pattern, PatternError, Values};

use super::Share;
use crate::devices::part::PartError;
use crate::devices::shared::SharedEndpoints;

/// What the client identifiers of subscribers begin with.
const SUBSCRIBER: &str = "sub-";

impl Share {
    /// The endpoints of all devices: senders, then subscribers. `channels` has those of a device.
    pub(crate) fn clients<'a>(
        &self,
        channels: &dyn Fn(u32) -> &'a ClientChannels,
        endpoints: &SharedEndpoints,
    ) -> Result<Vec<Client>, PartError> {
        let identities = Identities::new(&self.options)?;
        let senders = self.devices.clone().map(|device| (device, device, ""));
        // The shared identity of a device, such as its OSCORE context, must be unique: nonces derive from it.
        let behind = |device: u32| self.options.clients.saturating_add(device);
        let subscribers = self
            .subscribers
            .clone()
            .map(|device| (behind(device), device, SUBSCRIBER));
        senders
            .chain(subscribers)
            .enumerate()
            .map(|(number, (host, device, prefix))| {
                let endpoint = endpoints.share(number as u32);
                Ok(self.client(host, (device, prefix), endpoint, &identities, channels(host))?)
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
    ) -> Result<Client, ClientError> {
        let options = &self.options;
        let of_device = |pattern: &Pattern| pattern.text(&Values::of_device(device));
        let entry = options.roster.as_ref().and_then(|roster| roster.device(host));
        let named = entry.and_then(|entry| entry.client_id.clone());
        let client_id = named.unwrap_or_else(|| format!("{prefix}{}", of_device(&identities.client_id)));
        let topic = entry.and_then(|entry| entry.topic.clone());
        let config = ClientConfig {
            keep_alive: options.keep_alive,
            host,
            start: options.start,
            pipelined_connect: options.pipelined_connect,
            amqp_frame_size: frame_bytes(options.amqp_frame_size),
            // A load counts messages, not the bytes of each layer: to describe received bytes would only cost CPU time.
            describes_received: false,
            polls: prefix == SUBSCRIBER && options.poll().is_some(),
            session: identities.session(device, entry, options).map(Box::new),
            endpoint,
            ..ClientConfig::new(client_id, self.rng(prefix).host(u64::from(device)))
        };
        let resource = match identities.resource.differs_by_message() {
            // Its clients register each topic when they send to it first.
            true if options.stack.is_mqtt_sn() => String::new(),
            _ => topic.unwrap_or_else(|| of_device(&identities.resource)),
        };
        Client::idle(options.stack, &resource, &config, channels)
    }
}

/// The patterns of device identities.
struct Identities {
    client_id: Pattern,
    resource: Pattern,
    login: Option<(Pattern, Pattern)>,
    will: Option<(Pattern, String)>,
}

impl Identities {
    fn new(options: &LoadOptions) -> Result<Self, PatternError> {
        let of_device = Pattern::of_device;
        let login = options.login.as_ref();
        let login = login.map(|(user, password)| Ok((of_device(user)?, of_device(password)?)));
        let will = options.will.as_ref();
        let will = will.map(|will| Ok((of_device(&will.topic)?, will.payload.clone())));
        Ok(Self {
            client_id: of_device(&options.client_id)?,
            resource: options.resource.parse()?,
            login: login.transpose()?,
            will: will.transpose()?,
        })
    }

    fn session(&self, device: u32, entry: Option<&Registered>, options: &LoadOptions) -> Option<Session> {
        let of_device = |pattern: &Pattern| pattern.text(&Values::of_device(device));
        let of_pattern = || {
            let (user, password) = self.login.as_ref()?;
            Some((of_device(user), of_device(password)))
        };
        let of_entry = entry.map(|entry| (entry.user.clone(), entry.password.clone()));
        let session = Session {
            // A device of the roster has its own user, which stands above one for all.
            login: of_entry.or_else(of_pattern),
            will: self.will.as_ref().map(|(topic, payload)| Will {
                topic: of_device(topic),
                payload: payload.clone(),
            }),
            expiry: options.session_expiry,
        };
        (session != Session::default()).then_some(session)
    }
}
