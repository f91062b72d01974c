//! Writes described lists in their shortest encoding: without trailing nulls, each value as short as possible.

use alloc::vec::Vec;

/// Appends a described list to `out`: the descriptor `code` and the fields that `write` adds.
pub(crate) fn described_list(out: &mut Vec<u8>, code: u8, write: impl FnOnce(&mut ListWriter<'_>)) {
    out.extend_from_slice(&[0x00, 0x53, code]);
    let start = out.len();
    out.extend_from_slice(&[0xc0, 0, 0]);
    let mut list = ListWriter {
        out,
        count: 0,
        nulls: 0,
    };
    write(&mut list);
    let count = list.count;
    close_list(out, start, count);
}

/// Replaces the three placeholder bytes at `start` by the header of the list: list0, list8 or list32 (section 1.6.22).
fn close_list(out: &mut Vec<u8>, start: usize, count: u8) {
    if count == 0 {
        out.truncate(start);
        out.push(0x45);
        return;
    }
    let body = out.len() - start - 3;
    if let Ok(size) = u8::try_from(body + 1) {
        let header = out.iter_mut().skip(start);
        header
            .zip([0xc0, size, count])
            .for_each(|(byte, value)| *byte = value);
        return;
    }
    let mut header = [0xd0, 0, 0, 0, 0, 0, 0, 0, count];
    let size = u32::try_from(body + 4).unwrap_or(u32::MAX);
    header
        .iter_mut()
        .skip(1)
        .zip(size.to_be_bytes())
        .for_each(|(byte, value)| *byte = value);
    out.splice(start..start + 3, header);
}

/// Writes the fields of a list, in order.
pub(crate) struct ListWriter<'a> {
    out: &'a mut Vec<u8>,
    count: u8,
    nulls: u8,
}

impl ListWriter<'_> {
    /// Adds a null.
    pub(crate) fn null(&mut self) -> &mut Self {
        self.nulls = self.nulls.saturating_add(1);
        self
    }

    /// Adds a field that `write` encodes, or a null.
    fn field<T>(&mut self, value: Option<T>, write: impl FnOnce(T, &mut Vec<u8>)) -> &mut Self {
        let Some(value) = value else {
            return self.null();
        };
        let nulls = core::mem::take(&mut self.nulls);
        self.out.extend(core::iter::repeat_n(0x40, nulls.into()));
        self.count = self.count.saturating_add(nulls).saturating_add(1);
        write(value, self.out);
        self
    }

    pub(crate) fn boolean(&mut self, value: impl Into<Option<bool>>) -> &mut Self {
        self.field(value.into(), |value, out| {
            out.push(if value { 0x41 } else { 0x42 })
        })
    }

    /// Adds a boolean whose default is false.
    pub(crate) fn flag(&mut self, value: bool) -> &mut Self {
        self.boolean(value.then_some(true))
    }

    pub(crate) fn ubyte(&mut self, value: impl Into<Option<u8>>) -> &mut Self {
        self.field(value.into(), |value, out| out.extend_from_slice(&[0x50, value]))
    }

    pub(crate) fn ushort(&mut self, value: impl Into<Option<u16>>) -> &mut Self {
        self.field(value.into(), |value, out| {
            out.push(0x60);
            out.extend_from_slice(&value.to_be_bytes());
        })
    }

    pub(crate) fn uint(&mut self, value: impl Into<Option<u32>>) -> &mut Self {
        self.unsigned(value.into().map(u64::from), [0x43, 0x52, 0x70], 4)
    }

    pub(crate) fn ulong(&mut self, value: impl Into<Option<u64>>) -> &mut Self {
        self.unsigned(value.into(), [0x44, 0x53, 0x80], 8)
    }

    /// A number of `width` bytes, with its constructors for 0, for one byte and for the full width.
    fn unsigned(&mut self, value: Option<u64>, [zero, small, full]: [u8; 3], width: usize) -> &mut Self {
        self.field(value, |value, out| match (value, u8::try_from(value)) {
            (0, _) => out.push(zero),
            (_, Ok(value)) => out.extend_from_slice(&[small, value]),
            _ => {
                out.push(full);
                out.extend(value.to_be_bytes().into_iter().skip(8 - width));
            }
        })
    }

    pub(crate) fn binary<'a>(&mut self, value: impl Into<Option<&'a [u8]>>) -> &mut Self {
        self.field(value.into(), |value, out| variable(out, 0xa0, value))
    }

    pub(crate) fn string<'a>(&mut self, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.field(value.into(), |value, out| variable(out, 0xa1, value.as_bytes()))
    }

    pub(crate) fn symbol<'a>(&mut self, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.field(value.into(), |value, out| variable(out, 0xa3, value.as_bytes()))
    }

    /// An array of symbols (section 1.6.24).
    pub(crate) fn symbols<'a>(&mut self, values: impl Iterator<Item = &'a str> + Clone) -> &mut Self {
        self.field(Some(values), |values, out| {
            let size = values.clone().map(|value| value.len() + 4).sum::<usize>() + 5;
            out.push(0xf0);
            push_length(out, size);
            push_length(out, values.clone().count());
            out.push(0xb3);
            for value in values {
                push_length(out, value.len());
                out.extend_from_slice(value.as_bytes());
            }
        })
    }

    /// Adds a described list.
    pub(crate) fn described<T>(
        &mut self,
        code: u8,
        value: Option<T>,
        write: impl FnOnce(T, &mut ListWriter<'_>),
    ) -> &mut Self {
        self.field(value, |value, out| {
            described_list(out, code, |list| write(value, list));
        })
    }
}

/// Appends a binary, string or symbol; `short` is its constructor for up to 255 bytes.
pub(crate) fn variable(out: &mut Vec<u8>, short: u8, bytes: &[u8]) {
    push_variable_header(out, short, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends the constructor and the size of a binary, string or symbol of `len` bytes.
pub(crate) fn push_variable_header(out: &mut Vec<u8>, short: u8, len: usize) {
    if let Ok(len) = u8::try_from(len) {
        out.extend_from_slice(&[short, len]);
        return;
    }
    out.push(short | 0x10);
    push_length(out, len);
}

fn push_length(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
}
