//! The client that a probe's options ask for, on the clients of the stacks.

use std::sync::Arc;

use wirecost_coap::client as coap;
use wirecost_coap::option::OptionNumber;
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Rng};
use wirecost_security::{Epoch, KeyLog, tls};
use wirecost_stack::channels::{ClientChannels, ClientOffer};
use wirecost_stack::client::{self, ClientConfig, LONGEST_WAIT, Session};
use wirecost_stack::error::{ClientError, CommandError};
use wirecost_stack::message::Template;
use wirecost_stack::url::{Login, Protocol, percent_decoded};
use wirecost_stack::{Application, Command, Message, Stack};

use super::event::ProbeEvent;
use super::options::{Options, OptionsError, TlsVersion};

/// MQTT keep-alive in seconds.
const KEEP_ALIVE: u16 = 60;

/// The topic or address where the URL names none.
const DEFAULT_RESOURCE: &str = "test";

/// What a client needs besides the options.
#[derive(Clone)]
pub(super) struct Environment {
    /// The probe's clock among the clocks of the security libraries.
    pub(super) epoch: Epoch,
    /// Where the secrets go.
    pub(super) key_log: KeyLog,
    /// Connection ids, tokens and message ids.
    pub(super) rng: Rng,
}

/// A probed client: a stack's client that also reports what it ignored and what TLS negotiated.
pub(super) struct Client {
    inner: client::Client<ProbeEvent>,
    last_ignored: Option<String>,
    /// Whether `last_ignored` is not reported yet.
    is_news: bool,
}

impl Client {
    /// The client that `options` ask for.
    ///
    /// # Errors
    /// [`OptionsError`] where the protocol or the layer cannot do what is asked.
    pub(super) fn new(options: &Options, environment: &Environment) -> Result<Self, OptionsError> {
        let (message, config) = (message(options)?, config(options, environment));
        Self::around(client::Client::new(
            &message,
            &config,
            &channels(options, environment),
        ))
    }

    /// A client that makes the handshake of `options` and sends nothing after it.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub(super) fn silent(options: &Options, environment: &Environment) -> Result<Self, OptionsError> {
        let stack = Stack {
            application: Application::Tcp,
            ..options.stack()
        };
        let (config, channels) = (config(options, environment), channels(options, environment));
        Self::around(client::Client::idle(stack, "", &config, &channels))
    }

    fn around(inner: Result<client::Client<ProbeEvent>, ClientError>) -> Result<Self, OptionsError> {
        Ok(Self {
            inner: inner?,
            last_ignored: None,
            is_news: false,
        })
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = ProbeEvent;
    type Error = CommandError;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), CommandError> {
        let handled = self.inner.handle_input(input, now);
        let ignored = self.inner.last_ignored();
        if ignored != self.last_ignored {
            self.last_ignored = ignored;
            self.is_news = true;
        }
        handled
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ProbeEvent> {
        match (self.inner.poll_output(out), &self.last_ignored) {
            (Output::Timeout(_), Some(what)) if self.is_news => {
                self.is_news = false;
                Output::Event(ProbeEvent::Ignored(what.clone()))
            }
            (Output::Event(ProbeEvent::Established { start, .. }), _) => {
                let negotiated = self.inner.negotiated().map(Box::new);
                Output::Event(ProbeEvent::Established { start, negotiated })
            }
            (output, _) => output,
        }
    }
}

fn config(options: &Options, environment: &Environment) -> ClientConfig {
    let session = options.login.clone().map(|Login { user, password }| Session {
        login: Some((user, password)),
        ..Session::default()
    });
    ClientConfig {
        keep_alive: KEEP_ALIVE,
        start: options.start,
        session: session.map(Box::new),
        hostname: Some(options.url.host.clone()),
        // The probe's own time-outs come first.
        answer_timeout: Some(LONGEST_WAIT),
        ..ClientConfig::new(options.client_id.as_str(), environment.rng)
    }
}

fn channels(options: &Options, environment: &Environment) -> ClientChannels {
    let is_http1 = options.url.scheme.protocol() == Protocol::Http1;
    let alpn = is_http1.then(|| b"http/1.1".to_vec());
    let offer = ClientOffer::new(
        environment.epoch,
        options.url.host.as_str(),
        options.trusted.clone(),
    );
    ClientChannels::offering(ClientOffer {
        key_log: environment.key_log.clone(),
        identity: options.identity.clone(),
        psk: options.psk.clone(),
        versions: versions(options),
        suites: tls::Suites::wide(options.groups, options.cipher),
        alpn: alpn.into_iter().collect(),
        handshake_timeout: Some(LONGEST_WAIT),
        ..offer
    })
}

/// The versions of TLS that are offered, where they are not those of the stack's name.
fn versions(options: &Options) -> Option<tls::Versions> {
    match (options.url.scheme.protocol(), options.tls) {
        // RFC 9001, section 4.2: QUIC has no other version.
        (Protocol::Http3, _) | (_, Some(TlsVersion::V12 | TlsVersion::V13)) => None,
        (_, None) => Some(tls::Versions::Both),
    }
}

fn message(options: &Options) -> Result<Message, OptionsError> {
    let (stack, resource) = (options.stack(), options.url.resource.as_str());
    let encoded = |template| Ok(Message::encoded(stack, resource, template));
    match options.url.scheme.protocol() {
        Protocol::Tcp | Protocol::Udp => Err(OptionsError::NothingAnswers),
        Protocol::Mqtt | Protocol::MqttSn | Protocol::Amqp | Protocol::Store(_) => {
            let name = match resource {
                "" => DEFAULT_RESOURCE.to_owned(),
                resource => percent_decoded(resource),
            };
            let payload: Arc<[u8]> = options.payload.clone().into();
            Ok(Message::new(stack, &name, &payload)?)
        }
        Protocol::Coap | Protocol::CoapTcp => encoded(Template::Coap(Arc::new(coap_request(options)?))),
        Protocol::Http1 | Protocol::Http3 => encoded(Template::Http(Arc::new(http_request(options)?))),
    }
}

/// RFC 7252, section 6.4: how a URI becomes options.
fn coap_request(options: &Options) -> Result<coap::RequestTemplate, OptionsError> {
    let (path, query) = match options.url.resource.split_once('?') {
        Some((path, query)) => (path, query.split('&').map(percent_decoded).collect()),
        None => (options.url.resource.as_str(), Vec::new()),
    };
    let path = percent_decoded(path);
    let mut request = match options.fetch {
        true => coap::Request::get(path),
        false => coap::Request::put(path, options.payload.clone()),
    };
    request.query = query;
    let host = options.url.host.as_str();
    if host.parse::<std::net::IpAddr>().is_err() {
        // Step 5: a name is sent, an address is known from the datagram.
        let option = (OptionNumber::URI_HOST, host.as_bytes().to_vec());
        request.options.push(option);
    }
    coap::RequestTemplate::new(request).map_err(|error| OptionsError::Stack(error.into()))
}

fn http_request(options: &Options) -> Result<RequestTemplate, OptionsError> {
    let path = format!("/{}", options.url.resource);
    let (method, payload) = match options.fetch {
        true => (Method::Get, Vec::new()),
        false => (Method::Post, options.payload.clone()),
    };
    let octets = Some("application/octet-stream");
    let template = RequestTemplate::new(method, &options.url.authority(), &path, octets, payload);
    template.map_err(|error| OptionsError::Stack(error.into()))
}
