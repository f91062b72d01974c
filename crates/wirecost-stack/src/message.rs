//! What the devices of a cell send, encoded once as far as the protocol allows.

use std::sync::Arc;

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_http::message as http;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Content, Rng};
use wirecost_security::entropy::Entropy;
use wirecost_security::object::{Preset, SealError};

use super::credentials::SERVER_NAME;
use super::error::ClientError;
use super::{Application, Stack};

/// What the devices of a cell send.
#[derive(Clone, Debug)]
pub struct Message {
    stack: Stack,
    resource: Arc<str>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    /// Encoded once.
    Plain(Template),
    /// Sealed anew for each message.
    Object {
        preset: Arc<Preset>,
        payload: Arc<[u8]>,
        entropy: Entropy,
    },
}

/// A message that can be sent any number of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Template {
    /// The content itself.
    Bare(Content),
    /// A PUBLISH.
    Mqtt(Arc<mqtt::PublishTemplate>),
    /// A PUT.
    Coap(Arc<coap::RequestTemplate>),
    /// A transfer.
    Amqp(Arc<amqp::MessageTemplate>),
    /// A POST.
    Http(Arc<http::RequestTemplate>),
}

impl Template {
    /// The content, where the template has no other holder.
    pub(super) fn content_mut(&mut self) -> Option<&mut Content> {
        match self {
            Self::Bare(content) => Some(content),
            Self::Mqtt(template) => Arc::get_mut(template).map(mqtt::PublishTemplate::content_mut),
            Self::Coap(template) => Arc::get_mut(template).map(coap::RequestTemplate::content_mut),
            Self::Amqp(template) => Arc::get_mut(template).map(amqp::MessageTemplate::content_mut),
            Self::Http(template) => Arc::get_mut(template).map(http::RequestTemplate::content_mut),
        }
    }
}

/// Where messages go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address<'a> {
    /// Topic, path or address.
    pub(super) resource: &'a str,
    /// Host, with a port where it needs one (HTTP).
    pub(super) authority: &'a str,
    /// Whether the server retains messages (MQTT).
    pub(super) retain: bool,
}

impl<'a> Address<'a> {
    /// A resource of a server that wirecost starts.
    const fn of(resource: &'a str) -> Self {
        Self {
            resource,
            authority: SERVER_NAME,
            retain: false,
        }
    }
}

impl Message {
    /// The message of a stack: `payload` for the topic, path or address `resource`.
    ///
    /// # Errors
    /// The protocol cannot carry the resource's name or the payload.
    pub fn new(stack: Stack, resource: &str, payload: &Arc<[u8]>) -> Result<Self, ClientError> {
        Self::sealed_by(stack, resource, payload, Entropy::system(), Preset::new)
    }

    /// The same for a simulation: where it is a protected object, its keys follow from `rng`.
    ///
    /// # Errors
    /// As [`Message::new`].
    pub fn simulated(
        stack: Stack,
        resource: &str,
        payload: &Arc<[u8]>,
        rng: Rng,
    ) -> Result<Self, ClientError> {
        Self::sealed_by(
            stack,
            resource,
            payload,
            Entropy::seeded(rng),
            Preset::deterministic,
        )
    }

    /// The same message as a simulated device seals it whose randomness is `rng`.
    #[must_use]
    pub fn with_seed(&self, rng: Rng) -> Self {
        let mut message = self.clone();
        if let Body::Object { entropy, .. } = &mut message.body {
            *entropy = Entropy::seeded(rng);
        }
        message
    }

    fn sealed_by(
        stack: Stack,
        resource: &str,
        payload: &Arc<[u8]>,
        mut entropy: Entropy,
        preset: fn(&mut Entropy) -> Result<Preset, SealError>,
    ) -> Result<Self, ClientError> {
        let body = if stack.object {
            let preset = preset(&mut entropy).map_err(|error| ClientError::new(stack, error))?;
            // What cannot be sent is found before anything is built.
            let object = sealed(stack, &preset, payload, &mut entropy)?;
            template(stack, Address::of(resource), object)?;
            Body::Object {
                preset: Arc::new(preset),
                payload: Arc::clone(payload),
                entropy,
            }
        } else {
            Body::Plain(template(
                stack,
                Address::of(resource),
                Arc::clone(payload).into(),
            )?)
        };
        Ok(Self {
            stack,
            resource: resource.into(),
            body,
        })
    }

    /// The stack that it is for.
    pub const fn stack(&self) -> Stack {
        self.stack
    }

    /// The topic, path or address that it is for.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The next message to send.
    pub(super) fn next(&mut self) -> Result<Template, ClientError> {
        match &mut self.body {
            Body::Plain(template) => Ok(template.clone()),
            Body::Object {
                preset,
                payload,
                entropy,
            } => {
                let content = sealed(self.stack, preset, payload, entropy)?;
                template(self.stack, Address::of(&self.resource), content)
            }
        }
    }
}

pub(super) fn sealed(
    stack: Stack,
    preset: &Preset,
    payload: &[u8],
    entropy: &mut Entropy,
) -> Result<Content, ClientError> {
    let sealed = preset.seal(payload, entropy);
    sealed.map_err(|error| ClientError::new(stack, error))
}

/// The message of a stack that carries `content`.
pub(super) fn template(stack: Stack, to: Address<'_>, content: Content) -> Result<Template, ClientError> {
    let error = |reason: &dyn std::fmt::Display| ClientError::new(stack, reason);
    match stack.application {
        Application::Tcp | Application::Udp => Ok(Template::Bare(content)),
        Application::Mqtt311(qos) | Application::Mqtt5(qos) => {
            let qos = QoS::from_bits(qos).ok_or_else(|| error(&format_args!("there is no QoS {qos}")))?;
            let template = mqtt::PublishTemplate::new(to.resource, qos, content);
            let template = template.map_err(|reason| error(&reason))?;
            Ok(Template::Mqtt(Arc::new(match to.retain {
                true => template.retained(),
                false => template,
            })))
        }
        Application::CoapNon => coap(stack, coap::Request::put_without_response(to.resource, content)),
        Application::CoapCon => coap(stack, coap::Request::put(to.resource, content)),
        Application::AmqpSettled | Application::AmqpUnsettled => {
            Ok(Template::Amqp(Arc::new(amqp::MessageTemplate::new(content))))
        }
        Application::Http1 | Application::Http3 => http(stack, http::Method::Post, to, content),
    }
}

/// The request of a stack that asks for what the resource holds.
///
/// # Errors
/// The stack's protocol knows no such request, or cannot carry the resource's name.
pub(super) fn request(stack: Stack, to: Address<'_>) -> Result<Template, ClientError> {
    match stack.application {
        Application::CoapNon => coap(
            stack,
            coap::Request {
                confirmable: false,
                ..coap::Request::get(to.resource)
            },
        ),
        Application::CoapCon => coap(stack, coap::Request::get(to.resource)),
        Application::Http1 | Application::Http3 => http(stack, http::Method::Get, to, Vec::new().into()),
        Application::Tcp
        | Application::Udp
        | Application::Mqtt311(_)
        | Application::Mqtt5(_)
        | Application::AmqpSettled
        | Application::AmqpUnsettled => Err(ClientError::new(
            stack,
            "its protocol has no requests: those are CoAP's and HTTP's",
        )),
    }
}

fn coap(stack: Stack, request: coap::Request) -> Result<Template, ClientError> {
    let template = coap::RequestTemplate::new(request);
    template
        .map(|template| Template::Coap(Arc::new(template)))
        .map_err(|reason| ClientError::new(stack, reason))
}

fn http(
    stack: Stack,
    method: http::Method,
    to: Address<'_>,
    content: Content,
) -> Result<Template, ClientError> {
    let path = format!("/{}", to.resource.trim_start_matches('/'));
    let octets = Some("application/octet-stream");
    let template = http::RequestTemplate::new(method, to.authority, &path, octets, content);
    template
        .map(|template| Template::Http(Arc::new(template)))
        .map_err(|reason| ClientError::new(stack, reason))
}
