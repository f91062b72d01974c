//! The settings of a modelled NB-IoT cell in place of an emulated link.

use wirecost_link::{CellProfile, DirectionConfig, LinkConfig, NbiotCell};

use super::LinkError;

/// The settings of a modelled NB-IoT cell in place of an emulated link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellSettings {
    /// The parameters of the network; `None`: the link is emulated.
    pub profile: Option<CellProfile>,
    /// Reports of other devices per second and cell; `None`: the device is alone.
    pub load: Option<f64>,
    /// Coupling loss between device and cell, in dB; `None`: [`MEDIAN_COUPLING_LOSS_DB`].
    pub coupling_loss_db: Option<f64>,
}

/// The median coupling loss of the devices in the network of the profiles, rounded, in dB (docs/models/nbiot.md).
pub const MEDIAN_COUPLING_LOSS_DB: f64 = 123.0;

impl CellSettings {
    /// These settings, and those of `base` where these say nothing.
    pub(super) fn over(self, base: Self) -> Self {
        Self {
            profile: self.profile.or(base.profile),
            load: self.load.or(base.load),
            coupling_loss_db: self.coupling_loss_db.or(base.coupling_loss_db),
        }
    }

    /// The cell; `None`: the link is emulated.
    pub(super) fn cell(self) -> Result<Option<NbiotCell>, LinkError> {
        if let Some(profile) = self.profile {
            return Ok(Some(NbiotCell {
                profile,
                load: self.load.unwrap_or_default(),
                coupling_loss_db: self.coupling_loss_db.unwrap_or(MEDIAN_COUPLING_LOSS_DB),
            }));
        }
        let given = [
            ("cell_load", self.load.is_some()),
            ("coupling_loss", self.coupling_loss_db.is_some()),
        ];
        let given = given.into_iter().find(|(_, is_given)| *is_given);
        given.map_or(Ok(None), |(key, _)| Err(LinkError::NoCell(key)))
    }
}

/// The link as a modelled cell, if it is one. The internet behind it has a delay and a largest packet, and nothing else.
pub(super) fn in_cell(link: LinkConfig, cell: Option<NbiotCell>) -> Result<LinkConfig, LinkError> {
    let perfect = DirectionConfig::default();
    let differs = |key: &'static str, of: fn(&DirectionConfig, &DirectionConfig) -> bool| {
        [link.up, link.down]
            .iter()
            .any(|way| of(way, &perfect))
            .then_some(key)
    };
    let impairments = [
        differs("rate", |way, perfect| way.rate != perfect.rate),
        differs("loss", |way, perfect| way.loss != perfect.loss),
        differs("queue", |way, perfect| way.queue != perfect.queue),
        differs("delay_variation", |way, perfect| {
            way.delay_variation != perfect.delay_variation
        }),
        differs("reorder", |way, perfect| way.reorder != perfect.reorder),
        differs("duplicate", |way, perfect| way.duplicate != perfect.duplicate),
        differs("corrupt", |way, perfect| way.corrupt != perfect.corrupt),
        (!link.nat.is_none()).then_some("nat_timeout"),
    ];
    match impairments.into_iter().flatten().next() {
        // The cell has these from its model: a second value would be applied twice, or not at all.
        Some(key) if cell.is_some() => Err(LinkError::CellDecides(key)),
        _ => Ok(LinkConfig { cell, ..link }),
    }
}
