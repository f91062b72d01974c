//! What all schemas have in common, whichever type they are of.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value};

/// A schema by the rules of this project.
///
/// - A table has the keys of its type and no other.
/// - A key that is left out where it has no value is never null. Every other key must be there.
/// - Descriptions are the comments of the types, without the links of rustdoc.
pub fn tidied(mut schema: Schema) -> Schema {
    Tidy.transform(&mut schema);
    schema
}

struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(schema) = schema.as_object_mut() else {
            return;
        };
        // The width of a number in memory says nothing about the file.
        schema.remove("format");
        if schema.contains_key("const") {
            schema.remove("minimum");
        }
        describe(schema);
        names_of_words(schema);
        close(schema);
        never_null(schema);
    }
}

/// Writes a comment as one paragraph, with the names of its links alone.
fn describe(schema: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraph = text.split_whitespace().collect::<Vec<_>>().join(" ");
        *text = paragraph.replace("[`", "`").replace("`]", "`");
    }
}

/// If all keys of a map have the same schema, writes that schema once and the keys as a list.
fn names_of_words(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    let mut values = properties.values();
    let first = values.next().cloned();
    let is_described = first
        .as_ref()
        .and_then(|value| value.get("description"))
        .is_some();
    let (Some(value), false) = (first, is_described || schema.contains_key("required")) else {
        return;
    };
    if values.any(|other| *other != value) {
        return;
    }
    let names: Vec<&String> = properties.keys().collect();
    let names = serde_json::json!({ "enum": names });
    schema.remove("properties");
    schema.insert("propertyNames".into(), names);
    schema.insert("additionalProperties".into(), value);
}

/// Refuses the keys that a table does not name.
fn close(schema: &mut Map<String, Value>) {
    let is_open = ["additionalProperties", "patternProperties"]
        .iter()
        .all(|key| !schema.contains_key(*key));
    if is_open && schema.contains_key("properties") {
        schema.insert("additionalProperties".into(), false.into());
    }
}

/// Lets no key be null that may be missing.
fn never_null(schema: &mut Map<String, Value>) {
    let required = match schema.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        let Value::Object(property) = property else {
            continue;
        };
        // Defaults are there to read the results of earlier versions alone.
        property.remove("default");
        if !required.contains(&Value::from(name.as_str())) {
            without_null(property);
        }
    }
}

/// Takes null from the values of a key.
fn without_null(property: &mut Map<String, Value>) {
    let null = Value::from("null");
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| *kind != null);
        if let [kind] = types.as_slice() {
            let kind = kind.clone();
            property.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(words)) = property.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(mut choices)) = property.remove("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&null));
        match choices.as_mut_slice() {
            [Value::Object(choice)] => property.extend(core::mem::take(choice)),
            _ => {
                property.insert("anyOf".into(), choices.into());
            }
        }
    }
}
