//! BSON (BSON specification 1.1), as far as commands, answers and readings need it: documents are written as bytes, and the fields
//! of a document are read where they are.

use serde_json::{Map, Value};

use crate::Malformed;
use crate::reader::Reader;

/// The types of fields.
const DOUBLE: u8 = 0x01;
const TEXT: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const UNDEFINED: u8 = 0x06;
const OBJECT_ID: u8 = 0x07;
const BOOLEAN: u8 = 0x08;
const DATE: u8 = 0x09;
const NULL: u8 = 0x0a;
const REGULAR_EXPRESSION: u8 = 0x0b;
const POINTER: u8 = 0x0c;
const CODE: u8 = 0x0d;
const SYMBOL: u8 = 0x0e;
const CODE_WITH_SCOPE: u8 = 0x0f;
const INT32: u8 = 0x10;
const TIMESTAMP: u8 = 0x11;
const INT64: u8 = 0x12;
const DECIMAL: u8 = 0x13;
const LEAST: u8 = 0xff;
const GREATEST: u8 = 0x7f;

/// The length field of a document.
const LENGTH_BYTES: usize = 4;

/// A document that is written: its fields. Names have no zero byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document(Vec<u8>);

/// How many bytes the integers of a text of JSON take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integers {
    /// Four where that is enough: the arguments of commands.
    Shortest,
    /// Eight: a field of readings has one type.
    Eight,
}

impl Document {
    /// The document of an object of JSON; `None` where BSON does not have a value of it. Objects are never extended JSON: what a
    /// device sends chooses no type.
    pub(crate) fn from_json(members: &Map<String, Value>, integers: Integers) -> Option<Self> {
        let mut document = Self::default();
        for (name, value) in members {
            document.put(name, value, integers)?;
        }
        Some(document)
    }

    /// Adds a value of JSON; `None` where BSON does not have it.
    pub(crate) fn put(&mut self, name: &str, value: &Value, integers: Integers) -> Option<()> {
        if name.contains('\0') {
            return None;
        }
        match value {
            Value::Null => self.head(NULL, name),
            Value::Bool(value) => {
                self.boolean(name, *value);
            }
            Value::Number(number) => match number.as_i64() {
                Some(integer) => {
                    match i32::try_from(integer) {
                        Ok(short) if integers == Integers::Shortest => self.int32(name, short),
                        _ => self.int64(name, integer),
                    };
                }
                None if number.is_u64() => return None,
                None => {
                    self.double(name, number.as_f64()?);
                }
            },
            Value::String(text) => {
                self.text(name, text);
            }
            Value::Array(values) => {
                let mut array = Self::default();
                for (index, value) in values.iter().enumerate() {
                    array.put(&index.to_string(), value, integers)?;
                }
                self.head(ARRAY, name);
                self.0.extend(array.encoded());
            }
            Value::Object(members) => {
                self.document(name, &Self::from_json(members, integers)?);
            }
        }
        Some(())
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.head(TEXT, name);
        self.0.extend(length_field(text.len() + 1));
        self.0.extend(text.as_bytes());
        self.0.push(0);
        self
    }

    /// Adds an integer of four bytes.
    pub(crate) fn int32(&mut self, name: &str, number: i32) -> &mut Self {
        self.head(INT32, name);
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds an integer of eight bytes.
    pub(crate) fn int64(&mut self, name: &str, number: i64) -> &mut Self {
        self.head(INT64, name);
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds a number with a fraction.
    pub(crate) fn double(&mut self, name: &str, number: f64) -> &mut Self {
        self.head(DOUBLE, name);
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds a truth value.
    pub(crate) fn boolean(&mut self, name: &str, value: bool) -> &mut Self {
        self.head(BOOLEAN, name);
        self.0.push(u8::from(value));
        self
    }

    /// Adds a moment, in milliseconds since 1970.
    pub(crate) fn date(&mut self, name: &str, unix_ms: i64) -> &mut Self {
        self.head(DATE, name);
        self.0.extend(unix_ms.to_le_bytes());
        self
    }

    /// Adds a document.
    pub(crate) fn document(&mut self, name: &str, document: &Self) -> &mut Self {
        self.head(DOCUMENT, name);
        self.0.extend(document.encoded());
        self
    }

    /// The bytes of its fields.
    pub(crate) fn fields(&self) -> &[u8] {
        &self.0
    }

    /// The bytes of the document.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let len = length_field(LENGTH_BYTES + self.0.len() + 1);
        [&len[..], &self.0, &[0]].concat()
    }

    fn head(&mut self, kind: u8, name: &str) {
        self.0.push(kind);
        self.0.extend(name.as_bytes());
        self.0.push(0);
    }
}

/// A length as BSON has it. What a device sends is far shorter than the largest: a command of MongoDB takes 48 MB.
fn length_field(len: usize) -> [u8; 4] {
    i32::try_from(len).unwrap_or(i32::MAX).to_le_bytes()
}

/// The value of a field that is read; what a client does not ask for is `Other`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Field<'a> {
    Double(f64),
    Text(&'a str),
    Document(Fields<'a>),
    Array(Fields<'a>),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Other,
}

/// The fields of a document that is read: all of them are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The document at the begin of `bytes`, with everything in its fields but documents within them, which are read when they are
    /// asked for.
    ///
    /// # Errors
    /// There is none, or it is cut.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let fields = Self(document_at(&mut Reader::new(bytes))?);
        let mut reader = Reader::new(fields.0);
        while !reader.rest().is_empty() {
            next(&mut reader)?;
        }
        Ok(fields)
    }

    /// The value of a field; of several of one name that of the first.
    pub(crate) fn get(self, name: &str) -> Option<Field<'a>> {
        self.find(|named| named == name.as_bytes())
    }

    /// The first value.
    pub(crate) fn first(self) -> Option<Field<'a>> {
        self.find(|_| true)
    }

    /// A number of any type, 0 where there is none.
    pub(crate) fn integer(self, name: &str) -> i32 {
        match self.get(name) {
            Some(Field::Int32(number)) => number,
            Some(Field::Int64(number)) => i32::try_from(number).unwrap_or(0),
            Some(Field::Double(number)) => number as i32,
            Some(Field::Boolean(true)) => 1,
            _ => 0,
        }
    }

    fn find(self, is_it: impl Fn(&[u8]) -> bool) -> Option<Field<'a>> {
        let mut reader = Reader::new(self.0);
        while !reader.rest().is_empty() {
            let (name, field) = next(&mut reader).ok()?;
            if is_it(name) {
                return Some(field);
            }
        }
        None
    }
}

const COMPLETE: &str = "a document whose fields are complete";
const CUT: Malformed = Malformed { expected: COMPLETE };

fn length(reader: &mut Reader<'_>) -> Result<usize, Malformed> {
    usize::try_from(i32::from_le_bytes(reader.array(COMPLETE)?)).map_err(|_| CUT)
}

/// The fields of the document that begins here.
fn document_at<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let len = length(reader)?.checked_sub(LENGTH_BYTES).ok_or(CUT)?;
    match reader.take(len, COMPLETE)? {
        [fields @ .., 0] => Ok(fields),
        _ => Err(CUT),
    }
}

/// The text that begins here.
fn text_at<'a>(reader: &mut Reader<'a>) -> Result<&'a str, Malformed> {
    let len = length(reader)?;
    match reader.take(len, COMPLETE)? {
        [text @ .., 0] => str::from_utf8(text).map_err(|_| CUT),
        _ => Err(CUT),
    }
}

/// The name and the value of the field that begins here.
fn next<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], Field<'a>), Malformed> {
    let [kind] = reader.array(COMPLETE)?;
    let name = reader.until_zero("a name")?;
    let field = match kind {
        DOUBLE => Field::Double(f64::from_le_bytes(reader.array(COMPLETE)?)),
        TEXT => Field::Text(text_at(reader)?),
        DOCUMENT => Field::Document(Fields(document_at(reader)?)),
        ARRAY => Field::Array(Fields(document_at(reader)?)),
        BOOLEAN => Field::Boolean(reader.array::<1>(COMPLETE)? != [0]),
        INT32 => Field::Int32(i32::from_le_bytes(reader.array(COMPLETE)?)),
        INT64 => Field::Int64(i64::from_le_bytes(reader.array(COMPLETE)?)),
        other => {
            skip(other, reader)?;
            Field::Other
        }
    };
    Ok((name, field))
}

/// Skips a value of which only the length is of interest.
fn skip(kind: u8, reader: &mut Reader<'_>) -> Result<(), Malformed> {
    let len = match kind {
        NULL | UNDEFINED | LEAST | GREATEST => 0,
        DATE | TIMESTAMP => 8,
        OBJECT_ID => 12,
        DECIMAL => 16,
        // One byte is the kind of data.
        BINARY => length(reader)? + 1,
        CODE | SYMBOL => length(reader)?,
        POINTER => length(reader)? + 12,
        CODE_WITH_SCOPE => length(reader)?.checked_sub(LENGTH_BYTES).ok_or(CUT)?,
        REGULAR_EXPRESSION => {
            reader.until_zero("a pattern")?;
            reader.until_zero("options")?;
            0
        }
        _ => return Err(CUT),
    };
    reader.take(len, COMPLETE).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of JSON that BSON has.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>()
                .prop_filter("JSON has no infinity", |number| number.is_finite())
                .prop_map(Value::from),
            "[^\0]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[^\0]{0,8}", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// The same value of the library.
    fn of_library(value: &Value) -> bson::Bson {
        match value {
            Value::Number(number) => match number.as_i64() {
                Some(integer) => bson::Bson::Int64(integer),
                None => bson::Bson::Double(number.as_f64().expect("a number")),
            },
            Value::Array(values) => bson::Bson::Array(values.iter().map(of_library).collect()),
            Value::Object(members) => bson::Bson::Document(
                members
                    .iter()
                    .map(|(name, value)| (name.clone(), of_library(value)))
                    .collect(),
            ),
            Value::Null => bson::Bson::Null,
            Value::Bool(value) => bson::Bson::Boolean(*value),
            Value::String(text) => bson::Bson::String(text.clone()),
        }
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_the_library(values in prop::collection::vec(value(), 0..4)) {
            let (mut ours, mut theirs) = (Document::default(), bson::Document::new());
            for (index, value) in values.iter().enumerate() {
                let name = format!("field {index}");
                prop_assert!(ours.put(&name, value, Integers::Eight).is_some());
                theirs.insert(name, of_library(value));
            }
            prop_assert_eq!(ours.encoded(), theirs.to_vec().expect("a document"));
        }

        #[test]
        fn no_bytes_stop_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut framed = length_field(LENGTH_BYTES + bytes.len() + 1).to_vec();
            framed.extend(&bytes);
            framed.push(0);
            for bytes in [&bytes[..], &framed] {
                if let Ok(fields) = Fields::read(bytes) {
                    let _ = (fields.first(), fields.integer("ok"));
                }
            }
        }
    }

    #[test]
    fn every_type_of_the_library_is_read_past() {
        let id = bson::oid::ObjectId::from_bytes([7; 12]);
        let document = bson::doc! {
            "double": 1.5, "text": "words", "document": {"inner": 7}, "array": [{"code": 13}], "boolean": true,
            "binary": bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1, 2, 3] },
            "undefined": bson::Bson::Undefined, "id": id, "date": bson::DateTime::from_millis(5), "null": null,
            "regex": bson::Regex { pattern: "a.*".try_into().expect("a pattern"), options: "i".try_into().expect("options") },
            "code": bson::Bson::JavaScriptCode("f()".into()), "symbol": bson::Bson::Symbol("s".into()),
            "scope": bson::JavaScriptCodeWithScope { code: "f()".into(), scope: bson::doc! {"x": 1} },
            "int32": 5_i32, "time": bson::Timestamp { time: 1, increment: 2 }, "int64": 6_i64,
            "decimal": bson::Decimal128::from_bytes([1; 16]), "least": bson::Bson::MinKey, "greatest": bson::Bson::MaxKey,
            "ok": 1.0,
        };
        let bytes = document.to_vec().expect("a document");
        let fields = Fields::read(&bytes).expect("a document");
        assert_eq!(fields.integer("ok"), 1);
        let numbers =
            ["double", "boolean", "int32", "int64", "text", "none"].map(|name| fields.integer(name));
        assert_eq!(numbers, [1, 1, 5, 6, 0, 0]);
        assert_eq!(fields.get("text"), Some(Field::Text("words")));
        let Some(Field::Array(array)) = fields.get("array") else {
            panic!("no array")
        };
        let Some(Field::Document(first)) = array.first() else {
            panic!("no document")
        };
        assert_eq!(first.integer("code"), 13);
        for len in 0..bytes.len() {
            assert!(
                Fields::read(&bytes[..len]).is_err(),
                "{len} bytes of it are no document"
            );
        }
    }

    #[test]
    fn a_command_has_the_integers_of_the_library() {
        let command = "{\"a\": 1, \"b\": [{\"key\": {\"stored\": -2147483649}, \"name\": \"expiry\", \"seconds\": 2147483648}], \"c\": 0.5}";
        let members: Map<String, Value> = serde_json::from_str(command).expect("JSON");
        let theirs = bson::Bson::try_from(Value::Object(members.clone())).expect("a value");
        let ours = Document::from_json(&members, Integers::Shortest).expect("a document");
        let theirs = theirs.as_document().expect("a document").to_vec();
        assert_eq!(ours.encoded(), theirs.expect("bytes"));
    }

    #[test]
    fn what_bson_does_not_have_is_no_document() {
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        for text in [
            "18446744073709551615",
            "{\"a\\u0000b\": 1}",
            "[[{\"\\u0000\": 1}]]",
        ] {
            assert_eq!(
                Document::default().put("payload", &value(text), Integers::Eight),
                None,
                "{text}"
            );
        }
    }
}
