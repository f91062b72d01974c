//! Prints the report of a capture as JSON: `attribute FILE [KEYLOG]`.

#![allow(clippy::disallowed_macros, reason = "an example prints what it finds")]

use std::fs::File;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let file = File::open(arguments.next().ok_or("usage: attribute FILE [KEYLOG]")?)?;
    let key_log = arguments.next().map(std::fs::read_to_string).transpose()?;
    let reading = wirecost_dissect::read(file, key_log.as_deref().unwrap_or_default())?;
    println!("{}", serde_json::to_string_pretty(&reading.report)?);
    if let Some(fault) = reading.fault {
        eprintln!("the capture is cut short: {fault}");
    }
    Ok(())
}
