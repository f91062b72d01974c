//! Field compression (RFC 9204) with the static table alone.
//!
//! The dynamic table has capacity 0 at both ends, the default of SETTINGS (RFC 9204 section 5). No field section
//! waits for another stream, and each can be decoded on its own.
//!
//! - [`huffman`]: the code of strings
//! - [`integer`]: integers with a prefix
//! - [`table`]: the static table

pub mod huffman;
pub mod integer;
pub mod table;

use std::borrow::Cow;

use table::{Found, STATIC};

/// A field: name in lower case, and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name, including the colon of a pseudo-field.
    pub name: Cow<'a, [u8]>,
    /// Value.
    pub value: Cow<'a, [u8]>,
}

/// Why a field section cannot be decoded: QPACK_DECOMPRESSION_FAILED (RFC 9204 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionError {
    /// The section ends inside an integer or a string, or one is too long.
    Truncated,
    /// It refers to the dynamic table, whose capacity is 0.
    Dynamic,
    /// The static table has no such entry.
    Index(u64),
    /// A string is not valid in the Huffman code.
    Huffman,
}

impl SectionError {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Truncated => "a field section that ends too early",
            Self::Dynamic => "a field section that refers to the dynamic table, whose capacity is 0",
            Self::Index(_) => "a field section that refers to a missing entry of the static table",
            Self::Huffman => "a field section with a string that is not in the Huffman code",
        }
    }
}

/// Starts a field section: Required Insert Count and Base are 0 (RFC 9204 section 4.5.1).
pub fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field in the shortest form: indexed, else with its name indexed, else literal.
pub fn push(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    match table::find(name, value) {
        // Indexed Field Line, static (RFC 9204 section 4.5.2).
        Found::Field(index) => integer::push(index, 6, 0xc0, out),
        // Literal Field Line with Name Reference, static (RFC 9204 section 4.5.4).
        Found::Name(index) => {
            integer::push(index, 4, 0x50, out);
            push_string(value, 7, 0, out);
        }
        // Literal Field Line with Literal Name (RFC 9204 section 4.5.6).
        Found::Nothing => {
            push_string(name, 3, 0x20, out);
            push_string(value, 7, 0, out);
        }
    }
}

/// A string literal, in the Huffman code if that is shorter (RFC 9204 section 4.1.2). The H bit is above the prefix.
fn push_string(text: &[u8], prefix: u32, first: u8, out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text);
    if coded < text.len() {
        integer::push(coded as u64, prefix, first | 1 << prefix, out);
        huffman::encode(text, out);
    } else {
        integer::push(text.len() as u64, prefix, first, out);
        out.extend_from_slice(text);
    }
}

/// Reads a whole field section.
///
/// # Errors
/// It is truncated, refers to the dynamic table or to a missing static entry, or contains an invalid string.
pub fn read(section: &[u8]) -> Result<Vec<Field<'_>>, SectionError> {
    let mut rest = section;
    let insert_count = integer::read(&mut rest, 8).ok_or(SectionError::Truncated)?;
    let is_below = rest.first().is_some_and(|first| first & 0x80 != 0);
    integer::read(&mut rest, 7).ok_or(SectionError::Truncated)?;
    // A Base below a Required Insert Count of 0 is invalid (RFC 9204 section 4.5.1.2).
    if insert_count != 0 || is_below {
        return Err(SectionError::Dynamic);
    }
    let mut fields = Vec::new();
    while let Some(first) = rest.first() {
        fields.push(read_field(*first, &mut rest)?);
    }
    Ok(fields)
}

fn read_field<'a>(first: u8, rest: &mut &'a [u8]) -> Result<Field<'a>, SectionError> {
    // The leading bits select the representation (RFC 9204 section 4.5).
    if first & 0xc0 == 0xc0 {
        let (name, value) = entry(integer::read(rest, 6))?;
        return Ok(Field {
            name: Cow::Borrowed(name.as_bytes()),
            value: Cow::Borrowed(value.as_bytes()),
        });
    }
    // The N bit (0x20) only matters to intermediaries.
    if first & 0xd0 == 0x50 {
        let (name, _) = entry(integer::read(rest, 4))?;
        let value = read_string(rest, 7)?;
        return Ok(Field {
            name: Cow::Borrowed(name.as_bytes()),
            value,
        });
    }
    if first & 0xe0 == 0x20 {
        let name = read_string(rest, 3)?;
        let value = read_string(rest, 7)?;
        return Ok(Field { name, value });
    }
    Err(SectionError::Dynamic)
}

fn entry(index: Option<u64>) -> Result<(&'static str, &'static str), SectionError> {
    let index = index.ok_or(SectionError::Truncated)?;
    let found = usize::try_from(index).ok().and_then(|index| STATIC.get(index));
    found.copied().ok_or(SectionError::Index(index))
}

fn read_string<'a>(rest: &mut &'a [u8], prefix: u32) -> Result<Cow<'a, [u8]>, SectionError> {
    let first = *rest.first().ok_or(SectionError::Truncated)?;
    let len = integer::read(rest, prefix).ok_or(SectionError::Truncated)?;
    let len = usize::try_from(len).map_err(|_| SectionError::Truncated)?;
    let (text, tail) = rest.split_at_checked(len).ok_or(SectionError::Truncated)?;
    *rest = tail;
    if first & 1 << prefix == 0 {
        return Ok(Cow::Borrowed(text));
    }
    huffman::decode(text).map(Cow::Owned).ok_or(SectionError::Huffman)
}

#[cfg(test)]
mod tests;
