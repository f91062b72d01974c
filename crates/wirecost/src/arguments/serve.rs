//! `wirecost serve` as it is typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wirecost_coap::oscore::Parameters;
use wirecost_proto::ByteSize;
use wirecost_security::dtls::Psk;

use super::login::given_or_in_file;

/// `wirecost serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --cert a certificate is made for this run, good for localhost, 127.0.0.1, ::1 and the address \
    of --listen; clients trust the authority that --ca-out names.\n\n\
    Exit codes: 0 interrupted, 2 usage or a file that cannot be used, 10 the port, or so many connections, cannot be opened."
)]
pub struct ServeArguments {
    /// What to serve
    #[arg(value_enum)]
    pub protocol: Protocol,

    /// Address and port [default: 127.0.0.1 and the protocol's port]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,

    /// Serve addresses other than loopback although clients need no credentials
    #[arg(long)]
    pub open: bool,

    /// mqtt, amqp, http1, tcp: protect connections by TLS 1.3 or 1.2; http3 does so by itself
    #[arg(long)]
    pub tls: bool,

    /// coap, udp: protect datagrams by DTLS 1.3 or 1.2 with a certificate
    #[arg(long)]
    pub dtls: bool,

    /// coap, udp: protect datagrams by DTLS 1.2 with this key, and with certificates too where --dtls is given; KEY
    /// is text, or hex behind 0x; @FILE holds both
    #[arg(long, value_name = "IDENTITY:KEY", value_parser = parse_psk)]
    pub psk: Vec<Psk>,

    /// coap: accept only requests protected by OSCORE; all in hex, an id may be empty, use a secret for one run only;
    /// @FILE reads it from a file
    #[arg(
        long,
        value_name = "CLIENT_ID:SERVER_ID:SECRET[:SALT[:ID_CONTEXT]]",
        value_parser = parse_oscore,
        conflicts_with_all = ["dtls", "psk"]
    )]
    pub oscore: Vec<Parameters>,

    /// Certificate in PEM, followed by those of its intermediate authorities
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// The certificate's private key in PEM (PKCS #8)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// File for the authority of the certificate that is made for this run [default: a temporary file]
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    pub ca_out: Option<PathBuf>,

    /// Accept only clients with a certificate of one of these authorities (PEM)
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,

    /// Accept 0-RTT data, which an attacker can replay; without this it is refused
    #[arg(long)]
    pub accept_0rtt: bool,

    /// Append the secrets of the connections to FILE, for Wireshark; only you can read the file
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<PathBuf>,

    /// mqtt, amqp: accept only users with this name and password; @FILE reads both from a file, a name alone takes
    /// the password from WIRECOST_PASSWORD or asks for it. Every user of the machine can read a password that is
    /// typed here in the list of processes
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = parse_user)]
    pub user: Vec<User>,

    /// Connections that you expect at the same time: where one process may not open as many files, several processes
    /// share the port, each a server of its own [default: what one process can hold]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: Option<u32>,

    /// mqtt: limit on the memory of all messages, sessions and subscriptions [default: 256MiB]
    #[arg(long, value_name = "SIZE")]
    pub max_held: Option<ByteSize>,

    /// Be one of several processes; told the rest on standard input
    #[arg(long, hide = true)]
    pub worker: bool,

    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// A protocol that has a built-in server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// The MQTT 3.1.1 and 5 broker
    Mqtt,
    /// The CoAP server, with the ETSI plugtest resources
    Coap,
    /// The AMQP 1.0 container
    Amqp,
    /// The HTTP/1.1 server: a store, long polls, pages of messages
    Http1,
    /// The HTTP/3 server, with the same resources
    Http3,
    /// Takes messages behind a length prefix
    Tcp,
    /// Takes datagrams
    Udp,
}

/// A user of a server.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    /// `None` where it is in the environment, or to be asked for.
    pub password: Option<String>,
}

fn parse_user(text: &str) -> Result<User, String> {
    let text = given_or_in_file(text)?;
    let (name, password) = match text.split_once(':') {
        Some((name, password)) => (name, Some(password.to_owned())),
        None => (text.as_ref(), None),
    };
    match name {
        "" => Err("expected NAME:PASSWORD".into()),
        name => Ok(User {
            name: name.to_owned(),
            password,
        }),
    }
}

/// An identity and its key; the key is text, or hex behind 0x.
pub(super) fn parse_psk(text: &str) -> Result<Psk, String> {
    let text = given_or_in_file(text)?;
    let (identity, key) = text.split_once(':').ok_or("expected IDENTITY:KEY")?;
    let key = match key.strip_prefix("0x") {
        Some(digits) => parse_hex(digits)?,
        None => key.as_bytes().to_vec(),
    };
    if key.is_empty() {
        return Err("the key is empty: expected IDENTITY:KEY".into());
    }
    Ok(Psk {
        identity: identity.as_bytes().to_vec(),
        key,
    })
}

fn parse_oscore(text: &str) -> Result<Parameters, String> {
    let text = given_or_in_file(text)?;
    let parts: Result<Vec<_>, _> = text.split(':').map(parse_hex).collect();
    let mut parts = parts?.into_iter();
    let (Some(recipient_id), Some(sender_id), Some(master_secret)) =
        (parts.next(), parts.next(), parts.next())
    else {
        return Err("expected CLIENT_ID:SERVER_ID:SECRET, and :SALT or :SALT:ID_CONTEXT behind it".into());
    };
    let (master_salt, id_context) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        return Err("expected at most CLIENT_ID:SERVER_ID:SECRET:SALT:ID_CONTEXT".into());
    }
    if master_secret.is_empty() {
        return Err("the secret is empty".into());
    }
    Ok(Parameters {
        master_secret,
        master_salt,
        id_context,
        sender_id,
        recipient_id,
    })
}

fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let refused = || format!("{text:?} is not hex: expected two digits for each byte");
    let digits = text.chars().map(|digit| digit.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>().ok_or_else(refused)?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return Err(refused());
    };
    let bytes = pairs.iter().map(|[high, low]| u8::try_from(high << 4 | low));
    bytes.collect::<Result<_, _>>().map_err(|_| refused())
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

    /// The server of RFC 8613, appendix C.1.2: its client's id is empty.
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
