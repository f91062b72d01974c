//! The congestion control of TCP by name.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// The congestion control of both ends of a TCP connection. Live it is the kernel's; virtual time has all but BBR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// CUBIC (RFC 9438), the default of Linux.
    #[default]
    Cubic,
    /// Reno (RFC 5681, RFC 6582).
    Reno,
    /// BBR, in the version of the kernel.
    Bbr,
}

impl Congestion {
    /// Their names.
    pub const NAMES: [&'static str; 3] = ["cubic", "reno", "bbr"];

    /// Its name in files, flags and the kernel (tcp(7), `TCP_CONGESTION`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }

    /// Whether the TCP of virtual time has it.
    pub const fn is_simulated(self) -> bool {
        match self {
            Self::Cubic | Self::Reno => true,
            Self::Bbr => false,
        }
    }
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Congestion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Cubic, Self::Reno, Self::Bbr];
        all.into_iter().find(|one| one.name() == text).ok_or_else(|| {
            format!(
                "unknown value {text:?}, expected one of {}",
                Self::NAMES.join(", ")
            )
        })
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
