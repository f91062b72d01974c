//! Scenario files.

use wirecost_scenario::load::ScenarioInputs;
use wirecost_scenario::{Edits, Scenario};

/// A text as a scenario: what reads is printed, and what is printed reads and is printed as the same again.
pub fn file(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let read = |text: &str| Scenario::read(text, Edits::default(), ScenarioInputs::NONE);
    let Ok(scenario) = read(text) else {
        return false;
    };
    let printed = scenario.to_yaml();
    // A password is printed as the name of a variable, and there are none.
    match read(&printed) {
        Ok(again) => assert_eq!(again.to_yaml(), printed),
        Err(error) => assert!(printed.contains("env:"), "{error}\n{printed}"),
    }
    true
}
