//! Sites on a hexagonal lattice, with wrap-around.

use wirecost_proto::Rng;

use crate::config::ScenarioConfig;

/// Direction from a site to its first neighbour, in degrees: the antennas of `antenna::BORESIGHTS_DEG` point at neighbours (TR 36.942
/// section 4.2).
const NEIGHBOUR_DEG: f64 = 30.0;

/// A place in the plane, in m.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// East of the centre site.
    pub x: f64,
    /// North of it.
    pub y: f64,
}

impl Point {
    fn plus(self, other: Self) -> Self {
        Self {
            x: self.x + other.x,
            y: self.y + other.y,
        }
    }
}

/// Where the sites are.
#[derive(Clone, Debug)]
pub struct Geometry {
    isd_m: f64,
    min_distance_m: f64,
    sites: Vec<Point>,
    /// Shifts of the lattice at which the same sites are again; the first is none.
    shifts: Vec<Point>,
}

/// A site as a device sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// The distance to the nearest copy of the site, in m.
    pub distance_m: f64,
    /// The direction from there to the device, in degrees.
    pub bearing_deg: f64,
}

impl Geometry {
    /// The sites of a scenario.
    pub fn new(scenario: &ScenarioConfig) -> Self {
        let isd = scenario.isd_m;
        let mut sites = vec![Point::default()];
        if scenario.n_sites == 7 {
            sites.extend((0..6).map(|turn| turned(isd, NEIGHBOUR_DEG + f64::from(turn) * 60.0)));
        }
        let mut shifts = vec![Point::default()];
        if scenario.n_sites == 7 && scenario.wraparound {
            // 2 u + v, with u and v two steps to neighbours 60 degrees apart, has the length sqrt(7).
            let length = isd * libm::sqrt(7.0);
            let angle = NEIGHBOUR_DEG + libm::atan2(libm::sqrt(3.0) / 2.0, 2.5).to_degrees();
            shifts.extend((0..6).map(|turn| turned(length, angle + f64::from(turn) * 60.0)));
        }
        Self {
            isd_m: isd,
            min_distance_m: scenario.min_distance_m,
            sites,
            shifts,
        }
    }

    /// The places of the sites.
    pub fn places(&self) -> &[Point] {
        &self.sites
    }

    /// Shifts at which the same sites are again; none without wrap-around.
    pub fn copies(&self) -> &[Point] {
        &self.shifts[1..]
    }

    /// The corners of a site's hexagon.
    pub fn hexagon(&self, site: usize) -> Vec<Point> {
        let corner = self.isd_m / libm::sqrt(3.0);
        let turned = (0..6).map(|turn| turned(corner, f64::from(turn) * 60.0));
        turned.map(|offset| self.sites[site].plus(offset)).collect()
    }

    /// The corners of a sector: the part of its site's hexagon within 60 degrees of its antenna's direction. The site is the first.
    pub fn sector(&self, site: usize, boresight_deg: f64) -> Vec<Point> {
        let (edge, corner) = (self.isd_m / 2.0, self.isd_m / libm::sqrt(3.0));
        let spokes = [(edge, -60.0), (corner, -30.0), (corner, 30.0), (edge, 60.0)];
        let outer = spokes.map(|(length, turn)| turned(length, boresight_deg + turn));
        let offsets = std::iter::once(Point::default()).chain(outer);
        offsets.map(|offset| self.sites[site].plus(offset)).collect()
    }

    /// The number of sites.
    pub fn sites(&self) -> usize {
        self.sites.len()
    }

    /// A place uniform over the hexagons of all sites, no nearer to a site than the smallest distance.
    pub fn place(&self, rng: &mut Rng) -> Point {
        let site = self.sites[rng.next_below(self.sites.len() as u64) as usize];
        loop {
            let half = self.isd_m / libm::sqrt(3.0);
            let offset = Point {
                x: (2.0 * rng.next_f64() - 1.0) * half,
                y: (2.0 * rng.next_f64() - 1.0) * half,
            };
            if self.is_in_hexagon(offset) && libm::hypot(offset.x, offset.y) >= self.min_distance_m {
                return site.plus(offset);
            }
        }
    }

    /// Whether an offset from a site is nearer to it than to its neighbours.
    fn is_in_hexagon(&self, offset: Point) -> bool {
        (0..3).all(|turn| {
            let towards = turned(1.0, NEIGHBOUR_DEG + f64::from(turn) * 60.0);
            (offset.x * towards.x + offset.y * towards.y).abs() <= self.isd_m / 2.0
        })
    }

    /// How a device at `place` sees the site with this index.
    pub fn sight(&self, place: Point, site: usize) -> Sight {
        let images = self.shifts.iter().map(|shift| {
            let image = self.sites[site].plus(*shift);
            let (x, y) = (place.x - image.x, place.y - image.y);
            Sight {
                distance_m: libm::hypot(x, y).max(self.min_distance_m),
                bearing_deg: libm::atan2(y, x).to_degrees(),
            }
        });
        let nearest = images.min_by(|a, b| a.distance_m.total_cmp(&b.distance_m));
        nearest.expect("the lattice has a shift of none")
    }
}

fn turned(length: f64, degrees: f64) -> Point {
    let angle = degrees.to_radians();
    Point {
        x: length * libm::cos(angle),
        y: length * libm::sin(angle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn with_wraparound_every_site_has_six_neighbours() {
        let geometry = Geometry::new(&ScenarioConfig::default());
        for site in 0..7 {
            let others = (0..7).filter(|other| *other != site);
            for other in others {
                let sight = geometry.sight(geometry.sites[site], other);
                assert!(
                    (sight.distance_m - 1_732.0).abs() < 1e-6,
                    "{site} {other}: {sight:?}"
                );
            }
        }
    }

    #[test]
    fn the_area_of_a_site_is_that_of_52_547_devices_per_sector() {
        // TR 45.820 annex E: 1,517 households per km2 with 40 devices each; a sector has a third of the hexagon.
        let isd_km = 1.732_f64;
        let area = isd_km * isd_km * libm::sqrt(3.0) / 2.0 / 3.0;
        let devices = 1_517.0 * 40.0 * area;
        assert!((devices - 52_547.3).abs() < 0.5, "{devices}");
    }

    #[test]
    fn three_sectors_have_the_area_of_their_site() {
        let geometry = Geometry::new(&ScenarioConfig::default());
        let area = |corners: &[Point]| {
            let next = corners.iter().cycle().skip(1);
            let twice: f64 = corners.iter().zip(next).map(|(a, b)| a.x * b.y - b.x * a.y).sum();
            twice / 2.0
        };
        let sectors = crate::antenna::BORESIGHTS_DEG.map(|boresight| area(&geometry.sector(3, boresight)));
        let site = 1_732.0 * 1_732.0 * libm::sqrt(3.0) / 2.0;
        assert!((sectors[0] - sectors[1]).abs() < 1e-3, "{sectors:?}");
        assert!((sectors.iter().sum::<f64>() - site).abs() < 1e-3, "{sectors:?}");
        assert!((area(&geometry.hexagon(3)) - site).abs() < 1e-3);
    }

    proptest! {
        #[test]
        fn no_device_is_nearer_to_another_site_than_its_hexagon_allows(seed: u64) {
            let scenario = ScenarioConfig::default();
            let geometry = Geometry::new(&scenario);
            let place = geometry.place(&mut Rng::new(seed));
            let nearest = (0..7).map(|site| geometry.sight(place, site).distance_m).fold(f64::MAX, f64::min);
            prop_assert!(nearest >= scenario.min_distance_m);
            prop_assert!(nearest <= scenario.isd_m / libm::sqrt(3.0) + 1e-6);
        }
    }
}
