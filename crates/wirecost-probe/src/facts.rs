//! What client and server negotiated, for the reader.

use wirecost_proto::PeerText;
use wirecost_security::tls::Negotiated;
use wirecost_stack::Channel;
use wirecost_stack::url::Scheme;

use super::event::Fact;
use super::options::Options;
use wirecost_security::certificate::x509::Certificate;

/// The version and the suite of a layer that offers only one of each.
pub(super) fn layer_fact(options: &Options) -> Option<Fact> {
    let fact = match options.stack().channel {
        Channel::Plain if options.url.scheme == Scheme::H3 => {
            Fact::new("QUIC", "version 1, TLS 1.3, ALPN h3")
        }
        Channel::Dtls12Psk => Fact::new("DTLS", "DTLS 1.2, TLS_PSK_WITH_AES_128_CCM_8"),
        Channel::Dtls12Cid => Fact::new(
            "DTLS",
            "DTLS 1.2, TLS_PSK_WITH_AES_128_CCM_8, connection ID (RFC 9146)",
        ),
        Channel::Dtls13 => Fact::new("DTLS", "DTLS 1.3, TLS_AES_128_GCM_SHA256"),
        Channel::Dtls12 => Fact::new("DTLS", "DTLS 1.2, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
        _ => return None,
    };
    Some(fact)
}

/// What TLS negotiated, and the server's certificate.
pub(super) fn tls_facts(negotiated: &Negotiated) -> Vec<Fact> {
    let words = [
        negotiated.version.map(str::to_owned),
        negotiated.suite.clone(),
        negotiated.group.clone().map(|group| match negotiated.is_retried {
            true => format!("{group} after a HelloRetryRequest, which took a round trip"),
            false => group,
        }),
        negotiated
            .protocol
            .as_deref()
            .map(|protocol| format!("ALPN {}", PeerText::from_bytes(protocol))),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let mut facts = vec![Fact::new("TLS", words.join(", "))];
    let own = negotiated.peer_certificates.first();
    if let Some(certificate) = own.and_then(|der| Certificate::read(der)) {
        facts.push(Fact::new("certificate", certificate.to_string()));
        facts.push(Fact::new("chain", chain(&negotiated.peer_certificates)));
        facts.extend(unneeded(&negotiated.peer_certificates));
    }
    facts
}

/// The certificates of a chain with their sizes.
fn chain(ders: &[Vec<u8>]) -> String {
    let sizes: Vec<String> = ders
        .iter()
        .map(|der| match Certificate::read(der) {
            Some(certificate) => format!("{} {} B", certificate.subject, der.len()),
            None => format!("{} B", der.len()),
        })
        .collect();
    let total: usize = ders.iter().map(Vec::len).sum();
    format!("{total} B of certificates: {}", sizes.join(", "))
}

/// What the chain has that a client does not need: a root behind the server's own certificate. A client that can check the chain has it,
/// and no other trusts it (RFC 8446, section 4.4.2).
fn unneeded(ders: &[Vec<u8>]) -> Option<Fact> {
    let roots = ders.iter().skip(1).filter_map(|der| {
        let certificate = Certificate::read(der).filter(|certificate| certificate.is_root)?;
        Some(format!("{} {} B", certificate.subject, der.len()))
    });
    let roots: Vec<String> = roots.collect();
    let text = format!("the root, which a client has already: {}", roots.join(", "));
    (!roots.is_empty()).then(|| Fact::new("not needed", text))
}
