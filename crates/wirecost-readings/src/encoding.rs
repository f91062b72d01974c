//! Encodings of readings.

use ciborium::Value as Cbor;
use serde::Serialize;

use crate::reading::{Reading, SENSOR};

wirecost_proto::named! {
    /// How readings are encoded.
    ///
    /// Named as in files and flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Encoding {
        /// JSON (RFC 8259): one reading is an object, several are an array of objects.
        #[default]
        Json => "json",
        /// CBOR (RFC 8949): the same with maps, keys as text, each number in its shortest form.
        Cbor => "cbor",
        /// SenML in JSON (RFC 8428): one array of records; the first has the base name and the base time.
        SenmlJson => "senml-json",
        /// SenML in CBOR (RFC 8428, section 6): the same with the labels of its Table 4.
        SenmlCbor => "senml-cbor",
    }
}

impl Encoding {
    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Cbor => "application/cbor",
            Self::SenmlJson => "application/senml+json",
            Self::SenmlCbor => "application/senml+cbor",
        }
    }

    /// Its number among the Content-Formats of CoAP (RFC 7252, RFC 8428, RFC 8949).
    pub const fn content_format(self) -> u16 {
        match self {
            Self::Json => 50,
            Self::Cbor => 60,
            Self::SenmlJson => 110,
            Self::SenmlCbor => 112,
        }
    }

    /// The bytes of readings, in the order of their times.
    pub fn encoded(self, readings: &[Reading]) -> Vec<u8> {
        match (self, readings) {
            (Self::Json, [one]) => json(one),
            (Self::Json, several) => json(&several),
            (Self::Cbor, [one]) => cbor(one),
            (Self::Cbor, several) => cbor(&several),
            (Self::SenmlJson, readings) => json(&records(readings)),
            (Self::SenmlCbor, readings) => {
                let records = records(readings);
                cbor(&Cbor::Array(records.iter().map(Record::labelled).collect()))
            }
        }
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("numbers and texts are JSON")
}

fn cbor(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    ciborium::into_writer(value, &mut out).expect("a vector takes any bytes");
    out
}

/// A SenML record (RFC 8428, section 4).
#[derive(Serialize)]
struct Record {
    #[serde(rename = "bn", skip_serializing_if = "Option::is_none")]
    base_name: Option<String>,
    #[serde(rename = "bt", skip_serializing_if = "Option::is_none")]
    base_time: Option<u64>,
    #[serde(rename = "n")]
    name: &'static str,
    #[serde(rename = "u")]
    unit: &'static str,
    #[serde(rename = "v")]
    value: Number,
    /// Seconds after the base time; absent where it is 0.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
}

/// A value of a record.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Number {
    Real(f64),
    Whole(u8),
}

impl Record {
    /// The record with the labels of RFC 8428, Table 4.
    fn labelled(&self) -> Cbor {
        let value = match self.value {
            Number::Real(value) => Cbor::from(value),
            Number::Whole(value) => Cbor::from(value),
        };
        let members = [
            (-2, self.base_name.clone().map(Cbor::from)),
            (-3, self.base_time.map(Cbor::from)),
            (0, Some(Cbor::from(self.name))),
            (1, Some(Cbor::from(self.unit))),
            (2, Some(value)),
            (6, self.time.map(Cbor::from)),
        ];
        let present = members
            .into_iter()
            .filter_map(|(label, value)| Some((Cbor::from(label), value?)));
        Cbor::Map(present.collect())
    }
}

/// Three records for each reading: temperature, humidity, battery.
fn records(readings: &[Reading]) -> Vec<Record> {
    let start = readings.first().map_or(0, |reading| reading.time);
    let of_reading = |reading: &Reading| {
        let time = Some(reading.time - start).filter(|time| *time > 0);
        let measured = [
            ("temperature", "Cel", Number::Real(reading.temperature)),
            ("humidity", "%RH", Number::Real(reading.humidity)),
            ("battery", "%EL", Number::Whole(reading.battery)),
        ];
        measured.map(|(name, unit, value)| Record {
            base_name: None,
            base_time: None,
            name,
            unit,
            value,
            time,
        })
    };
    let mut records: Vec<Record> = readings.iter().flat_map(of_reading).collect();
    if let Some(first) = records.first_mut() {
        first.base_name = Some(format!("urn:dev:mac:{SENSOR}:"));
        first.base_time = Some(start);
    }
    records
}

#[cfg(test)]
mod tests;
