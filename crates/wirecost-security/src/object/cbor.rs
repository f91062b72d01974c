//! CBOR in its preferred serialization (RFC 8949 section 4.1): a writer that knows the layers of its bytes, and a
//! reader of slices. `coset` reads the COSE messages inside.

use wirecost_proto::Layer;
use wirecost_proto::content::Part;

/// Major types (RFC 8949 section 3.1).
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

/// Bytes with their layers.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    layout: Vec<Part>,
}

impl Writer {
    pub(super) fn bytes_so_far(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_parts(self) -> (Vec<u8>, Vec<Part>) {
        (self.bytes, self.layout)
    }

    /// Appends encoded bytes.
    pub(super) fn put(&mut self, bytes: &[u8], layer: Layer) {
        self.bytes.extend_from_slice(bytes);
        self.cover(bytes.len(), layer);
    }

    fn cover(&mut self, len: usize, layer: Layer) {
        match self.layout.last_mut() {
            Some(last) if last.layer == layer => last.len += len,
            _ => self.layout.push(Part { len, layer }),
        }
    }

    /// Appends an item inside a byte string, with its layers.
    pub(super) fn nest(&mut self, inner: &Self) {
        self.byte_string_head(inner.bytes.len());
        self.bytes.extend_from_slice(&inner.bytes);
        for part in &inner.layout {
            self.cover(part.len, part.layer);
        }
    }

    pub(super) fn int(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.head(UNSIGNED, value),
            // -1 - n (RFC 8949 section 3.1) is the bitwise complement.
            Err(_) => self.head(NEGATIVE, (!value).unsigned_abs()),
        }
    }

    pub(super) fn unsigned(&mut self, value: u64) {
        self.head(UNSIGNED, value);
    }

    pub(super) fn byte_string(&mut self, bytes: &[u8]) {
        self.byte_string_head(bytes.len());
        self.put(bytes, Layer::Security);
    }

    pub(super) fn byte_string_head(&mut self, len: usize) {
        self.head(BYTES, len as u64);
    }

    pub(super) fn array(&mut self, items: usize) {
        self.head(ARRAY, items as u64);
    }

    pub(super) fn map(&mut self, pairs: usize) {
        self.head(MAP, pairs as u64);
    }

    pub(super) fn tag(&mut self, tag: u64) {
        self.head(TAG, tag);
    }

    /// The initial byte and its argument, in the shortest form.
    fn head(&mut self, major: u8, argument: u64) {
        let major = major << 5;
        let wide = argument.to_be_bytes();
        let (info, skipped) = match argument {
            // The argument is inside the initial byte (RFC 8949 section 3).
            0..24 => return self.put(&[major | wide[7]], Layer::Security),
            24..0x100 => (24, 7),
            0x100..0x1_0000 => (25, 6),
            0x1_0000..0x1_0000_0000 => (26, 4),
            _ => (27, 0),
        };
        self.put(&[major | info], Layer::Security);
        self.put(&wide[skipped..], Layer::Security);
    }
}

/// What a reader expected instead, as a noun phrase.
pub(super) type Expected = &'static str;

/// Reads bytes from untrusted sources.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn unsigned(&mut self) -> Result<u64, Expected> {
        self.head(UNSIGNED).ok_or("an unsigned integer")
    }

    /// The number of items of an array. Each item has at least one byte, so the count cannot exceed the remaining
    /// bytes.
    pub(super) fn array(&mut self) -> Result<usize, Expected> {
        let items = self.head(ARRAY).ok_or("an array")?;
        let items = usize::try_from(items).ok();
        items
            .filter(|items| *items <= self.rest.len())
            .ok_or("as many items as the array says")
    }

    /// An array of exactly `items` items.
    pub(super) fn array_of(&mut self, items: usize, expected: Expected) -> Result<(), Expected> {
        let found = self.array()?;
        (found == items).then_some(()).ok_or(expected)
    }

    pub(super) fn byte_string(&mut self) -> Result<&'a [u8], Expected> {
        let len = self.head(BYTES).ok_or("a byte string")?;
        let len = usize::try_from(len).ok();
        len.and_then(|len| self.take(len))
            .ok_or("a byte string as long as it says")
    }

    /// A byte string of exactly `N` bytes.
    pub(super) fn byte_array<const N: usize>(&mut self, expected: Expected) -> Result<[u8; N], Expected> {
        self.byte_string()?.try_into().map_err(|_| expected)
    }

    /// Checks that nothing follows.
    pub(super) fn end(&self) -> Result<(), Expected> {
        match self.rest {
            [] => Ok(()),
            _ => Err("nothing behind the last item"),
        }
    }

    /// The argument of an item, if it has this major type and the shortest form.
    fn head(&mut self, major: u8) -> Option<u64> {
        let initial = *self.take(1)?.first()?;
        if initial >> 5 != major {
            return None;
        }
        let info = initial & 31;
        let (len, least) = match info {
            0..24 => return Some(info.into()),
            24 => (1, 24),
            25 => (2, 0x100),
            26 => (4, 0x1_0000),
            27 => (8, 0x1_0000_0000),
            // Reserved, or of indefinite length (RFC 8949 section 3), which the preferred serialization excludes.
            _ => return None,
        };
        let argument = self.take(len)?;
        let argument = argument.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
        (argument >= least).then_some(argument)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_encoding_of_rfc_8949() {
        // RFC 8949, appendix A.
        let cases: [(i64, &[u8]); 10] = [
            (0, &[0x00]),
            (23, &[0x17]),
            (24, &[0x18, 0x18]),
            (100, &[0x18, 0x64]),
            (1000, &[0x19, 0x03, 0xe8]),
            (1_000_000, &[0x1a, 0x00, 0x0f, 0x42, 0x40]),
            (1_000_000_000_000, &[0x1b, 0, 0, 0, 0xe8, 0xd4, 0xa5, 0x10, 0]),
            (-1, &[0x20]),
            (-100, &[0x38, 0x63]),
            (-1000, &[0x39, 0x03, 0xe7]),
        ];
        for (value, bytes) in cases {
            let mut out = Writer::default();
            out.int(value);
            assert_eq!(out.bytes_so_far(), bytes, "{value}");
            if let Ok(value) = u64::try_from(value) {
                assert_eq!(Reader::new(bytes).unsigned(), Ok(value));
            }
        }
    }

    #[test]
    fn only_the_shortest_form_is_read() {
        for bytes in [
            &[0x18, 0x17][..],
            &[0x19, 0, 0xff],
            &[0x1a, 0, 0, 0xff, 0xff],
            &[0x1f],
            &[0x1c],
            &[0x19, 1],
        ] {
            assert_eq!(
                Reader::new(bytes).unsigned(),
                Err("an unsigned integer"),
                "{bytes:x?}"
            );
        }
    }

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        assert!(
            Reader::new(&[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
                .array()
                .is_err()
        );
        assert!(
            Reader::new(&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
                .byte_string()
                .is_err()
        );
        assert!(Reader::new(&[0x42, 1]).byte_string().is_err());
    }

    #[test]
    fn nested_items_keep_their_layers() {
        let mut inner = Writer::default();
        inner.byte_string_head(3);
        inner.put(b"abc", Layer::Payload);
        inner.unsigned(7);
        let mut outer = Writer::default();
        outer.array(1);
        outer.nest(&inner);
        let (bytes, layout) = outer.into_parts();
        assert_eq!(bytes, b"\x81\x45\x43abc\x07");
        let part = |len, layer| Part { len, layer };
        let expected = [
            part(3, Layer::Security),
            part(3, Layer::Payload),
            part(1, Layer::Security),
        ];
        assert_eq!(layout, expected);
    }
}
