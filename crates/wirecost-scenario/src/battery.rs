//! Files of kinds of cells: what they lose by themselves, how long they stay good, and what they can feed, each with its source.

use wirecost_energy::Chemistry;
use wirecost_proto::Probability;
use wirecost_results::value::ValueError;

use crate::catalog::{Catalog, built_in};
use crate::electric::{above_zero, current, quantity};
use crate::error::ScenarioError;
use crate::figure::{Figures, versioned};
use crate::node::Node;
use crate::table::{parsed, text};

/// The kinds of cells that are part of the program: name and text.
pub const BUILT_IN: [(&str, &str); 6] = built_in!(
    "batteries",
    "alkaline",
    "li-fes2",
    "li-ion",
    "li-mno2",
    "li-socl2-bobbin",
    "li-socl2-spiral",
);

/// The same files, to be found by name.
pub const CATALOG: Catalog = Catalog {
    kind: "cell",
    files: &BUILT_IN,
    absent: &[],
};

const KEYS: [&str; 8] = [
    "wirecost_battery",
    "title",
    "sources",
    "self_discharge",
    "shelf_life",
    "usable",
    "continuous",
    "pulse",
];

/// Reads a kind of cell.
///
/// # Errors
/// It is not such a file; the error has the line.
pub fn read(name: &str, file: &str) -> Result<Chemistry, ScenarioError> {
    let read = || {
        let file = Node::parse(file)?;
        let table = versioned(&file, "battery", "wirecost_battery", &KEYS)?;
        let figures = Figures::new(&file)?;
        table.required("title", text)?;
        let part = |key| figures.one(&table, ("", key), parsed::<Probability>);
        let limit = |key| figures.one(&table, ("", key), current);
        Ok(Chemistry {
            self_discharge: figures
                .required(&table, ("", "self_discharge"), parsed::<Probability>)?
                .value
                .value(),
            shelf_years: figures.required(&table, ("", "shelf_life"), years)?.value,
            // What no maker says is not assumed: all of the capacity.
            usable: part("usable")?.map_or(1.0, |figure| figure.value.value()),
            continuous: limit("continuous")?.map(|figure| figure.value),
            pulse: limit("pulse")?.map(|figure| figure.value),
        })
    };
    read().map_err(|error: ScenarioError| error.in_file(name))
}

/// A shelf life in years, above 0.
fn years(text: &str) -> Result<f64, ValueError> {
    above_zero(quantity(text, &[("y", 1.0)], "a shelf life: write 10y")?, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_cells_of_the_program_are_read() {
        for (name, file) in BUILT_IN {
            let chemistry = read(name, file).expect(name);
            assert!(
                chemistry.shelf_years >= 3.0 && chemistry.self_discharge > 0.0,
                "{name}"
            );
        }
        let bobbin = read("bobbin", BUILT_IN[4].1).expect("a kind of cell");
        assert_eq!((bobbin.pulse, bobbin.shelf_years), (Some(0.06), 10.0));
    }

    #[test]
    fn a_cell_without_a_shelf_life_is_refused_with_its_line() {
        let file = "wirecost_battery: 1\ntitle: mine\nself_discharge: 1%\nshelf_life: 0y\n";
        let error = read("mine.yaml", file).expect_err("no life").to_string();
        assert!(
            error.starts_with("mine.yaml:4: shelf_life: must be above 0"),
            "{error}"
        );
    }
}
