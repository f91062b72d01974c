//! Objects that carry their own protection, whatever the channel.
//!
//! An object holds parts of a payload. Each part is a COSE_Encrypt (RFC 9052 section 5.1) under a content key of its
//! own, which is wrapped for every participant who may open the part (ECDH-ES with A128KW, RFC 9053 section 6.4). A
//! rule set says who may open which part from when until when; it is in a COSE_Sign1 (RFC 9052 section 4.2)
//! together with the digests of all parts, so that nothing of an object can be changed or moved to another one.
//!
//! `docs/models/objects.md` has the format in CDDL, its sizes, and what cryptography enforces and what only the
//! opener's software does.
//!
//! - [`key`]: who opens and who signs, and their keys as COSE_Keys
//! - [`rule`]: who may open which part, from when until when
//! - [`seal`]: parts into an object
//! - [`open`]: a part out of an object, or the reason why not
//! - [`mod@inspect`]: what an object shows without a key
//! - [`preset`]: one signer, one participant, one part: what a stack with `+cose` sends
//! - [`time`]: seconds since 1970 as a date
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
