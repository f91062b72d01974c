//! The arguments of `wirecost serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wirecost_coap::edhoc;
use wirecost_coap::oscore::Parameters;
use wirecost_proto::ByteSize;
use wirecost_scenario::certificates::chain;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_security::certificate::{Chain, KeyKind};
use wirecost_security::dtls::Psk;
use wirecost_security::provider::{Cipher, Groups};

use super::login::{CredentialError, given_or_in_file};

/// `wirecost serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --cert, wirecost makes a certificate for this run, valid for localhost, 127.0.0.1, ::1 and the \
    address of --listen. Clients must trust the authority in the file of --ca-out.\n\n\
    Exit codes: 0 interrupted, 2 usage or an unusable file, 10 the port or the connections cannot be opened."
)]
pub struct ServeArguments {
    /// Protocol of the server
    #[arg(value_enum)]
    pub protocol: Protocol,

    /// Address and port to listen on [default: 127.0.0.1 and the protocol's port]
    #[arg(long, value_name = "ADDR:PORT", value_parser = socket, help_heading = "Address and clients")]
    pub listen: Option<SocketAddr>,

    /// Serve other addresses than loopback even if clients need no credentials
    #[arg(long, help_heading = "Address and clients")]
    pub open: bool,

    /// Protect connections with TLS 1.3 or 1.2 (mqtt, coap-tcp, amqp, http1, tcp); http3 always does
    #[arg(long, help_heading = "Security")]
    pub tls: bool,

    /// Protect datagrams with DTLS 1.3 or 1.2 and a certificate (coap, mqttsn, udp)
    #[arg(long, help_heading = "Security")]
    pub dtls: bool,

    /// Protect datagrams with DTLS 1.2 and this pre-shared key, and with --dtls also with certificates (coap, mqttsn, udp); KEY
    /// is text, or hex after 0x; @FILE reads both from a file
    #[arg(long, value_name = "IDENTITY:KEY", value_parser = parse_psk, help_heading = "Security")]
    pub psk: Vec<Psk>,

    /// Accept only requests protected with OSCORE (coap). All values are in hex, an id may be empty; use a secret for
    /// one run only; @FILE reads the value from a file
    #[arg(
        long,
        help_heading = "Security",
        value_name = "CLIENT_ID:SERVER_ID:SECRET[:SALT[:ID_CONTEXT]]",
        value_parser = parse_oscore,
        conflicts_with_all = ["dtls", "psk"]
    )]
    pub oscore: Vec<Parameters>,

    /// Accept only requests protected with OSCORE behind a handshake of EDHOC by method 3 and suite 2 (coap): the server's private key,
    /// its credential and that of all clients (claims sets with a kid), in hex; @FILE reads the value from a file
    #[arg(
        long,
        help_heading = "Security",
        value_name = "KEY:CREDENTIAL:CLIENT_CREDENTIAL",
        value_parser = parse_edhoc,
        conflicts_with_all = ["dtls", "psk", "oscore"],
        hide_short_help = true
    )]
    pub edhoc: Option<EdhocKeys>,

    /// Certificate of the server in PEM, followed by its intermediate authorities
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Security")]
    pub cert: Option<PathBuf>,

    /// Private key of the certificate in PEM (PKCS #8)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Security")]
    pub key: Option<PathBuf>,

    /// Key and signatures of the certificate of this run: p256, p384, rsa2048, rsa3072, ed25519, mldsa44 or mldsa65 (TLS) [default:
    /// that of --chain, or p256]
    #[arg(
        long,
        value_name = "KEY",
        conflicts_with = "cert",
        help_heading = "Security",
        hide_short_help = true
    )]
    pub certificate: Option<KeyKind>,

    /// Certificates that the server sends (TLS), as in wirecost compare --help-all: leaf, intermediate, cross-signed, a profile,
    /// sizes, the sizes of a PEM file, or raw-public-key (TLS 1.3)
    #[arg(long, value_name = "CHAIN|FILE", default_value = "leaf", value_parser = chain, conflicts_with = "cert", help_heading = "Security", hide_short_help = true)]
    pub chain: Chain,

    /// Groups of the key exchange that the server accepts, the best first (TLS) [default: all that the library has]
    #[arg(
        long,
        value_name = "GROUP,...",
        help_heading = "Security",
        hide_short_help = true
    )]
    pub group: Option<Groups>,

    /// Cipher of records that the server accepts (TLS): aes128-gcm, aes256-gcm or chacha20-poly1305 [default: all that the library has]
    #[arg(long, value_name = "NAME", help_heading = "Security", hide_short_help = true)]
    pub cipher: Option<Cipher>,

    /// File for the authority that issues this run's certificate, or for its raw public key, which clients must trust [default: a
    /// temporary file]
    #[arg(long, value_name = "FILE", conflicts_with = "cert", help_heading = "Security")]
    pub ca_out: Option<PathBuf>,

    /// Accept only clients with a certificate of these authorities (PEM)
    #[arg(long, value_name = "FILE", help_heading = "Security", hide_short_help = true)]
    pub client_ca: Option<PathBuf>,

    /// Accept 0-RTT data, which an attacker can replay; otherwise it is refused
    #[arg(long, help_heading = "Security", hide_short_help = true)]
    pub accept_0rtt: bool,

    /// Append the secrets of the connections to FILE, for Wireshark; only you can read the file
    #[arg(long, value_name = "FILE", help_heading = "Security", hide_short_help = true)]
    pub keylog: Option<PathBuf>,

    /// Accept only users with this name and password (mqtt, amqp). @FILE reads both from a file; with a name alone, the
    /// password comes from WIRECOST_PASSWORD or a prompt. Other users of this machine can see a password typed here in
    /// the process list
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = parse_user, help_heading = "Address and clients")]
    pub user: Vec<User>,

    /// Number of simultaneous connections that you expect; if one process cannot open that many files, several
    /// processes, each with its own state, share the port [default: what one process can hold]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Address and clients")]
    pub connections: Option<u32>,

    /// Memory limit for everything that is held for all clients together: incomplete messages, unread answers, and what the
    /// server stores. Above it, the client that holds most is disconnected
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64MiB",
        help_heading = "Address and clients",
        hide_short_help = true
    )]
    pub max_held: ByteSize,

    /// Run as one of several processes, with settings from standard input
    #[arg(long, hide = true)]
    pub worker: bool,

    /// Print only errors
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// A protocol that has a built-in server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// MQTT broker for 3.1.1 and 5
    Mqtt,
    /// MQTT-SN gateway with its broker in one; it delivers nothing
    #[value(name = "mqttsn")]
    MqttSn,
    /// CoAP server with the ETSI plugtest resources
    Coap,
    /// CoAP over TCP, with the same resources
    CoapTcp,
    /// AMQP 1.0 container
    Amqp,
    /// HTTP/1.1 server: a message store, long polls, pages of messages
    Http1,
    /// HTTP/3 server with the same resources
    Http3,
    /// Receives messages with a length prefix
    Tcp,
    /// Receives datagrams
    Udp,
    /// PostgreSQL's protocol for one table; it keeps no rows
    Postgres,
    /// MariaDB's protocol for one table; it keeps no rows
    Mariadb,
    /// MongoDB's protocol; it keeps no documents
    Mongodb,
}

/// A user of a server.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    /// `None` means that the environment or a prompt supplies it.
    pub password: Option<String>,
}

fn socket(text: &str) -> Result<SocketAddr, CredentialError> {
    let form = CredentialError::Form("an address with its port: 127.0.0.1:1883 or [::1]:1883");
    text.parse().map_err(|_| form)
}

fn parse_user(text: &str) -> Result<User, CredentialError> {
    let text = given_or_in_file(text)?;
    let (name, password) = match text.split_once(':') {
        Some((name, password)) => (name, Some(password.to_owned())),
        None => (text.as_ref(), None),
    };
    match name {
        "" => Err(CredentialError::Form("NAME:PASSWORD")),
        name => Ok(User {
            name: name.to_owned(),
            password,
        }),
    }
}

/// An identity and its key; the key is text, or hex after 0x.
pub(super) fn parse_psk(text: &str) -> Result<Psk, CredentialError> {
    let text = given_or_in_file(text)?;
    let (identity, key) = text
        .split_once(':')
        .ok_or(CredentialError::Form("IDENTITY:KEY"))?;
    let key = match key.strip_prefix("0x") {
        Some(digits) => parse_hex(digits)?,
        None => key.as_bytes().to_vec(),
    };
    if key.is_empty() {
        // An empty key protects nothing: whoever knows the identity has it.
        return Err(CredentialError::EmptyKey);
    }
    Ok(Psk {
        identity: identity.as_bytes().to_vec(),
        key,
    })
}

fn parse_oscore(text: &str) -> Result<Parameters, CredentialError> {
    let text = given_or_in_file(text)?;
    let parts: Result<Vec<_>, _> = text.split(':').map(parse_hex).collect();
    let mut parts = parts?.into_iter();
    let (Some(recipient_id), Some(sender_id), Some(master_secret)) =
        (parts.next(), parts.next(), parts.next())
    else {
        return Err(CredentialError::Form(
            "CLIENT_ID:SERVER_ID:SECRET, and :SALT or :SALT:ID_CONTEXT behind it",
        ));
    };
    let (master_salt, id_context) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        return Err(CredentialError::Form(
            "at most CLIENT_ID:SERVER_ID:SECRET:SALT:ID_CONTEXT",
        ));
    }
    // Keys that derive from nothing are known to everybody who knows the identifiers.
    if master_secret.is_empty() {
        return Err(CredentialError::EmptySecret);
    }
    Ok(Parameters {
        master_secret,
        master_salt,
        id_context,
        sender_id,
        recipient_id,
    })
}

/// The keys of EDHOC: of the server, and of its clients what the server must know.
#[derive(Clone, Debug)]
pub struct EdhocKeys {
    /// The server's key and credential.
    pub server: edhoc::Identity,
    /// The credential of all clients.
    pub clients: edhoc::PublicCredential,
}

fn parse_edhoc(text: &str) -> Result<EdhocKeys, CredentialError> {
    let text = given_or_in_file(text)?;
    let parts: Vec<&str> = text.split(':').collect();
    let &[key, own, clients] = parts.as_slice() else {
        return Err(CredentialError::Form("KEY:CREDENTIAL:CLIENT_CREDENTIAL"));
    };
    // The text of a private key is in no error.
    let key = parse_hex(key).ok().and_then(|key| key.try_into().ok());
    let key = key.ok_or(CredentialError::Form("a private key of 32 bytes in hex"))?;
    Ok(EdhocKeys {
        server: edhoc::Identity::new(key, &parse_hex(own)?)?,
        clients: edhoc::PublicCredential::parse(&parse_hex(clients)?)?,
    })
}

fn parse_hex(text: &str) -> Result<Vec<u8>, CredentialError> {
    let refused = || CredentialError::Hex(text.to_owned());
    let digits = text.chars().map(|digit| digit.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>().ok_or_else(refused)?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return Err(refused());
    };
    let bytes = pairs.iter().map(|[high, low]| u8::try_from(high << 4 | low));
    bytes.collect::<Result<_, _>>().map_err(|_| refused())
}

impl ServeArguments {
    /// The certificates and groups of its handshakes.
    pub fn handshake(&self) -> Handshake {
        Handshake {
            certificate: self.certificate,
            chain: self.chain,
            group: self.group,
            ..Handshake::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_text_or_hex() {
        let key = |text: &str| parse_psk(text).map(|psk| (psk.identity, psk.key));
        assert_eq!(key("me:secret"), Ok((b"me".to_vec(), b"secret".to_vec())));
        assert_eq!(key("me:0x00ff"), Ok((b"me".to_vec(), vec![0, 0xff])));
        for wrong in ["me", "me:", "me:0x", "me:0x0", "me:0xgg"] {
            assert!(key(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_of_edhoc_belong_together() {
        let key = "11".repeat(32);
        let own = edhoc::Identity::with_subject([0x11; 32], "server", 0x32).expect("a key of P-256");
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let claims = hex(own.credential().claims());
        let keys = parse_edhoc(&format!("{key}:{claims}:{claims}")).expect("keys");
        assert_eq!((keys.server, &keys.clients), (own.clone(), own.credential()));
        let other = "12".repeat(32);
        for (wrong, said) in [
            ("".to_owned(), "expected KEY:CREDENTIAL:CLIENT_CREDENTIAL"),
            (
                format!("{key}:{claims}"),
                "expected KEY:CREDENTIAL:CLIENT_CREDENTIAL",
            ),
            (format!("{key}1:{claims}:{claims}"), "a private key of 32 bytes"),
            (
                format!("{other}:{claims}:{claims}"),
                "the credential is not that of the key",
            ),
            (format!("{key}:a0:{claims}"), "a credential is no claims set"),
            (format!("{key}:{claims}:zz"), "is not hex"),
        ] {
            let error = parse_edhoc(&wrong).expect_err(said).to_string();
            assert!(error.contains(said) && !error.contains(&key), "{said}: {error}");
        }
    }

    /// The server of RFC 8613, appendix C.1.2: its client has an empty id.
    #[test]
    fn an_oscore_key_is_read_from_the_servers_side() {
        let parameters = parse_oscore(":01:0102:9e7c").expect("a key");
        assert_eq!(parameters.sender_id, [1]);
        assert_eq!(parameters.recipient_id, [0; 0]);
        assert_eq!(parameters.master_secret, [1, 2]);
        assert_eq!(parameters.master_salt, [0x9e, 0x7c]);
        assert_eq!(parameters.id_context, None);
        let with_context = parse_oscore(":01:0102::37cb").expect("a key");
        assert_eq!(with_context.id_context, Some(vec![0x37, 0xcb]));
        for wrong in [
            "",
            "0102",
            "00:01",
            "00:01:",
            "00:01:x1",
            "00:01:0",
            "00:01:02:03:04:05",
        ] {
            assert!(parse_oscore(wrong).is_err(), "{wrong}");
        }
    }
}
