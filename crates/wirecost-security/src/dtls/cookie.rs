//! The cookies of a server, which keeps nothing of a client that has yet to return its own (RFC 6347 section 4.2.1, RFC 9147
//! section 5.1). The cookie and the second ClientHello together say what the server must know of the first one.
//!
//! ```text
//! ClientHello ->               an engine answers it, and is dropped
//!                              <- HelloVerifyRequest or HelloRetryRequest, with the cookie
//! ClientHello with cookie ->   the first ClientHello is made of it again, and a new engine takes both
//! ```
//!
//! A client must repeat its ClientHello (RFC 6347 section 4.2.1, RFC 8446 section 4.1.2). In DTLS 1.3, whose handshake hash
//! covers the first one, the cookie itself and the padding may differ: the cookie has the padding of the first, and proves that
//! what was made of the second is the first byte for byte.

use std::net::IpAddr;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use wirecost_proto::{Instant, Peer};

use super::fields::{Reader, header, push_vector};
use super::record::{HEADER_BYTES, Record, content, records};
use crate::entropy::{Entropy, NoEntropy};

/// Bytes of a cookie: those of the hash that RFC 6347 section 4.2.1 suggests.
pub(super) const COOKIE_BYTES: usize = 32;
/// Bytes of its first part, the padding of the first ClientHello. The rest is an authentication code.
const PADDING_BYTES: usize = 2;
/// The first part for a ClientHello without padding: no extension that fits into a datagram is as long.
const NO_PADDING: u16 = u16::MAX;
/// The handshake message that opens a connection.
const CLIENT_HELLO: u8 = 1;

/// Numbers of extensions.
mod extension {
    /// RFC 7685.
    pub(super) const PADDING: u16 = 21;
    /// RFC 8446 section 4.2.11.
    pub(super) const PRE_SHARED_KEY: u16 = 41;
    /// RFC 8446 section 4.2.10.
    pub(super) const EARLY_DATA: u16 = 42;
    /// RFC 8446 section 4.2.2.
    pub(super) const COOKIE: u16 = 44;
}

/// A cookie.
pub(super) type Cookie = [u8; COOKIE_BYTES];

/// The cookie of a client that has just sent its random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) random: [u8; 32],
    pub(super) cookie: Cookie,
}

/// What a server does about a ClientHello.
pub(super) enum Meeting {
    /// Takes it, and keeps a state: it needs no cookie, or the answer depends on more than a cookie can say.
    Accept,
    /// Asks for the cookie, and keeps nothing.
    Ask {
        asked: Asked,
        /// Whether the client has sent its ClientHello before.
        is_repeated: bool,
    },
    /// Takes it with the datagram of the first ClientHello before it: the client has returned its cookie.
    Proven { asked: Asked, first: Vec<u8> },
    /// Refuses it: its cookie is not of this server, not of this address or too old.
    Refuse,
}

impl Meeting {
    /// Whether the ClientHello is refused.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self, Self::Refuse)
    }
}

/// The secret of a server, and how long a cookie is good.
pub(super) struct Cookies {
    key: hmac::Key,
    lifetime: Duration,
}

/// A whole ClientHello in one record.
struct Hello<'a> {
    record: Record<'a>,
    /// The number of the message: a client sends its ClientHello with a cookie as the second one.
    sequence: u16,
    body: &'a [u8],
    version: [u8; 2],
    random: [u8; 32],
    session_id: &'a [u8],
    legacy_cookie: &'a [u8],
    suites: &'a [u8],
    compressions: &'a [u8],
    /// The extensions in their order; `None` if there is not even a list.
    extensions: Option<Vec<(u16, &'a [u8])>>,
}

impl Cookies {
    /// With a secret from `entropy`. A cookie is good for `lifetime`, and at most for twice as long.
    pub(super) fn new(mut entropy: Entropy, lifetime: Duration) -> Result<Self, NoEntropy> {
        let mut secret = [0; 32];
        entropy.fill(&mut secret)?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Ok(Self { key, lifetime })
    }

    /// What to do about the ClientHello of `peer` in `datagram`. `speaks_13` if the server answers it with DTLS 1.3.
    pub(super) fn meet(&self, datagram: &[u8], peer: Peer, speaks_13: bool, now: Instant) -> Meeting {
        // An incomplete ClientHello has to be kept until it is complete.
        let Some(hello) = Hello::parse(datagram) else {
            return Meeting::Accept;
        };
        if let Some(returned) = hello.returned() {
            return self.check(&hello, returned, peer, now);
        }
        // RFC 8446 section 4.1.2: the second ClientHello has other binders, and no early data.
        let changes = [extension::PRE_SHARED_KEY, extension::EARLY_DATA];
        if speaks_13 && changes.iter().any(|number| hello.extension(*number).is_some()) {
            return Meeting::Accept;
        }
        let padding = if speaks_13 { hello.padding() } else { NO_PADDING };
        let covered = if speaks_13 {
            hello.body.to_vec()
        } else {
            hello.parameters()
        };
        let code = self.code(self.period(now), peer, padding, &covered);
        let mut cookie = [0; COOKIE_BYTES];
        let (said, rest) = cookie.split_at_mut(PADDING_BYTES);
        said.copy_from_slice(&padding.to_be_bytes());
        rest.copy_from_slice(&code);
        Meeting::Ask {
            asked: hello.asked(cookie),
            is_repeated: hello.sequence == 0 && hello.record.number() != Some(0),
        }
    }

    fn check(&self, hello: &Hello<'_>, returned: &[u8], peer: Peer, now: Instant) -> Meeting {
        let Ok(cookie) = Cookie::try_from(returned) else {
            return Meeting::Refuse;
        };
        let (said, code) = cookie.split_at(PADDING_BYTES);
        let padding = u16::from_be_bytes([said[0], said[1]]);
        let first = hello.first(padding);
        let is_legacy = !hello.legacy_cookie.is_empty();
        let covered = if is_legacy {
            hello.parameters()
        } else {
            first.clone()
        };
        let period = self.period(now);
        let is_ours = [Some(period), period.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|period| {
                let expected = self.code(period, peer, padding, &covered);
                verify_slices_are_equal(&expected, code).is_ok()
            });
        match is_ours {
            true => Meeting::Proven {
                asked: hello.asked(cookie),
                first: hello.datagram(&first),
            },
            false => Meeting::Refuse,
        }
    }

    fn period(&self, now: Instant) -> u64 {
        let lifetime = u64::try_from(self.lifetime.as_nanos()).unwrap_or(u64::MAX);
        now.as_nanos() / lifetime.max(1)
    }

    fn code(
        &self,
        period: u64,
        peer: Peer,
        padding: u16,
        covered: &[u8],
    ) -> [u8; COOKIE_BYTES - PADDING_BYTES] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&period.to_be_bytes());
        match peer.ip() {
            IpAddr::V4(address) => context.update(&address.to_ipv6_mapped().octets()),
            IpAddr::V6(address) => context.update(&address.octets()),
        }
        context.update(&peer.port().to_be_bytes());
        context.update(&padding.to_be_bytes());
        context.update(covered);
        // The code has 32 bytes.
        context.sign().as_ref().first_chunk().copied().unwrap_or_default()
    }
}

impl<'a> Hello<'a> {
    fn parse(datagram: &'a [u8]) -> Option<Self> {
        let record = records(datagram).next()?;
        let message = record.message()?;
        let body = message.whole_client_hello()?;
        let mut reader = Reader::new(body);
        Some(Self {
            record,
            sequence: message.piece.sequence,
            body,
            version: reader.array()?,
            random: reader.array()?,
            session_id: reader.vector(1)?,
            legacy_cookie: reader.vector(1)?,
            suites: reader.vector(2)?,
            compressions: reader.vector(1)?,
            extensions: match reader.is_empty() {
                true => None,
                false => Some(extensions(reader.vector(2)?)?),
            },
        })
    }

    fn asked(&self, cookie: Cookie) -> Asked {
        let random = self.random;
        Asked { random, cookie }
    }

    fn extension(&self, number: u16) -> Option<&'a [u8]> {
        let mut list = self.extensions.iter().flatten();
        list.find(|(found, _)| *found == number).map(|(_, body)| *body)
    }

    /// The cookie that the client returns, in the place of its version.
    fn returned(&self) -> Option<&'a [u8]> {
        match self.extension(extension::COOKIE) {
            Some(body) => Some(Reader::new(body).vector(2).unwrap_or_default()),
            None => Some(self.legacy_cookie).filter(|cookie| !cookie.is_empty()),
        }
    }

    /// The length of the padding, if that is the last extension.
    fn padding(&self) -> u16 {
        let last = self.extensions.as_ref().and_then(|list| list.last());
        let padding = last.filter(|(number, _)| *number == extension::PADDING);
        padding.map_or(NO_PADDING, |(_, body)| {
            u16::try_from(body.len()).unwrap_or(NO_PADDING)
        })
    }

    /// What a client of DTLS 1.2 must repeat (RFC 6347 section 4.2.1).
    fn parameters(&self) -> Vec<u8> {
        let mut bytes = [&self.version[..], &self.random].concat();
        push_vector(1, self.session_id, &mut bytes);
        push_vector(2, self.suites, &mut bytes);
        push_vector(1, self.compressions, &mut bytes);
        bytes
    }

    /// The body of the ClientHello without cookie, with `padding` at its end.
    fn first(&self, padding: u16) -> Vec<u8> {
        let mut body = [&self.version[..], &self.random].concat();
        push_vector(1, self.session_id, &mut body);
        push_vector(1, &[], &mut body);
        push_vector(2, self.suites, &mut body);
        push_vector(1, self.compressions, &mut body);
        let Some(all) = &self.extensions else {
            return body;
        };
        let mut kept: Vec<(u16, &[u8])> = all.clone();
        kept.retain(|(number, _)| *number != extension::COOKIE);
        if kept
            .last()
            .is_some_and(|(number, _)| *number == extension::PADDING)
        {
            kept.pop();
        }
        // No longer than what fits into a datagram with the rest, whoever wrote the cookie.
        let zeros = vec![0; usize::from(padding)];
        if padding != NO_PADDING {
            kept.push((extension::PADDING, &zeros));
        }
        let mut list = Vec::new();
        for (number, content) in kept {
            list.extend_from_slice(&number.to_be_bytes());
            push_vector(2, content, &mut list);
        }
        push_vector(2, &list, &mut body);
        body
    }

    /// The datagram of the first ClientHello: message 0, in the record before this one.
    fn datagram(&self, body: &[u8]) -> Vec<u8> {
        let number = self.record.number().unwrap_or_default();
        let before = number.checked_sub(1).unwrap_or(number + 1);
        let mut message = header(CLIENT_HELLO, body.len(), 0, 0, body.len()).to_vec();
        message.extend_from_slice(body);
        let mut datagram = Vec::with_capacity(HEADER_BYTES + message.len());
        datagram.push(content::HANDSHAKE);
        datagram.extend_from_slice(self.record.bytes.get(1..3).unwrap_or(&[254, 253]));
        datagram.extend_from_slice(&before.to_be_bytes());
        push_vector(2, &message, &mut datagram);
        datagram
    }
}

/// The extensions of a list, with their numbers.
pub(super) fn extensions(list: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let (mut reader, mut found) = (Reader::new(list), Vec::new());
    while !reader.is_empty() {
        found.push((u16::from_be_bytes(reader.array()?), reader.vector(2)?));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use wirecost_proto::Rng;

    use super::*;

    type Extension = (u16, Vec<u8>);

    const RANDOM: [u8; 32] = [7; 32];

    fn body(legacy_cookie: &[u8], extensions: &[Extension]) -> Vec<u8> {
        let mut body = [&[254, 253][..], &RANDOM].concat();
        push_vector(1, b"session", &mut body);
        push_vector(1, legacy_cookie, &mut body);
        push_vector(2, &[0x13, 1, 0xc0, 0x2b], &mut body);
        push_vector(1, &[0], &mut body);
        let mut list = Vec::new();
        for (number, content) in extensions {
            list.extend_from_slice(&number.to_be_bytes());
            push_vector(2, content, &mut list);
        }
        push_vector(2, &list, &mut body);
        body
    }

    /// A datagram with a ClientHello as message `number` in the record of the same number.
    fn datagram(number: u16, body: &[u8]) -> Vec<u8> {
        let message = [&header(CLIENT_HELLO, body.len(), number, 0, body.len())[..], body].concat();
        let mut datagram = vec![content::HANDSHAKE, 254, 253];
        datagram.extend_from_slice(&u64::from(number).to_be_bytes());
        push_vector(2, &message, &mut datagram);
        datagram
    }

    fn with_padding(extensions: &[Extension], padding: Option<usize>) -> Vec<Extension> {
        let padding = padding.map(|bytes| (extension::PADDING, vec![0; bytes]));
        extensions.iter().cloned().chain(padding).collect()
    }

    fn cookies() -> Cookies {
        let entropy = Entropy::seeded(Rng::new(1));
        Cookies::new(entropy, Duration::from_secs(40)).expect("a secret")
    }

    fn peer() -> Peer {
        ([10, 77, 0, 2], 1_000).into()
    }

    fn ask(cookies: &Cookies, first: &[u8], speaks_13: bool) -> Cookie {
        match cookies.meet(first, peer(), speaks_13, Instant::START) {
            Meeting::Ask { asked, .. } => asked.cookie,
            _ => panic!("the client has no cookie yet"),
        }
    }

    proptest! {
        /// Whatever the extensions, where the cookie stands among them, and however the padding has changed.
        #[test]
        fn the_first_hello_is_made_of_the_second(
            extensions in vec((43_u16..60, vec(any::<u8>(), 0..20)), 0..6),
            paddings in (option::of(0_usize..50), option::of(0_usize..50)),
            place in any::<Index>(),
        ) {
            let extensions: Vec<Extension> = extensions.into_iter().filter(|one| one.0 != extension::COOKIE).collect();
            let cookies = cookies();
            let first = datagram(0, &body(&[], &with_padding(&extensions, paddings.0)));
            let cookie = ask(&cookies, &first, true);
            let mut content = Vec::new();
            push_vector(2, &cookie, &mut content);
            let mut second = with_padding(&extensions, paddings.1);
            second.insert(place.index(second.len() + 1), (extension::COOKIE, content));
            match cookies.meet(&datagram(1, &body(&[], &second)), peer(), true, Instant::START) {
                Meeting::Proven { first: made, .. } => prop_assert_eq!(made, first),
                _ => prop_assert!(false, "the cookie is not taken"),
            }
            second.push((70, vec![1]));
            let changed = datagram(1, &body(&[], &second));
            prop_assert!(cookies.meet(&changed, peer(), true, Instant::START).is_refused());
        }

        /// RFC 6347 section 4.2.1 lets a client of DTLS 1.2 change its extensions.
        #[test]
        fn a_client_of_dtls_1_2_may_change_its_extensions(
            extensions in (vec((43_u16..60, vec(any::<u8>(), 0..20)), 0..6), vec((50_u16..60, vec(any::<u8>(), 0..20)), 0..6)),
        ) {
            let of_first: Vec<Extension> = extensions.0.into_iter().filter(|one| one.0 != extension::COOKIE).collect();
            let cookies = cookies();
            let cookie = ask(&cookies, &datagram(0, &body(&[], &of_first)), false);
            let second = datagram(1, &body(&cookie, &extensions.1));
            let is_taken = matches!(cookies.meet(&second, peer(), false, Instant::START), Meeting::Proven { .. });
            prop_assert!(is_taken);
        }
    }
}
