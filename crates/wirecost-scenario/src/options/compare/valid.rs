//! Validates a comparison before it is run.

use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::link_text::LinkText;
use wirecost_security::Start;
use wirecost_stack::{Application, Channel, Stack};
use wirecost_wire::ipv6;

use super::Contents;
use super::{Engine, Medium, Options, OptionsError, Reconnect, ServerPath, SharedLink};

/// The largest number of devices of a live run: the addresses of the network, without those of the link checks.
pub const MAX_DEVICES: u64 = 60_000;
/// The largest number of devices of a cell in virtual time: the number of addresses.
const MAX_SIMULATED_DEVICES: u64 = 4_000_000;
/// The largest payload. It is held in memory by both sides and the link.
const MAX_SIZE: u64 = 1_000_000_000;
/// The largest sum of payloads of a run: more than half a day at the pace at which devices start.
const MAX_PAYLOAD: u64 = 1_000_000_000_000;
/// The most messages of one device.
const MAX_MESSAGES: u64 = 1_000_000;
/// The time that a PINGREQ and its answer keep a link busy beyond the round trips: a delayed acknowledgement (RFC 9293,
/// section 3.8.6.3, allows 500 ms; Linux takes 40 ms), with a margin.
const KEEP_ALIVE_MARGIN: Duration = Duration::from_millis(100);
/// The longest time-out and settle time, and the longest interval of a live device.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// The longest interval in virtual time: 31 days.
const LONGEST_SIMULATED_INTERVAL: Duration = Duration::from_secs(31 * 86_400);

impl Options {
    /// Checks that the comparison can be run.
    ///
    /// # Errors
    /// The first reason why it cannot be run.
    pub fn validate(&self) -> Result<(), OptionsError> {
        if self.samples == 0 {
            return Err(OptionsError::Zero("-n"));
        }
        if self.schedules.iter().any(|schedule| schedule.messages == 0) {
            return Err(OptionsError::Zero("--messages-per-connection"));
        }
        self.validate_engine()?;
        let mut times = vec![
            ("--settle", self.settle, LONGEST_WAIT),
            ("--timeout", self.timeout, LONGEST_WAIT),
        ];
        let longest = match self.engine {
            Engine::Sim => LONGEST_SIMULATED_INTERVAL,
            Engine::Auto | Engine::Live => LONGEST_WAIT,
        };
        let intervals = self.schedules.iter().filter_map(|schedule| schedule.interval);
        times.extend(intervals.map(|interval| ("--interval", interval, longest)));
        let is_wrong = |(_, time, most): &(&str, Duration, Duration)| time.is_zero() || time > most;
        if let Some((flag, got, most)) = times.into_iter().find(is_wrong) {
            return Err(OptionsError::Time { flag, got, most });
        }
        if self.client_certificates && !self.target.is_builtin() {
            return Err(OptionsError::ClientCertificates);
        }
        self.validate_running()?;
        self.validate_sending()?;
        self.validate_amount()?;
        for link in &self.links {
            link.validate()?;
            let mtu = link.up.mtu.min(link.down.mtu);
            if self.ipv6 && mtu < ipv6::MIN_MTU {
                return Err(OptionsError::MtuBelowIpv6(mtu));
            }
        }
        self.validate_keep_alive()?;
        self.validate_starts()?;
        once("stack", &self.stacks)?;
        once("start", &self.starts)?;
        self.validate_contents()?;
        once("link", &self.links)?;
        once("interval with its messages per connection", &self.schedules)?;
        if !self.stacks.iter().any(|stack| self.target.speaks(*stack)) {
            return Err(OptionsError::TargetSpeaksNone {
                target: self.target,
                speaks: self.target.spoken(),
            });
        }
        Ok(())
    }

    /// Each content is named once.
    fn validate_contents(&self) -> Result<(), OptionsError> {
        match &self.contents {
            Contents::Sizes(sizes) => once("size", sizes),
            Contents::Readings(lists) => {
                once("number of readings", &lists.readings)?;
                once("encoding", &lists.encodings)?;
                once("compression", &lists.compressions)
            }
        }
    }

    /// The engine must be able to run what is asked for.
    fn validate_engine(&self) -> Result<(), OptionsError> {
        if self.engine == Engine::Sim && !self.target.is_builtin() {
            return Err(OptionsError::SimulatedTarget(self.target_name()));
        }
        let (samples, most) = (u64::from(self.samples), self.max_samples());
        if samples > most {
            let instead = if self.engine.goes_live() {
                ", or take --engine sim"
            } else {
                ""
            };
            return Err(OptionsError::TooManyDevices {
                samples,
                most,
                instead,
            });
        }
        if let Some(cell) = self.links.iter().find(|link| link.cell.is_some()) {
            if self.engine.goes_live() {
                return Err(OptionsError::CellLive(Box::new(LinkText(*cell))));
            }
            if self.shared_link.is_some() {
                return Err(OptionsError::CellShared);
            }
        }
        match self.shared_link {
            Some(_) if self.engine != Engine::Sim => Err(OptionsError::SharedLinkLive),
            Some(_) if self.schedules.iter().any(|schedule| schedule.interval.is_none()) => {
                Err(OptionsError::SharedLinkSettles)
            }
            Some(_) if self.starts != [Start::Cold] => Err(OptionsError::SharedLinkStart),
            Some(_) if self.reconnect == Reconnect::Never => Err(OptionsError::SharedLinkNever),
            Some(SharedLink { spread: Some(spread) }) if spread > LONGEST_WAIT => {
                Err(OptionsError::TooLarge {
                    flag: "--spread",
                    most: "1 h",
                    got: DisplayDuration(spread).to_string(),
                })
            }
            _ => Ok(()),
        }
    }

    /// A chunk has bytes, and offload belongs to the interfaces of the emulated link.
    fn validate_sending(&self) -> Result<(), OptionsError> {
        if self.sending.chunk.is_some_and(|chunk| chunk.bytes() == 0) {
            return Err(OptionsError::Zero("--chunk"));
        }
        if let Some((key, why)) = self.sending.http.problem(self.target.is_builtin()) {
            return Err(OptionsError::Http { key, why });
        }
        if !self.sending.offload {
            return Ok(());
        }
        let corrupts = |link: &LinkConfig| !link.up.corrupt.is_zero() || !link.down.corrupt.is_zero();
        let translates = |link: &LinkConfig| link.nat != wirecost_link::NatTimeouts::default();
        let why = match () {
            () if self.engine != Engine::Live => "virtual time has none: leave out --engine, or take live",
            () if self.path() == Some(ServerPath::Real) => "the real path has its own: leave out one of them",
            () if self.medium == Some(Medium::Tun) => "a TUN device has none: leave out --packet-path tun",
            () if self.links.iter().any(corrupts) => {
                "a packet that is cut after its corruption has a correct checksum: leave out the corruption"
            }
            () if self.links.iter().any(translates) => {
                "an address translator completes checksums: leave out the time-outs of the translator"
            }
            () => return Ok(()),
        };
        Err(OptionsError::Offload(why))
    }

    const fn max_samples(&self) -> u64 {
        if self.engine.goes_live() {
            MAX_DEVICES
        } else {
            MAX_SIMULATED_DEVICES
        }
    }

    /// At least one combination of stack and start must be possible.
    fn validate_starts(&self) -> Result<(), OptionsError> {
        let mut refusals = Vec::new();
        for (stack, start) in self.ways() {
            let refusal = stack
                .cannot_start(start)
                .or_else(|| self.cannot_share(stack))
                .or_else(|| self.sending.refuses(stack));
            match refusal {
                None => return Ok(()),
                Some(reason) => refusals.push(reason),
            }
        }
        let reason = refusals
            .into_iter()
            .next()
            .unwrap_or_else(|| "no stack and no start is asked for".into());
        Err(OptionsError::NothingToRun(reason))
    }

    /// Why devices of a stack cannot share a link; `None` if they can, or do not share one.
    pub(crate) fn cannot_share(&self, stack: Stack) -> Option<String> {
        self.shared_link?;
        if !stack.is_answered() {
            return Some(format!(
                "{stack} has no answers, and on a shared link only answers are timed"
            ));
        }
        (stack.channel != Channel::Plain || stack.application == Application::Http3)
            .then(|| format!("{stack} is protected: devices that share a link speak in the clear, so far"))
    }

    /// The payloads must fit into memory, and the run into a day.
    fn validate_amount(&self) -> Result<(), OptionsError> {
        let messages = self.schedules.iter().map(|schedule| schedule.messages);
        if let Some(messages) = messages.clone().find(|messages| *messages > MAX_MESSAGES) {
            return Err(OptionsError::TooLarge {
                flag: "--messages-per-connection",
                most: "1000000",
                got: messages.to_string(),
            });
        }
        let contents = self.contents.each();
        if let Some(content) = contents.iter().find(|content| content.most_bytes() > MAX_SIZE) {
            return Err(OptionsError::TooLarge {
                flag: "--size",
                most: "1GB",
                got: content.to_string(),
            });
        }
        let sizes: u64 = contents.iter().map(|content| content.most_bytes()).sum();
        let cells_per_size = (self.stacks.len() * self.starts.len() * self.links.len()) as u64;
        let per_device: u64 = messages.map(|messages| messages + 1).sum();
        let messages = cells_per_size
            .saturating_mul(u64::from(self.samples))
            .saturating_mul(per_device);
        let payload = sizes.saturating_mul(messages);
        if payload > MAX_PAYLOAD {
            let gigabytes = payload / 1_000_000_000;
            return Err(OptionsError::TooMuchPayload { gigabytes });
        }
        Ok(())
    }

    /// A step ends when the link is quiet. PINGREQs that follow one another faster keep it busy.
    fn validate_keep_alive(&self) -> Result<(), OptionsError> {
        let own = self.schedules.iter().filter_map(|schedule| schedule.keep_alive);
        let shortest = own.chain([self.keep_alive]).filter(|seconds| *seconds > 0).min();
        let keep_alive = Duration::from_secs(shortest.unwrap_or_default().into());
        let rtt = self.links.iter().map(LinkConfig::rtt).max().unwrap_or_default();
        let quiet_after = self.settle + rtt * 2 + KEEP_ALIVE_MARGIN;
        if keep_alive.is_zero()
            || keep_alive > quiet_after
            || !self.stacks.iter().any(|stack| stack.publishes())
        {
            return Ok(());
        }
        Err(OptionsError::KeepAlive {
            keep_alive,
            settle: self.settle,
        })
    }
}

/// Refuses a list with duplicates: their cells would be equal.
fn once<T: PartialEq>(what: &'static str, list: &[T]) -> Result<(), OptionsError> {
    let mut places = list.iter().enumerate();
    let Some((place, _)) = places.find(|(place, item)| list[..*place].contains(item)) else {
        return Ok(());
    };
    Err(OptionsError::Twice {
        what,
        position: place + 1,
        count: list.len(),
    })
}
