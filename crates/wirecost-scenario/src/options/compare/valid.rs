//! Validates a comparison before it is run.

use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_proto::units::DisplayDuration;
use wirecost_security::Start;
use wirecost_stack::{Application, Channel, Stack};
use wirecost_wire::ipv6;

use super::{
    Contents, Engine, Medium, Options, Reconnect, Schedule, ServerPath, SharedLink, Target, below_ipv6,
};
use crate::options::content::Content;
use crate::options::handshake::ServerOf;
use crate::options::refusal::{About, Checked, Refusal, once, refuse};
use crate::options::sending;

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
    pub fn validate(&self) -> Checked {
        let zero = |is_zero: bool| is_zero.then_some("must be at least 1");
        refuse(About::Key("count"), zero(self.samples == 0))?;
        let is_silent = self.schedules.iter().any(|schedule| schedule.messages == 0);
        refuse(About::Key("messages_per_connection"), zero(is_silent))?;
        // The order is that in which a person would correct: what runs at all, then its times, then what it carries.
        self.validate_engine()?;
        self.validate_times()?;
        let is_foreign = self.client_certificates && !self.target.is_builtin();
        let why = "it works with the built-in servers: no other server asks for a certificate";
        refuse(About::Key("client_certificates"), is_foreign.then_some(why))?;
        let server = match (self.target.is_builtin(), self.target == Target::Running) {
            (true, _) => ServerOf::Own,
            (false, true) => ServerOf::Running,
            (false, false) => ServerOf::Started,
        };
        self.handshake.validate(server, &self.stacks)?;
        self.validate_running()?;
        self.validate_sending()?;
        self.validate_amount()?;
        self.validate_links()?;
        self.validate_keep_alive()?;
        self.validate_starts()?;
        once("stack", "stack", &self.stacks)?;
        once("start", "start", &self.starts)?;
        self.validate_contents()?;
        // Two equal cells would have one key, and one of them would be missing without a word.
        once("link", "link", &self.links)?;
        once(
            "interval",
            "interval with its messages per connection",
            &self.schedules,
        )?;
        let speaks = |stack: &Stack| self.target.speaks(*stack);
        let is_mute = !self.stacks.iter().any(speaks);
        let (target, spoken) = (self.target, self.target.spoken());
        let why = || format!("{target} speaks none of the stacks asked for; it speaks {spoken}");
        refuse(About::Key("target"), is_mute.then(why))
    }

    /// Times that a run can wait for.
    fn validate_times(&self) -> Checked {
        let mut times = vec![
            ("settle", self.settle, LONGEST_WAIT),
            ("timeout", self.timeout, LONGEST_WAIT),
        ];
        let longest = match self.engine {
            // Virtual time waits for nothing, so that a month is no wait.
            Engine::Sim => LONGEST_SIMULATED_INTERVAL,
            Engine::Auto | Engine::Live => LONGEST_WAIT,
        };
        let intervals = self.schedules.iter().filter_map(|schedule| schedule.interval);
        times.extend(intervals.map(|interval| ("interval", interval, longest)));
        let is_wrong = |(_, time, most): &(&str, Duration, Duration)| time.is_zero() || time > most;
        let Some((key, got, most)) = times.into_iter().find(is_wrong) else {
            return Ok(());
        };
        let (hours, got) = (most.as_secs() / 3_600, DisplayDuration(got));
        let why = format!("must be above 0 ms and at most {hours} h, got {got}");
        Err(Refusal::new(key, why))
    }

    /// Links that can be, and can carry what is to cross them.
    fn validate_links(&self) -> Checked {
        for link in &self.links {
            link.validate()
                .map_err(|error| Refusal::new("link", error.to_string()))?;
            let mtu = link.up.mtu.min(link.down.mtu);
            let is_small = self.ipv6 && mtu < ipv6::MIN_MTU;
            refuse(About::Key("ipv6"), is_small.then(|| below_ipv6(mtu)))?;
        }
        Ok(())
    }

    /// Each content is named once.
    fn validate_contents(&self) -> Checked {
        match &self.contents {
            Contents::Sizes(sizes) => once("size", "size", sizes),
            Contents::Readings(lists) => {
                once("readings", "number of readings", &lists.readings)?;
                once("encoding", "encoding", &lists.encodings)?;
                once("compression", "compression", &lists.compressions)
            }
        }
    }

    /// The engine must be able to run what is asked for.
    fn validate_engine(&self) -> Checked {
        if self.engine == Engine::Sim && !self.target.is_builtin() {
            let target = self.target_name();
            let why = format!(
                "the engine sim knows the built-in servers only: leave out {target}, or take the engine live"
            );
            return Err(Refusal::new("target", why));
        }
        let (samples, most) = (u64::from(self.samples), self.max_samples());
        if samples > most {
            let instead = if self.engine.goes_live() {
                ", or take the engine sim"
            } else {
                ""
            };
            let why = format!(
                "a cell of {samples} samples is more than the {most} devices that one run holds: take fewer{instead}"
            );
            return Err(Refusal::new("count", why));
        }
        let cell = self.live_cell().and_then(|link| link.cell);
        let why = |cell| {
            format!(
                "the engine live cannot run a modelled NB-IoT cell ({cell}), which exists in virtual time only"
            )
        };
        refuse(About::Key("engine"), cell.map(why))?;
        self.shared_link
            .map_or(Ok(()), |shared| self.validate_shared_link(shared))
    }

    /// Devices that share a link: in virtual time, over an emulated link, at an interval, with cold starts.
    fn validate_shared_link(&self, shared: SharedLink) -> Checked {
        let settles = |schedule: &Schedule| schedule.interval.is_none();
        let (key, why) = match () {
            () if self.has_cell() => (
                "shared_link",
                "it is about an emulated link: the devices of a modelled NB-IoT cell share it by the load of the cell",
            ),
            () if self.engine != Engine::Sim => (
                "shared_link",
                "it works in virtual time only, so far: take the engine sim",
            ),
            () if self.schedules.iter().any(settles) => (
                "shared_link",
                "devices that share a link send at an interval: give them one",
            ),
            () if self.starts != [Start::Cold] => (
                "start",
                "devices that share a link start cold, so far: leave out the start",
            ),
            () if self.reconnect == Reconnect::Never => (
                "reconnect",
                "devices that share a link connect again as needed: leave out never",
            ),
            () => {
                let late = shared.spread.filter(|spread| *spread > LONGEST_WAIT);
                let why = |spread| format!("must be at most 1 h, got {}", DisplayDuration(spread));
                return refuse(About::Key("spread"), late.map(why));
            }
        };
        Err(Refusal::new(key, why))
    }

    /// A chunk has bytes, and offload belongs to the interfaces of the emulated link.
    fn validate_sending(&self) -> Checked {
        let is_empty = self.sending.chunk.is_some_and(|chunk| chunk.bytes() == 0);
        refuse(About::Key("chunk"), is_empty.then_some("must be at least 1B"))?;
        if let Some((key, why)) = self.sending.http.problem(self.target.is_builtin()) {
            return Err(Refusal::new(key, why));
        }
        // A stack that cannot pipeline says why itself.
        let is_idle = |stack: &Stack| !stack.pipelines() && stack.cannot_pipeline().is_none();
        let is_idle = self.sending.pipelined_connect && self.stacks.iter().all(is_idle);
        let why = "it would change nothing: of the stacks, none has a request to connect with an answer to wait for, as MQTT and AMQP have";
        refuse(About::Key("pipelined_connect"), is_idle.then_some(why))?;
        let has_link = self.path() != Some(ServerPath::Real);
        refuse(
            About::Key("congestion"),
            sending::congestion_problem(self.sending.congestion, self.engine != Engine::Live, has_link),
        )?;
        refuse(
            About::Key("amqp_frame_size"),
            sending::frame_size_problem(self.sending.amqp_frame_size, self.target.is_builtin()),
        )?;
        if !self.sending.offload {
            return Ok(());
        }
        let corrupts = |link: &LinkConfig| !link.up.corrupt.is_zero() || !link.down.corrupt.is_zero();
        let translates = |link: &LinkConfig| link.nat != wirecost_link::NatTimeouts::default();
        let why = match () {
            () if self.engine != Engine::Live => "virtual time has none: take the engine live",
            () if self.path() == Some(ServerPath::Real) => "the real path has its own: leave out one of them",
            () if self.medium == Some(Medium::Tun) => "a TUN device has none: leave out the packet path tun",
            () if self.links.iter().any(corrupts) => {
                "a packet that is cut after its corruption has a correct checksum: leave out the corruption"
            }
            () if self.links.iter().any(translates) => {
                "an address translator completes checksums: leave out the time-outs of the translator"
            }
            () => return Ok(()),
        };
        let why = format!("it keeps the segmentation offload of interfaces, and {why}");
        Err(Refusal::new("offload", why))
    }

    const fn max_samples(&self) -> u64 {
        if self.engine.goes_live() {
            MAX_DEVICES
        } else {
            MAX_SIMULATED_DEVICES
        }
    }

    /// At least one combination of stack and start must be possible.
    fn validate_starts(&self) -> Checked {
        let mut refusals = Vec::new();
        for (stack, start) in self.ways() {
            let refusal = stack
                .cannot_start(start)
                .or_else(|| self.cannot_share(stack))
                .or_else(|| self.sending.refuses(stack))
                .or_else(|| self.handshake.refuses(stack));
            match refusal {
                // One is enough: the others become cells that say why they were not run.
                None => return Ok(()),
                Some(reason) => refusals.push(reason),
            }
        }
        let reason = refusals
            .into_iter()
            .next()
            .unwrap_or_else(|| "no stack and no start is asked for".into());
        Err(Refusal::new("stack", format!("nothing to run: {reason}")))
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
    fn validate_amount(&self) -> Checked {
        let messages = self.schedules.iter().map(|schedule| schedule.messages);
        if let Some(messages) = messages.clone().find(|messages| *messages > MAX_MESSAGES) {
            let why = format!("must be at most {MAX_MESSAGES}, got {messages}");
            return Err(Refusal::new("messages_per_connection", why));
        }
        let contents = self.contents.each();
        if let Some(content) = contents.iter().find(|content| content.most_bytes() > MAX_SIZE) {
            let key = match (&self.sending.payload, content) {
                (Some(_), _) => "payload",
                (None, Content::Size(_)) => "size",
                (None, Content::Readings(_)) => "readings",
            };
            return Err(Refusal::new(key, format!("must be at most 1GB, got {content}")));
        }
        let sizes: u64 = contents.iter().map(|content| content.most_bytes()).sum();
        let cells_per_size = (self.stacks.len() * self.starts.len() * self.links.len()) as u64;
        // One more, as each device may have a warm-up message.
        let per_device: u64 = messages.map(|messages| messages + 1).sum();
        let messages = cells_per_size
            .saturating_mul(u64::from(self.samples))
            .saturating_mul(per_device);
        // Saturating: the product of allowed values may exceed 64 bits, and must not wrap to a small number.
        let payload = sizes.saturating_mul(messages);
        if payload > MAX_PAYLOAD {
            let gigabytes = payload / 1_000_000_000;
            let why = format!(
                "this run would send {gigabytes} GB of payload, more than 1,000 GB: take fewer samples, fewer messages of each, \
                 or less in each"
            );
            return Err(Refusal::new("count", why));
        }
        Ok(())
    }

    /// A step ends when the link is quiet. PINGREQs that follow one another faster keep it busy.
    fn validate_keep_alive(&self) -> Checked {
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
        let why = format!(
            "{} leaves the link no {} of quiet: raise it, set it to 0s, or lower the settle time",
            DisplayDuration(keep_alive),
            DisplayDuration(self.settle)
        );
        Err(Refusal::new("keep_alive", why))
    }
}
