//! From a URL and its options to the endpoint: the application's client within the layer that protects its channel.

use std::sync::Arc;
use std::time::Duration;

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_coap::option::OptionNumber;
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_http::{client as http, http1, http3};
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Rng};
use wirecost_security::{Epoch, KeyLog, Start, dtls, tls};
use wirecost_stack::url::{Login, Protocol, Scheme, percent_decoded};

use super::application::{
    Adapter, Application, amqp_event, amqp_ignored, coap_event, coap_ignored, http_event, http3_event,
    layered, mqtt_event, mqtt_ignored,
};
use super::event::{Command, ProbeEvent, ProtocolEvent};
use super::options::{NOTHING_ANSWERS, Options, OptionsError, TlsVersion, Trusted};

/// Longer than any step is waited for: the probe's own time-outs come first.
const LONGEST_WAIT: Duration = Duration::from_secs(7_200);

/// MQTT keep-alive in seconds.
const KEEP_ALIVE: u16 = 60;

/// What the options do not say.
#[derive(Clone)]
pub(super) struct Environment {
    /// Where the run's clock stands.
    pub(super) epoch: Epoch,
    /// Where the secrets go.
    pub(super) key_log: KeyLog,
    /// Connection ids, tokens and message ids.
    pub(super) rng: Rng,
}

/// A probed client.
pub(super) enum Client {
    /// No layer, or the one that the application brings along.
    Plain(Application),
    /// TLS.
    Tls(Box<tls::Client<Application>>),
    /// DTLS.
    Dtls(Box<dtls::Client<Application>>),
}

impl Client {
    /// The client that `options` ask for.
    ///
    /// # Errors
    /// [`OptionsError`] where the protocol or the layer cannot do what is asked.
    pub(super) fn new(options: &Options, around: &Environment) -> Result<Self, OptionsError> {
        let application = application(options, around)?;
        Ok(match options.url.scheme {
            Scheme::Mqtts | Scheme::Amqps | Scheme::Https => {
                Self::Tls(Box::new(tls::Client::new(tls(options, around)?, application)))
            }
            Scheme::Coaps => Self::Dtls(Box::new(dtls::Client::new(dtls(options, around)?, application))),
            Scheme::Mqtt
            | Scheme::Coap
            | Scheme::Amqp
            | Scheme::Http
            | Scheme::H3
            | Scheme::Tcp
            | Scheme::Udp => Self::Plain(application),
        })
    }
}

impl Client {
    /// A client that makes the TLS handshake of `options` and then says nothing.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub(super) fn silent(options: &Options, around: &Environment) -> Result<Self, OptionsError> {
        let close = bare::ClientCommand::Close;
        let silent = bare::Client::new(Transport::Stream);
        let silent = Adapter::boxed(
            silent,
            close.clone(),
            close,
            |_| ProbeEvent::ProtocolEvent(ProtocolEvent::Other),
            |_| None,
        );
        Ok(Self::Tls(Box::new(tls::Client::new(
            tls(options, around)?,
            silent,
        ))))
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = ProbeEvent;
    type Error = String;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), String> {
        match self {
            Self::Plain(client) => client.handle_input(input, now),
            Self::Tls(client) => client.handle_input(input, now),
            Self::Dtls(client) => client.handle_input(input, now),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ProbeEvent> {
        let told = |event| layered(event, |happening| happening);
        match self {
            Self::Plain(client) => client.poll_output(out),
            Self::Tls(client) => {
                let output = client.poll_output(out).map_event(told);
                let negotiated = client.negotiated();
                output.map_event(|happening| with_negotiated(happening, negotiated))
            }
            Self::Dtls(client) => client.poll_output(out).map_event(told),
        }
    }
}

fn with_negotiated(happening: ProbeEvent, negotiated: Option<tls::Negotiated>) -> ProbeEvent {
    match happening {
        ProbeEvent::Established { start, .. } => ProbeEvent::Established {
            start,
            negotiated: negotiated.map(Box::new),
        },
        other => other,
    }
}

fn application(options: &Options, around: &Environment) -> Result<Application, OptionsError> {
    match options.url.scheme.protocol() {
        Protocol::Tcp | Protocol::Udp => Err(OptionsError::refused(NOTHING_ANSWERS)),
        Protocol::Mqtt => mqtt_client(options),
        Protocol::Coap => coap_client(options, around),
        Protocol::Amqp => Ok(amqp_client(options)),
        Protocol::Http1 => {
            let client = http1::Client::new(http1::ClientConfig {
                response_timeout: None,
                ..http1::ClientConfig::default()
            });
            let (send, close) = http_commands(options)?;
            Ok(Adapter::boxed(client, send, close, http_event, |_| None))
        }
        Protocol::Http3 => {
            let config = http3::ClientConfig {
                response_timeout: LONGEST_WAIT,
                ..http3::ClientConfig::new(tls(options, around)?, around.rng)
            };
            let client = http3::Client::new(config).map_err(OptionsError::refused)?;
            let (send, close) = http_commands(options)?;
            Ok(Adapter::boxed(client, send, close, http3_event, |_| None))
        }
    }
}

fn mqtt_client(options: &Options) -> Result<Application, OptionsError> {
    let topic = named_or(&options.url.resource, "test");
    let qos = QoS::from_bits(options.qos);
    let qos = qos.ok_or_else(|| OptionsError::refused(format!("there is no QoS {}", options.qos)))?;
    let template = mqtt::PublishTemplate::new(&topic, qos, options.payload.clone());
    let template = Arc::new(template.map_err(OptionsError::refused)?);
    let (username, password) = match &options.login {
        Some(Login { user, password }) => (
            Some(user.parse().map_err(OptionsError::refused)?),
            Some(password.as_bytes().try_into().map_err(OptionsError::refused)?),
        ),
        None => (None, None),
    };
    let client = mqtt::Client::new(mqtt::Config {
        version: options.mqtt_version,
        client_id: options.client_id.parse().map_err(OptionsError::refused)?,
        keep_alive: KEEP_ALIVE,
        username,
        password,
        connect_timeout: LONGEST_WAIT,
        ..mqtt::Config::default()
    });
    let send = mqtt::Command::PublishAs {
        message: 0,
        template,
        stamp: None,
    };
    let close = mqtt::Command::Disconnect(ReasonCode::Success);
    Ok(Adapter::boxed(client, send, close, mqtt_event, mqtt_ignored))
}

/// RFC 7252, section 6.4: how a URI becomes options.
fn coap_client(options: &Options, around: &Environment) -> Result<Application, OptionsError> {
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
        request
            .options
            .push((OptionNumber::URI_HOST, host.as_bytes().to_vec()));
    }
    let template = coap::RequestTemplate::new(request).map_err(OptionsError::refused)?;
    let client = coap::Client::new(coap::Config {
        response_timeout: LONGEST_WAIT,
        ..coap::Config::new(around.rng)
    });
    let template = Arc::new(template);
    let send = coap::Command::Request { message: 0, template };
    Ok(Adapter::boxed(
        client,
        send,
        coap::Command::Close,
        coap_event,
        coap_ignored,
    ))
}

fn amqp_client(options: &Options) -> Application {
    let sasl = match &options.login {
        Some(Login { user, password }) => amqp::SaslConfig::Plain {
            user: user.clone(),
            password: password.clone(),
        },
        None => amqp::SaslConfig::Anonymous,
    };
    let client = amqp::Client::new(amqp::Config {
        container_id: options.client_id.clone(),
        link_name: options.client_id.clone(),
        hostname: Some(options.url.host.clone()),
        target: named_or(&options.url.resource, "test"),
        // QoS 0: settled by the sender, nothing answers.
        settled: options.qos == 0,
        sasl,
        answer_timeout: LONGEST_WAIT,
        ..amqp::Config::default()
    });
    let template = Arc::new(amqp::MessageTemplate::new(options.payload.clone()));
    let send = amqp::Command::Send { message: 0, template };
    Adapter::boxed(client, send, amqp::Command::Close, amqp_event, amqp_ignored)
}

fn http_commands(options: &Options) -> Result<(http::Command, http::Command), OptionsError> {
    let path = format!("/{}", options.url.resource);
    let (method, payload) = match options.fetch {
        true => (Method::Get, Vec::new()),
        false => (Method::Post, options.payload.clone()),
    };
    let octets = Some("application/octet-stream");
    let template = RequestTemplate::new(method, &options.url.authority(), &path, octets, payload);
    let template = Arc::new(template.map_err(OptionsError::refused)?);
    Ok((
        http::Command::Request { message: 0, template },
        http::Command::Close,
    ))
}

/// A resource without the URL's %xx, or `default` where the URL names none.
fn named_or(resource: &str, default: &str) -> String {
    match resource {
        "" => default.to_owned(),
        resource => percent_decoded(resource),
    }
}

/// TLS as the options say; a foreign server may want any suite.
pub(super) fn tls(options: &Options, around: &Environment) -> Result<tls::ClientConfig, OptionsError> {
    let trust = match &options.trusted {
        Trusted::Authorities(ders) => tls::Trust::Authorities(ders.clone()),
        Trusted::Anyone => tls::Trust::Anyone,
    };
    let versions = match (options.url.scheme.protocol(), options.tls) {
        // RFC 9001, section 4.2: QUIC has no other version.
        (Protocol::Http3, _) | (_, Some(TlsVersion::V13)) => tls::Versions::Tls13,
        (_, Some(TlsVersion::V12)) => tls::Versions::Tls12,
        (_, None) => tls::Versions::Both,
    };
    let alpn = match options.url.scheme.protocol() {
        Protocol::Http1 => vec![b"http/1.1".to_vec()],
        Protocol::Mqtt
        | Protocol::Coap
        | Protocol::Amqp
        | Protocol::Http3
        | Protocol::Tcp
        | Protocol::Udp => Vec::new(),
    };
    tls::ClientConfig::new(tls::ClientOptions {
        versions,
        suites: tls::Suites::Wide,
        alpn,
        identity: options.identity.clone(),
        key_log: around.key_log.clone(),
        start: options.start,
        handshake_timeout: LONGEST_WAIT,
        ..tls::ClientOptions::new(around.epoch, trust, options.url.host.as_str())
    })
    .map_err(OptionsError::refused)
}

fn dtls(options: &Options, around: &Environment) -> Result<dtls::ClientConfig, OptionsError> {
    let mut common = dtls::Common::new(around.epoch, around.key_log.clone());
    common.handshake_timeout = LONGEST_WAIT;
    let certificates = || dtls::Certificates {
        trust: match &options.trusted {
            Trusted::Authorities(certificates) => dtls::Trust::Authorities {
                certificates: certificates.clone(),
                server_name: options.url.host.clone(),
            },
            Trusted::Anyone => dtls::Trust::Anyone,
        },
        identity: options.identity.clone(),
    };
    let offer = match (&options.psk, options.tls) {
        (Some(psk), _) => dtls::Offer::Dtls12Psk(psk.clone()),
        (None, Some(TlsVersion::V13)) => dtls::Offer::Dtls13(certificates()),
        // The engine offers one version, and servers in the field speak this one.
        (None, _) => dtls::Offer::Dtls12(certificates()),
    };
    let mut config = dtls::ClientConfig::new(common, offer).map_err(OptionsError::refused)?;
    config.start = Start::Cold;
    Ok(config)
}
