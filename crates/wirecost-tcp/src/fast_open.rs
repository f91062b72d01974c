//! The cookies of TCP Fast Open (RFC 7413), by which a server knows that a client's address is its own.

use core::net::IpAddr;

/// The largest cookie, in bytes (RFC 7413, section 4.1.1).
const MAX_BYTES: usize = 16;

/// Bytes of the cookies that [`Cookie::compute`] makes.
const COOKIE_BYTES: usize = 8;

/// A cookie, or the request for one, which has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    bytes: [u8; MAX_BYTES],
    len: u8,
}

impl Cookie {
    /// The request of a client that has no cookie.
    pub const REQUEST: Self = Self {
        bytes: [0; MAX_BYTES],
        len: 0,
    };

    /// The cookie of the Fast Open option of a segment; `None` if it is longer than a cookie may be.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut cookie = Self::REQUEST;
        cookie.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        cookie.len = u8::try_from(bytes.len()).ok()?;
        Some(cookie)
    }

    /// The cookie of a client's address, of 8 bytes: SipHash-2-4 of both addresses under the server's key, as Linux makes it (RFC
    /// 7413, section 4.1.2, asks for a keyed function that a client cannot compute).
    pub fn compute(key: [u64; 2], client: IpAddr, server: IpAddr) -> Self {
        let mut text = [0; 32];
        let mut len = 0;
        for address in [client, server] {
            let (four, sixteen);
            let octets: &[u8] = match address {
                IpAddr::V4(address) => {
                    four = address.octets();
                    &four
                }
                IpAddr::V6(address) => {
                    sixteen = address.octets();
                    &sixteen
                }
            };
            text[len..len + octets.len()].copy_from_slice(octets);
            len += octets.len();
        }
        let mut cookie = Self::REQUEST;
        cookie.bytes[..COOKIE_BYTES].copy_from_slice(&sip_hash(key, &text[..len]).to_le_bytes());
        cookie.len = COOKIE_BYTES as u8;
        cookie
    }

    /// Whether it is the request for a cookie.
    pub const fn is_request(&self) -> bool {
        self.len == 0
    }

    /// The number of its bytes.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// SipHash-2-4 (Aumasson, Bernstein 2012).
fn sip_hash(key: [u64; 2], text: &[u8]) -> u64 {
    let mut state = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let mut words = text.chunks_exact(8);
    for word in &mut words {
        absorb(&mut state, read_word(word));
    }
    let length = (text.len() as u64) << 56;
    absorb(&mut state, length | read_word(words.remainder()));
    state[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut state);
    }
    state.into_iter().fold(0, |all, word| all ^ word)
}

/// Up to eight bytes, the first one the lowest.
fn read_word(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |word, byte| (word << 8) | u64::from(*byte))
}

fn absorb(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    round(state);
    state[0] ^= word;
}

const fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_keyed_function_is_that_of_its_published_vector() {
        // The paper's appendix A: the key 00 to 0f, the text 00 to 0e.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let text: Vec<u8> = (0..15).collect();
        assert_eq!(sip_hash(key, &text), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_cookie_is_of_one_client_and_one_key() {
        let [one, other, server]: [IpAddr; 3] =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|text| text.parse().unwrap());
        let cookie = Cookie::compute([1, 2], one, server);
        assert_eq!(cookie.as_bytes().len(), 8);
        assert_eq!(Cookie::read(cookie.as_bytes()), Some(cookie));
        assert_ne!(cookie, Cookie::compute([1, 2], other, server));
        assert_ne!(cookie, Cookie::compute([1, 3], one, server));
        assert!(Cookie::read(&[]).is_some_and(|cookie| cookie.is_request()));
        assert_eq!(Cookie::read(&[0; 17]), None);
    }
}
