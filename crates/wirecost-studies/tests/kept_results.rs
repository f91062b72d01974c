//! The results in docs/studies.

use std::fs;
use std::path::Path;

use serde_json::Value;
use wirecost_studies::Claims;
use wirecost_studies::judge::kept::KeptVerdicts;
use wirecost_studies::library::{self, Study};

/// What is kept was judged by the claims that there are now.
#[test]
fn kept_verdicts_are_those_of_the_claims_by_the_rules_that_they_have() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let of_library = library::names()
        .into_iter()
        .map(|name| Study::named(name).expect(name).claims);
    let figures = fs::read_to_string(root.join("claims/claims.yaml")).expect("claims");
    let figures = Claims::read(&figures).expect("claims");
    for claims in of_library.chain([figures]) {
        let file = root.join("docs/studies").join(&claims.study).join("claims.json");
        let text = fs::read_to_string(&file).expect("verdicts");
        let kept: KeptVerdicts = serde_json::from_str(&text).expect("verdicts");
        if let Err(error) = claims.kept(&kept) {
            panic!("{}: {error}", file.display());
        }
    }
}

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
