//! The message of a cell's devices, encoded once where the protocol allows that.

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
use super::error::{ClientError, StackError};
use super::media::{Media, Payload};
use super::{Application, Stack};

/// The fewest bytes of a further header field of HTTP/1.1.
pub const LEAST_FIELD_BYTES: usize = http::RequestTemplate::LEAST_FIELD_BYTES;

/// The message of a cell's devices.
#[derive(Clone, Debug)]
pub struct Message {
    stack: Stack,
    resource: Arc<str>,
    body: Body,
    requests: Requests,
}

/// The form of HTTP requests that carry messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Bytes of header fields beyond those that the standards need.
    pub field_bytes: usize,
    /// Whether a message is a GET with its content in the query.
    pub in_query: bool,
}

#[derive(Clone, Debug)]
enum Body {
    /// Encoded once.
    Plain(Template),
    /// Sealed again for each message.
    Object {
        preset: Arc<Preset>,
        payload: Arc<[u8]>,
        entropy: Entropy,
    },
}

/// A message that can be sent any number of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// The content itself.
    Bare(Content),
    /// A PUBLISH of MQTT or MQTT-SN.
    Mqtt(Arc<mqtt::PublishTemplate>),
    /// A CoAP request.
    Coap(Arc<coap::RequestTemplate>),
    /// A transfer.
    Amqp(Arc<amqp::MessageTemplate>),
    /// An HTTP request.
    Http(Arc<http::RequestTemplate>),
}

impl Template {
    /// The same in this form, if it is an HTTP request.
    pub(super) fn in_form(self, requests: Requests) -> Self {
        match self {
            Self::Http(template) if requests != Requests::default() => {
                let mut template = Arc::unwrap_or_clone(template);
                if requests.in_query {
                    template = template.with_content_in_query();
                }
                Self::Http(Arc::new(template.with_field_bytes(requests.field_bytes)))
            }
            other @ (Self::Bare(_) | Self::Mqtt(_) | Self::Coap(_) | Self::Amqp(_) | Self::Http(_)) => other,
        }
    }

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

/// The destination of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address<'a> {
    /// Topic, path or address.
    pub(super) resource: &'a str,
    /// Host, with a port where it needs one (HTTP).
    pub(super) authority: &'a str,
    /// Whether the server retains messages (MQTT).
    pub(super) retain: bool,
    /// User properties (MQTT 5).
    pub(super) user_properties: &'a [(String, String)],
}

impl<'a> Address<'a> {
    /// A resource of a server that wirecost starts.
    pub(super) const fn from_resource(resource: &'a str) -> Self {
        Self {
            resource,
            authority: SERVER_NAME,
            retain: false,
            user_properties: &[],
        }
    }
}

impl Message {
    /// A message of a stack that carries `payload` to the topic, path or address `resource`.
    ///
    /// # Errors
    /// The protocol cannot carry the resource's name or the payload.
    pub fn new(stack: Stack, resource: &str, payload: impl Into<Payload>) -> Result<Self, ClientError> {
        Self::sealed_by(stack, resource, payload.into(), Entropy::system(), Preset::new)
    }

    /// The same for a server that HTTP requests name `authority`: its host, with a port where it needs one.
    ///
    /// # Errors
    /// As [`Message::new`].
    pub fn to_host(
        stack: Stack,
        resource: &str,
        authority: &str,
        payload: impl Into<Payload>,
    ) -> Result<Self, ClientError> {
        if stack.object || !stack.is_http() {
            return Self::new(stack, resource, payload);
        }
        let to = Address {
            authority,
            ..Address::from_resource(resource)
        };
        let payload = payload.into();
        let template = template(stack, to, payload.media, payload.bytes.into())?;
        Ok(Self::encoded(stack, resource, template))
    }

    /// The same for a simulation. The keys of a protected object follow from `rng`.
    ///
    /// # Errors
    /// As [`Message::new`].
    pub fn simulated(
        stack: Stack,
        resource: &str,
        payload: impl Into<Payload>,
        rng: Rng,
    ) -> Result<Self, ClientError> {
        Self::sealed_by(
            stack,
            resource,
            payload.into(),
            Entropy::seeded(rng),
            Preset::deterministic,
        )
    }

    /// The same message for a simulated device whose randomness is `rng`.
    #[must_use]
    pub fn with_seed(&self, rng: Rng) -> Self {
        let mut message = self.clone();
        if let Body::Object { entropy, .. } = &mut message.body {
            *entropy = Entropy::seeded(rng);
        }
        message
    }

    /// A message that the caller has encoded.
    pub fn encoded(stack: Stack, resource: &str, template: Template) -> Self {
        Self {
            stack,
            resource: resource.into(),
            body: Body::Plain(template),
            requests: Requests::default(),
        }
    }

    fn sealed_by(
        stack: Stack,
        resource: &str,
        payload: Payload,
        mut entropy: Entropy,
        preset: fn(&mut Entropy) -> Result<Preset, SealError>,
    ) -> Result<Self, ClientError> {
        if !stack.object {
            let to = Address::from_resource(resource);
            let template = template(stack, to, payload.media, payload.bytes.into())?;
            return Ok(Self::encoded(stack, resource, template));
        }
        let preset = preset(&mut entropy).map_err(|error| StackError::from(error).with_stack(stack))?;
        let mut message = Self {
            stack,
            resource: resource.into(),
            body: Body::Object {
                preset: Arc::new(preset),
                payload: payload.bytes,
                entropy,
            },
            requests: Requests::default(),
        };
        // A message that cannot be sent is refused before anything is built.
        message.next()?;
        Ok(message)
    }

    /// The same message in this form, where the stack is HTTP.
    #[must_use]
    pub fn in_form(mut self, requests: Requests) -> Self {
        self.requests = requests;
        if let Body::Plain(template) = &mut self.body {
            *template = template.clone().in_form(requests);
        }
        self
    }

    /// The stack of the message.
    pub const fn stack(&self) -> Stack {
        self.stack
    }

    /// The topic, path or address of the message.
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
                let sealed = preset.seal(payload, entropy);
                let content = sealed.map_err(|error| StackError::from(error).with_stack(self.stack))?;
                // A protected object hides the type of what is in it.
                let template = template(
                    self.stack,
                    Address::from_resource(&self.resource),
                    Media::BYTES,
                    content,
                )?;
                Ok(template.in_form(self.requests))
            }
        }
    }
}

/// The message of a stack that carries `content`, described as `media`.
pub(super) fn template(
    stack: Stack,
    to: Address<'_>,
    media: Media,
    content: Content,
) -> Result<Template, ClientError> {
    let template = match stack.application {
        // A database's client adds the other columns.
        Application::Tcp | Application::Udp | Application::Store(_) => Ok(Template::Bare(content)),
        Application::Mqtt311(qos) | Application::Mqtt5(qos) => publish(qos, to, media, content),
        Application::MqttSn(qos) => publish(u8::try_from(qos).unwrap_or(0), to, media, content),
        Application::CoapNon => {
            let request = coap::Request::put_without_response(to.resource, content);
            coap(described(request, media))
        }
        Application::CoapCon | Application::CoapTcp => {
            coap(described(coap::Request::put(to.resource, content), media))
        }
        Application::AmqpSettled | Application::AmqpUnsettled => {
            let message = amqp::MessageTemplate::described(media.content_type, media.content_coding, content);
            Ok(Template::Amqp(Arc::new(message)))
        }
        Application::Http1 | Application::Http3 => http(http::Method::Post, to, media, content),
    };
    template.map_err(|error| error.with_stack(stack))
}

/// The request of a stack that reads the resource.
///
/// # Errors
/// The stack's protocol has no such request, or cannot carry the resource's name.
pub(super) fn request(stack: Stack, to: Address<'_>) -> Result<Template, ClientError> {
    let template = match stack.application {
        Application::CoapNon | Application::CoapCon | Application::CoapTcp => coap(coap::Request {
            confirmable: stack.application != Application::CoapNon,
            ..coap::Request::get(to.resource)
        }),
        Application::Http1 | Application::Http3 => {
            http(http::Method::Get, to, Media::BYTES, Vec::new().into())
        }
        Application::Tcp
        | Application::Udp
        | Application::Mqtt311(_)
        | Application::Mqtt5(_)
        | Application::MqttSn(_)
        | Application::AmqpSettled
        | Application::AmqpUnsettled
        | Application::Store(_) => Err(StackError::NoRequests),
    };
    template.map_err(|error| error.with_stack(stack))
}

fn publish(qos: u8, to: Address<'_>, media: Media, content: Content) -> Result<Template, StackError> {
    let qos = QoS::from_bits(qos).ok_or(StackError::QoS(qos))?;
    let template = mqtt::PublishTemplate::new(to.resource, qos, content)?;
    let template = match media.mqtt_content_type {
        Some(content_type) => template.with_content_type(content_type)?,
        None => template,
    };
    let mut properties = to.user_properties.iter();
    let template = properties.try_fold(template, |template, (name, value)| {
        template.with_user_property(name, value)
    })?;
    Ok(Template::Mqtt(Arc::new(match to.retain {
        true => template.retained(),
        false => template,
    })))
}

/// A request that says what it carries.
fn described(request: coap::Request, media: Media) -> coap::Request {
    coap::Request {
        content_format: Some(media.content_format),
        ..request
    }
}

fn coap(request: coap::Request) -> Result<Template, StackError> {
    Ok(Template::Coap(Arc::new(coap::RequestTemplate::new(request)?)))
}

pub(super) fn http(
    method: http::Method,
    to: Address<'_>,
    media: Media,
    content: Content,
) -> Result<Template, StackError> {
    let path = format!("/{}", to.resource.trim_start_matches('/'));
    let kind = Some(media.content_type);
    let template = http::RequestTemplate::new(method, to.authority, &path, kind, content)?;
    Ok(Template::Http(Arc::new(match media.content_coding {
        Some(coding) => template.with_content_coding(coding),
        None => template,
    })))
}
