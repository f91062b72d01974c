//! The options of a probe.

use std::time::Duration;

pub use wirecost_mqtt::codec::Version as MqttVersion;
use wirecost_security::Start;
use wirecost_security::certificate::Identity;
use wirecost_security::dtls::{NO_EARLY_DATA, NO_RESUMPTION, Psk};
use wirecost_security::provider::{Cipher, Groups};
pub use wirecost_security::tls::Trust;
use wirecost_stack::error::{ClientError, StackError};
use wirecost_stack::run_tag::RunTag;
use wirecost_stack::url::{Family, Login, Protocol, Url};
use wirecost_stack::{Application, Channel, Stack};

/// A version of TLS or DTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2.
    V12,
    /// 1.3.
    V13,
}

/// The options of a probe.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server, the protocol and the resource.
    pub url: Url,
    /// The payload of the message.
    pub payload: Vec<u8>,
    /// MQTT QoS. With 0 an AMQP message is settled by the sender.
    pub qos: u8,
    /// MQTT version.
    pub mqtt_version: MqttVersion,
    /// CoAP and HTTP: GET instead of PUT and POST.
    pub fetch: bool,
    /// The version of TLS or DTLS; `None` lets TLS agree on one, and is 1.2 for DTLS.
    pub tls: Option<TlsVersion>,
    /// The groups of the key exchange, the best first; `None` offers all.
    pub groups: Option<Groups>,
    /// The cipher of records; `None` offers all.
    pub cipher: Option<Cipher>,
    /// The servers that the client trusts.
    pub trusted: Trust,
    /// The client's certificate.
    pub identity: Option<Identity>,
    /// The pre-shared key for DTLS 1.2.
    pub psk: Option<Psk>,
    /// Whether DTLS 1.2 with that key asks for a connection ID (RFC 9146).
    pub connection_id: bool,
    /// User and password for MQTT and AMQP.
    pub login: Option<Login>,
    /// MQTT client identifier and AMQP container.
    pub client_id: String,
    /// How long each step may take.
    pub timeout: Duration,
    /// How the measured connection starts.
    pub start: Start,
    /// IPv4 or IPv6 only.
    pub family: Option<Family>,
    /// Whether to keep the secrets of the connections for the capture.
    pub keeps_keys: bool,
    /// Whether to try after a cold connection what resumption and early data save, each with a ticket and one more message.
    pub tries_resumption: bool,
}

/// Why a probe cannot do what its options ask for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The protocol has no answers.
    #[error(
        "nothing answers a bare payload, so that there is nothing to probe: wirecost load sends to tcp and udp"
    )]
    NothingAnswers,
    /// An option does not go with the URL or with another option.
    #[error("{0}")]
    Conflict(&'static str),
    /// The protocol or the layer cannot do what the options ask for.
    #[error(transparent)]
    Stack(StackError),
}

impl From<ClientError> for OptionsError {
    fn from(error: ClientError) -> Self {
        Self::Stack(error.reason)
    }
}

impl Options {
    /// The defaults for a URL: 128 B, QoS 1, MQTT 5, 10 s per step, and no authorities.
    pub fn new(url: Url) -> Self {
        Self {
            login: url.login.clone(),
            url,
            payload: vec![b'x'; 128],
            qos: 1,
            mqtt_version: MqttVersion::V5,
            fetch: false,
            tls: None,
            groups: None,
            cipher: None,
            trusted: Trust::Authorities(Vec::new()),
            identity: None,
            psk: None,
            connection_id: false,
            client_id: format!("{}1", RunTag::ALONE),
            timeout: Duration::from_secs(10),
            start: Start::Cold,
            family: None,
            keeps_keys: true,
            tries_resumption: false,
        }
    }

    /// Refuses an option that would have no effect.
    ///
    /// # Errors
    /// [`OptionsError`] names the option and what it goes with.
    pub fn check(&self) -> Result<(), OptionsError> {
        let scheme = self.url.scheme;
        let protocol = scheme.protocol();
        let takes_login = scheme.stack().has_login();
        let has_tls = scheme.is_secure();
        let is_dtls = scheme.is_secure() && matches!(protocol, Protocol::Coap | Protocol::MqttSn);
        let has_tls_suites = has_tls && !is_dtls;
        let fetches = matches!(
            protocol,
            Protocol::Coap | Protocol::CoapTcp | Protocol::Http1 | Protocol::Http3
        );
        if matches!(protocol, Protocol::Tcp | Protocol::Udp) {
            return Err(OptionsError::NothingAnswers);
        }
        let conflicts = [
            (
                self.login.is_some() && !takes_login,
                "a user goes with mqtt, mqtts, amqp, amqps, postgres and mariadb",
            ),
            (
                self.psk.is_some() && !is_dtls,
                "--psk goes with coaps and mqttsns",
            ),
            (
                self.tls.is_some() && !has_tls,
                "--tls goes with mqtts, mqttsns, coaps, coaps+tcp, amqps, https and h3",
            ),
            (
                self.identity.is_some() && !has_tls,
                "--cert goes with mqtts, mqttsns, coaps, coaps+tcp, amqps, https and h3",
            ),
            (
                self.groups.is_some() && !has_tls_suites,
                "--group goes with mqtts, coaps+tcp, amqps, https and h3",
            ),
            (
                self.cipher.is_some() && !has_tls_suites,
                "--cipher goes with mqtts, coaps+tcp, amqps, https and h3",
            ),
            (
                self.fetch && !fetches,
                "--get goes with coap, coaps, coap+tcp, coaps+tcp, http, https and h3",
            ),
            (
                protocol == Protocol::Http3 && self.tls == Some(TlsVersion::V12),
                "h3 is TLS 1.3 alone (RFC 9001, section 4.2)",
            ),
            (
                self.start == Start::ZeroRtt && self.tls == Some(TlsVersion::V12),
                "TLS 1.2 has no 0-RTT (RFC 8446, section 2.3)",
            ),
            (
                self.start.is_edhoc(),
                "a server of another owner is not probed by EDHOC (RFC 9528), which compare and load have",
            ),
            (
                self.start != Start::Cold && !has_tls,
                "nothing can be resumed without TLS",
            ),
            (
                self.start != Start::Cold && is_dtls && self.psk.is_none(),
                NO_RESUMPTION,
            ),
            (self.start == Start::ZeroRtt && self.psk.is_some(), NO_EARLY_DATA),
            (
                self.connection_id && self.psk.is_none(),
                "--connection-id goes with --psk",
            ),
        ];
        match conflicts.iter().find(|(is_conflict, _)| *is_conflict) {
            Some((_, text)) => Err(OptionsError::Conflict(text)),
            None => Ok(()),
        }
    }

    /// The stack that the URL and the options name.
    pub(super) fn stack(&self) -> Stack {
        let Stack {
            application,
            channel,
            object,
        } = self.url.scheme.stack();
        let application = match (application, self.mqtt_version) {
            (Application::Mqtt311(_), MqttVersion::V3_1_1) => Application::Mqtt311(self.qos),
            (Application::Mqtt311(_), MqttVersion::V5) => Application::Mqtt5(self.qos),
            (Application::MqttSn(_), _) => Application::MqttSn(self.qos.try_into().unwrap_or(1)),
            (Application::AmqpUnsettled, _) if self.qos == 0 => Application::AmqpSettled,
            (application, _) => application,
        };
        let channel = match (channel, &self.psk, self.tls) {
            (Channel::Tls13, _, Some(TlsVersion::V12)) => Channel::Tls12,
            (Channel::Dtls12, Some(_), _) if self.connection_id => Channel::Dtls12Cid,
            (Channel::Dtls12, Some(_), _) => Channel::Dtls12Psk,
            (Channel::Dtls12, None, Some(TlsVersion::V13)) => Channel::Dtls13,
            (channel, ..) => channel,
        };
        Stack {
            application,
            channel,
            object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> Options {
        Options::new(url.parse().expect("a URL"))
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let mut http = options("https://me:secret@host/");
        assert!(http.check().is_err());
        http.login = None;
        assert_eq!(http.check(), Ok(()));
        http.start = Start::ZeroRtt;
        assert_eq!(http.check(), Ok(()));
        http.tls = Some(TlsVersion::V12);
        assert!(
            http.check()
                .is_err_and(|error| error.to_string().contains("0-RTT"))
        );
        let mut plain = options("mqtt://host");
        plain.start = Start::Resumed;
        assert!(plain.check().is_err());
        for url in ["mqtt://host", "coaps://host", "h3://host"] {
            let mut asked = options(url);
            asked.cipher = Some(Cipher::Aes256Gcm);
            assert_eq!(asked.check().is_ok(), url.starts_with("h3"), "{url}");
        }
    }

    #[test]
    fn qos_0_is_not_answered() {
        let mut mqtt = options("mqtt://host");
        assert!(mqtt.stack().is_answered());
        mqtt.qos = 0;
        assert!(!mqtt.stack().is_answered());
        let mut coap = options("coap://host");
        coap.qos = 0;
        assert!(coap.stack().is_answered());
    }
}
