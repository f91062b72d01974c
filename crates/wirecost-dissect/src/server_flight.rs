//! What a server's flight says of the handshake, whatever carries it: records of TLS, of DTLS, or QUIC.

use wirecost_security::certificate::sent::SentChain;
use wirecost_security::tls::{group_name, suite_name};

use crate::handshakes::TlsHandshake;
use crate::hello::{ServerHello, certificates, handshake_type, key_exchange_group};

/// What a reader wants to know of the handshake, beside ServerHello.
#[derive(Debug, Default)]
pub(crate) struct ServerFlight {
    is_retried: bool,
    is_address_checked: bool,
    /// The group of a ServerKeyExchange.
    group: Option<u16>,
    /// The server's certificates.
    certificates: Option<SentChain>,
}

impl ServerFlight {
    /// Reads the body of a ServerHello; `None` if it is a HelloRetryRequest, or cannot be read.
    pub(crate) fn hello(&mut self, body: &[u8]) -> Option<ServerHello> {
        let hello = ServerHello::parse(body)?;
        if !hello.is_retry() {
            return Some(hello);
        }
        self.is_retried |= hello.group.is_some();
        self.is_address_checked |= hello.has_cookie;
        None
    }

    /// Reads the body of another message.
    pub(crate) fn message(&mut self, kind: u8, body: &[u8], is_tls_1_3: bool) {
        match kind {
            handshake_type::CERTIFICATE => {
                self.certificates = Some(SentChain::read(certificates(body, is_tls_1_3)));
            }
            handshake_type::SERVER_KEY_EXCHANGE => self.group = key_exchange_group(body),
            handshake_type::HELLO_VERIFY_REQUEST => self.check_address(),
            _ => {}
        }
    }

    /// Notes that the server has asked the client to prove its address.
    pub(crate) const fn check_address(&mut self) {
        self.is_address_checked = true;
    }

    /// Whether certificates were seen.
    pub(crate) const fn has_certificates(&self) -> bool {
        self.certificates.is_some()
    }

    /// What the handshake with this ServerHello had.
    pub(crate) fn handshake(&self, hello: &ServerHello, is_resumed: bool) -> TlsHandshake {
        TlsHandshake {
            suite: suite_name(hello.suite),
            group: hello.group.or(self.group).map(group_name),
            is_retried: self.is_retried,
            is_address_checked: self.is_address_checked,
            is_further: false,
            is_resumed,
            certificates: self.certificates.clone().unwrap_or_default(),
        }
    }
}
