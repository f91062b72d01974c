//! How long a store of energy lasts: what it is drained by, what it loses by itself, and how long a cell stays good at all.

/// Years that a cell stays good where its sheet says nothing else. Maker's sheets of lithium thionyl chloride say 10 (EEMB ER10450,
/// 2015) to 15 and more.
pub const SHELF_LIFE_YEARS: f64 = 10.0;

/// The part of its capacity that a cell loses by itself in a year where its sheet says nothing else (EEMB ER10450, 2015).
pub const SELF_DISCHARGE: f64 = 0.01;

/// Years of a cell whose device would empty it in `emptied` years, if it lost nothing by itself. It loses the part
/// `self_discharge` of its new capacity each year, and no cell lives longer than its shelf life.
///
/// `1 / years = 1 / emptied + self_discharge`, at most `shelf_years`.
pub fn life(emptied: f64, self_discharge: f64, shelf_years: f64) -> f64 {
    (1.0 / (1.0 / emptied + self_discharge)).min(shelf_years)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_nothing_drains_lasts_its_shelf_life() {
        assert_eq!(life(f64::INFINITY, 0.0, 10.0), 10.0);
        assert_eq!(life(f64::INFINITY, 0.5, 10.0), 2.0, "it empties itself before");
        assert_eq!(life(5.0, 0.2, 10.0), 2.5);
    }
}
