//! The source of keys, nonces and serial numbers.

#[cfg(any(test, feature = "seeded"))]
use wirecost_proto::Rng;

/// A source of random bytes: the system or a seed.
///
/// A seed makes two runs identical byte for byte, and it reveals every secret. It is for tests and simulation, behind
/// the feature `seeded`.
#[derive(Clone, Debug, Default)]
pub struct Entropy(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    #[cfg(any(test, feature = "seeded"))]
    Seed(Rng),
}

/// The system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random bytes")]
pub struct NoEntropy;

impl Entropy {
    /// The system's randomness.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// Bytes that derive from `rng` alone.
    #[cfg(any(test, feature = "seeded"))]
    pub const fn seeded(rng: Rng) -> Self {
        Self(Source::Seed(rng))
    }

    /// A separate source for the purpose that `label` names. With a seed it is another part of the seed's stream.
    #[cfg_attr(not(any(test, feature = "seeded")), expect(unused_variables))]
    pub fn derive(&self, label: &str) -> Self {
        match &self.0 {
            Source::System => Self::system(),
            #[cfg(any(test, feature = "seeded"))]
            Source::Seed(rng) => Self::seeded(rng.purpose(wirecost_proto::random::key_of(label))),
        }
    }

    /// Fills `bytes`.
    ///
    /// # Errors
    /// [`NoEntropy`] if the system fails.
    pub fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        match &mut self.0 {
            Source::System => aws_lc_rs::rand::fill(bytes).map_err(|_| NoEntropy),
            #[cfg(any(test, feature = "seeded"))]
            Source::Seed(rng) => {
                rng.fill(bytes);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(mut entropy: Entropy) -> [u8; 16] {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes).expect("random bytes");
        bytes
    }

    #[test]
    fn each_label_of_a_seed_has_its_own_bytes() {
        let seeded = Entropy::seeded(Rng::new(1));
        assert_eq!(drawn(seeded.derive("a")), drawn(seeded.derive("a")));
        assert_ne!(drawn(seeded.derive("a")), drawn(seeded.derive("b")));
        let system = Entropy::system();
        assert_ne!(drawn(system.derive("a")), drawn(system.derive("a")));
    }
}
