//! Changes of the network beside the given one.

use wirecost_nbiot::Config;
use wirecost_nbiot::config::{Flow, HeaderCompression, IdleMode, PdnType, ReleaseAssistance};
use wirecost_scenario::options::what_if::WhatIf;
use wirecost_security::Start;
use wirecost_stack::Stack;

/// The network with this change, as the devices of `stack` meet it.
pub fn applied(change: WhatIf, config: &Config, stack: Stack) -> Config {
    let mut config = config.clone();
    match change {
        WhatIf::Setup => config.rrc.flow = Flow::Setup,
        WhatIf::ControlPlane => config.rrc.flow = Flow::ControlPlane,
        WhatIf::EarlyData => config.rrc.flow = Flow::EarlyData,
        WhatIf::ReleaseAssistance => config.rrc.release_assistance = ReleaseAssistance::NoFurtherData,
        WhatIf::NoProactiveGrant => config.mac.ul_grant_after_dl = false,
        WhatIf::Preconfigured => config.rrc.flow = Flow::Preconfigured,
        WhatIf::PowerSaving => config.idle.mode = IdleMode::Psm,
        WhatIf::ExtendedCycle => config.idle.mode = IdleMode::Edrx,
        WhatIf::NonIp => {
            config.rrc.flow = Flow::ControlPlane;
            config.rrc.release_assistance = announced_by(stack);
            config.bearer.pdn_type = PdnType::NonIp;
            // Without IP there is no header to compress.
            config.bearer.header_compression = HeaderCompression::None;
        }
        WhatIf::HeaderCompression => config.bearer.header_compression = HeaderCompression::Schc,
        // Changes of the endpoints.
        WhatIf::PersistentTcp
        | WhatIf::FastOpen
        | WhatIf::Resumed
        | WhatIf::ZeroRtt
        | WhatIf::Oscore
        | WhatIf::NoSecurity => {}
    }
    config
}

/// What the signalling message with a device's data says of traffic to come (TS 24.301, release assistance indication): a device
/// knows whether one answer follows its only packet. With a handshake before the report it says nothing.
const fn announced_by(stack: Stack) -> ReleaseAssistance {
    match (stack.has_connect(Start::Cold), stack.is_answered()) {
        (false, false) => ReleaseAssistance::NoFurtherData,
        (false, true) => ReleaseAssistance::OneDownlink,
        (true, _) => ReleaseAssistance::None,
    }
}
