//! Changes of an NB-IoT network or of its endpoints, beside the given ones.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use wirecost_stack::name::nearest_of;

/// Declares the changes: a variant with its comment and its name.
macro_rules! changes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// A change of the network or of the endpoints beside the given ones.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WhatIf {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl WhatIf {
            /// Every one.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name on the command line, in scenarios and in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// What it changes, as the help says it.
            const fn help(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+),)+
                }
            }
        }
    };
}

changes! {
    /// Connections are set up, with security and reconfiguration, instead of resumed.
    Setup = "setup",
    /// Data rides in signalling (control-plane CIoT optimisation).
    ControlPlane = "cp",
    /// Data rides in Msg3 (early data transmission).
    EarlyData = "edt",
    /// Devices announce that nothing follows (release assistance).
    ReleaseAssistance = "rai",
    /// Cells grant the uplink only after random access.
    NoProactiveGrant = "no-grant",
    /// Data rides in a preconfigured uplink resource, without a preamble (Release 16).
    Preconfigured = "pur",
    /// Devices cannot be reached after an active time (power saving mode); paging and updates cost energy.
    PowerSaving = "psm",
    /// Idle devices look for pages in extended cycles; paging and updates cost energy.
    ExtendedCycle = "edrx",
    /// Payloads of UDP cross the air in signalling, without IP (non-IP delivery); not with TCP.
    NonIp = "non-ip",
    /// Headers of IP, UDP and CoAP are compressed by static rules (SCHC); not with TCP.
    HeaderCompression = "schc",
    /// The connection is kept from report to report, with keep-alives (TCP).
    PersistentTcp = "persistent-tcp",
    /// TCP sends data in its SYN, with a cookie from before (RFC 7413).
    FastOpen = "fast-open",
    /// The security handshake resumes an earlier session (TLS).
    Resumed = "resumed",
    /// The security handshake resumes, with data in its first flight, which can be replayed (TLS 1.3).
    ZeroRtt = "0rtt",
    /// OSCORE instead of the stack's channel (CoAP).
    Oscore = "oscore",
    /// The stack without the protection of its channel.
    NoSecurity = "no-security",
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|change| change.name() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|change| change.name()).collect();
            let meant = nearest_of(text, names.iter().copied());
            let meant = meant.map_or_else(String::new, |name| format!(" (did you mean {name}?)"));
            format!("{text} is no change{meant}: take one of {}", names.join(", "))
        })
    }
}

impl ValueEnum for WhatIf {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = self.help().trim();
        Some(PossibleValue::new(self.name()).help(help.strip_suffix('.').unwrap_or(help)))
    }
}
