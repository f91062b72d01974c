//! Devices and tariffs by name or file.

use std::path::Path;

use wirecost_cost::Tariff;
use wirecost_energy::Device;
use wirecost_files::Input;
use wirecost_scenario::catalog::Catalog;
use wirecost_scenario::{ScenarioError, device, tariff};

use crate::exit::Failure;

/// The device of `--device`.
pub fn device(name: &str) -> Result<Device, Failure> {
    Ok(read(Input::Device, &device::CATALOG, name, device::read)?.0)
}

/// The tariff of `--tariff`.
pub fn tariff(name: &str) -> Result<Tariff, Failure> {
    Ok(read(Input::Tariff, &tariff::CATALOG, name, tariff::read)?.0)
}

/// What the file of a name or a path says, and its text.
pub fn read<T>(
    input: Input,
    catalog: &Catalog,
    name: &str,
    read: fn(&str, &str) -> Result<T, ScenarioError>,
) -> Result<(T, String), Failure> {
    let kind = catalog.kind;
    let known = catalog.find(name);
    let known = known.map_err(|unknown| Failure::usage(unknown.sentence()).with_hint(unknown.hint()))?;
    if let Some((known, text)) = known {
        let file = read(&format!("{kind}s/{known}.yaml"), text)?;
        return Ok((file, text.to_owned()));
    }
    let text = input.text(Path::new(name)).map_err(|error| {
        Failure::usage(format!("cannot read {name}: {error}")).with_hint(format!(
            "wirecost {kind}s NAME --out {name} writes one to start from; wirecost {kind}s lists the names"
        ))
    })?;
    let file = read(name, &text).map_err(|error| {
        let hint = error.hint().map_or_else(
            || format!("wirecost schema {kind} has the keys of such a file, with their units"),
            str::to_owned,
        );
        Failure::from(error.in_file(name)).with_hint(hint)
    })?;
    Ok((file, text))
}
