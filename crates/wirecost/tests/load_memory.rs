//! The memory of a load: refused before it starts where it does not fit, and as large as the table says where it is live.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod common;

use common::{open_folder, said, wirecost};
use serde_json::Value;
use wirecost_load::devices::footprint::bytes_of_a_device;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};
use wirecost_stack::target::Target;

/// The kernel's sockets of a connection, which no process has in its resident memory.
const KERNEL: u64 = 2 * 2_900;

#[test]
fn a_load_that_does_not_fit_into_memory_is_refused_with_what_would_fit() {
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args(["load", "mqtt-qos1", "--clients", "300M", "--engine", "sim"]);
    let unaddressed = said(&mut command);
    assert_eq!(unaddressed.code, Some(2), "{}", unaddressed.stderr);
    assert!(unaddressed.stderr.contains("has addresses for"));
    // More than a terabyte.
    let mut command = wirecost(home.path());
    command.args(["load", "mqtt-qos1", "--clients", "4000M", "--engine", "live"]);
    let said = said(&mut command);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    let (error, hint) = (said.line("error: "), said.line("hint: "));
    let error = error.expect("an error");
    assert!(
        error.starts_with("4,000,000,000 devices of mqtt-qos1 need about "),
        "{error}"
    );
    assert!(error.contains(" of memory, and "), "{error}");
    let hint = hint.expect("a hint");
    let fits = hint
        .strip_prefix("--clients ")
        .and_then(|rest| rest.split(' ').next());
    let fits: u32 = fits.expect("a number").parse().expect("a number");
    assert!(fits > 0, "{hint}");
    let left = std::fs::read_dir(home.path()).expect("a folder").count();
    assert_eq!(left, 0, "a refused load leaves no folder");
}

/// The resident bytes of generator and target.
fn resident(stack: &str, clients: u32) -> f64 {
    let home = open_folder();
    let (clients, rate) = (clients.to_string(), format!("{}/s", clients / 2));
    let mut command = wirecost(home.path());
    command.args([
        "load", stack, "-c", &clients, "-r", &rate, "-d", "2s", "-q", "--json", "-",
    ]);
    let said = said(&mut command);
    // 14: a generator was late, which is no matter here.
    assert!(matches!(said.code, Some(0 | 14)), "{}", said.stderr);
    let summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    let bytes = |side: &str| {
        summary["loads"][0][side]["resident_bytes"]
            .as_f64()
            .expect("bytes")
    };
    bytes("generator") + bytes("target_use")
}

/// Resident memory comes in pages and in what the allocator keeps, so that the figure is held to a factor alone.
#[test]
fn a_live_device_takes_what_the_table_says() {
    for stack in ["mqtt-qos1", "mqtt-qos1+tls1.3"] {
        let measured = (resident(stack, 2_000) - resident(stack, 500)) / 1_500.0;
        let load = LoadOptions::new(
            stack.parse().expect("a stack"),
            LoadTarget::Started(Target::Builtin),
        );
        let told = (bytes_of_a_device(&load) - KERNEL) as f64;
        println!("{stack}: {measured:.0} B, {told} told");
        assert!(
            (0.4..2.5).contains(&(measured / told)),
            "{stack}: {measured:.0} B, {told} told"
        );
    }
}
