//! The gains from every cell to one device, drawn when it arrives.

use std::sync::Arc;

use wirecost_proto::Rng;

use crate::antenna::{BORESIGHTS_DEG, attenuation_db};
use crate::config::Config;
use crate::decibel::{decibels, linear};
use crate::geometry::{Geometry, Point};
use crate::pathloss::path_loss_db;

const POSITION: u64 = 1;
const SHADOWING: u64 = 2;

/// Where a device is and what the way to each cell costs, without fading.
#[derive(Clone, Debug)]
pub struct Gains {
    /// Its place.
    pub place: Point,
    /// Path gain with both antennas, as a linear ratio: one per cell, in the order of cells.
    pub linear: Arc<[f64]>,
    /// The cell with the largest gain.
    pub serving: usize,
}

impl Gains {
    /// Draws a device's place and its shadowing from the device's own stream.
    pub fn draw(config: &Config, geometry: &Geometry, device: Rng) -> Self {
        let place = geometry.place(&mut device.purpose(POSITION));
        let shadows = shadows_db(config, geometry.sites(), device.purpose(SHADOWING));
        let linear: Arc<[f64]> = cell_gains_db(config, geometry, place, &shadows)
            .map(linear)
            .collect();
        Self::new(place, linear)
    }

    /// A device with these gains, at the centre of the lattice; for tests and closed forms.
    pub fn fixed(gains_db: &[f64]) -> Self {
        Self::new(Point::default(), gains_db.iter().copied().map(linear).collect())
    }

    fn new(place: Point, linear: Arc<[f64]>) -> Self {
        let best = linear.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let serving = best.map_or(0, |(cell, _)| cell);
        Self {
            place,
            linear,
            serving,
        }
    }

    /// The gain to the serving cell, in dB; the coupling loss is its negative.
    pub fn serving_db(&self) -> f64 {
        decibels(self.linear[self.serving])
    }
}

/// Shadowing per site in dB: a part common to all and a part of its own, so that two sites correlate as configured.
fn shadows_db(config: &Config, sites: usize, mut rng: Rng) -> Vec<f64> {
    let radio = &config.radio;
    let common = radio.shadow_sd_db * libm::sqrt(radio.shadow_corr_site) * rng.next_normal();
    let own = radio.shadow_sd_db * libm::sqrt(1.0 - radio.shadow_corr_site);
    (0..sites).map(|_| common + own * rng.next_normal()).collect()
}

fn cell_gains_db<'a>(
    config: &'a Config,
    geometry: &'a Geometry,
    place: Point,
    shadows: &'a [f64],
) -> impl Iterator<Item = f64> + 'a {
    let radio = &config.radio;
    let sectors = usize::from(config.scenario.sectors_per_site);
    let fixed =
        radio.enb_ant_gain_dbi - radio.enb_cable_loss_db + radio.ue_ant_gain_dbi - radio.indoor_loss_db;
    (0..geometry.sites()).flat_map(move |site| {
        let sight = geometry.sight(place, site);
        let loss = path_loss_db(radio, sight.distance_m) + shadows[site];
        (0..sectors).map(move |sector| {
            let pattern = match sectors {
                1 => 0.0,
                _ => attenuation_db(radio, sight.bearing_deg - BORESIGHTS_DEG[sector]),
            };
            fixed + pattern - loss
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantile(sorted: &[f64], share: f64) -> f64 {
        sorted[((sorted.len() - 1) as f64 * share) as usize]
    }

    /// Coupling losses of the default scenario against the quantiles that an independent program computed from the same rules (docs/models/nbiot.md).
    #[test]
    fn coupling_losses_have_the_known_quantiles() {
        let config = Config::default();
        let geometry = Geometry::new(&config.scenario);
        let devices = (0..20_000).map(|index| Gains::draw(&config, &geometry, Rng::new(5).host(index)));
        let mut losses: Vec<f64> = devices.map(|gains| -gains.serving_db()).collect();
        losses.sort_by(f64::total_cmp);
        for (share, expected) in [(0.05, 102.8), (0.5, 123.2), (0.95, 136.8), (0.99, 142.0)] {
            let loss = quantile(&losses, share);
            assert!(
                (loss - expected).abs() < 0.6,
                "{share}: {loss} dB, not {expected} dB"
            );
        }
    }

    #[test]
    fn always_on_cells_leave_the_known_downlink_sinr() {
        let config = Config::default();
        let geometry = Geometry::new(&config.scenario);
        let mut ratios: Vec<f64> = (0..20_000)
            .map(|index| {
                let gains = Gains::draw(&config, &geometry, Rng::new(6).host(index));
                let own = gains.linear[gains.serving];
                let noise = linear(crate::decibel::noise_dbm(180e3, 5.0) - 46.0);
                decibels(own / (gains.linear.iter().sum::<f64>() - own + noise))
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        for (share, expected) in [(0.01, -4.9), (0.05, -3.3), (0.5, 3.6)] {
            let ratio = quantile(&ratios, share);
            assert!(
                (ratio - expected).abs() < 1.0,
                "{share}: {ratio} dB, not {expected} dB"
            );
        }
    }

    #[test]
    fn a_device_is_the_same_whenever_it_is_drawn() {
        let config = Config::default();
        let geometry = Geometry::new(&config.scenario);
        let one = Gains::draw(&config, &geometry, Rng::new(1).host(9));
        let _other = Gains::draw(&config, &geometry, Rng::new(1).host(3));
        let again = Gains::draw(&config, &geometry, Rng::new(1).host(9));
        assert_eq!(one.linear, again.linear);
        assert_eq!(one.place, again.place);
    }
}
