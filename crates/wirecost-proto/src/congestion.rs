//! The congestion control of TCP by name.

crate::named! {
    /// The congestion control of both ends of a TCP connection. Live it is the kernel's; virtual time has all but BBR.
    ///
    /// Named as in files, flags and the kernel (tcp(7), `TCP_CONGESTION`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Congestion {
        /// CUBIC (RFC 9438), the default of Linux.
        #[default]
        Cubic => "cubic",
        /// Reno (RFC 5681, RFC 6582).
        Reno => "reno",
        /// BBR, in the version of the kernel.
        Bbr => "bbr",
    }
}

impl Congestion {
    /// Whether the TCP of virtual time has it.
    pub const fn is_simulated(self) -> bool {
        match self {
            Self::Cubic | Self::Reno => true,
            Self::Bbr => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_written() {
        for name in Congestion::NAMES {
            assert_eq!(name.parse::<Congestion>().map(Congestion::name), Ok(name));
        }
        assert!("CUBIC".parse::<Congestion>().is_err());
    }
}
