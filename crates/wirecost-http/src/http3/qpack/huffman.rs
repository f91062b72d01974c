//! The Huffman code of header fields (RFC 7541 section 5.2 and appendix B).
//!
//! The code is canonical: codes of one length are consecutive in the order of their symbols, and each length
//! continues where the shorter one ended. So the lengths in appendix B determine the code.

/// Code length of each octet in bits (RFC 7541 appendix B).
const BITS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, // 0x00
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, // 0x10
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, // 0x20
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, // 0x30
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, // 0x40
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, // 0x50
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, // 0x60
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, // 0x70
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, // 0x80
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, // 0x90
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, // 0xa0
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, // 0xb0
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, // 0xc0
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, // 0xd0
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, // 0xe0
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, // 0xf0
];

/// The longest code. The last code of this length is EOS.
const LONGEST: usize = 30;

/// The code as two tables, computed from the lengths at compile time.
const CODE: Code = Code::from_lengths();

struct Code {
    /// The code of each octet, in its low bits.
    codes: [u32; 256],
    /// The first code of each length.
    first: [u32; LONGEST + 1],
    /// The number of octets with a shorter code, for each length.
    shorter: [u16; LONGEST + 2],
    /// The octets in the order of their codes.
    order: [u8; 256],
}

impl Code {
    const fn from_lengths() -> Self {
        let mut code = Self {
            codes: [0; 256],
            first: [0; LONGEST + 1],
            shorter: [0; LONGEST + 2],
            order: [0; 256],
        };
        let (mut next, mut rank, mut bits) = (0u32, 0u16, 1);
        while bits <= LONGEST {
            next <<= 1;
            code.first[bits] = next;
            code.shorter[bits] = rank;
            let mut octet = 0;
            while octet < 256 {
                if BITS[octet] as usize == bits {
                    code.codes[octet] = next;
                    code.order[rank as usize] = octet as u8;
                    next += 1;
                    rank += 1;
                }
                octet += 1;
            }
            bits += 1;
        }
        code.shorter[LONGEST + 1] = rank;
        code
    }

    /// The octet whose code is the `bits` bits of `value`.
    fn octet(&self, value: u32, bits: usize) -> Option<u8> {
        let within = value.checked_sub(*self.first.get(bits)?)?;
        let shorter = *self.shorter.get(bits)?;
        let count = self.shorter.get(bits + 1)?.checked_sub(shorter)?;
        if within >= u32::from(count) {
            return None;
        }
        self.order.get(usize::from(shorter) + within as usize).copied()
    }
}

/// Length of `text` in this code in bytes.
pub fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text
        .iter()
        .map(|octet| usize::from(BITS[usize::from(*octet)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends `text` in this code, padded with the first bits of EOS (RFC 7541 section 5.2).
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut pending, mut held) = (0u64, 0u32);
    for octet in text {
        let octet = usize::from(*octet);
        let bits = u32::from(BITS[octet]);
        pending = pending << bits | u64::from(CODE.codes[octet]);
        held += bits;
        while held >= 8 {
            held -= 8;
            out.push((pending >> held) as u8);
        }
    }
    if held > 0 {
        let fill = 8 - held;
        out.push((pending << fill) as u8 | ((1u16 << fill) - 1) as u8);
    }
}

/// Decodes `bytes`, or returns `None` if they contain EOS, or if the padding is too long or not all ones (RFC 7541
/// section 5.2).
pub fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(bytes.len() * 8 / 5);
    let (mut value, mut bits) = (0u32, 0usize);
    for bit in bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |shift| byte >> shift & 1))
    {
        value = value << 1 | u32::from(bit);
        bits += 1;
        if let Some(octet) = CODE.octet(value, bits) {
            text.push(octet);
            (value, bits) = (0, 0);
        } else if bits == LONGEST {
            return None;
        }
    }
    let filling_is_ones = value == (1u32 << bits) - 1;
    (bits < 8 && filling_is_ones).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 7541 appendices C.4 and C.6.
    #[test]
    fn the_examples_of_the_standard_are_read_and_written() {
        let table: [(&str, &[u8]); 7] = [
            (
                "www.example.com",
                &[
                    0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
                ],
            ),
            ("no-cache", &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]),
            ("custom-key", &[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f]),
            (
                "custom-value",
                &[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf],
            ),
            ("302", &[0x64, 0x02]),
            ("private", &[0xae, 0xc3, 0x77, 0x1a, 0x4b]),
            (
                "Mon, 21 Oct 2013 20:13:21 GMT",
                &[
                    0xd0, 0x7a, 0xbe, 0x94, 0x10, 0x54, 0xd4, 0x44, 0xa8, 0x20, 0x05, 0x95, 0x04, 0x0b, 0x81,
                    0x66, 0xe0, 0x82, 0xa6, 0x2d, 0x1b, 0xff,
                ],
            ),
        ];
        for (text, bytes) in table {
            let mut out = Vec::new();
            encode(text.as_bytes(), &mut out);
            assert_eq!(out, bytes, "{text}");
            assert_eq!(encoded_len(text.as_bytes()), bytes.len());
            assert_eq!(decode(bytes).as_deref(), Some(text.as_bytes()));
        }
    }

    /// RFC 7541 appendix B: the rarest octets. Their codes are right only if every shorter code is.
    #[test]
    fn the_last_codes_of_each_length_match_rfc_7541() {
        let table = [
            (b'<', 0x7ffc),
            (b'\\', 0x7fff0),
            (249, 0x0fff_fffe),
            (22, 0x3fff_fffe),
        ];
        for (octet, code) in table {
            assert_eq!(CODE.codes[usize::from(octet)], code, "{octet}");
        }
        let kraft: u64 = BITS.iter().map(|bits| 1u64 << (LONGEST as u8 - bits)).sum();
        assert_eq!(kraft, (1 << LONGEST) - 1, "EOS has the one code that is left");
    }

    #[test]
    fn wrong_padding_and_eos_are_refused() {
        let table: [&[u8]; 4] = [&[0xff], &[0x64, 0x02, 0xff], &[0x00, 0x00], &[0xff; 4]];
        for bytes in table {
            // 0x00 0x00 is three times "0" with a zero as padding.
            assert_eq!(decode(bytes), None, "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_survives_encoding_and_decoding(text: Vec<u8>) {
            let mut out = Vec::new();
            encode(&text, &mut out);
            prop_assert_eq!(out.len(), encoded_len(&text));
            prop_assert_eq!(decode(&out), Some(text));
        }

        #[test]
        fn a_decoded_text_encodes_to_the_same_bytes(bytes: Vec<u8>) {
            if let Some(text) = decode(&bytes) {
                let mut out = Vec::new();
                encode(&text, &mut out);
                prop_assert_eq!(out, bytes);
            }
        }
    }
}
