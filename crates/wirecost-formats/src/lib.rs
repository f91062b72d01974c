//! The JSON Schemas in the folder `schema`, made from the types that the program reads and writes.
//!
//! The types derive `schemars::JsonSchema` behind the feature `schema` of their crates, which this crate alone switches on: the
//! program embeds the finished files and is built without. Options of a comparison are described by their rows. A test compares the
//! files with the types, and renews them.
//!
//! - [`SCHEMA_FILES`]: every file with its type
//! - [`tidied`]: the rules that hold for each of them

mod rows;
mod tidy;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use wirecost_results::nbiot::NbiotSummary;
use wirecost_results::{LoadSummary, Summary};
use wirecost_scenario::options::compare::Options;

pub use tidy::tidied;

/// A schema in the folder `schema`.
#[derive(Clone, Copy, Debug)]
pub struct SchemaFile {
    /// The name of its file.
    pub file: &'static str,
    /// Makes it.
    pub schema: fn() -> Schema,
}

/// Every schema that is made from types.
pub const SCHEMA_FILES: [SchemaFile; 3] = [
    SchemaFile {
        file: "summary.schema.json",
        schema: || tidied(with_rows(made::<Summary>())),
    },
    SchemaFile {
        file: "load-summary.schema.json",
        schema: || tidied(made::<LoadSummary>()),
    },
    SchemaFile {
        file: "nbiot-summary.schema.json",
        schema: || tidied(made::<NbiotSummary>()),
    },
];

impl SchemaFile {
    /// What its file must hold.
    pub fn text(&self) -> String {
        let schema = (self.schema)();
        format!("{:#}\n", schema.as_value())
    }
}

/// The schema of what the program writes.
fn made<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

/// The schema with the options of a comparison.
fn with_rows(mut schema: Schema) -> Schema {
    rows::add::<Options>(&mut schema);
    schema
}
