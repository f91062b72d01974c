//! Where devices were: the map of a grid's first replications.

use wirecost_nbiot::Config;
use wirecost_nbiot::antenna::BORESIGHTS_DEG;
use wirecost_nbiot::geometry::{Geometry, Point};
use wirecost_results::nbiot::map::{CellOutline, DeviceMap, FORMAT, MappedRun};

use super::{FinishedRun, Grid};

impl Grid {
    /// The cells, and the devices of the first replication of each point that has ended.
    pub fn map(&self, finished: &[FinishedRun]) -> DeviceMap {
        let config = &self.options.network;
        let geometry = Geometry::new(&config.scenario);
        let mut sampled: Vec<&FinishedRun> = finished.iter().collect();
        sampled.sort_by_key(|run| run.index);
        DeviceMap {
            format: FORMAT.into(),
            sites: geometry.places().iter().map(metres).collect(),
            copies: geometry.copies().iter().map(metres).collect(),
            cells: outlines(config, &geometry),
            runs: sampled.into_iter().filter_map(|run| self.mapped(run)).collect(),
        }
    }

    fn mapped(&self, finished: &FinishedRun) -> Option<MappedRun> {
        let run = self.runs[finished.index];
        let curve = &self.curves[run.curve];
        Some(MappedRun {
            stack: curve.name(),
            size_bytes: curve.size_bytes,
            load: run.load,
            replication: run.replication,
            sample: finished.figures.places.clone()?,
        })
    }
}

/// The cells in the order of their numbers: the sectors of the first site, then those of the next.
fn outlines(config: &Config, geometry: &Geometry) -> Vec<CellOutline> {
    let corners = |site: usize| match config.scenario.sectors_per_site {
        1 => vec![geometry.hexagon(site)],
        _ => BORESIGHTS_DEG
            .map(|boresight| geometry.sector(site, boresight))
            .into(),
    };
    let of_site = |site: usize| {
        corners(site).into_iter().map(move |corners| CellOutline {
            site,
            corners: corners.iter().map(metres).collect(),
        })
    };
    (0..geometry.sites()).flat_map(of_site).collect()
}

fn metres(place: &Point) -> [f64; 2] {
    [place.x, place.y].map(|metres| (metres * 10.0).round() / 10.0)
}
