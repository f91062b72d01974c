//! Decodes values on borrowed bytes (part 1). It needs no recursion, because a compound value has a size field.

use crate::codec::Malformed;

/// A decoded value, or a view over the encoded parts of a compound value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A ubyte, ushort, uint or ulong.
    Unsigned(u64),
    /// Octets.
    Binary(&'a [u8]),
    /// Text.
    String(&'a str),
    /// A symbol.
    Symbol(&'a str),
    /// A list.
    List(Fields<'a>),
    /// An array.
    Array(Array<'a>),
    /// A value with a descriptor.
    Described(Described<'a>),
    /// Any other type: its format code and its data.
    Other(u8, &'a [u8]),
}

/// A value with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described<'a> {
    /// The numeric descriptor of the standard or of another domain; `None` if the descriptor is a symbol.
    pub code: Option<u64>,
    /// The encoded value.
    pub value: &'a [u8],
}

impl<'a> Described<'a> {
    /// The numeric descriptor and the list that it describes.
    ///
    /// # Errors
    /// The descriptor is a symbol, or the value is not a list.
    pub fn fields(&self) -> Result<(u64, Fields<'a>), Malformed> {
        let code = self.code.ok_or(Malformed::Descriptor(SYMBOL8))?;
        match Reader::new(self.value).value()? {
            Value::List(fields) => Ok((code, fields)),
            _ => Err(Malformed::DescribedType(code)),
        }
    }
}

/// Elements of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array<'a> {
    /// The number of elements that the encoding states.
    pub count: u32,
    /// Constructor and data of the elements.
    pub encoded: &'a [u8],
}

impl<'a> Array<'a> {
    /// The elements of an array of symbols, up to the first malformed one.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut reader = Reader::new(self.encoded);
        let constructor = reader.byte().unwrap_or_default();
        let width = match constructor {
            SYMBOL8 => 1,
            SYMBOL32 => 4,
            _ => 0,
        };
        let is_symbol = width != 0;
        let count = if is_symbol { self.count } else { 0 };
        (0..count).map_while(move |_| text(reader.variable(width).ok()?).ok())
    }
}

const SYMBOL8: u8 = 0xa3;
const SYMBOL32: u8 = 0xb3;

/// Reads values from the start of a byte slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The bytes that are not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next value.
    ///
    /// # Errors
    /// The value is truncated, has an undefined constructor, or has text that is not UTF-8.
    pub fn value(&mut self) -> Result<Value<'a>, Malformed> {
        let constructor = self.byte()?;
        match constructor {
            0x00 => return self.described().map(Value::Described),
            0x40 => return Ok(Value::Null),
            0x41 => return Ok(Value::Boolean(true)),
            0x42 => return Ok(Value::Boolean(false)),
            0x43 | 0x44 => return Ok(Value::Unsigned(0)),
            0x45 => return Ok(Value::List(Fields::EMPTY)),
            _ => {}
        }
        let data = self.data(constructor)?;
        Ok(match constructor {
            0x56 => Value::Boolean(data != [0]),
            0x50 | 0x52 | 0x53 | 0x60 | 0x70 | 0x80 => Value::Unsigned(big_endian(data)),
            0xa0 | 0xb0 => Value::Binary(data),
            0xa1 | 0xb1 => Value::String(text(data)?),
            SYMBOL8 | SYMBOL32 => Value::Symbol(text(data)?),
            0xc0 | 0xd0 => Value::List(Fields::new(data, count_width(constructor))?),
            0xe0 | 0xf0 => {
                let Fields { left, reader } = Fields::new(data, count_width(constructor))?;
                Value::Array(Array {
                    count: left,
                    encoded: reader.rest(),
                })
            }
            _ => Value::Other(constructor, data),
        })
    }

    /// The next value, which must be a described list: its numeric descriptor and its fields.
    ///
    /// # Errors
    /// The value has another type or is malformed.
    pub(crate) fn described_list(&mut self) -> Result<(u64, Fields<'a>), Malformed> {
        let first = self.bytes.first().copied().unwrap_or_default();
        match self.value()? {
            Value::Described(described) => described.fields(),
            _ => Err(Malformed::NotDescribed(first)),
        }
    }

    /// Reads what follows the constructor 0x00: a descriptor and a value, which may be described in turn.
    fn described(&mut self) -> Result<Described<'a>, Malformed> {
        let code = self.descriptor()?;
        let before = self.bytes;
        loop {
            match self.byte()? {
                0x00 => self.descriptor()?,
                constructor => {
                    self.data(constructor)?;
                    break;
                }
            };
        }
        let len = before.len() - self.bytes.len();
        let value = before.get(..len).unwrap_or_default();
        Ok(Described { code, value })
    }

    fn descriptor(&mut self) -> Result<Option<u64>, Malformed> {
        let constructor = self.byte()?;
        match constructor {
            0x44 => Ok(Some(0)),
            0x53 | 0x80 => Ok(Some(big_endian(self.data(constructor)?))),
            SYMBOL8 | SYMBOL32 => text(self.data(constructor)?).map(|_| None),
            other => Err(Malformed::Descriptor(other)),
        }
    }

    /// Takes the data of a value. The upper half of the constructor determines its length (section 1.2).
    fn data(&mut self, constructor: u8) -> Result<&'a [u8], Malformed> {
        match width(constructor).ok_or(Malformed::Constructor(constructor))? {
            Width::Fixed(bytes) => self.take(bytes.into()),
            Width::Variable(bytes) => self.variable(bytes.into()),
        }
    }

    fn variable(&mut self, width: usize) -> Result<&'a [u8], Malformed> {
        let len = big_endian(self.take(width)?);
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1).map(|bytes| bytes.iter().copied().sum())
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or(Malformed::Truncated {
            expected: len,
            got: self.bytes.len(),
        })?;
        self.bytes = rest;
        Ok(taken)
    }
}

/// The length of the data behind a constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// This number of bytes.
    Fixed(u8),
    /// A size field of this many bytes, then the number of bytes that the field states.
    Variable(u8),
}

/// The width of the data behind `constructor`, by its upper half (figure 1.2).
pub(crate) const fn width(constructor: u8) -> Option<Width> {
    Some(match constructor >> 4 {
        0x4 => Width::Fixed(0),
        0x5 => Width::Fixed(1),
        0x6 => Width::Fixed(2),
        0x7 => Width::Fixed(4),
        0x8 => Width::Fixed(8),
        0x9 => Width::Fixed(16),
        0xa | 0xc | 0xe => Width::Variable(1),
        0xb | 0xd | 0xf => Width::Variable(4),
        _ => return None,
    })
}

/// Compound values have a count field that is as wide as their size field.
const fn count_width(constructor: u8) -> usize {
    match width(constructor) {
        Some(Width::Variable(bytes)) => bytes as usize,
        _ => 0,
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    core::str::from_utf8(bytes).map_err(|_| Malformed::Text)
}

/// The fields of a list, in order. Trailing fields that the list leaves out are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'a> {
    left: u32,
    reader: Reader<'a>,
}

impl<'a> Fields<'a> {
    /// A list without fields.
    pub const EMPTY: Self = Self {
        left: 0,
        reader: Reader::new(&[]),
    };

    fn new(data: &'a [u8], count_width: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(data);
        let count = big_endian(reader.take(count_width)?);
        Ok(Self {
            left: u32::try_from(count).unwrap_or(u32::MAX),
            reader,
        })
    }

    /// The next field's value.
    ///
    /// # Errors
    /// It is malformed.
    pub fn value(&mut self) -> Result<Value<'a>, Malformed> {
        if self.left == 0 {
            return Ok(Value::Null);
        }
        self.left -= 1;
        self.reader.value()
    }

    /// Skips `count` fields.
    ///
    /// # Errors
    /// One is malformed.
    pub fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        (0..count).try_for_each(|_| self.value().map(drop))
    }

    /// The next field, a ubyte, ushort, uint or ulong that fits into `T`.
    ///
    /// # Errors
    /// It has another type or is malformed.
    pub fn number<T: TryFrom<u64>>(&mut self, field: &'static str) -> Result<Option<T>, Malformed> {
        self.field(field, "number within its range", |value| match value {
            Value::Unsigned(number) => T::try_from(number).ok(),
            _ => None,
        })
    }

    /// The next field, a truth value.
    ///
    /// # Errors
    /// It has another type or is malformed.
    pub fn boolean(&mut self, field: &'static str) -> Result<Option<bool>, Malformed> {
        self.field(field, "boolean", |value| match value {
            Value::Boolean(value) => Some(value),
            _ => None,
        })
    }

    /// The next field, a string or a symbol: some peers confuse them.
    ///
    /// # Errors
    /// It has another type or is malformed.
    pub fn text(&mut self, field: &'static str) -> Result<Option<&'a str>, Malformed> {
        self.field(field, "string or symbol", |value| match value {
            Value::String(text) | Value::Symbol(text) => Some(text),
            _ => None,
        })
    }

    /// The next field, a binary.
    ///
    /// # Errors
    /// It has another type or is malformed.
    pub fn binary(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
        self.field(field, "binary", |value| match value {
            Value::Binary(bytes) => Some(bytes),
            _ => None,
        })
    }

    /// The next field, a described list.
    ///
    /// # Errors
    /// It has another type or is malformed.
    pub fn described(&mut self, field: &'static str) -> Result<Option<(u64, Fields<'a>)>, Malformed> {
        let described = self.field(field, "described list", |value| match value {
            Value::Described(described) => Some(described),
            _ => None,
        })?;
        described.map(|described| described.fields()).transpose()
    }

    /// The next field that is not null, converted by `convert`, which returns `None` if the type is wrong.
    fn field<T>(
        &mut self,
        field: &'static str,
        expected: &'static str,
        convert: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> Result<Option<T>, Malformed> {
        let value = self.value()?;
        if matches!(value, Value::Null) {
            return Ok(None);
        }
        convert(value)
            .map(Some)
            .ok_or(Malformed::FieldType { field, expected })
    }
}

/// The value of a mandatory field.
pub(crate) fn mandatory<T>(value: Option<T>, field: &'static str) -> Result<T, Malformed> {
    value.ok_or(Malformed::Missing(field))
}
