//! Reasons to look before trusting figures.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reason to look before trusting the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// Whether figures are wrong, rather than missing.
    pub fn spoils_figures(&self) -> bool {
        self.invalidates && self.kind != WarningKind::NoSamples
    }
}

/// Declares each kind once, with its name in results.
macro_rules! kinds {
    ($($(#[doc = $doc:expr])* $kind:ident => $name:literal,)*) => {
        /// What a warning is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Addresses of the target's name did not accept a connection.
    AddressPassedOver => "address-passed-over",
    /// An agent was lost before the end of the load.
    AgentLost => "agent-lost",
    /// The capture does not hold every packet: its disk was full.
    CaptureCutShort => "capture-cut-short",
    /// The capture lacks secrets of connections: a part ended before it had handed them over.
    CaptureWithoutKeys => "capture-without-keys",
    /// Packets were captured behind segmentation offload.
    CapturedBehindOffload => "captured-behind-offload",
    /// The clock of the machine was set meanwhile.
    ClockStepped => "clock-stepped",
    /// In a closed loop a slow target receives fewer messages.
    ClosedLoop => "closed-loop",
    /// More connections were lost than there are devices.
    ConnectionsLost => "connections-lost",
    /// The clocks of agents are not known well enough for delays between them.
    DelaysNotKnown => "delays-not-known",
    /// The mean delay differs from the configured one, because no delay is below zero.
    DelayVariationMean => "delay-variation-mean",
    /// Subscribers did not receive everything that was sent.
    DeliveriesMissing => "deliveries-missing",
    /// Devices failed, or connections did.
    DevicesFailed => "devices-failed",
    /// A simulated cell of a kind that is known to differ from the kernel.
    DiffersFromKernel => "differs-from-kernel",
    /// The emulated link delivered packets too late.
    EmulatorLate => "emulator-late",
    /// The generator failed.
    EndedEarly => "ended-early",
    /// There are too few messages for some of the figures.
    FewMessages => "few-messages",
    /// There are too few samples for some of the figures.
    FewSamples => "few-samples",
    /// The CPU of the generator was almost fully used.
    GeneratorCpu => "generator-cpu",
    /// The generator's kernel dropped datagrams.
    GeneratorDropped => "generator-dropped",
    /// The generator did not send all offered messages.
    GeneratorSaturated => "generator-saturated",
    /// The generator's machine had no port or no file left for connections.
    GeneratorSockets => "generator-sockets",
    /// The link's decisions differ from its configuration.
    LinkDecisionsOff => "link-decisions-off",
    /// The link returned no echo.
    LinkNotChecked => "link-not-checked",
    /// The round-trip time differs from the configured one.
    LinkRttOff => "link-rtt-off",
    /// An interface dropped packets.
    MachineDroppedPackets => "machine-dropped-packets",
    /// Messages of other programs came to subscribers.
    MessagesOfOthers => "messages-of-others",
    /// A setting of the namespaces could not be made.
    NetworkSettings => "network-settings",
    /// There is no CPU profile of the target.
    NoProfile => "no-profile",
    /// Not one message has a time.
    NoSamples => "no-samples",
    /// A device could not have a socket.
    NoSocket => "no-socket",
    /// Other programs of the machine used its CPUs.
    OtherPrograms => "other-programs",
    /// A URL names a port of another protocol.
    OtherProtocol => "other-protocol",
    /// A run of a program left something to say.
    ProgramRemark => "program-remark",
    /// Connections or datagrams did not pass the relay to the target.
    RelayShortfall => "relay-shortfall",
    /// The load was as fast as possible: times depend on its duration.
    Saturation => "saturation",
    /// The generator was late.
    ScheduleLag => "schedule-lag",
    /// The server ended.
    ServerFailed => "server-failed",
    /// The live cell and the simulated one differ.
    SimulationDiffers => "simulation-differs",
    /// Two endpoints describe the same bytes differently.
    SpansDisagree => "spans-disagree",
    /// The hypervisor took processor time.
    Steal => "steal",
    /// The server refused subscriptions.
    SubscriptionRefused => "subscription-refused",
    /// The CPU of the target was almost fully used.
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
