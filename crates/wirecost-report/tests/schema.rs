//! The schema of `summary.json` against what the code writes.

mod common;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use wirecost_results::Summary;
use wirecost_results::resolved::Tree;

const SCHEMA: &str = include_str!("../../../schema/summary.schema.json");

struct Checker {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Checker {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let schema = serde_json::from_str(SCHEMA).unwrap();
        compiler.add_resource("summary.json", schema).unwrap();
        let index = compiler.compile("summary.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn accepts(&self, value: &Value) -> Result<(), String> {
        self.schemas
            .validate(value, self.index)
            .map_err(|error| format!("{error:#}"))
    }
}

fn json(summary: &Summary) -> Value {
    serde_json::to_value(summary).unwrap()
}

#[test]
fn every_summary_is_valid() {
    let checker = Checker::new();
    let mut interrupted = common::eight_stacks().summary;
    interrupted.interrupted = true;
    interrupted.scenario.set("interval", Tree::text("1s"));
    interrupted.cells[0].cpu.server = interrupted.cells[0].cpu.client;
    for summary in [
        common::eight_stacks().summary,
        common::troubled().summary,
        common::matrix().summary,
        common::both_engines().summary,
        interrupted,
    ] {
        assert_eq!(checker.accepts(&json(&summary)), Ok(()));
    }
}

#[test]
fn a_default_section_is_valid() {
    let mut summary = common::eight_stacks().summary;
    summary.cells[0].message = Some(Default::default());
    assert_eq!(Checker::new().accepts(&json(&summary)), Ok(()));
}

#[test]
fn an_unknown_or_missing_field_is_refused_at_every_depth() {
    let checker = Checker::new();
    let good = json(&common::troubled().summary);
    let mut paths = Vec::new();
    objects(&good, String::new(), &mut paths);
    assert!(paths.len() > 300, "{}", paths.len());
    for path in paths
        .iter()
        .filter(|path| path.contains("/cells/1") || !path.contains("/cells/"))
    {
        let mut bad = good.clone();
        bad.pointer_mut(path)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .insert("surprise".into(), Value::Null);
        assert!(checker.accepts(&bad).is_err(), "an unknown field in {path:?}");
    }
    for field in [
        "/schema",
        "/scenario/samples",
        "/cells/1/outcomes/offered",
        "/cells/1/message/up/wire",
    ] {
        let (parent, name) = field.rsplit_once('/').unwrap();
        let mut bad = good.clone();
        bad.pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(name);
        assert!(checker.accepts(&bad).is_err(), "{field} missing");
    }
}

fn objects(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter()
                .for_each(|(key, value)| objects(value, format!("{path}/{key}"), found));
            found.push(path);
        }
        Value::Array(values) => {
            values
                .iter()
                .enumerate()
                .for_each(|(i, value)| objects(value, format!("{path}/{i}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_field_is_described() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut paths = Vec::new();
    objects(&schema, String::new(), &mut paths);
    let properties = paths
        .iter()
        .filter(|path| path.rsplit('/').nth(1) == Some("properties"));
    for path in properties {
        let text = schema
            .pointer(path)
            .unwrap()
            .get("description")
            .and_then(Value::as_str);
        assert!(text.is_some_and(|text| !text.is_empty()), "{path}");
    }
}
