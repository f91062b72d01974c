//! The Internet checksum and the pseudo headers that TCP, UDP and ICMPv6 add to it.

use crate::internet::{Addresses, Protocol};

/// A running ones' complement sum of 16-bit words (RFC 1071 section 1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// The sum of the pseudo header before `upper_bytes` bytes of `protocol`.
    pub(crate) fn pseudo_header(addresses: &Addresses, protocol: Protocol, upper_bytes: usize) -> Self {
        let sum = match addresses {
            // RFC 9293 section 3.1, RFC 768: addresses, zero, protocol, length.
            Addresses::V4 { source, destination } => {
                Self::default().and(&source.octets()).and(&destination.octets())
            }
            // RFC 8200 section 8.1: the same with wider fields; zero words add nothing.
            Addresses::V6 { source, destination } => {
                Self::default().and(&source.octets()).and(&destination.octets())
            }
        };
        Self(sum.0 + u64::from(protocol.number()) + upper_bytes as u64)
    }

    /// The sum with `bytes` added. They start on a word boundary; an odd last byte is padded with zero.
    pub(crate) fn and(self, bytes: &[u8]) -> Self {
        // RFC 1071 section 2, B: wider words give the same sum, because 2^16 is 1 modulo 2^16 - 1.
        let (words, tail) = bytes.as_chunks::<4>();
        let wide = words
            .iter()
            .fold(self.0, |sum, word| sum + u64::from(u32::from_be_bytes(*word)));
        let mut last = [0; 4];
        last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        Self(wide + u64::from(u32::from_be_bytes(last)))
    }

    /// The checksum: the complement of the folded sum.
    pub(crate) fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// Whether the summed bytes contain a correct checksum (RFC 1071 section 1, step 3).
    pub(crate) fn is_valid(self) -> bool {
        self.finish() == 0
    }
}

/// The state of the checksum of a captured segment or datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Correct.
    Valid,
    /// The sum of the pseudo header alone: the packet was captured before its network card completed the checksum.
    Partial,
    /// Wrong.
    Invalid,
}

impl Checksum {
    /// The state of the checksum `field`. `all` adds the segment or datagram to the sum of the pseudo header.
    pub(crate) fn judge(field: u16, pseudo: Sum, all: impl FnOnce(Sum) -> Sum) -> Self {
        // A correct checksum may happen to equal the sum of the pseudo header.
        if all(pseudo).is_valid() {
            return Self::Valid;
        }
        // A network card gets the folded sum, not its complement.
        if field == !pseudo.finish() {
            Self::Partial
        } else {
            Self::Invalid
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_the_example_of_rfc_1071() {
        // RFC 1071 section 3: the sum of these words is ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().and(&bytes).finish(), !0xddf2);
    }

    proptest! {
        #[test]
        fn equals_the_sum_word_by_word(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut sum = 0u32;
            for word in bytes.chunks(2) {
                sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
                sum = (sum & 0xffff) + (sum >> 16);
            }
            prop_assert_eq!(Sum::default().and(&bytes).finish(), !(sum as u16));
        }
    }
}
