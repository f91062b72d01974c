//! Objects with their own protection, independent of the channel.
//!
//! An object contains the parts of a payload. Each part is a COSE_Encrypt (RFC 9052 section 5.1) under its own
//! content key. The content key is wrapped for every participant who may open the part (ECDH-ES with A128KW, RFC 9053
//! section 6.4). A rule set says who may open which part, and when. It is in a COSE_Sign1 (RFC 9052 section 4.2)
//! together with the digests of all parts. So nobody can change an object or move a part to another object.
//!
//! `docs/models/objects.md` describes the format in CDDL, its sizes, and what cryptography enforces and what only the
//! opener's software enforces.
//!
//! - [`key`]: keys of participants and signers, also as COSE_Keys
//! - [`rule`]: who may open which part, and when
//! - [`seal`]: makes an object from parts
//! - [`open`]: decrypts a part, or says why not
//! - [`mod@inspect`]: the contents of an object that are readable without a key
//! - [`preset`]: one signer, one participant, one part, as stacks with `+cose` use them
//! - [`time`]: seconds since 1970, read and printed as a date
//!
//! ```
//! use wirecost_security::entropy::Entropy;
//! use wirecost_security::object::{Curve, Opener, Refusal, Rule, Sealer, Secret, SigningKey, UnixTime};
//!
//! let mut entropy = Entropy::system();
//! let signing_key = SigningKey::generate(&mut entropy)?;
//! let signer = signing_key.signer();
//! let alice = Secret::generate(Curve::X25519, &mut entropy)?;
//! let rule = Rule {
//!     participant: alice.id(),
//!     part: 0,
//!     not_before: "2026-01-01".parse()?,
//!     not_after: "2026-12-31".parse()?,
//! };
//! let sealer = Sealer::new(signing_key, vec![alice.participant()], vec![rule])?;
//! let sealed = sealer.seal(&[b"21.5 C"], &mut entropy)?;
//!
//! let opener = Opener::new(alice, vec![signer]);
//! let now: UnixTime = "2026-06-01T12:00:00Z".parse()?;
//! assert_eq!(opener.open(&sealed.bytes, 0, now)?, b"21.5 C");
//! let refused = opener.open(&sealed.bytes, 0, "2027-01-01".parse()?);
//! assert!(matches!(refused, Err(Refusal::Expired { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod cbor;
mod frame;
pub mod inspect;
pub mod key;
pub mod open;
pub mod preset;
pub mod rule;
pub mod seal;
pub mod time;
mod wrap;

pub use inspect::{Inspection, inspect};
pub use key::{Curve, KeyError, KeyId, Participant, Secret, Signer, SigningKey};
pub use open::{Evidence, Opener, Refusal, verify};
pub use preset::Preset;
pub use rule::Rule;
pub use seal::{SealError, Sealed, Sealer};
pub use time::UnixTime;

#[cfg(test)]
mod tests;
