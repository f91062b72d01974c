//! The client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.
//!
//! The password is used as it is: SASLprep (RFC 4013) changes nothing in ASCII, and the client refuses other passwords.

use std::num::NonZeroU32;

use aws_lc_rs::{constant_time, digest, hmac, pbkdf2};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The name of the mechanism.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";

/// The header of a client that does not support channel binding (RFC 5802, section 7), and its base64.
const GS2_HEADER: &str = "n,,";
const GS2_HEADER_BASE64: &str = "biws";

/// The most iterations of a server that the client computes. PostgreSQL and MongoDB have 4,096 and 15,000.
const MOST_ITERATIONS: u32 = 1_000_000;

/// Why the exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The server's message is not one of SCRAM.
    #[error("server must send {0}")]
    Malformed(&'static str),
    /// The server does not know the password.
    #[error("server must prove that it knows the password, and its proof is wrong")]
    Proof,
    /// The password has characters that SASLprep may change.
    #[error("a password of SCRAM-SHA-256 must be ASCII")]
    Password,
}

/// The client after its first message.
#[derive(Debug)]
pub(crate) struct Client {
    first_bare: String,
    nonce: String,
}

impl Client {
    /// The client of `user` with a nonce of random bytes. PostgreSQL takes the name from the start-up message, and ignores it
    /// here.
    pub(crate) fn new(user: &str, nonce: &[u8]) -> Self {
        let nonce = BASE64.encode(nonce);
        // RFC 5802, section 5.1.
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Self {
            first_bare: format!("n={user},r={nonce}"),
            nonce,
        }
    }

    /// client-first-message.
    pub(crate) fn first(&self) -> String {
        format!("{GS2_HEADER}{}", self.first_bare)
    }

    /// client-final-message, in answer to server-first-message.
    pub(crate) fn last(&self, server_first: &str, password: &str) -> Result<(String, Verifier), Error> {
        if !password.is_ascii() {
            return Err(Error::Password);
        }
        let [nonce, salt, iterations] = attributes(server_first, ["r=", "s=", "i="])?;
        if !nonce.starts_with(&self.nonce) {
            return Err(Error::Malformed("a nonce that begins with the client's"));
        }
        let salt = decoded(salt, "a salt in base64")?;
        let iterations = iterations.parse().ok().filter(|count| *count <= MOST_ITERATIONS);
        let iterations = iterations.and_then(NonZeroU32::new);
        let iterations = iterations.ok_or(Error::Malformed("a count of 1 to 1,000,000 iterations"))?;
        let without_proof = format!("c={GS2_HEADER_BASE64},r={nonce}");
        let signed = format!("{},{server_first},{without_proof}", self.first_bare);
        let mut salted = [0; digest::SHA256_OUTPUT_LEN];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            iterations,
            &salt,
            password.as_bytes(),
            &mut salted,
        );
        let client_key = mac(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
        let signature = mac(stored_key.as_ref(), signed.as_bytes());
        let proof = client_key.as_ref().iter().zip(signature.as_ref());
        let proof: Vec<u8> = proof.map(|(key, signature)| key ^ signature).collect();
        let server_key = mac(&salted, b"Server Key");
        let verifier = Verifier(mac(server_key.as_ref(), signed.as_bytes()));
        Ok((format!("{without_proof},p={}", BASE64.encode(proof)), verifier))
    }
}

/// The signature that the server must send.
#[derive(Debug)]
pub(crate) struct Verifier(hmac::Tag);

impl Verifier {
    /// Checks server-final-message.
    pub(crate) fn verify(&self, server_final: &str) -> Result<(), Error> {
        let [signature] = attributes(server_final, ["v="])?;
        let signature = decoded(signature, "a signature in base64")?;
        constant_time::verify_slices_are_equal(&signature, self.0.as_ref()).map_err(|_| Error::Proof)
    }
}

fn mac(key: &[u8], data: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data)
}

/// The values of the first attributes, in their fixed order (RFC 5802, section 5).
fn attributes<'a, const N: usize>(text: &'a str, names: [&'static str; N]) -> Result<[&'a str; N], Error> {
    let mut parts = text.split(',');
    let mut values = [""; N];
    for (value, name) in values.iter_mut().zip(names) {
        let part = parts.next().and_then(|part| part.strip_prefix(name));
        *value = part.ok_or(Error::Malformed("the attributes of SCRAM-SHA-256 in their order"))?;
    }
    Ok(values)
}

fn decoded(text: &str, expected: &'static str) -> Result<Vec<u8>, Error> {
    BASE64.decode(text).map_err(|_| Error::Malformed(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3. Its nonce is 15 bytes in base64.
    fn example() -> Client {
        let nonce = "rOprNGfwEbeRWgbNEkqO";
        Client::new("user", &BASE64.decode(nonce).expect("base64"))
    }

    const SERVER_FIRST: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    #[test]
    fn the_example_of_the_rfc_is_reproduced() {
        let client = example();
        assert_eq!(client.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let (last, verifier) = client.last(SERVER_FIRST, "pencil").expect("a valid message");
        assert_eq!(
            last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(
            verifier.verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
            Ok(())
        );
        assert_eq!(
            verifier.verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5="),
            Err(Error::Malformed("a signature in base64"))
        );
        assert_eq!(verifier.verify("v=AAAA"), Err(Error::Proof));
    }

    #[test]
    fn a_server_with_another_nonce_or_without_end_is_refused() {
        for first in [
            "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "r=rOprNGfwEbeRWgbNEkqO1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4000000000",
            "r=rOprNGfwEbeRWgbNEkqO1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0",
            "s=W22ZaJ0SNY7soEsUEjb6gQ==",
        ] {
            assert!(example().last(first, "pencil").is_err(), "{first}");
        }
    }
}
