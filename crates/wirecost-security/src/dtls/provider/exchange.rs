//! Key exchange on X25519 (RFC 7748) with keys from a seed, if there is one.

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use dimpl::crypto::{ActiveKeyExchange, Buf, NamedGroup, SupportedKxGroup};
use dimpl::{CryptoError, CryptoOperation};

use super::seeded;

/// X25519, and P-256 as in `plain`. They live as long as the program.
pub(super) fn groups(plain: &[&'static dyn SupportedKxGroup]) -> &'static [&'static dyn SupportedKxGroup] {
    let is_p256 = |group: &&&dyn SupportedKxGroup| group.name() == NamedGroup::Secp256r1;
    let others = plain.iter().filter(is_p256).copied();
    let groups = std::iter::once(&X25519Group as &dyn SupportedKxGroup).chain(others);
    groups.collect::<Vec<_>>().leak()
}

#[derive(Debug)]
struct X25519Group;

impl SupportedKxGroup for X25519Group {
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn start_exchange(&self, mut public_key: Buf) -> Result<Box<dyn ActiveKeyExchange>, CryptoError> {
        let failed = |operation| move |_| CryptoError::OperationFailed(operation);
        let private_key = match seeded::<32>() {
            Some(scalar) => PrivateKey::from_private_key(&X25519, &scalar)
                .map_err(|_| CryptoError::OperationFailed(CryptoOperation::GenerateEphemeralKey))?,
            None => PrivateKey::generate(&X25519).map_err(failed(CryptoOperation::GenerateEphemeralKey))?,
        };
        let computed = private_key
            .compute_public_key()
            .map_err(failed(CryptoOperation::ComputePublicKey))?;
        public_key.clear();
        public_key.extend_from_slice(computed.as_ref());
        Ok(Box::new(Exchange {
            private_key,
            public_key,
        }))
    }
}

/// An exchange that waits for the peer's public key.
#[derive(Debug)]
struct Exchange {
    private_key: PrivateKey,
    public_key: Buf,
}

impl ActiveKeyExchange for Exchange {
    fn pub_key(&self) -> &[u8] {
        &self.public_key
    }

    fn complete(self: Box<Self>, peer: &[u8], out: &mut Buf) -> Result<(), CryptoError> {
        let refused = CryptoError::InvalidPublicKey(NamedGroup::X25519);
        agree(
            &self.private_key,
            UnparsedPublicKey::new(&X25519, peer),
            refused,
            |secret| {
                out.clear();
                out.extend_from_slice(secret);
                Ok(())
            },
        )
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
