//! What follows from the options of a load.

use std::sync::Arc;
use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_proto::Stamp;
use wirecost_proto::driver::Writing;
use wirecost_results::load::LoopKind;
use wirecost_results::setting;
use wirecost_wire::ipv6;

use super::{Arrivals, LoadEngine, LoadOptions, LoadTarget, Offer, Payload, Phase, shared};
use crate::options::compare::below_ipv6;
use crate::options::sending;

impl LoadOptions {
    /// The runs of the load: itself, or as many as `repeat` says, which differ in their seeds.
    pub fn runs(&self) -> Vec<Self> {
        /// Searches for the highest rate repeat loads with the next seeds.
        const SEEDS_APART: u64 = 1_000_003;
        let run = |index: u32| Self {
            repeat: 1,
            seed: self.seed.wrapping_add(u64::from(index) * SEEDS_APART),
            ..self.clone()
        };
        (0..self.repeat).map(run).collect()
    }

    /// Whether it creates namespaces: network namespaces for a link, or the PID namespace of a real server.
    pub fn makes_namespaces(&self) -> bool {
        self.engine == LoadEngine::Live && (self.link.is_some() || self.is_beside_real_server())
    }

    /// Why the load cannot run over its link; `None` if it can, or has no link.
    pub fn cannot_cross(&self) -> Option<String> {
        let link = self.link.as_ref()?;
        if !self.sources.is_empty() {
            return Some(
                "devices on an emulated link have its addresses: leave out the source addresses".into(),
            );
        }
        if let Err(fault) = link.validate() {
            return Some(fault.to_string());
        }
        let mtu = link.up.mtu.min(link.down.mtu);
        if self.ipv6 && mtu < ipv6::MIN_MTU {
            return Some(below_ipv6(mtu));
        }
        self.stack.cannot_cross(mtu, self.ipv6)
    }

    /// Why the URL seems to contain a placeholder.
    pub fn has_placeholder_in_url(&self) -> Option<String> {
        let LoadTarget::Url(url) = &self.target else {
            return None;
        };
        let stray = url.stray_percent()?;
        Some(format!(
            "{url} has {stray:?}, which is no encoded character: write placeholders in the topic (resource), and a \
             percent sign of a URL as %25"
        ))
    }

    /// Why its devices cannot be made to speak IPv6, if that is asked for.
    pub fn cannot_choose_family(&self) -> Option<String> {
        let LoadTarget::Url(url) = &self.target else {
            return None;
        };
        let is_named = url.host.parse::<std::net::Ipv6Addr>().is_ok();
        let why = format!("{url} says where the target is: name an IPv6 address in it, like mqtt://[::1]");
        (self.ipv6 && !is_named).then_some(why)
    }

    /// Why its packets cannot be recorded, if that is asked for.
    pub fn cannot_record(&self) -> Option<String> {
        let why = "packets are recorded where they enter the emulated link, and there is none: give it a link, or run wirecost \
                   link -- wirecost load";
        (self.capture && !self.has_link()).then(|| why.to_owned())
    }

    /// Why no CPU profile can be taken, if one is asked for.
    pub fn cannot_profile(&self) -> Option<String> {
        let url = match &self.target {
            LoadTarget::Url(url) if self.profile => url,
            _ => return None,
        };
        Some(format!(
            "wirecost can profile only a target that it starts, and {url} runs already: name a stack, whose server is \
             started (builtin, mosquitto, rabbitmq, caddy, apache, libcoap), or leave out the profile"
        ))
    }

    /// The settings that its target runs with; none of a target that runs already.
    pub fn target_settings(&self) -> setting::Settings {
        match &self.target {
            LoadTarget::Started(target) => self.settings.of_target(*target),
            LoadTarget::Url(_) => setting::Settings::new(),
        }
    }

    /// Whether a real server that wirecost starts shares the CPUs of the generator.
    pub const fn is_beside_real_server(&self) -> bool {
        matches!(&self.target, LoadTarget::Started(target) if !target.is_builtin())
    }

    /// Whether packets cross an emulated link. In virtual time they always do.
    pub(super) const fn has_link(&self) -> bool {
        self.link.is_some() || matches!(self.engine, LoadEngine::Sim)
    }

    /// Whether devices keep the secrets of their connections, which only a reader of the capture needs.
    pub const fn keeps_keys(&self) -> bool {
        self.capture && self.keys && self.has_link()
    }

    /// How messages follow one another.
    pub fn loop_kind(&self) -> LoopKind {
        let offers = || self.phases.iter().filter_map(Phase::offer);
        let is_open = |offer: &Offer| matches!(offer.arrivals, Arrivals::Open { .. });
        let inflight = self.inflight.unwrap_or(1);
        if offers().next().is_none() {
            LoopKind::None
        // One open phase is enough: its times have a schedule that the others lack.
        } else if offers().any(is_open) {
            LoopKind::Open
        } else if inflight.min(self.stack.application.most_in_flight()) > 1 {
            LoopKind::Saturation
        } else {
            LoopKind::Closed
        }
    }

    /// The user properties of its messages, in the order of their names.
    pub fn user_properties(&self) -> Arc<[(String, String)]> {
        let pairs = self.user_properties.iter();
        pairs.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// How a driver writes to the streams of the devices.
    pub fn writing(&self) -> Writing {
        sending::writing(self.chunk, self.nagle, self.congestion)
    }

    /// Whether messages are answered.
    pub fn is_answered(&self) -> bool {
        let bytes = usize::try_from(self.payload.bytes()).unwrap_or(usize::MAX);
        self.stack.awaits_answer(bytes)
    }

    /// Whether payloads are long enough for a stamp, which identifies the message.
    pub fn is_stamped(&self) -> bool {
        let is_long = matches!(&self.payload, Payload::Size(size) if size.bytes() >= Stamp::BYTES as u64);
        is_long && !self.stack.object
    }

    /// Why its devices cannot share sockets, if that is asked for.
    pub fn cannot_share(&self) -> Option<String> {
        self.shared_socket.then(|| shared::refusal(self)).flatten()
    }

    /// After this time without an arrival no more messages are expected. On an emulated link a lost packet is
    /// retransmitted after about one round trip, and again after two more (RFC 6298, section 5.5); at its rate packets
    /// leave one after the other. A subscriber that polls has to ask first.
    pub fn stillness(&self) -> Duration {
        const STILL: Duration = Duration::from_secs(1);
        let crossing = |link: &LinkConfig| {
            let packets = [&link.up, &link.down].map(|way| {
                let bits = f64::from(way.mtu) * 8.0;
                way.rate.map_or(Duration::ZERO, |rate| {
                    Duration::from_secs_f64(bits / rate.bits_per_second() as f64)
                })
            });
            link.rtt() * 4 + packets.iter().sum::<Duration>()
        };
        let poll = self.poll().unwrap_or_default();
        STILL + poll + self.link.as_ref().map_or(Duration::ZERO, crossing)
    }

    /// How often subscribers ask for messages; `None` if there are none, or their server pushes messages.
    pub fn poll(&self) -> Option<Duration> {
        self.subscribers.as_ref()?.poll
    }

    /// Devices that send messages with `payload`: all that send but the one with a trace.
    pub fn emulated(&self) -> u32 {
        self.clients.saturating_sub(u32::from(self.trace.is_some()))
    }

    /// Devices that receive.
    pub fn receivers(&self) -> u32 {
        self.subscribers.as_ref().map_or(0, |some| some.devices)
    }
}
