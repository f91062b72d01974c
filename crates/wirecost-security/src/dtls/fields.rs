//! The fields of handshake messages: numbers, vectors and the header (RFC 5246 section 4.3, RFC 6347 section 4.2.2).

/// Bytes of a handshake message's header.
pub(super) const HEADER_BYTES: usize = 12;

/// Reads fields from the front of bytes.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    /// A number of `width` bytes.
    pub(super) fn number(&mut self, width: usize) -> Option<usize> {
        let bytes = self.take(width)?;
        Some(
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | usize::from(*byte)),
        )
    }

    /// Bytes after their length of `width` bytes.
    pub(super) fn vector(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self.number(width)?;
        self.take(length)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

/// Appends bytes after their length of `width` bytes.
pub(super) fn push_vector(width: usize, bytes: &[u8], out: &mut Vec<u8>) {
    let length = bytes.len().to_be_bytes();
    out.extend_from_slice(&length[length.len() - width..]);
    out.extend_from_slice(bytes);
}

/// A message's header: type, length, number, and the offset and length of the fragment.
pub(super) fn header(
    kind: u8,
    length: usize,
    number: u16,
    offset: usize,
    fragment: usize,
) -> [u8; HEADER_BYTES] {
    let three = |value: usize| {
        let bytes = u32::try_from(value).unwrap_or(u32::MAX).to_be_bytes();
        [bytes[1], bytes[2], bytes[3]]
    };
    let ([a, b, c], [d, e]) = (three(length), number.to_be_bytes());
    let ([f, g, h], [i, j, k]) = (three(offset), three(fragment));
    [kind, a, b, c, d, e, f, g, h, i, j, k]
}
