//! Devices and tariffs by name or file.

use std::path::Path;

use wirecost_cost::Tariff;
use wirecost_energy::Device;
use wirecost_files::Input;
use wirecost_scenario::{ScenarioError, device, tariff};
use wirecost_stack::name::nearest_of;

use crate::exit::Failure;

/// The device of `--device`.
pub fn device(name: &str) -> Result<Device, Failure> {
    read(Input::Device, "device", name, &device::BUILT_IN, device::read)
}

/// The tariff of `--tariff`.
pub fn tariff(name: &str) -> Result<Tariff, Failure> {
    read(Input::Tariff, "tariff", name, &tariff::BUILT_IN, tariff::read)
}

fn read<T>(
    input: Input,
    kind: &str,
    name: &str,
    built_in: &[(&'static str, &str)],
    read: fn(&str, &str) -> Result<T, ScenarioError>,
) -> Result<T, Failure> {
    if let Some((known, text)) = built_in.iter().find(|(known, _)| *known == name) {
        return read(&format!("{kind}s/{known}.yaml"), text).map_err(Failure::from);
    }
    if !name.contains(['.', '/']) {
        let names = built_in.iter().map(|(known, _)| *known);
        let list = names.clone().collect::<Vec<&str>>().join(", ");
        let starts = names.clone().find(|known| known.starts_with(name));
        let hint = match starts.or_else(|| nearest_of(name, names)) {
            Some(meant) => format!("did you mean {meant}? The {kind}s are {list}"),
            None => format!("the {kind}s are {list}; a name with a dot or a slash is a file"),
        };
        return Err(Failure::usage(format!("unknown {kind} {name:?}")).with_hint(hint));
    }
    let text = input.text(Path::new(name)).map_err(|error| {
        Failure::usage(format!("cannot read {name}: {error}"))
            .with_hint(format!("write one: wirecost schema {kind} has its keys"))
    })?;
    read(name, &text).map_err(|error| {
        let hint = error.hint().map_or_else(
            || format!("wirecost schema {kind} has the keys of such a file, with their units"),
            str::to_owned,
        );
        Failure::from(error.in_file(name)).with_hint(hint)
    })
}
