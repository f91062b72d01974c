//! Where devices were: `map.json`, with the outlines of the cells and a sample of the devices of each point.

use serde::{Deserialize, Serialize};

/// The file of a results folder.
pub const FILE: &str = "map.json";
/// The format of this file.
pub const FORMAT: &str = "wirecost-nbiot-map/1";
/// Devices of a sample; chance makes it a little larger or smaller.
pub const SAMPLE_DEVICES: u64 = 2_000;

/// `map.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceMap {
    /// [`FORMAT`].
    pub format: String,
    /// Places of the sites, in m east and north of the centre site.
    pub sites: Vec<[f64; 2]>,
    /// Shifts in m at which the same sites are again (wrap-around); empty without.
    pub copies: Vec<[f64; 2]>,
    /// The cells, in the order of their numbers.
    pub cells: Vec<CellOutline>,
    /// The first replication of each point.
    pub runs: Vec<MappedRun>,
}

/// The area in which the antenna of a cell points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellOutline {
    /// Index of its site.
    pub site: usize,
    /// Corners in m, in order.
    pub corners: Vec<[f64; 2]>,
}

/// The sample of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MappedRun {
    /// The stack, as in the summary.
    pub stack: String,
    /// Bytes of the report.
    pub size_bytes: usize,
    /// Reports per second and cell.
    pub load: f64,
    /// The replication that the devices are of.
    pub replication: u32,
    /// The devices.
    pub sample: PlaceSample,
}

/// Some of the devices of a run whose reports were measured: those of its first reports, whatever became of them. They are the same
/// devices at every load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaceSample {
    /// Reports with a smaller number are in the sample; 0 in files of earlier versions.
    #[serde(default)]
    pub first: u64,
    /// The devices, in the order in which they left the cells.
    pub devices: Vec<DevicePlace>,
}

/// A device. Written as `[x_m, y_m, cell, level, path_gain_db, delay_ms]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Columns", into = "Columns")]
pub struct DevicePlace {
    /// Metres east of the centre site.
    pub x_m: i32,
    /// Metres north of it.
    pub y_m: i32,
    /// The serving cell.
    pub cell: u16,
    /// The coverage level: 0, 1 or 2.
    pub level: u8,
    /// Path gain to the serving cell, in dB, with one place.
    pub path_gain_db: f64,
    /// Delay of its report in ms; `None`: it did not arrive.
    pub delay_ms: Option<u32>,
}

type Columns = (i32, i32, u16, u8, f64, Option<u32>);

impl From<Columns> for DevicePlace {
    fn from((x_m, y_m, cell, level, path_gain_db, delay_ms): Columns) -> Self {
        Self {
            x_m,
            y_m,
            cell,
            level,
            path_gain_db,
            delay_ms,
        }
    }
}

impl From<DevicePlace> for Columns {
    fn from(place: DevicePlace) -> Self {
        (
            place.x_m,
            place.y_m,
            place.cell,
            place.level,
            place.path_gain_db,
            place.delay_ms,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_row_of_columns() {
        let place = DevicePlace {
            x_m: -120,
            y_m: 34,
            cell: 20,
            level: 1,
            path_gain_db: -131.5,
            delay_ms: None,
        };
        let text = serde_json::to_string(&place).expect("JSON");
        assert_eq!(text, "[-120,34,20,1,-131.5,null]");
        assert_eq!(serde_json::from_str::<DevicePlace>(&text).ok(), Some(place));
    }
}
