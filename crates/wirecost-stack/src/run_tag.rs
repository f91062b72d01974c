//! The characters by which the names of one run differ from those of others at the same server.

use std::fmt;

use wirecost_security::entropy::{Entropy, NoEntropy};

/// The placeholder in a [`Pattern`](crate::pattern::Pattern) that represents the tag.
const PLACEHOLDER: char = 'x';
/// The characters of a tag: those that every MQTT server takes in a client identifier (MQTT 3.1.1, section 3.1.3.1).
const CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Three characters that a run has for itself: a server ends a connection when another client comes with its identifier
/// ([MQTT-3.1.4-3]), and runs of several testers must not end one another's. Every tag has the same length, so that sizes do not
/// depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTag([u8; Self::BYTES]);

impl RunTag {
    /// The length of a tag in bytes.
    pub const BYTES: usize = 3;
    /// The tag where no other run can be at the server: it was started for this one, or is simulated.
    pub const ALONE: Self = Self(*b"wc-");

    /// The tag that follows from a number.
    pub fn from_number(number: u64) -> Self {
        let mut left = number;
        Self(std::array::from_fn(|_| {
            let digit = (left % CHARACTERS.len() as u64) as usize;
            left /= CHARACTERS.len() as u64;
            CHARACTERS[digit]
        }))
    }

    /// A tag that another run hardly has: there are 238,328.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn draw() -> Result<Self, NoEntropy> {
        let mut number = [0; 8];
        Entropy::system().fill(&mut number)?;
        Ok(Self::from_number(u64::from_ne_bytes(number)))
    }

    /// The tag as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The text of a pattern in which `%x` is this tag. Its other placeholders stay.
    #[must_use]
    pub fn fill(self, pattern: &str) -> String {
        let mut filled = String::with_capacity(pattern.len() + Self::BYTES);
        let mut characters = pattern.chars().peekable();
        while let Some(character) = characters.next() {
            match (character, characters.peek().copied()) {
                ('%', Some(PLACEHOLDER)) => {
                    characters.next();
                    filled.push_str(self.as_str());
                }
                ('%', Some('%')) => {
                    characters.next();
                    filled.push_str("%%");
                }
                _ => filled.push(character),
            }
        }
        filled
    }
}

impl fmt::Display for RunTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_takes_the_place_of_its_placeholder_alone() {
        let tag = RunTag::from_number(0);
        for (pattern, filled) in [
            ("%x%05d", "000%05d"),
            ("t/%x/%d", "t/000/%d"),
            ("%%x%x", "%%x000"),
            ("%d%", "%d%"),
            ("plain", "plain"),
        ] {
            assert_eq!(tag.fill(pattern), filled, "{pattern}");
        }
    }

    #[test]
    fn numbers_make_different_tags_of_one_length() {
        let tags: std::collections::BTreeSet<String> = (0..238_328)
            .map(|number| RunTag::from_number(number).to_string())
            .collect();
        assert_eq!(tags.len(), 238_328);
        assert!(tags.iter().all(|tag| tag.len() == RunTag::BYTES));
        assert_eq!(RunTag::ALONE.as_str().len(), RunTag::BYTES);
    }

    #[test]
    fn two_runs_hardly_draw_the_same_tag() {
        let drawn: std::collections::BTreeSet<String> = (0..20)
            .map(|_| RunTag::draw().expect("random bytes").to_string())
            .collect();
        assert!(drawn.len() > 18, "{drawn:?}");
    }
}
