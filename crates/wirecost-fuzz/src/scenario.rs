//! Files that a person writes: scenarios, devices, tariffs.

use wirecost_scenario::load::ScenarioInputs;
use wirecost_scenario::{Edits, Scenario, device, tariff};

/// A text as a scenario: what reads is printed, and what is printed reads and is printed as the same again. As a device or a
/// tariff: it is read or refused.
pub fn file(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let read = |text: &str| Scenario::read(text, Edits::default(), ScenarioInputs::NONE);
    let Ok(scenario) = read(text) else {
        return device::read("device", text).is_ok() || tariff::read("tariff", text).is_ok();
    };
    let printed = scenario.to_yaml();
    // A password is printed as the name of a variable, and there are none.
    match read(&printed) {
        Ok(again) => assert_eq!(again.to_yaml(), printed),
        Err(error) => assert!(printed.contains("env:"), "{error}\n{printed}"),
    }
    true
}
