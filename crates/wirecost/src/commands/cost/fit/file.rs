//! The text of a device file with fitted figures in place of its own.

use std::fmt::Write as _;

use wirecost_energy::fit::{Fits, Fitted, FittedFigure};
use wirecost_energy::{Device, State};

/// What is written anew. The base's transmitter says how sending depends on its power, which nobody measured here.
const ANEW: [&str; 6] = ["title", "sources", "supply", "states", "wake", "tails"];
const LEFT_OUT: &str = "transmitter";

/// The name of a figure.
pub fn name(of: Fits) -> String {
    match of {
        Fits::Rest => "the rest".to_owned(),
        Fits::Wake | Fits::WakeTime => "the wake-up".to_owned(),
        Fits::State(state) => format!("the state {}", state.name()),
        Fits::Tail(number) | Fits::TailTime(number) => format!("tail {}", number + 1),
    }
}

/// The base's text with what was fitted. `source` says from what, at a supply of some volts.
pub fn with(base: &str, fitted: &Fitted, (source, volts): (&str, f64)) -> String {
    let blocks = blocks(base);
    let device = &fitted.device;
    let mut text = String::new();
    for block in &blocks {
        let key = block.split(':').next().unwrap_or_default();
        if key == LEFT_OUT {
            continue;
        }
        match ANEW.iter().find(|known| **known == key) {
            None => text.push_str(block),
            Some(&"title") => text.push_str(&format!(
                "title: {:?}\n",
                format!("{}, fitted to a trace", device.title)
            )),
            Some(&"sources") => text.push_str(&sources(block, source)),
            Some(&"supply") => text.push_str(&format!("supply: {{value: {volts:.4}V, source: fit}}\n")),
            Some(&"states") => text.push_str(&states(fitted, volts)),
            Some(&"wake") => text.push_str(&wake(fitted)),
            Some(_) => text.push_str(&tails(fitted, volts)),
        }
    }
    // The fitted figures name the source `fit`, which a file without the block would not know.
    if !blocks.iter().any(|block| block.starts_with("sources:")) {
        text.push_str(&sources("sources:\n", source));
    }
    text
}

/// The blocks of the top level: each begins with its key. What is above the first one is left out.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in text
        .lines()
        // Without comments: those on what is fitted would be false from here on.
        .filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty())
    {
        match blocks.last_mut().filter(|_| line.starts_with([' ', '-'])) {
            Some(block) => block.push_str(line),
            None => blocks.push(line.to_owned()),
        }
        if let Some(block) = blocks.last_mut() {
            block.push('\n');
        }
    }
    blocks
}

fn sources(block: &str, source: &str) -> String {
    format!("{block}  fit: {:?}\n", format!("wirecost cost --fit {source}"))
}

fn figure(fitted: &Fitted, of: Fits) -> Option<&FittedFigure> {
    fitted.figures.iter().find(|figure| figure.of == of)
}

/// A power, as a current where that is a state's: fitted, or as the base has it.
fn power(fitted: &Fitted, of: Fits, watts: f64, volts: f64) -> String {
    let amount = format!("{:.6}mA", watts / volts * 1e3);
    match figure(fitted, of) {
        None => format!("{{value: {amount}, source: assumed}}"),
        Some(figure) => {
            let spread = (200.0 * figure.error / figure.value.max(f64::MIN_POSITIVE)).clamp(1.0, 99.0);
            format!("{{value: {amount}, source: fit, spread: {spread:.0}%}}")
        }
    }
}

/// The key of a time with what it is from.
fn time(fitted: &Fitted, of: Fits, seconds: f64) -> String {
    let source = match figure(fitted, of) {
        Some(_) => "fit",
        None => "assumed",
    };
    format!("{{value: {:.4}ms, source: {source}}}", seconds * 1e3)
}

fn states(fitted: &Fitted, volts: f64) -> String {
    let device = &fitted.device;
    let mut text = "states:\n".to_owned();
    for state in State::ALL {
        let of = match state == device.rest {
            true => Fits::Rest,
            false => Fits::State(state),
        };
        let watts = not_below(device, state);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {}: {}", state.name(), power(fitted, of, watts, volts));
    }
    text
}

/// The power of a state; of one that was not fitted at least that of the rest, without which a file is refused.
fn not_below(device: &Device, state: State) -> f64 {
    let watts = device.level(state).watts;
    match state > device.rest {
        true => watts.max(device.floor().watts),
        false => watts,
    }
}

fn wake(fitted: &Fitted) -> String {
    let Some(wake) = fitted.device.wake else {
        return String::new();
    };
    let watts = format!("{:.6}mW", wake.level.watts * 1e3);
    format!(
        "wake:\n  time: {}\n  power: {{value: {watts}, source: fit}}\n",
        time(fitted, Fits::WakeTime, wake.time.as_secs_f64())
    )
}

fn tails(fitted: &Fitted, volts: f64) -> String {
    let mut text = "tails:\n".to_owned();
    for (number, tail) in fitted.device.tails.iter().enumerate() {
        let _ = writeln!(
            text,
            "  - {{state: {}, power: {}, time: {}}}",
            tail.state.name(),
            power(fitted, Fits::Tail(number), tail.level.watts, volts),
            time(fitted, Fits::TailTime(number), tail.time.as_secs_f64())
        );
    }
    text
}
