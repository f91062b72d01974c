//! URLs of servers. The scheme names the protocol and the channel.

use std::fmt;
use std::str::FromStr;

use wirecost_proto::bare::Transport;
use wirecost_store::Store;

use crate::name::{did_you_mean, nearest_of};
use crate::{Application, Channel, Stack};

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// MQTT on TCP.
    Mqtt,
    /// MQTT on TLS.
    Mqtts,
    /// MQTT-SN on UDP. The scheme is not registered.
    Mqttsn,
    /// MQTT-SN on DTLS. The scheme is not registered.
    Mqttsns,
    /// CoAP on UDP (RFC 7252, section 6.1).
    Coap,
    /// CoAP on DTLS (RFC 7252, section 6.2).
    Coaps,
    /// CoAP on TCP (RFC 8323, section 8.1).
    CoapTcp,
    /// CoAP on TLS (RFC 8323, section 8.2).
    CoapsTcp,
    /// AMQP 1.0 on TCP.
    Amqp,
    /// AMQP 1.0 on TLS.
    Amqps,
    /// HTTP/1.1 on TCP.
    Http,
    /// HTTP/1.1 on TLS.
    Https,
    /// HTTP/3 on QUIC.
    H3,
    /// Bare payload on TCP. The scheme is not registered.
    Tcp,
    /// Bare payload on UDP. The scheme is not registered.
    Udp,
    /// PostgreSQL.
    Postgres,
    /// MariaDB or MySQL.
    Mariadb,
    /// MongoDB.
    Mongodb,
}

/// The protocol within the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// MQTT.
    Mqtt,
    /// MQTT-SN.
    MqttSn,
    /// CoAP.
    Coap,
    /// CoAP over TCP.
    CoapTcp,
    /// AMQP 1.0.
    Amqp,
    /// HTTP/1.1.
    Http1,
    /// HTTP/3.
    Http3,
    /// Bare payload on TCP.
    Tcp,
    /// Bare payload on UDP.
    Udp,
    /// A database.
    Store(Store),
}

impl Protocol {
    /// The protocol's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mqtt => "MQTT",
            Self::MqttSn => "MQTT-SN",
            Self::Coap => "CoAP",
            Self::CoapTcp => "CoAP over TCP",
            Self::Amqp => "AMQP 1.0",
            Self::Http1 => "HTTP/1.1",
            Self::Http3 => "HTTP/3",
            Self::Tcp => "bare payload on TCP",
            Self::Udp => "bare payload on UDP",
            Self::Store(Store::Postgres) => "PostgreSQL",
            Self::Store(Store::Mariadb) => "MariaDB",
            Self::Store(Store::Mongodb) => "MongoDB",
        }
    }

    /// Whether client and server exchange something before a message can be sent.
    pub const fn has_open(self) -> bool {
        matches!(self, Self::Mqtt | Self::MqttSn | Self::Amqp | Self::Store(_))
    }
}

impl Scheme {
    /// Every scheme with its name and protocol, in the order of the variants.
    const TABLE: [(Self, &'static str, Protocol); 18] = [
        (Self::Mqtt, "mqtt", Protocol::Mqtt),
        (Self::Mqtts, "mqtts", Protocol::Mqtt),
        (Self::Mqttsn, "mqttsn", Protocol::MqttSn),
        (Self::Mqttsns, "mqttsns", Protocol::MqttSn),
        (Self::Coap, "coap", Protocol::Coap),
        (Self::Coaps, "coaps", Protocol::Coap),
        (Self::CoapTcp, "coap+tcp", Protocol::CoapTcp),
        (Self::CoapsTcp, "coaps+tcp", Protocol::CoapTcp),
        (Self::Amqp, "amqp", Protocol::Amqp),
        (Self::Amqps, "amqps", Protocol::Amqp),
        (Self::Http, "http", Protocol::Http1),
        (Self::Https, "https", Protocol::Http1),
        (Self::H3, "h3", Protocol::Http3),
        (Self::Tcp, "tcp", Protocol::Tcp),
        (Self::Udp, "udp", Protocol::Udp),
        (Self::Postgres, "postgres", Protocol::Store(Store::Postgres)),
        (Self::Mariadb, "mariadb", Protocol::Store(Store::Mariadb)),
        (Self::Mongodb, "mongodb", Protocol::Store(Store::Mongodb)),
    ];

    /// The scheme's name.
    pub const fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// The protocol within the channel.
    pub const fn protocol(self) -> Protocol {
        Self::TABLE[self as usize].2
    }

    /// The registered port.
    pub const fn port(self) -> u16 {
        self.stack().port()
    }

    /// Whether the channel is protected.
    pub const fn is_secure(self) -> bool {
        matches!(
            self,
            Self::Mqtts | Self::Mqttsns | Self::Coaps | Self::CoapsTcp | Self::Amqps | Self::Https | Self::H3
        )
    }

    /// The stack that a load uses for the scheme, unless it names another one.
    pub const fn stack(self) -> Stack {
        let application = match self.protocol() {
            Protocol::Mqtt => Application::Mqtt311(1),
            Protocol::MqttSn => Application::MqttSn(1),
            Protocol::Coap => Application::CoapCon,
            Protocol::CoapTcp => Application::CoapTcp,
            Protocol::Amqp => Application::AmqpUnsettled,
            Protocol::Http1 => Application::Http1,
            Protocol::Http3 => Application::Http3,
            Protocol::Tcp => Application::Tcp,
            Protocol::Udp => Application::Udp,
            Protocol::Store(store) => Application::Store(store),
        };
        let channel = if !self.is_secure() || matches!(self, Self::H3) {
            Channel::Plain
        } else if matches!(self, Self::Coaps | Self::Mqttsns) {
            // This is what servers in the field speak.
            Channel::Dtls12
        } else {
            Channel::Tls13
        };
        Stack {
            channel,
            ..Stack::plain(application)
        }
    }

    /// The scheme that a port on a stream is registered for.
    pub fn registered_on(port: u16) -> Option<Self> {
        let mut schemes = Self::TABLE.iter().map(|(scheme, ..)| *scheme);
        schemes.find(|scheme| scheme.port() == port && scheme.stack().transport() == Transport::Stream)
    }

    /// The scheme of the same protocol with protection, or without it where this scheme has it. Bare payloads and databases have no other.
    pub const fn counterpart(self) -> Self {
        match self {
            Self::Mqtt => Self::Mqtts,
            Self::Mqtts => Self::Mqtt,
            Self::Mqttsn => Self::Mqttsns,
            Self::Mqttsns => Self::Mqttsn,
            Self::Coap => Self::Coaps,
            Self::Coaps => Self::Coap,
            Self::CoapTcp => Self::CoapsTcp,
            Self::CoapsTcp => Self::CoapTcp,
            Self::Amqp => Self::Amqps,
            Self::Amqps => Self::Amqp,
            Self::Http => Self::Https,
            Self::Https | Self::H3 => Self::Http,
            Self::Tcp | Self::Udp | Self::Postgres | Self::Mariadb | Self::Mongodb => self,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A user's name and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Name.
    pub user: String,
    /// Password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The URL of a server and a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Protocol and security.
    pub scheme: Scheme,
    /// Host name or IP address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query as they were written, without the leading slash.
    pub resource: String,
    /// The login in the URL.
    pub login: Option<Login>,
}

/// Why a text is not the URL of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text has no scheme.
    #[error("{0:?} has no scheme; write mqtt://HOST, coaps://HOST/PATH, ...")]
    NoScheme(String),
    /// The scheme is unknown.
    #[error("unknown scheme {scheme:?}{}; the schemes are {}", did_you_mean(.nearest), all_schemes())]
    Scheme {
        /// The scheme.
        scheme: String,
        /// The nearest scheme, if one is near.
        nearest: Option<&'static str>,
    },
    /// MQTT over WebSocket, by the schemes that other programs have for it.
    #[error("wirecost speaks no WebSocket: write {0}://HOST:PORT, the broker's port for MQTT over TCP")]
    WebSocket(Scheme),
    /// The URL has no host.
    #[error("{0:?} names no host")]
    NoHost(String),
    /// The port is not a number, or is 0.
    #[error("port must be a number from 1 to 65535, got {0:?}")]
    Port(String),
}

fn all_schemes() -> String {
    Scheme::TABLE.map(|(_, name, ..)| name).join(" ")
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| UrlError::NoScheme(text.to_owned()))?;
        let scheme = scheme_of(scheme)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, resource) = rest.split_at(end);
        let (login, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(login_of(user)), authority),
            None => (None, authority),
        };
        let (host, port) = host_and_port(authority)?;
        let is_store = matches!(scheme.protocol(), Protocol::Store(_));
        let host = if host.is_empty() && is_store { LOCAL } else { host };
        if host.is_empty() {
            return Err(UrlError::NoHost(text.to_owned()));
        }
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port: port.unwrap_or(scheme.port()),
            resource: resource.strip_prefix('/').unwrap_or(resource).to_owned(),
            login,
        })
    }
}

/// The host of a database's URL that names none.
const LOCAL: &str = "localhost";

/// Other common names of schemes.
const OTHERWISE: [(&str, &str); 2] = [("postgresql", "postgres"), ("mysql", "mariadb")];

fn scheme_of(text: &str) -> Result<Scheme, UrlError> {
    let lower = text.to_ascii_lowercase();
    let other = OTHERWISE.iter().find(|(other, _)| *other == lower);
    let name = other.map_or(lower.as_str(), |(_, name)| name);
    let web = [("ws", Scheme::Mqtt), ("wss", Scheme::Mqtts)];
    if let Some((_, tcp)) = web.iter().find(|(name, _)| *name == lower) {
        return Err(UrlError::WebSocket(*tcp));
    }
    let found = Scheme::TABLE.iter().find(|(_, known, ..)| *known == name);
    found.map(|row| row.0).ok_or_else(|| {
        let names = Scheme::TABLE.map(|(_, name, _)| name);
        UrlError::Scheme {
            nearest: nearest_of(&lower, names),
            scheme: lower,
        }
    })
}

/// RFC 3986, section 3.2.1: user information is before the host.
fn login_of(text: &str) -> Login {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    Login {
        user: percent_decoded(user),
        password: percent_decoded(password),
    }
}

/// RFC 3986, sections 3.2.2 and 3.2.3: IPv6 addresses are in brackets.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), UrlError> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let number = |text: &str| match text.parse() {
        Ok(0) | Err(_) => Err(UrlError::Port(text.to_owned())),
        Ok(port) => Ok(port),
    };
    let port = port.filter(|text| !text.is_empty());
    Ok((host, port.map(number).transpose()?))
}

/// A text with its %xx decoded (RFC 3986, section 2.1). Bytes that are not UTF-8 are replaced.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Url {
    /// The host, with the port where it is not the scheme's.
    pub fn authority(&self) -> String {
        let host = self.bracketed();
        if self.port == self.scheme.port() {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// The host and the port.
    pub fn host_and_port(&self) -> String {
        format!("{}:{}", self.bracketed(), self.port)
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }

    /// The topic, path or address as a pattern; `None` where the URL has none. An empty path of HTTP is the root (RFC 9110, section
    /// 4.2.3).
    pub fn resource_pattern(&self) -> Option<String> {
        if self.resource.is_empty() {
            let is_http = matches!(self.scheme.protocol(), Protocol::Http1 | Protocol::Http3);
            return is_http.then(|| "/".to_owned());
        }
        // HTTP carries the encoded characters of the URL (RFC 9112, section 3.2). Topics, CoAP's options and addresses are
        // decoded.
        let carried = match self.scheme.protocol() {
            Protocol::Http1 | Protocol::Http3 => self.resource.clone(),
            Protocol::Mqtt
            | Protocol::MqttSn
            | Protocol::Coap
            | Protocol::CoapTcp
            | Protocol::Amqp
            | Protocol::Tcp
            | Protocol::Udp
            | Protocol::Store(_) => percent_decoded(&self.resource),
        };
        // In a pattern a percent sign begins a placeholder.
        Some(carried.replace('%', "%%"))
    }

    /// A percent sign in the topic, path or address that is not followed by two hexadecimal digits, with the text after it (RFC
    /// 3986, section 2.1). It is probably a placeholder.
    pub fn stray_percent(&self) -> Option<&str> {
        let signs = self.resource.match_indices('%');
        let mut behind = signs.map(|(at, _)| &self.resource[at..]);
        let is_hexadecimal = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
        let stray = behind.find(|text| !text.as_bytes().get(1..3).is_some_and(is_hexadecimal))?;
        let end = stray.char_indices().nth(2).map_or(stray.len(), |(at, _)| at);
        Some(&stray[..end])
    }

    /// Whether the scheme names the protocol and the protection of a stack.
    pub fn names(&self, stack: Stack) -> bool {
        let named = self.scheme.stack();
        let kinds = [
            Stack::is_mqtt,
            Stack::is_mqtt_sn,
            Stack::is_coap,
            Stack::is_amqp,
            Stack::is_http,
        ];
        let is_same =
            kinds.iter().all(|is_of| is_of(stack) == is_of(named)) && stack.store() == named.store();
        // No scheme is for bare payloads that are protected.
        let is_bare = matches!(self.scheme, Scheme::Tcp | Scheme::Udp);
        let is_as_secure = is_bare || stack.has_handshake() == self.scheme.is_secure();
        is_same && stack.transport() == named.transport() && is_as_secure
    }

    /// The URL of the same server by another scheme, without user and resource.
    pub fn by(&self, scheme: Scheme) -> String {
        format!("{scheme}://{}", self.host_and_port())
    }
}

impl fmt::Display for Url {
    /// Leaves out user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme, self.authority(), self.resource)
    }
}

/// The IP version of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

#[cfg(test)]
mod tests;
