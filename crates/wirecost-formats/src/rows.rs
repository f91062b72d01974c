//! The options of a comparison in its summary, from their rows.

use schemars::Schema;
use serde_json::{Map, Value, json};
use wirecost_scenario::options::row::{Kind, Row, Rows};

/// The definition that has the keys of a comparison's options.
const KEYS: &str = "Keys";

/// Adds a property for each row that is read by itself. What is read with others has a type.
pub(crate) fn add<O: Rows>(schema: &mut Schema) {
    let keys = schema.as_object_mut();
    let keys = keys.and_then(|schema| schema.get_mut("$defs")?.get_mut(KEYS)?.as_object_mut());
    let Some(keys) = keys else {
        return;
    };
    for row in O::ROWS {
        if let Some(kind) = row.kind {
            add_row(keys, row, kind);
        }
    }
}

fn add_row<O: Rows>(keys: &mut Map<String, Value>, row: &Row<O>, kind: Kind) {
    let mut property = match kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Count | Kind::Scaled => json!({"type": "integer", "minimum": 1}),
        Kind::Time | Kind::Size | Kind::Text | Kind::File => json!({"type": "string"}),
        Kind::Name(names) => json!({"type": "string", "enum": names}),
    };
    let absent = match row.spec.is_always_written() {
        true => "",
        false => " Absent where it is the default.",
    };
    property["description"] = format!("{}.{absent}", row.help()).into();
    if let Some(Value::Object(properties)) = keys.get_mut("properties") {
        properties.insert(row.key.to_owned(), property);
    }
    if let (true, Some(Value::Array(required))) = (row.spec.is_always_written(), keys.get_mut("required")) {
        required.push(row.key.into());
    }
}
