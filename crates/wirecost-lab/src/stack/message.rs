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

use super::client::ClientError;
use super::credentials::SERVER_NAME;
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
#[derive(Clone, Debug)]
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
            template(stack, resource, sealed(stack, &preset, payload, &mut entropy)?)?;
            Body::Object {
                preset: Arc::new(preset),
                payload: Arc::clone(payload),
                entropy,
            }
        } else {
            Body::Plain(template(stack, resource, Arc::clone(payload).into())?)
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
                template(self.stack, &self.resource, content)
            }
        }
    }
}

fn sealed(
    stack: Stack,
    preset: &Preset,
    payload: &[u8],
    entropy: &mut Entropy,
) -> Result<Content, ClientError> {
    let sealed = preset.seal(payload, entropy);
    sealed.map_err(|error| ClientError::new(stack, error))
}

fn template(stack: Stack, resource: &str, content: Content) -> Result<Template, ClientError> {
    let error = |reason: &dyn std::fmt::Display| ClientError::new(stack, reason);
    match stack.application {
        Application::Tcp | Application::Udp => Ok(Template::Bare(content)),
        Application::Mqtt311(qos) | Application::Mqtt5(qos) => {
            let qos = QoS::from_bits(qos).ok_or_else(|| error(&format_args!("there is no QoS {qos}")))?;
            let template = mqtt::PublishTemplate::new(resource, qos, content);
            template
                .map(|template| Template::Mqtt(Arc::new(template)))
                .map_err(|reason| error(&reason))
        }
        Application::CoapNon | Application::CoapCon => {
            let request = match stack.application {
                Application::CoapNon => coap::Request::put_without_response(resource, content),
                _ => coap::Request::put(resource, content),
            };
            let template = coap::RequestTemplate::new(request);
            template
                .map(|template| Template::Coap(Arc::new(template)))
                .map_err(|reason| error(&reason))
        }
        Application::AmqpSettled | Application::AmqpUnsettled => {
            Ok(Template::Amqp(Arc::new(amqp::MessageTemplate::new(content))))
        }
        Application::Http1 | Application::Http3 => {
            let path = format!("/{resource}");
            let octets = Some("application/octet-stream");
            let template =
                http::RequestTemplate::new(http::Method::Post, SERVER_NAME, &path, octets, content);
            template
                .map(|template| Template::Http(Arc::new(template)))
                .map_err(|reason| error(&reason))
        }
    }
}
