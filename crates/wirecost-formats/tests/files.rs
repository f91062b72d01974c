//! The files of the folder `schema` against the types.

use std::collections::BTreeSet;
use std::path::Path;

use wirecost_formats::SCHEMA_FILES;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::row::Rows;
use wirecost_scenario::selector::PROGRAM;

#[test]
fn the_schemas_are_as_the_types_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    let writes = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    for format in SCHEMA_FILES {
        let (path, made) = (folder.join(format.file), format.text());
        if writes {
            std::fs::write(&path, &made).expect("writable");
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        assert!(
            text == made,
            "schema/{} is not as the types are: run UPDATE_SNAPSHOTS=1 cargo test -p wirecost-formats, and read the difference",
            format.file
        );
    }
}

#[test]
fn a_summary_has_the_keys_of_the_options_rows() {
    let schema = serde_json::to_value((SCHEMA_FILES[0].schema)()).expect("JSON");
    let described: BTreeSet<&str> = schema["$defs"]["Keys"]["properties"]
        .as_object()
        .expect("the keys of the options")
        .keys()
        .map(String::as_str)
        .collect();
    let rows = Options::ROWS.iter().map(|row| row.key);
    // A program of another maker runs in place of stacks.
    let rows: BTreeSet<&str> = rows.chain([PROGRAM]).collect();
    assert_eq!(described, rows, "crates/wirecost-results/src/resolved/keys.rs");
}
