//! The protection of a server and the authentication of its clients, from the command line.

use std::net::IpAddr;
use std::path::Path;

use wirecost_coap::edhoc::{KEY_BYTES, ServerConfig};
use wirecost_coap::oscore::Context;
use wirecost_security::certificate::{
    Authority, Chain, Identity, Kind, SERVER_NAMES, Usage, authorities_from_pem,
};
use wirecost_security::entropy::Entropy;
use wirecost_security::presented;
use wirecost_security::{Epoch, tls};
use wirecost_stack::admission::Contexts;
use wirecost_stack::{Admission, Application, Channel, Stack};

use super::files;
use crate::arguments::{EdhocKeys, ServeArguments, of_flags};
use crate::exit::Failure;
use crate::{login, output};

/// Connection identifiers of EDHOC have two bytes for so many clients, as in a comparison.
const EDHOC_CLIENTS: u32 = 16_384;

/// The admitted clients, and the server's identity.
pub(super) struct Admitted {
    pub(super) admission: Admission,
    /// The authority that was generated for this run, in PEM.
    pub(super) authority: Option<String>,
    /// Whether it or its clients have raw public keys.
    pub(super) has_raw_keys: bool,
}

/// The protection of the channel.
pub(super) fn channel(arguments: &ServeArguments, application: Application) -> Result<Channel, Failure> {
    let asked = Asked::from_arguments(arguments, application);
    let impossible = asked.iter().find(|asked| !asked.is_possible);
    if let Some(Asked { option, .. }) = impossible {
        let message = format_args!(
            "{} cannot be served with {option}; it stands alone or with {}",
            name(arguments),
            possible(application)
        );
        return Err(Failure::usage(message).with_hint(format!("leave {option} out")));
    }
    Ok(asked.first().map_or(Channel::Plain, |asked| asked.channel))
}

/// Refuses options that the server cannot use.
pub(super) fn check(arguments: &ServeArguments, stack: Stack) -> Result<(), Failure> {
    let why = "clients read the authority from a file";
    output::refuse_stdout("--ca-out", arguments.ca_out.as_deref(), why)?;
    let why = "secrets are for you alone, and go to a file that nobody else may read";
    output::refuse_stdout("--keylog", arguments.keylog.as_deref(), why)?;
    let takes_users = stack.is_mqtt() || stack.is_amqp();
    let refused = |option: &str, reason: &str, hint: String| {
        let message = format_args!("{option} is of no use to {}: {reason}", name(arguments));
        Err(Failure::usage(message).with_hint(hint))
    };
    if !arguments.user.is_empty() && !takes_users {
        let hint = "leave --user out, or serve mqtt or amqp".to_owned();
        return refused("--user", "its server knows no users", hint);
    }
    let add = |channels: &str| format!("add {channels}");
    // An option without effect would let a user believe that the server is as secure as asked for.
    if let Some(option) = certificate_option(arguments).filter(|_| !has_certificate(stack)) {
        return refused(
            option,
            "nothing here has a certificate",
            add(certified(stack.application)),
        );
    }
    let has_tls = stack.channel.is_tls() || stack.application == Application::Http3;
    check_handshake(arguments, has_tls)?;
    if arguments.accept_0rtt && !has_tls {
        let hint =
            "0-RTT is TLS 1.3's: serve mqtt, coap-tcp, amqp, http1 or tcp with --tls, or http3".to_owned();
        return refused("--accept-0rtt", "it has no early data", hint);
    }
    if arguments.keylog.is_some() && !stack.has_handshake() {
        return refused(
            "--keylog",
            "no handshake agrees on secrets",
            add(certified(stack.application)),
        );
    }
    Ok(())
}

/// Refuses certificates, groups and ciphers that the server cannot have.
fn check_handshake(arguments: &ServeArguments, has_tls: bool) -> Result<(), Failure> {
    let asked = [
        ("--certificate", arguments.certificate.is_some()),
        ("--chain", arguments.chain != Chain::default()),
        ("--group", arguments.group.is_some()),
        ("--cipher", arguments.cipher.is_some()),
    ];
    if let Some((option, _)) = asked.iter().find(|(_, is_asked)| *is_asked && !has_tls) {
        let message = format_args!("{option} is of no use to {}: it has no TLS", name(arguments));
        return Err(Failure::usage(message).with_hint("add --tls, or serve http3"));
    }
    let checked = arguments.handshake().validate_chain();
    checked.map_err(|refusal| of_flags("serve", &refusal))
}

/// The server's identity and its admitted clients. `made` is the identity that another process of this server has
/// generated.
pub(super) fn admitted(
    arguments: &ServeArguments,
    stack: Stack,
    address: IpAddr,
    epoch: Epoch,
    made: Option<Identity>,
    users: Vec<(String, String)>,
) -> Result<Admitted, Failure> {
    let (identity, authority) = match (&arguments.cert, &arguments.key) {
        _ if !has_certificate(stack) => (None, None),
        // One listener's workers share its port: a client that returns to another process must find the same certificate.
        _ if made.is_some() => (made, None),
        // Whoever gives a certificate has its authority already: nothing is to be written for the clients.
        (Some(certificate), Some(key)) => (Some(given(certificate, key, epoch)?), None),
        _ => {
            let (identity, authority) = generated(arguments.handshake().kind(), address)?;
            (Some(identity), Some(authority))
        }
    };
    let admission = Admission {
        identity,
        client_authorities: client_authorities(arguments)?,
        psks: arguments.psk.clone(),
        oscore: contexts(arguments)?,
        users,
        suites: tls::Suites::wide(arguments.group, arguments.cipher),
        ..Admission::default()
    };
    let is_raw = |identity: &Identity| tls::server_has_raw_keys(identity, &admission.client_authorities);
    let has_raw_keys = admission.identity.as_ref().is_some_and(is_raw);
    Ok(Admitted {
        admission,
        authority,
        has_raw_keys,
    })
}

/// The names and passwords of the admitted users.
pub(super) fn users(arguments: &ServeArguments) -> Result<Vec<(String, String)>, Failure> {
    let users = arguments.user.iter().map(|user| {
        let password = user
            .password
            .clone()
            .map_or_else(|| login::password_of(&user.name), Ok)?;
        Ok((user.name.clone(), password))
    });
    users.collect()
}

/// Whether clients must authenticate.
pub(super) const fn asks_clients(arguments: &ServeArguments) -> bool {
    let has_keys = !arguments.psk.is_empty() && !arguments.dtls;
    let has_contexts = !arguments.oscore.is_empty() || arguments.edhoc.is_some();
    has_keys || has_contexts || !arguments.user.is_empty() || arguments.client_ca.is_some()
}

/// The options that make a stack's clients authenticate.
pub(super) fn ways_to_ask(stack: Stack) -> String {
    let application = stack.application;
    let ways = [
        ("--user", stack.is_mqtt() || stack.is_amqp()),
        ("--psk", application.can_run_over(Channel::Dtls12Psk)),
        ("--oscore", application.can_run_over(Channel::Oscore)),
        ("--edhoc", application.can_run_over(Channel::Oscore)),
        ("--client-ca", true),
    ];
    let ways = ways.into_iter().filter(|(_, is_possible)| *is_possible);
    let names: Vec<&str> = ways.map(|(option, _)| option).collect();
    names.join(", ")
}

/// A short description of the protection.
pub(super) fn described(arguments: &ServeArguments, stack: Stack, has_raw_keys: bool) -> String {
    let has_psk = !arguments.psk.is_empty();
    let channel = match (stack.application, stack.channel) {
        (Application::Http3, _) => "TLS 1.3",
        (_, Channel::Plain) => "nothing that protects it",
        (_, Channel::Oscore) if arguments.edhoc.is_some() => "EDHOC and OSCORE",
        (_, Channel::Oscore) => "OSCORE",
        (_, channel) if channel.has_psk() => "DTLS 1.2, by pre-shared key",
        (_, channel) if channel.is_tls() && has_raw_keys => "TLS 1.3",
        (_, channel) if channel.is_tls() => "TLS 1.3 and 1.2",
        _ if has_psk => "DTLS 1.3 and 1.2, by certificate or pre-shared key",
        _ => "DTLS 1.3 and 1.2",
    };
    let additions = [
        (arguments.client_ca.is_some(), ", clients need a certificate"),
        (!arguments.user.is_empty(), ", clients need a password"),
        (arguments.accept_0rtt, ", early data is taken"),
    ];
    let additions = additions.into_iter().filter(|(holds, _)| *holds);
    additions.fold(channel.to_owned(), |text, (_, addition)| text + addition)
}

/// An option that selects a channel.
struct Asked {
    option: &'static str,
    channel: Channel,
    is_possible: bool,
}

impl Asked {
    fn from_arguments(arguments: &ServeArguments, application: Application) -> Vec<Self> {
        let given = [
            arguments.tls,
            arguments.dtls,
            !arguments.psk.is_empty(),
            !arguments.oscore.is_empty(),
            arguments.edhoc.is_some(),
        ];
        let asked = OPTIONS.into_iter().zip(given).filter(|(_, given)| *given);
        // HTTP/3 has what --tls adds.
        let asked = asked.filter(|((option, _), _)| application != Application::Http3 || *option != "--tls");
        let asked = asked.map(|((option, channel), _)| Self {
            option,
            channel,
            is_possible: application.can_run_over(channel),
        });
        asked.collect()
    }
}

/// The options that select a channel. An option comes before the options that it includes.
const OPTIONS: [(&str, Channel); 5] = [
    ("--tls", Channel::Tls13),
    ("--dtls", Channel::Dtls13),
    ("--psk", Channel::Dtls12Psk),
    ("--oscore", Channel::Oscore),
    ("--edhoc", Channel::Oscore),
];

fn possible(application: Application) -> String {
    if application == Application::Http3 {
        return "--tls, which it has by itself".to_owned();
    }
    let possible = OPTIONS.into_iter();
    let possible = possible.filter(|(_, channel)| application.can_run_over(*channel));
    let names: Vec<&str> = possible.map(|(option, _)| option).collect();
    names.join(", ")
}

/// The option that gives the server a certificate.
const fn certified(application: Application) -> &'static str {
    if application.can_run_over(Channel::Tls13) {
        "--tls"
    } else {
        "--dtls"
    }
}

fn certificate_option(arguments: &ServeArguments) -> Option<&'static str> {
    let options = [
        ("--cert", &arguments.cert),
        ("--client-ca", &arguments.client_ca),
        ("--ca-out", &arguments.ca_out),
    ];
    let mut given = options.into_iter().filter(|(_, file)| file.is_some());
    given.next().map(|(option, _)| option)
}

const fn has_certificate(stack: Stack) -> bool {
    let has_handshake = stack.has_handshake();
    has_handshake && !stack.channel.has_psk()
}

fn given(certificate: &Path, key: &Path, epoch: Epoch) -> Result<Identity, Failure> {
    let refused = |error: &dyn std::fmt::Display| {
        let (certificate, key) = (certificate.display(), key.display());
        Failure::usage(format_args!(
            "cannot use --cert {certificate} with --key {key}: {error}"
        ))
        .with_hint("give a certificate in PEM and its own private key, without a password")
    };
    let texts = (files::read("--cert", certificate)?, files::read("--key", key)?);
    let identity = Identity::from_pem(&texts.0, &texts.1).map_err(|error| refused(&error))?;
    presented::check(identity.chain(), epoch.unix).map_err(|error| refused(&error))?;
    // The TLS library checks that certificate and key match, which the DTLS library does not.
    let options = tls::ServerOptions {
        suites: tls::Suites::Wide,
        ..tls::ServerOptions::new(epoch, identity.clone())
    };
    tls::ServerConfig::new(options).map_err(|error| refused(&error))?;
    Ok(identity)
}

/// A certificate for the usual names, and for the address if it is another one.
fn generated(kind: Kind, address: IpAddr) -> Result<(Identity, String), Failure> {
    let (is_any, address) = (address.is_unspecified(), address.to_string());
    let mut names = SERVER_NAMES.to_vec();
    if !is_any && !names.contains(&address.as_str()) {
        names.push(&address);
    }
    let made = Authority::of_kind(kind, Entropy::system()).and_then(|authority| {
        let identity = authority.issue(Usage::Server, &names)?;
        Ok((identity, authority.to_pem()?))
    });
    made.map_err(Failure::internal)
}

fn client_authorities(arguments: &ServeArguments) -> Result<Vec<Vec<u8>>, Failure> {
    let Some(file) = &arguments.client_ca else {
        return Ok(Vec::new());
    };
    let text = files::read("--client-ca", file)?;
    authorities_from_pem(&text).map_err(|error| {
        Failure::usage(format_args!("cannot use --client-ca {}: {error}", file.display()))
            .with_hint("give the authorities' certificates in PEM")
    })
}

/// The contexts, from their first sequence number: how far an earlier run has used a secret is unknown.
fn contexts(arguments: &ServeArguments) -> Result<Contexts, Failure> {
    if let Some(EdhocKeys { server, clients }) = &arguments.edhoc {
        let mut secret = [0; KEY_BYTES];
        Entropy::system().fill(&mut secret).map_err(Failure::internal)?;
        return Ok(Contexts::Agreed(Box::new(ServerConfig {
            identity: server.clone(),
            clients: clients.clone(),
            by_value_to: Vec::new(),
            expected: EDHOC_CLIENTS,
            secret,
        })));
    }
    let contexts: Result<_, _> = arguments.oscore.iter().map(Context::new).collect();
    contexts
        .map(Contexts::Given)
        .map_err(|error| Failure::usage(format_args!("cannot use --oscore: {error}")))
}

fn name(arguments: &ServeArguments) -> &'static str {
    super::name(arguments.protocol)
}
