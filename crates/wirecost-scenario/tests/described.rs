//! The JSON Schema of scenarios and docs/scenarios.md say of each option what its row says. `UPDATE_SNAPSHOTS=1` renews both.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use wirecost_results::resolved::Tree;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::row::{Kind, Row, Rows};

const BEGIN: &str = "<!-- Written from the rows of the options: UPDATE_SNAPSHOTS=1 cargo test -p wirecost-scenario --test described -->\n\n";
const END: &str = "\n<!-- The end of the rows -->\n";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Fails where a file is not as the rows say, or makes it so.
fn compared(name: &str, made: &str) {
    let path = file(name);
    let there = fs::read_to_string(&path).expect(name);
    if there == made {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_SNAPSHOTS").is_some(),
        "{name} is not as the rows of the options say: UPDATE_SNAPSHOTS=1 cargo test -p wirecost-scenario --test described"
    );
    fs::write(&path, made).expect(name);
}

/// The rows that are read by themselves, which alone have a kind.
fn rows() -> impl Iterator<Item = (&'static Row<Options>, Kind)> {
    Options::ROWS.iter().filter_map(|row| Some((row, row.kind?)))
}

/// The default as a file would have it; `None` where there is none.
fn default(row: &Row<Options>) -> Option<String> {
    match (row.value)(&Options::defaults())? {
        Tree::Bool(false) => Some("false".to_owned()),
        other => other.scalar(),
    }
}

/// The value of a key, which is made where it is missing.
fn within<'a>(tree: &'a mut Tree, key: &str) -> &'a mut Tree {
    let Tree::Table(entries) = tree else {
        panic!("{key} is not in a table");
    };
    let at = entries
        .iter()
        .position(|(name, _)| name == key)
        .unwrap_or_else(|| {
            entries.push((key.to_owned(), Tree::Null));
            entries.len() - 1
        });
    &mut entries[at].1
}

fn property(row: &Row<Options>, kind: Kind) -> Tree {
    let default = default(row).map_or_else(String::new, |default| format!(" Default: {default}."));
    let kind = match kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Count => json!({"type": "integer", "minimum": 1}),
        Kind::Time => json!({"$ref": "#/$defs/time"}),
        Kind::Size => json!({"$ref": "#/$defs/size"}),
        Kind::Text => json!({"type": "string"}),
        Kind::Name(names) => json!({"type": "string", "enum": names}),
    };
    let description = Tree::text(format_args!("{}.{default}", row.help()));
    let mut entries = vec![("description".to_owned(), description)];
    if let Tree::Table(of_kind) = Tree::of(&kind) {
        entries.extend(of_kind);
    }
    Tree::Table(entries)
}

#[test]
fn the_schema_has_every_row_as_a_property_and_no_other_key() {
    let name = "schema/scenario.schema.json";
    let text = fs::read_to_string(file(name)).expect(name);
    let mut schema: Tree = serde_json::from_str(&text).expect("JSON");
    let properties = ["$defs", "comparison", "properties"]
        .into_iter()
        .fold(&mut schema, |tree, key| within(tree, key));
    for (row, kind) in rows() {
        for key in [Some(row.written_key()), row.spec.also.map(|_| row.key)] {
            let Some(key) = key else { continue };
            *within(properties, key) = property(row, kind);
        }
    }
    let keys = wirecost_scenario::all_keys(wirecost_scenario::Kind::Comparison);
    let Tree::Table(entries) = properties else {
        panic!("the properties are no table");
    };
    let described: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    let stale: Vec<&&str> = described.iter().filter(|key| !keys.contains(key)).collect();
    assert_eq!(stale, Vec::<&&str>::new(), "no option has these keys");
    let missing: Vec<&&str> = keys.iter().filter(|key| !described.contains(key)).collect();
    assert_eq!(
        missing,
        Vec::<&&str>::new(),
        "these keys are read with others: describe them by hand"
    );
    let made = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    compared(name, &made);
}

#[test]
fn the_page_has_a_line_of_each_row() {
    let name = "docs/scenarios.md";
    let text = fs::read_to_string(file(name)).expect(name);
    let (head, rest) = text.split_once(BEGIN).expect("the beginning of the rows");
    let (_, tail) = rest.split_once(END).expect("the end of the rows");
    let mut table = "| key | meaning | default |\n|---|---|---|\n".to_owned();
    for (row, _) in rows() {
        let default = default(row).map_or_else(String::new, |default| format!("`{default}`"));
        let meaning = row.help().replace('|', "\\|");
        table += &format!("| `{}` | {meaning} | {default} |\n", row.written_key());
    }
    compared(name, &format!("{head}{BEGIN}{table}{END}{tail}"));
}
