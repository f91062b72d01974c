//! What every schema refuses, as the types do not say it by themselves.

use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use wirecost_formats::SCHEMA_FILES;

fn accepts(file: &str, value: &Value) -> bool {
    let format = SCHEMA_FILES
        .iter()
        .find(|format| format.file == file)
        .expect("a format");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let schema = (format.schema)().to_value();
    compiler.add_resource("schema.json", schema).expect("a resource");
    let index = compiler.compile("schema.json", &mut schemas).expect("a schema");
    schemas.validate(value, index).is_ok()
}

/// The smallest summary of loads, with a judged threshold.
fn loads() -> Value {
    json!({
        "schema": 1, "kind": "load", "version": "0.1.0", "command": "wirecost load", "name": "load", "seed": 1, "loads": [],
        "thresholds": [{"metric": "carried_rate", "expression": "rate>1/s", "actual": null, "pass": false}],
    })
}

#[test]
fn a_summary_is_refused_when_one_key_is_wrong() {
    let file = "load-summary.schema.json";
    assert!(accepts(file, &loads()));
    for (key, wrong) in [
        ("/schema", json!(2)),
        ("/kind", json!("nbiot")),
        ("/seed", json!(-1)),
        ("/seed", json!("1")),
        ("/interrupted", Value::Null),
        ("/surprise", json!(1)),
        ("/thresholds/0/actual", json!("1")),
        ("/thresholds/0/interval", Value::Null),
        ("/thresholds/0/interval", json!([1.0])),
        ("/thresholds/0/surprise", json!(1)),
    ] {
        let mut bad = loads();
        let (parent, name) = key.rsplit_once('/').expect("a path");
        bad.pointer_mut(parent).expect("a table")[name] = wrong.clone();
        assert!(!accepts(file, &bad), "{key}: {wrong}");
    }
    for key in ["schema", "kind", "version", "command", "name", "seed", "loads"] {
        let mut bad = loads();
        bad.as_object_mut().expect("a table").remove(key);
        assert!(!accepts(file, &bad), "{key} is missing");
    }
}

/// Calls `each` with every part of a schema and its path.
fn walk(value: &Value, path: &str, each: &mut impl FnMut(&Value, &str)) {
    each(value, path);
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| walk(value, &format!("{path}/{key}"), each)),
        Value::Array(values) => values.iter().for_each(|value| walk(value, path, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_table_has_only_the_keys_of_its_type_and_each_is_described() {
    for format in SCHEMA_FILES {
        let schema = (format.schema)().to_value();
        walk(&schema, format.file, &mut |part, path| {
            let Some(keys) = part.get("properties").and_then(Value::as_object) else {
                return;
            };
            if path.ends_with("/properties") {
                return;
            }
            assert_eq!(part["additionalProperties"], false, "{path}");
            for (key, value) in keys {
                let text = value.get("description").and_then(Value::as_str);
                assert!(text.is_some_and(|text| !text.is_empty()), "{path}: {key}");
                assert!(value.get("default").is_none(), "{path}: {key}");
            }
        });
    }
}
