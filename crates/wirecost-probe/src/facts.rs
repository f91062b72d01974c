//! What client and server negotiated, for the reader.

use wirecost_proto::PeerText;
use wirecost_security::tls::Negotiated;
use wirecost_stack::Channel;
use wirecost_stack::url::Scheme;

use super::event::Fact;
use super::options::Options;
use wirecost_security::certificate::is_raw_public_key;
use wirecost_security::certificate::sent::SentChain;
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
    let certificate = own.and_then(|der| Certificate::read(der));
    if let Some(certificate) = &certificate {
        facts.push(Fact::new("certificate", certificate.to_string()));
    }
    if certificate.is_some() || own.is_some_and(|der| is_raw_public_key(der)) {
        let sent = SentChain::read(negotiated.peer_certificates.iter().map(Vec::as_slice));
        facts.push(Fact::new("chain", sent.words()));
        facts.extend(sent.unneeded().map(|text| Fact::new("not needed", text)));
    }
    facts
}
