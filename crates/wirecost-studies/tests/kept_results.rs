//! The results in docs/studies.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Where both engines have the figures of a claim, its verdict is the same by each of them, or the row says why not.
#[test]
fn engines_come_to_one_verdict_or_the_row_says_why_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies");
    let mut compared = 0;
    for study in fs::read_dir(folder).expect("results").flatten() {
        let Ok(text) = fs::read_to_string(study.path().join("claims.json")) else {
            continue;
        };
        let claims: Vec<Value> = serde_json::from_str(&text).expect("claims");
        let points = claims
            .iter()
            .flat_map(|claim| claim["points"].as_array().expect("points"));
        for point in points {
            let Some(engines) = point["engines"].as_array() else {
                continue;
            };
            let differ = engines
                .iter()
                .any(|engine| engine["verdict"] != engines[0]["verdict"]);
            assert_eq!(differ, point["engines_differ"].is_string(), "{point}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}
