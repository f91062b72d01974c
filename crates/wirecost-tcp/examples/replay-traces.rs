//! Replays traces that are not rules yet, such as random ones, as the test `traces` does with those that are.
//!
//! `cargo run -p wirecost-tcp --example replay-traces FILE...` prints the first difference of each trace that differs from
//! the kernel's and ends with 1 if one did.

#![allow(clippy::disallowed_macros, reason = "an example prints what it finds")]

use std::process::ExitCode;

#[path = "../tests/replay/mod.rs"]
#[allow(dead_code, reason = "the test needs the rest")]
mod replay;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let differing = files.iter().filter(|file| differs(file)).count();
    println!("{differing} of {} traces differ", files.len());
    match (files.len(), differing) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn differs(file: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let compared = replay::compare(&text);
    if let Err(difference) = &compared {
        println!("{file}: {difference}");
    }
    compared.is_err()
}
