//! The recorded device of each curve: its message sequence over the air, and the capture of its IP packets.

use wirecost_lab::nbiot::FinishedRun;
use wirecost_lab::nbiot::grids::Grids;
use wirecost_results::nbiot::sequence::{self, AirTransmission};
use wirecost_results::{ResultsError, RunFolder};

use crate::exit::Failure;
use crate::output;

/// The folder of the sequences of all curves.
const SEQUENCES: &str = "sequence";
/// The folder of the captures.
const CAPTURES: &str = "capture";

/// Writes what a run recorded, if it recorded a device: its sequence, that of the first curve as `sequence.json` as well, and its
/// capture.
pub(super) fn write(
    grids: &Grids,
    folder: &RunFolder,
    run: &FinishedRun,
    is_captured: bool,
) -> Result<(), ResultsError> {
    let Some(recorded) = &run.recorded else {
        return Ok(());
    };
    // Only now: a folder without recordings is to have no empty folder in it.
    folder.restore(&[SEQUENCES])?;
    folder.write_json(&file(grids, run.index), &recorded.sequence)?;
    // The page draws one curve, and looks for it by this name (docs/results-format.md).
    if run.index == 0 {
        folder.write_json(sequence::FILE, &recorded.sequence)?;
    }
    if !is_captured {
        return Ok(());
    }
    folder.restore(&[CAPTURES])?;
    let path = folder.file(&format!("{CAPTURES}/{}.pcapng", grids.key(run.index)));
    let written = recorded.write_capture(&path, &grids.curve_text(run.index));
    written.map_err(|source| ResultsError::Io {
        action: "write",
        path,
        source,
    })
}

/// Prints the sequences in the folder, curve by curve.
pub(super) fn print(grids: &Grids, folder: &RunFolder) -> Result<(), Failure> {
    for index in 0..grids.len() {
        let file = file(grids, index);
        if folder.file(&file).exists() {
            let sequence: Vec<AirTransmission> = folder.read_json(&file)?;
            output::data(wirecost_report::sequence::table(
                &grids.curve_text(index),
                &sequence,
            ));
        }
    }
    Ok(())
}

fn file(grids: &Grids, index: usize) -> String {
    format!("{SEQUENCES}/{}.json", grids.key(index))
}
