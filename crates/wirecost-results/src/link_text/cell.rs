//! A modelled cell of a link as text.

use std::collections::BTreeMap;

use wirecost_link::cell::{COUPLING_LOSSES_DB, CellProfile, MOST_LOAD, NbiotCell};

use crate::value::{ValueError, parsed};

/// The texts of a modelled cell, by their keys.
pub(super) fn cell_texts(cell: NbiotCell) -> [(&'static str, String); 3] {
    let load = match cell.is_unloaded() {
        true => UNLOADED.to_owned(),
        false => format!("{}/s", cell.load),
    };
    let [profile, of_load, loss] = CELL_KEYS;
    [
        (profile, cell.profile.to_string()),
        (of_load, load),
        (loss, format!("{}dB", cell.coupling_loss_db)),
    ]
}

/// The modelled cell of a link's texts, if it is one.
pub(super) fn read_cell(texts: &BTreeMap<String, String>) -> Result<Option<NbiotCell>, ValueError> {
    let [profile, load, loss] = CELL_KEYS.map(|key| texts.get(key).map_or("", String::as_str));
    if profile.is_empty() {
        return Ok(None);
    }
    Ok(Some(NbiotCell {
        profile: parsed::<CellProfile>(profile)?,
        load: cell_load(load)?,
        coupling_loss_db: coupling_loss(loss)?,
    }))
}

/// The keys of a modelled cell.
pub const CELL_KEYS: [&str; 3] = ["cell", "cell_load", "coupling_loss"];

/// The load of a cell without other devices, as a text.
const UNLOADED: &str = "unloaded";

/// Reads the load of a cell: `1/s`, `30/min`, or `unloaded`.
///
/// # Errors
/// It is none of these, or more than a cell may have.
pub fn cell_load(text: &str) -> Result<f64, ValueError> {
    // `0/s` is read as well; the word says that there are no neighbours either.
    if text == UNLOADED {
        return Ok(0.0);
    }
    let wrong = || ValueError::form(text, "a load of a cell: write 1/s, 30/min or unloaded");
    let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "min" => 60.0,
        _ => return Err(wrong()),
    };
    let number = number.trim().parse::<f64>().map_err(|_| wrong())?;
    let load = number / seconds;
    if !(0.0..=MOST_LOAD).contains(&load) {
        return Err(ValueError::range("at least 0/s and at most 40/s", text));
    }
    Ok(load)
}

/// Reads a coupling loss: `144dB`.
///
/// # Errors
/// It has no unit, or is not one that a device may have.
pub fn coupling_loss(text: &str) -> Result<f64, ValueError> {
    let number = text
        .strip_suffix("dB")
        .and_then(|number| number.trim().parse().ok());
    let loss: f64 = number.ok_or_else(|| ValueError::form(text, "a coupling loss: write 144dB"))?;
    let [least, most] = COUPLING_LOSSES_DB;
    if !(least..=most).contains(&loss) {
        return Err(ValueError::range("at least 50dB and at most 170dB", text));
    }
    Ok(loss)
}
