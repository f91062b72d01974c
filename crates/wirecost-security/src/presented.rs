//! The sizes of a chain that a server presents, from its certificates.

use std::time::Duration;

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;

use crate::certificate::{Error, KeyKind, Sizes, certificates_from_pem, is_raw_public_key, x509};
use crate::provider;
use crate::tls::fault::certificate::complaint;
use wirecost_proto::date::{SECONDS_OF_A_DAY, date_of};

/// The sizes of the certificates of a PEM text, the leaf first. Its last certificate is taken for one that clients trust. `now` is
/// the time since 1970-01-01 00:00 UTC.
///
/// # Errors
/// A sentence: there is no certificate, one has expired or is not the issuer of the one before it, or no such chain can be made. No
/// private key of the text is in it.
pub fn presented(text: &str, now: Duration) -> Result<Sizes, String> {
    let chain = match certificates_from_pem(text) {
        Err(Error::NoCertificate) if text.contains("PRIVATE KEY-----") => {
            return Err("it has a private key and no certificate".to_owned());
        }
        chain => chain.map_err(|error| error.to_string())?,
    };
    let sizes: Vec<usize> = chain.iter().map(Vec::len).collect();
    let leaf = chain.first().map(|der| CertificateDer::from(der.as_slice()));
    let leaf = leaf.ok_or_else(|| Error::NoCertificate.to_string())?;
    let key = KeyKind::of_public(&parsed(&leaf)?.subject_public_key_info()).ok_or_else(|| {
        let names = KeyKind::NAMES.join(", ");
        format!("the key of its first certificate is none of {names}")
    })?;
    let sizes = Sizes::new(key, &sizes)?;
    check(&chain, now)?;
    Ok(sizes)
}

/// Checks that a handshake can carry certificates in DER, the leaf first, and that a client would accept them that trusts the last one. A
/// raw public key in place of them has nothing to check.
/// `now` is the time since 1970-01-01 00:00 UTC.
///
/// # Errors
/// A sentence: there is none, they are too long together, one has expired, or one is not the issuer of the one before it.
pub fn check(chain: &[Vec<u8>], now: Duration) -> Result<(), String> {
    if let [key] = chain
        && is_raw_public_key(key)
    {
        return Ok(());
    }
    let bytes: usize = chain.iter().map(Vec::len).sum();
    if bytes > Sizes::MOST_BYTES {
        let most = Sizes::MOST_BYTES;
        return Err(format!(
            "its {bytes} B of certificates are more than the {most} B that a handshake can carry"
        ));
    }
    let (year, month, day) = date_of(now.as_secs() / SECONDS_OF_A_DAY);
    let today = format!("{year}-{month:02}-{day:02}");
    for (number, der) in chain.iter().enumerate() {
        let until = x509::Certificate::read(der).map(|certificate| certificate.expires.to_string());
        if let Some(until) = until.filter(|until| *until < today) {
            return Err(format!("its certificate {} expired on {until}", number + 1));
        }
    }
    let chain: Vec<CertificateDer<'_>> = chain.iter().map(|der| der.as_slice().into()).collect();
    let Some((leaf, others)) = chain.split_first() else {
        return Err(Error::NoCertificate.to_string());
    };
    let leaf = parsed(leaf)?;
    let Some((anchor, between)) = others.split_last() else {
        return Ok(());
    };
    let mut roots = RootCertStore::empty();
    let of_last = |error: rustls::Error| format!("its last certificate: {}", complaint(&error));
    roots.add(anchor.clone()).map_err(of_last)?;
    let algorithms = provider::wide().signature_verification_algorithms.all;
    let now = UnixTime::since_unix_epoch(now);
    let verified = verify_server_cert_signed_by_trust_anchor(&leaf, &roots, between, now, algorithms);
    verified.map_err(|error| {
        format!(
            "its certificates do not lead from the first to the last: {}",
            complaint(&error)
        )
    })
}

fn parsed<'a>(leaf: &'a CertificateDer<'a>) -> Result<ParsedCertificate<'a>, String> {
    let of_leaf = |error: rustls::Error| format!("its first certificate: {}", complaint(&error));
    ParsedCertificate::try_from(leaf).map_err(of_leaf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::{Authority, Chain, Identity, Kind, VALID_FROM, VALID_UNTIL};
    use crate::entropy::Entropy;

    const DAY: Duration = Duration::from_secs(86_400);

    fn identity(chain: Chain) -> Identity {
        let authority = Authority::of_kind(Kind::from(chain), Entropy::system()).expect("an authority");
        Identity::generate(&authority).expect("an identity")
    }

    #[test]
    fn a_chain_of_a_file_is_made_again_with_its_sizes() {
        for text in ["p256:1000+699", "ed25519:400+1200+3000", "rsa2048:1300+1290"] {
            let identity = identity(text.parse().expect(text));
            let pem = identity.certificates_to_pem().expect("a text");
            let sizes = presented(&pem, VALID_FROM + DAY).expect(text);
            assert_eq!(sizes.to_string(), text);
            let key = identity.private_key_to_pem().expect("a text");
            assert_eq!(presented(&format!("{key}{pem}"), VALID_FROM + DAY), Ok(sizes));
        }
    }

    #[test]
    fn a_file_that_is_no_chain_is_refused_without_its_secrets() {
        let one = identity("p256:1000+699".parse().expect("sizes"));
        let other = identity("p256:1000+699".parse().expect("sizes"));
        let pem = |identity: &Identity| identity.certificates_to_pem().expect("a text");
        let key = one.private_key_to_pem().expect("a text");
        let middle = key.lines().nth(1).expect("a line").to_owned();
        let own = pem(&one);
        let cut = own.find("-----END").expect("an end") + 26;
        let mixed = format!("{}{}", &own[..cut], &pem(&other)[cut..]);
        let turned = format!("{}{}", &own[cut..], &own[..cut]);
        let now = VALID_FROM + DAY;
        for (text, at, said) in [
            (&key, now, "it has a private key and no certificate"),
            (&"nothing".to_owned(), now, "no certificate in the PEM text"),
            (&own, VALID_UNTIL + DAY, "its certificate 1 expired on 2036-01-01"),
            (&mixed, now, "do not lead from the first to the last"),
            (&turned, now, "do not lead from the first to the last"),
            (&own.repeat(40), now, "1 to 8 certificates, not 80"),
        ] {
            let error = presented(text, at).expect_err(said);
            assert!(error.contains(said), "{said}: {error}");
            assert!(!error.contains(&middle), "{error}");
        }
        assert_eq!(check(&one.chain()[..1], now), Ok(()));
        let old = check(&one.chain()[..1], VALID_UNTIL + DAY).expect_err("it has expired");
        assert!(old.contains("its certificate 1 expired on 2036-01-01"), "{old}");
        let heavy = check(&vec![one.certificate().to_vec(); 100], now).expect_err("too long");
        assert!(
            heavy.contains("100000 B of certificates are more than the 65471 B"),
            "{heavy}"
        );
        let long = "p256:16000+16000+16000+16000+16000"
            .parse::<Sizes>()
            .expect_err("too long");
        assert!(long.contains("more than the 65471 B"), "{long}");
    }
}
