//! Devices and tariffs by name or file.

use std::path::Path;

use wirecost_account::Terms;
use wirecost_cost::Tariff;
use wirecost_energy::evidence::{self, Beside};
use wirecost_energy::network::Impossible;
use wirecost_energy::{Battery, Chemistry, Device};
use wirecost_files::Input;
use wirecost_proto::Probability;
use wirecost_scenario::catalog::Catalog;
use wirecost_scenario::{ScenarioError, battery, device, measurement, tariff};

use crate::arguments::{BatteryArguments, FleetArguments, NetworkArguments};
use crate::exit::Failure;

/// What energy and money are computed by.
pub struct Prices {
    /// The device with what its network sets.
    pub device: Option<Device>,
    tariff: Option<Tariff>,
    battery: Option<Battery>,
    beside: Option<Beside>,
    fleet: FleetArguments,
}

impl Prices {
    /// Reads the files of these options.
    ///
    /// # Errors
    /// A file cannot be read, or the network sets what the device does not have.
    pub fn read(
        (device, network): (Option<&str>, &NetworkArguments),
        battery: &BatteryArguments,
        tariff: Option<&str>,
        fleet: FleetArguments,
    ) -> Result<Self, Failure> {
        let (device, beside) = device_in(device, network)?;
        Ok(Self {
            device,
            beside,
            tariff: tariff.map(self::tariff).transpose()?,
            battery: self::battery(battery)?,
            fleet,
        })
    }

    /// The terms of an account.
    pub fn terms(&self) -> Terms<'_> {
        Terms {
            device: self.device.as_ref(),
            tariff: self.tariff.as_ref(),
            battery: self.battery,
            beside: self.beside,
            fleet: self.fleet.fleet(),
        }
    }
}

/// The device of `--device`.
pub fn device(name: &str) -> Result<Device, Failure> {
    Ok(read(Input::Device, &device::CATALOG, name, device::read)?.0)
}

/// The device of `--device` with what the network sets, and how far its file is from what was measured of its chip, whatever is set.
pub fn device_in(
    name: Option<&str>,
    network: &NetworkArguments,
) -> Result<(Option<Device>, Option<Beside>), Failure> {
    let Some(name) = name else {
        return Ok((None, None));
    };
    let device = device(name)?;
    // Before the network's settings: the chip was measured as its file says, not as this network has it.
    let beside = beside(&device);
    let set = device.set(&network.settings());
    set.map(|device| (Some(device), beside))
        .map_err(|impossible| match impossible {
            Impossible::Timer(..) => Failure::usage(impossible)
                .with_hint("give the time that is named: a network encodes no other"),
            Impossible::NoSaving { .. } => Failure::usage(impossible)
                .with_hint("give a longer time to the next update, or a shorter active time, with --psm"),
            Impossible::Listening { .. } => {
                Failure::usage(format!("{name}: {impossible}")).with_hint("give a longer cycle")
            }
            Impossible::Attaching { .. } => Failure::usage(format!("{name}: {impossible}")).with_hint(
                "give a longer time from one attach to the next, or a shorter search, with --attach",
            ),
            Impossible::Unreachable(_) => Failure::usage(impossible)
                .with_hint("give a smaller coupling loss with --coverage, or more power with --tx-power"),
            Impossible::TxPower(_) => Failure::usage(format!("{name}: {impossible}"))
                .with_hint("give a power of that range with --tx-power"),
            Impossible::Absent(_) => Failure::usage(format!("{name}: {impossible}")).with_hint(
                "leave the option out, or write a device file that has it (wirecost devices NAME --out FILE)",
            ),
        })
}

/// How far a device is from what was measured of its chip.
fn beside(device: &Device) -> Option<Beside> {
    evidence::beside(device, &measurement::built_in().ok()?)
}

/// The tariff of `--tariff`.
pub fn tariff(name: &str) -> Result<Tariff, Failure> {
    Ok(read(Input::Tariff, &tariff::CATALOG, name, tariff::read)?.0)
}

/// The battery of the options, with the kind of its cells.
pub fn battery(arguments: &BatteryArguments) -> Result<Option<Battery>, Failure> {
    let Some(size) = arguments.battery else {
        return Ok(None);
    };
    let named = arguments.chemistry.as_deref();
    let chemistry = named.map(chemistry).transpose()?.unwrap_or_default();
    let self_discharge = arguments.self_discharge.map(Probability::value);
    Ok(Some(size.battery(Chemistry {
        self_discharge: self_discharge.unwrap_or(chemistry.self_discharge),
        ..chemistry
    })))
}

/// The kind of cells of `--chemistry`.
fn chemistry(name: &str) -> Result<Chemistry, Failure> {
    let known = battery::CATALOG.find(name);
    let known = known.map_err(|unknown| Failure::usage(unknown.sentence()).with_hint(unknown.hint()))?;
    if let Some((known, text)) = known {
        return Ok(battery::read(&format!("batteries/{known}.yaml"), text)?);
    }
    let text = Input::Device
        .text(Path::new(name))
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")).with_hint(CHEMISTRY))?;
    battery::read(name, &text).map_err(|error| {
        let hint = error.hint().map_or_else(|| CHEMISTRY.to_owned(), str::to_owned);
        Failure::from(error.in_file(name)).with_hint(hint)
    })
}

/// What a file of a kind of cells has.
const CHEMISTRY: &str = "begin the file with wirecost_battery: 1, and write title, self_discharge: 1%, shelf_life: 10y, and continuous \
    and pulse, e.g. 60mA, where they are known";

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
