//! The layout of netlink messages (netlink(7)): a 16-byte header, a fixed part by type, then attributes.

const HEADER_LENGTH: usize = 16;
const ATTRIBUTE_HEADER_LENGTH: usize = 4;

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4) // NLMSG_ALIGNTO, RTA_ALIGNTO: netlink(3)
}

/// A request under construction.
#[derive(Debug)]
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request of type `kind` whose fixed part is `fixed`. It always asks for an acknowledgement.
    pub fn new(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = vec![0; HEADER_LENGTH];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self { bytes }
    }

    /// Appends an attribute.
    #[must_use]
    pub fn attribute(self, kind: u16, value: &[u8]) -> Self {
        self.nested(kind, |request| {
            let mut request = request;
            request.bytes.extend_from_slice(value);
            request
        })
    }

    /// Appends an attribute that holds a number.
    #[must_use]
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute that holds a string, with its final 0.
    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Self {
        let mut value = value.as_bytes().to_vec();
        value.push(0);
        self.attribute(kind, &value)
    }

    /// Appends an attribute whose value `fill` appends.
    #[must_use]
    pub fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = aligned(self.bytes.len());
        self.bytes.resize(start + ATTRIBUTE_HEADER_LENGTH, 0);
        let mut request = fill(self);
        let length = (request.bytes.len() - start) as u16;
        request.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        request.bytes[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
        request.bytes.resize(aligned(request.bytes.len()), 0);
        request
    }

    /// Appends bytes without an attribute header: the fixed part of a nested message.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// The bytes to send, with length and sequence number filled in.
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// One message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    /// The message's type.
    pub kind: u16,
    /// The sequence number of the request.
    pub sequence: u32,
    /// The bytes after the header.
    pub payload: &'a [u8],
}

impl Reply<'_> {
    /// The error number of an acknowledgement, 0 for success; `None` for any other message.
    pub(crate) fn error(&self) -> Option<i32> {
        if i32::from(self.kind) != libc::NLMSG_ERROR {
            return None;
        }
        // struct nlmsgerr begins with the negated error number (netlink(7)).
        let number = self
            .payload
            .first_chunk()
            .map_or(-libc::EIO, |bytes| i32::from_ne_bytes(*bytes));
        Some(number.saturating_neg())
    }
}

/// The messages of one datagram from the kernel. Stops at the first one that is truncated.
#[derive(Clone, Debug)]
pub(crate) struct Replies<'a> {
    rest: &'a [u8],
}

impl<'a> Replies<'a> {
    /// The messages in `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Replies<'a> {
    type Item = Reply<'a>;

    fn next(&mut self) -> Option<Reply<'a>> {
        let header: &[u8; HEADER_LENGTH] = self.rest.first_chunk()?;
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let payload = self.rest.get(HEADER_LENGTH..length)?;
        let reply = Reply {
            kind: u16::from_ne_bytes([header[4], header[5]]),
            sequence: u32::from_ne_bytes([header[8], header[9], header[10], header[11]]),
            payload,
        };
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some(reply)
    }
}

/// The attributes in `bytes`, as type and value. Stops at the first one that is truncated.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// The attributes in `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The value of the first attribute of type `kind`.
    pub(crate) fn find(mut self, kind: u16) -> Option<&'a [u8]> {
        self.find_map(|(found, value)| (found == kind).then_some(value))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let header: &[u8; ATTRIBUTE_HEADER_LENGTH] = self.rest.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = self.rest.get(ATTRIBUTE_HEADER_LENGTH..length)?;
        let kind = u16::from_ne_bytes([header[2], header[3]]);
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn encodes_header_attributes_and_padding() {
        let request = Request::new(16, 0, &[0xaa; 4])
            .text(3, "lo")
            .nested(18, |inner| inner.number(1, 2));
        let expected = hex("2c 00 00 00 10 00 05 00 09 00 00 00 00 00 00 00 aa aa aa aa \
                            07 00 03 00 6c 6f 00 00  0c 00 12 00 08 00 01 00 02 00 00 00 \
                            ");
        let bytes = request.finish(9);
        assert_eq!(bytes[4..], expected[4..]);
        assert_eq!(bytes.len(), 40);
        assert_eq!(bytes[0], 40);
    }

    #[test]
    fn reads_back_the_attributes_it_wrote() {
        let bytes = Request::new(16, 0, &[])
            .attribute(1, b"abc")
            .number(2, 7)
            .finish(1);
        let attributes = Attributes::new(&bytes[HEADER_LENGTH..]);
        assert_eq!(attributes.clone().find(1), Some(&b"abc"[..]));
        assert_eq!(attributes.clone().find(2), Some(&7u32.to_ne_bytes()[..]));
        assert_eq!(attributes.find(3), None);
    }

    #[test]
    fn an_acknowledgement_is_error_0_and_a_refusal_its_number() {
        let acknowledgement = |errno: i32| {
            Request::new(libc::NLMSG_ERROR as u16, 0, &(-errno).to_ne_bytes())
                .raw(&[0; 16])
                .finish(5)
        };
        let error_of = |bytes: &[u8]| Replies::new(bytes).next().and_then(|reply| reply.error());
        assert_eq!(error_of(&acknowledgement(0)), Some(0));
        assert_eq!(error_of(&acknowledgement(libc::EPERM)), Some(libc::EPERM));
        assert_eq!(error_of(&Request::new(16, 0, &[0; 16]).finish(5)), None);
    }

    #[test]
    fn survives_any_bytes_and_never_reads_beyond_them() {
        let mut random = wirecost_proto::Rng::new(7);
        for _ in 0..5_000 {
            let bytes: Vec<u8> = (0..random.next_u64() % 80)
                .map(|_| random.next_u64() as u8 & 0x1f)
                .collect();
            let payloads: usize = Replies::new(&bytes).map(|reply| reply.payload.len() + 16).sum();
            let values: usize = Attributes::new(&bytes).map(|(_, value)| value.len() + 4).sum();
            assert!(payloads <= bytes.len() && values <= bytes.len());
        }
    }

    #[test]
    fn stops_at_wrong_lengths() {
        assert_eq!(Replies::new(&[0; 16]).count(), 0);
        assert_eq!(Replies::new(&[0xff; 40]).count(), 0);
        assert_eq!(Attributes::new(&[0; 40]).count(), 0);
        assert_eq!(Attributes::new(&[0xff; 40]).count(), 0);
        assert_eq!(Replies::new(&[1, 2]).count(), 0);
    }
}
