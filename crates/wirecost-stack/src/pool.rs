//! The messages of a load's devices. The pool uses a message again as soon as no client holds it.

use std::collections::VecDeque;
use std::sync::Arc;

use wirecost_proto::random::key_of;
use wirecost_proto::{Rng, Stamp};
use wirecost_security::entropy::Entropy;
use wirecost_security::object::Preset;

use super::error::{ClientError, StackError};
use super::events::SUBSCRIPTION;
use super::media::Media;
use super::message::{Address, Requests, Template, request, template};
use super::pattern::{Pattern, Values};
use super::{Application, Command, Stack, Subscription};

/// The number of templates that the pool tries to use again before it makes a new one.
const TRIES: usize = 4;
/// The most templates that the pool keeps. It makes more where more messages wait for their answers.
const KEPT: usize = 65_536;

/// A message for one exchange. The client keeps it until it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The message.
    pub(super) template: Template,
    /// The stamp for the front of the payload, where the template does not have it.
    pub(super) stamp: Option<Stamp>,
}

impl From<Template> for Outgoing {
    fn from(template: Template) -> Self {
        Self {
            template,
            stamp: None,
        }
    }
}

/// The payload of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayloadSource {
    /// These bytes, with a [`Stamp`] in place of the first ones where there are enough.
    Stamped(Arc<[u8]>),
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// The same bytes, described as readings.
    Described(Arc<[u8]>, Media),
    /// A text for each message.
    Text(Pattern),
}

impl PayloadSource {
    /// What messages say about it.
    const fn media(&self) -> Media {
        match self {
            Self::Described(_, media) => *media,
            Self::Stamped(_) | Self::Bytes(_) | Self::Text(_) => Media::BYTES,
        }
    }

    /// `bytes` stamped pseudo-random bytes that follow from `seed`.
    pub fn random(bytes: usize, seed: u64) -> Self {
        let mut payload = vec![0; bytes];
        Rng::new(seed).purpose(key_of("payload")).fill(&mut payload);
        Self::Stamped(payload.into())
    }
}

/// The settings of a pool.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// The stack.
    pub stack: Stack,
    /// Topic or path.
    pub resource: Pattern,
    /// Host, with a port where it needs one (HTTP).
    pub authority: String,
    /// The form of requests (HTTP).
    pub requests: Requests,
    /// Whether the server retains messages (MQTT).
    pub retain: bool,
    /// Topic or path of each device in place of `resource`, if they have their own.
    pub topics: Option<Arc<[String]>>,
    /// User properties of each message (MQTT 5).
    pub user_properties: Arc<[(String, String)]>,
    /// The payload.
    pub payload: PayloadSource,
    /// The payload of each message of the first device, if it has its own: they have no stamp.
    pub recorded: Option<Arc<[Arc<[u8]>]>>,
    /// The nanoseconds to add to a time of `CLOCK_MONOTONIC` to get the time since 1970.
    pub utc_offset_ns: u64,
    /// Seed of random digits.
    pub seed: u64,
    /// The mark of the run on stamps.
    pub mark: u32,
}

/// The messages of one loop's devices. In steady state it allocates nothing where all payloads have the same length, and no
/// resource differs but an MQTT topic.
#[derive(Debug)]
pub struct MessagePool {
    config: PoolConfig,
    /// The front was used first.
    templates: VecDeque<Template>,
    /// The template of all messages, where they differ in their stamps alone.
    constant: Option<Template>,
    sealer: Option<Sealer>,
    /// The last request and its device.
    request: Option<(u32, Template)>,
    resource: String,
    text: String,
}

#[derive(Debug)]
struct Sealer {
    preset: Preset,
    entropy: Entropy,
}

impl MessagePool {
    /// A pool of messages.
    ///
    /// # Errors
    /// The stack cannot carry the resource's name or the payload, or the address of an AMQP link differs from message to message.
    pub fn new(config: PoolConfig) -> Result<Self, ClientError> {
        let stack = config.stack;
        if stack.is_amqp() && config.resource.differs_by_message() {
            return Err(StackError::AddressByMessage.with_stack(stack));
        }
        if stack.store().is_some() && config.resource.differs_by_message() {
            return Err(StackError::DatabaseByMessage.with_stack(stack));
        }
        if stack.application == Application::MqttSn(-1) && !config.resource.is_constant() {
            return Err(StackError::SnTopic.with_stack(stack));
        }
        let mut entropy = Entropy::system();
        let sealer = match stack.object {
            true => {
                let preset =
                    Preset::new(&mut entropy).map_err(|error| StackError::from(error).with_stack(stack))?;
                Some(Sealer { preset, entropy })
            }
            false => None,
        };
        let mut pool = Self {
            config,
            templates: VecDeque::new(),
            constant: None,
            sealer,
            request: None,
            resource: String::new(),
            text: String::new(),
        };
        // A message that cannot be sent is refused before anything is built.
        let first = Stamp {
            device: 0,
            message: 0,
            intended_ns: 0,
        };
        let template = pool.template(first)?;
        if pool.is_constant() {
            pool.constant = Some(template);
        }
        Ok(pool)
    }

    /// Whether the receiver can read a stamp at the front of payloads.
    pub fn is_stamped(&self) -> bool {
        match &self.config.payload {
            PayloadSource::Stamped(bytes) => bytes.len() >= Stamp::BYTES && self.sealer.is_none(),
            PayloadSource::Bytes(_) | PayloadSource::Described(..) | PayloadSource::Text(_) => false,
        }
    }

    /// The next message of the device that `stamp` names.
    ///
    /// # Errors
    /// The protocol cannot carry the text of a pattern.
    pub fn message(&mut self, stamp: Stamp) -> Result<Outgoing, ClientError> {
        if let Some(value) = self.recorded(stamp) {
            return Ok(self.template_of(stamp, value.to_vec())?.into());
        }
        if let Some(constant) = &self.constant {
            return Ok(Outgoing {
                template: constant.clone(),
                stamp: self.is_stamped().then_some(stamp.marked(self.config.mark)),
            });
        }
        for _ in 0..TRIES.min(self.templates.len()) {
            let Some(mut template) = self.templates.pop_front() else {
                break;
            };
            let is_written = self.rewrite(&mut template, stamp)?;
            self.templates.push_back(template.clone());
            if is_written {
                return Ok(template.into());
            }
        }
        let template = self.template(stamp)?;
        if self.templates.len() < KEPT && self.is_reusable() {
            self.templates.push_back(template.clone());
        }
        Ok(template.into())
    }

    /// A request of a device that reads the resource (CoAP, HTTP).
    ///
    /// # Errors
    /// The stack has no requests, or cannot carry the resource's name.
    pub fn request(&mut self, stamp: Stamp) -> Result<Outgoing, ClientError> {
        let is_fixed = !self.config.resource.differs_by_message();
        let device = match self.config.topics.is_some() || self.config.resource.differs_by_device() {
            true => stamp.device,
            false => 0,
        };
        if let Some((of, template)) = &self.request
            && is_fixed
            && *of == device
        {
            return Ok(template.clone().into());
        }
        self.render_resource(stamp);
        let template = request(self.config.stack, self.address())?.in_form(self.config.requests);
        self.request = Some((device, template.clone()));
        Ok(template.into())
    }

    /// The poll of a subscriber for the messages from `next_key` on (HTTP).
    ///
    /// # Errors
    /// The request cannot carry the path.
    pub fn poll(&self, subscription: &Subscription, next_key: u64) -> Result<Command, ClientError> {
        let page = subscription.page(next_key);
        let to = Address {
            resource: &page,
            authority: &self.config.authority,
            retain: false,
            user_properties: &[],
        };
        Ok(Command::Transmit {
            message: SUBSCRIPTION,
            outgoing: request(self.config.stack, to)?
                .in_form(self.config.requests)
                .into(),
        })
    }

    fn is_constant(&self) -> bool {
        let payload = match &self.config.payload {
            // A PUBLISH gets its stamp when it leaves, so that all devices share one template. One template for each message in
            // flight would have left the CPU's caches before it is used again.
            PayloadSource::Stamped(_) if self.config.stack.publishes() => true,
            PayloadSource::Stamped(bytes) => bytes.len() < Stamp::BYTES,
            PayloadSource::Bytes(_) | PayloadSource::Described(..) => true,
            PayloadSource::Text(pattern) => pattern.is_constant(),
        };
        payload && self.has_fixed_resource() && self.sealer.is_none()
    }

    /// Whether a template can be changed for the next message. Objects must be sealed again, and paths and queries are encoded in
    /// requests.
    fn is_reusable(&self) -> bool {
        !self.config.requests.in_query
            && (self.has_fixed_resource() || self.config.stack.publishes())
            && self.sealer.is_none()
    }

    /// Whether the resource is not part of a message, or is the same in all: AMQP has it in the link, bare messages have none.
    fn has_fixed_resource(&self) -> bool {
        let stack = self.config.stack;
        let is_named = stack.publishes() || stack.is_coap() || stack.is_http();
        !is_named || (self.config.topics.is_none() && self.config.resource.is_constant())
    }

    /// Turns `template` into the next message; false where a client holds it, or its payload has another length.
    fn rewrite(&mut self, template: &mut Template, stamp: Stamp) -> Result<bool, ClientError> {
        let Some(bytes) = template.content_mut().and_then(|content| content.bytes_mut()) else {
            return Ok(false);
        };
        match &self.config.payload {
            PayloadSource::Stamped(_) => stamp.marked(self.config.mark).put(bytes),
            PayloadSource::Bytes(_) | PayloadSource::Described(..) => {}
            PayloadSource::Text(pattern) => {
                self.text.clear();
                pattern.render(&values(&self.config, stamp), &mut self.text);
                if bytes.len() != self.text.len() {
                    return Ok(false);
                }
                bytes.copy_from_slice(self.text.as_bytes());
            }
        }
        if self.has_fixed_resource() {
            return Ok(true);
        }
        self.render_resource(stamp);
        self.readdress(template)
    }

    /// Sets the topic of a PUBLISH to the text that was rendered last.
    fn readdress(&self, template: &mut Template) -> Result<bool, ClientError> {
        let Template::Mqtt(template) = template else {
            return Ok(false);
        };
        let Some(template) = Arc::get_mut(template) else {
            return Ok(false);
        };
        let readdressed = template.set_topic(&self.resource);
        readdressed.map_err(|error| StackError::from(error).with_stack(self.config.stack))?;
        Ok(true)
    }

    /// A new template for the message.
    fn template(&mut self, stamp: Stamp) -> Result<Template, ClientError> {
        let mut payload = match &self.config.payload {
            PayloadSource::Stamped(bytes)
            | PayloadSource::Bytes(bytes)
            | PayloadSource::Described(bytes, _) => bytes.to_vec(),
            PayloadSource::Text(pattern) => pattern.text(&values(&self.config, stamp)).into_bytes(),
        };
        if matches!(self.config.payload, PayloadSource::Stamped(_)) {
            stamp.marked(self.config.mark).put(&mut payload);
        }
        self.template_of(stamp, payload)
    }

    /// The payload of a message of the first device, if that has its own.
    fn recorded(&self, stamp: Stamp) -> Option<Arc<[u8]>> {
        let recorded = self.config.recorded.as_ref().filter(|_| stamp.device == 0)?;
        recorded.get(stamp.message as usize).cloned()
    }

    /// A new template with this payload.
    fn template_of(&mut self, stamp: Stamp, payload: Vec<u8>) -> Result<Template, ClientError> {
        self.render_resource(stamp);
        let stack = self.config.stack;
        let (media, content) = match &mut self.sealer {
            Some(Sealer { preset, entropy }) => {
                let sealed = preset.seal(&payload, entropy);
                let content = sealed.map_err(|error| StackError::from(error).with_stack(stack))?;
                (Media::BYTES, content)
            }
            None => (self.config.payload.media(), payload.into()),
        };
        let template = template(stack, self.address(), media, content)?;
        Ok(template.in_form(self.config.requests))
    }

    fn render_resource(&mut self, stamp: Stamp) {
        self.resource.clear();
        let topics = self.config.topics.as_deref().unwrap_or_default();
        if let Some(topic) = topics.get(stamp.device as usize) {
            return self.resource.push_str(topic);
        }
        let values = values(&self.config, stamp);
        self.config.resource.render(&values, &mut self.resource);
    }

    fn address(&self) -> Address<'_> {
        Address {
            resource: &self.resource,
            authority: &self.config.authority,
            retain: self.config.retain,
            user_properties: &self.config.user_properties,
        }
    }
}

fn values(config: &PoolConfig, stamp: Stamp) -> Values {
    Values {
        device: stamp.device,
        message: stamp.message,
        unix_ms: stamp.intended_ns.saturating_add(config.utc_offset_ns) / 1_000_000,
        seed: config.seed,
    }
}

#[cfg(test)]
mod tests;
