//! `latency/<cell>-<stack>-<bytes>B*` of a comparison: the times that a cell counts, one histogram for each kind of time.

use serde::{Deserialize, Serialize};
use wirecost_stats::hgrm::Hgrm;
use wirecost_stats::{Histogram, hlog};

use crate::curves::CurveKind;
use crate::folder::{ResultsError, RunFolder};
use crate::summary::Cell;

/// The times of all messages and connects of a cell: those of its figures. A kind without a time is not there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CellTimes {
    /// The response times of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Histogram>,
    /// The service times of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Histogram>,
    /// From the start of a connect until the client may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Histogram>,
    /// The one-way delays of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Histogram>,
}

impl CellTimes {
    /// The times of a kind. A cell has no schedule to be late behind.
    pub const fn of_kind(&self, kind: CurveKind) -> Option<&Histogram> {
        match kind {
            CurveKind::Response => self.response.as_ref(),
            CurveKind::Service => self.service.as_ref(),
            CurveKind::Connect => self.connect.as_ref(),
            CurveKind::Delay => self.delay.as_ref(),
            CurveKind::Lag => None,
        }
    }

    /// Writes the files of cell `index`: each kind as `.hlog`, and response times as `.hgrm` too.
    ///
    /// The log has one row, which begins at 0 and has no length: the samples of a cell are not those of one stretch of time.
    ///
    /// # Errors
    /// The file system refuses.
    pub(crate) fn write(&self, folder: &RunFolder, index: usize, cell: &Cell) -> Result<(), ResultsError> {
        let stem = format!("latency/{index:03}-{}-{}B", cell.stack, cell.payload_bytes);
        for kind in CurveKind::ALL {
            let Some(times) = self.of_kind(kind) else {
                continue;
            };
            let log = hlog::text(0.0, kind.words(), [(0.0, 0.0, times)]);
            folder.write_derived(&format!("{stem}-{}.hlog", kind.name()), log.as_bytes())?;
            if kind == CurveKind::Response {
                let distribution = Hgrm(times).to_string();
                folder.write_derived(&format!("{stem}.hgrm"), distribution.as_bytes())?;
            }
        }
        Ok(())
    }
}
