//! Reasons to look before trusting figures.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reason to look before trusting the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// One sentence for a person.
    pub text: String,
    /// Whether the figures must not be used.
    pub invalidates: bool,
}

impl Warning {
    /// A warning that leaves the figures valid.
    pub const fn note(kind: WarningKind, text: String) -> Self {
        Self {
            kind,
            text,
            invalidates: false,
        }
    }

    /// A warning that makes the figures invalid.
    pub const fn invalid(kind: WarningKind, text: String) -> Self {
        Self {
            kind,
            text,
            invalidates: true,
        }
    }

    /// Whether it says that figures are wrong, rather than that there are none.
    pub fn spoils_figures(&self) -> bool {
        self.invalidates && self.kind != WarningKind::NoSamples
    }
}

/// Writes the kinds once: as variants, and as their names in results.
macro_rules! kinds {
    ($($(#[doc = $doc:expr])* $kind:ident => $name:literal,)*) => {
        /// What a warning is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum WarningKind {
            $($(#[doc = $doc])* #[serde(rename = $name)] $kind,)*
        }

        impl WarningKind {
            /// Its name in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The capture does not hold every packet: its disk was full.
    CaptureCutShort => "capture-cut-short",
    /// The capture lacks secrets of connections: a part ended before it had handed them over.
    CaptureWithoutKeys => "capture-without-keys",
    /// The clock of the machine was set meanwhile.
    ClockStepped => "clock-stepped",
    /// A closed loop: what the target delays is asked less.
    ClosedLoop => "closed-loop",
    /// More connections were lost than there are devices.
    ConnectionsLost => "connections-lost",
    /// The mean of the delay is not the one asked for: none is below zero.
    DelayVariationMean => "delay-variation-mean",
    /// Subscribers did not receive everything that was sent.
    DeliveriesMissing => "deliveries-missing",
    /// Devices failed, or connections did.
    DevicesFailed => "devices-failed",
    /// A simulated cell of a kind that was measured to differ from the kernel.
    DiffersFromKernel => "differs-from-kernel",
    /// The emulated link handed packets over too late.
    EmulatorLate => "emulator-late",
    /// The generator ended before its time.
    EndedEarly => "ended-early",
    /// Too few messages for what is said of them.
    FewMessages => "few-messages",
    /// Too few samples for what is said of them.
    FewSamples => "few-samples",
    /// The generator's CPU had little left.
    GeneratorCpu => "generator-cpu",
    /// The generator's kernel dropped datagrams.
    GeneratorDropped => "generator-dropped",
    /// The generator did not send what was offered.
    GeneratorSaturated => "generator-saturated",
    /// What the link decided is not what was asked for.
    LinkDecisionsOff => "link-decisions-off",
    /// No echo came back over the link.
    LinkNotChecked => "link-not-checked",
    /// The link's round trip is not the one asked for.
    LinkRttOff => "link-rtt-off",
    /// An interface dropped packets.
    MachineDroppedPackets => "machine-dropped-packets",
    /// A setting of the namespaces could not be made.
    NetworkSettings => "network-settings",
    /// There is no CPU profile of the target.
    NoProfile => "no-profile",
    /// Not one message has a time.
    NoSamples => "no-samples",
    /// A device could not have a socket.
    NoSocket => "no-socket",
    /// A URL names a port of another protocol.
    OtherProtocol => "other-protocol",
    /// As fast as it goes: times tell how long it went on.
    Saturation => "saturation",
    /// The generator was late.
    ScheduleLag => "schedule-lag",
    /// The server ended.
    ServerFailed => "server-failed",
    /// The live cell and the simulated one differ.
    SimulationDiffers => "simulation-differs",
    /// Two endpoints describe the same bytes differently.
    SpansDisagree => "spans-disagree",
    /// The hypervisor gave processor time to others.
    Steal => "steal",
    /// The server refused subscriptions.
    SubscriptionRefused => "subscription-refused",
    /// The target's CPU had little left.
    TargetCpu => "target-cpu",
    /// Messages were not answered in time.
    Timeouts => "timeouts",
    /// Bytes that no endpoint described.
    UnattributedBytes => "unattributed-bytes",
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
