//! A modelled NB-IoT cell in place of an emulated link: which network, how loaded, and where the device is.
//!
//! This is a description; `wirecost-nbiot` is the model, in virtual time only.

use std::fmt;

/// The coupling losses that a device may have, in dB: from beside the antenna to beyond the coverage limit of TR 45.820.
pub const COUPLING_LOSSES_DB: [f64; 2] = [50.0, 170.0];

/// The largest load, in reports per second and cell: that of `wirecost nbiot`.
pub const MOST_LOAD: f64 = 40.0;

/// A device's place in a network of NB-IoT cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NbiotCell {
    /// The parameters of the network.
    pub profile: CellProfile,
    /// Reports of other devices, per second and cell. 0: one cell without other devices and without neighbours.
    pub load: f64,
    /// Coupling loss between the device and its cell, both antennas included, in dB.
    pub coupling_loss_db: f64,
}

impl NbiotCell {
    /// Whether the device is alone.
    pub fn is_unloaded(&self) -> bool {
        self.load == 0.0
    }
}

impl fmt::Display for NbiotCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "profile {}, ", self.profile)?;
        match self.is_unloaded() {
            true => f.write_str("unloaded")?,
            false => write!(f, "{}/s per cell from other devices", self.load)?,
        }
        write!(f, ", coupling loss {} dB", self.coupling_loss_db)
    }
}

wirecost_proto::named! {
    /// The named parameters of a network.
    ///
    /// Named as in `wirecost nbiot`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum CellProfile {
        /// The cell of the published study.
        Study => "study",
        /// A cell of an operator.
        #[default]
        Vodafone => "vodafone",
    }
}
