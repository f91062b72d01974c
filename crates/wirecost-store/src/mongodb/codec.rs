//! OP_MSG: a header of 16 bytes, flags, a document with the command, and for an insert a sequence of documents.

use super::bson::Fields;
use crate::reader::Reader;
use crate::{Malformed, Parts, TooLong, int32};

/// Length, request, the request that is answered, kind of message.
pub const HEADER_BYTES: usize = 16;
/// The kind of message.
const OP_MSG: i32 = 2013;

/// A section with one document, and a section with a sequence of documents.
const BODY: u8 = 0;
const SEQUENCE: u8 = 1;

/// The identifier of an insert's sequence.
const DOCUMENTS: &[u8] = b"documents\0";
/// The type of binary data (BSON specification 1.1).
const BINARY: u8 = 0x05;
/// The last field of a document of wirecost's.
const PAYLOAD: &[u8] = b"payload";

/// The length of a message in bytes; `None` while the length field is incomplete.
///
/// # Errors
/// The message is not OP_MSG, or its length is smaller than its header.
pub fn message_len(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let [len, _, _, kind] = [0, 4, 8, 12]
        .map(|at| i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
    match usize::try_from(len) {
        Ok(len) if len > HEADER_BYTES && kind == OP_MSG => Ok(Some(len)),
        _ => Err(Malformed {
            expected: "messages of OP_MSG",
        }),
    }
}

/// The number of a message.
pub(crate) fn request(message: &[u8]) -> i32 {
    let number = message.get(4..8).and_then(|number| number.try_into().ok());
    number.map_or(0, i32::from_le_bytes)
}

/// The longest document and the longest message that a server takes unless it says otherwise, in bytes (MongoDB manual, command
/// `hello`).
pub(crate) const LARGEST_DOCUMENT: usize = 16_777_216;
pub(crate) const LARGEST_MESSAGE: usize = 48_000_000;

/// A length as the protocol has it, int32.
pub(crate) fn length_field(len: usize) -> Result<[u8; 4], TooLong> {
    Ok(int32("a message of MongoDB", len)?.to_le_bytes())
}

/// Appends a message with the sections that `write` appends and `behind` bytes that follow it; nothing if it is too long.
pub(crate) fn message(
    [request, answers]: [i32; 2],
    behind: usize,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), TooLong> {
    let at = out.len();
    out.extend([0; 4]);
    for field in [request, answers, OP_MSG, 0] {
        out.extend(field.to_le_bytes());
    }
    write(out);
    let len = out.len() - at + behind;
    match length_field(len) {
        Ok(len) => out[at..at + 4].copy_from_slice(&len),
        Err(too_long) => {
            out.truncate(at);
            return Err(too_long);
        }
    }
    Ok(())
}

/// Appends the section of a command.
pub(crate) fn body(document: &[u8], out: &mut Vec<u8>) {
    out.push(BODY);
    out.extend(document);
}

/// The begin of a sequence of documents which have `len` bytes together.
pub(crate) fn sequence(len: usize) -> Result<Vec<u8>, TooLong> {
    let size = length_field(4 + DOCUMENTS.len() + len)?;
    Ok([&[SEQUENCE], &size[..], DOCUMENTS].concat())
}

/// The document of a message's first section.
pub(crate) fn document(message: &[u8]) -> Result<Fields<'_>, Malformed> {
    let malformed = Malformed {
        expected: "a message whose first section is a document",
    };
    let section = message.get(HEADER_BYTES + 4..).unwrap_or_default();
    match section.split_first() {
        Some((&BODY, document)) => Fields::read(document).map_err(|_| malformed),
        _ => Err(malformed),
    }
}

/// The name of a message's command: the first field of its document.
pub fn command(message: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(message.get(HEADER_BYTES + 4..)?);
    // The section's kind, the document's length, the field's type.
    if reader.try_take(1)? != [BODY] {
        return None;
    }
    reader.try_take(5)?;
    reader.until_zero("a name").ok()
}

/// The parts of an insert of wirecost's, from the bytes before the payload; `None` while they are incomplete. Another message
/// has no payload.
pub fn insert_parts(bytes: &[u8]) -> Option<Parts> {
    let len = message_len(bytes).ok()??;
    let available = bytes.get(..len).unwrap_or(bytes);
    match before_payload(available) {
        // A document ends with a zero.
        Some((before, payload)) if before + payload + 1 == len => Some(Parts {
            before,
            payload,
            after: 1,
        }),
        None if available.len() < len => None,
        _ => Some(Parts::plain(len)),
    }
}

/// The place and the length of the field `payload` of the first document in a sequence.
fn before_payload(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut reader = Reader::new(bytes.get(HEADER_BYTES + 4..)?);
    reader.try_take(1)?;
    skip_document(&mut reader)?;
    if reader.try_take(1)? != [SEQUENCE] {
        return None;
    }
    reader.try_take(4)?;
    reader.until_zero("an identifier").ok()?;
    reader.try_take(4)?;
    loop {
        let [kind] = *reader.try_take(1)? else {
            return None;
        };
        let name = reader.until_zero("a name").ok()?;
        if kind == BINARY && name == PAYLOAD {
            let len = length(&mut reader)?;
            reader.try_take(1)?;
            return Some((bytes.len() - reader.rest().len(), len));
        }
        match kind {
            // A text; a date or an integer of 8 bytes.
            0x02 => {
                let len = length(&mut reader)?;
                reader.try_take(len)?
            }
            0x09 | 0x12 => reader.try_take(8)?,
            _ => return None,
        };
    }
}

fn length(reader: &mut Reader<'_>) -> Option<usize> {
    let len = reader.try_take(4)?.try_into().ok()?;
    usize::try_from(i32::from_le_bytes(len)).ok()
}

fn skip_document(reader: &mut Reader<'_>) -> Option<()> {
    let len = length(reader)?;
    reader.try_take(len.checked_sub(4)?)?;
    Some(())
}
