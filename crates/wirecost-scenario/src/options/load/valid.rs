//! Validates a load before anything is started.

use std::time::Duration;

use wirecost_proto::hosts::MAX_SIMULATED_DEVICES;
use wirecost_proto::units::DisplayDuration;
use wirecost_security::Start;
use wirecost_stack::target::Target;
use wirecost_stack::{Application, Channel, Pattern};

use crate::options::handshake::ServerOf;
use crate::options::load::{
    Arrivals, LoadEngine, LoadOptions, LoadTarget, Offer, Payload, Phase, Who, resources,
};
use crate::options::refusal::{About, Checked, refuse};
use crate::options::sending;

impl LoadOptions {
    /// Whether the load can be run.
    ///
    /// # Errors
    /// The first reason why it cannot be run.
    pub fn validate(&self) -> Checked {
        refuse(About::Key("sites"), self.cannot_bridge())?;
        self.check_engine()?;
        refuse(About::Key("shard"), self.cannot_divide())?;
        self.check_stack()?;
        self.check_times()?;
        self.check_session()?;
        self.check_names()?;
        let mut phases = self.phases.iter().enumerate();
        phases.try_for_each(|(index, phase)| refuse(About::Phase(index), self.cannot_do(phase)))
    }

    /// Checks the options that only one of the engines has.
    fn check_engine(&self) -> Checked {
        let lacks_time = self.workers != 1 && self.service_time.is_none();
        refuse(
            About::Key("workers"),
            lacks_time.then(|| "workers need a service time".to_owned()),
        )?;
        if self.engine == LoadEngine::Sim {
            return self.check_simulated();
        }
        let why = "only the server of a load in virtual time has a service time: use the engine sim";
        refuse(
            About::Key("service_time"),
            self.service_time.map(|_| why.to_owned()),
        )
    }

    /// Checks the options that virtual time does not have.
    fn check_simulated(&self) -> Checked {
        let is_builtin = self.target == LoadTarget::Started(Target::Builtin);
        let devices = self.clients.saturating_add(self.receivers());
        for (key, is_refused, why) in [
            ("workers", self.workers == 0, "must be above 0"),
            (
                "target",
                !is_builtin,
                "a load in virtual time has the built-in server: name a stack, and leave out the target",
            ),
            (
                "shared_socket",
                self.shared_socket,
                "devices in virtual time have a socket each: leave out the shared sockets",
            ),
            (
                "sources",
                !self.sources.is_empty(),
                "devices in virtual time have addresses of their own: leave out the source addresses",
            ),
            (
                "processes",
                self.processes.is_some(),
                "a load in virtual time runs in one process: leave out the processes",
            ),
            (
                "profile",
                self.profile,
                "a server in virtual time uses no CPU: leave out the profile",
            ),
            (
                "clients",
                devices > MAX_SIMULATED_DEVICES,
                "virtual time has addresses for 16,842,749 devices",
            ),
        ] {
            refuse(About::Key(key), is_refused.then(|| why.to_owned()))?;
        }
        Ok(())
    }

    /// Checks stack, target, sockets and link.
    fn check_stack(&self) -> Checked {
        let stack = self.stack;
        // First: what the target does not speak at all needs no further reason.
        if let LoadTarget::Started(target) = &self.target
            && !target.speaks(stack)
        {
            let spoken = target.spoken();
            let why = format!("{target} does not speak {stack}: it speaks {spoken}");
            return refuse(About::Key("target"), Some(why));
        }
        refuse(About::Key("settings"), self.cannot_set())?;
        refuse(About::Key("payload"), self.cannot_replay())?;
        refuse(About::Key("target"), self.has_placeholder_in_url())?;
        refuse(About::Key("ipv6"), self.cannot_choose_family())?;
        refuse(About::Key("link"), self.cannot_cross())?;
        refuse(About::Key("capture"), self.cannot_record())?;
        refuse(About::Key("profile"), self.cannot_profile())?;
        refuse(About::Key("start"), stack.cannot_start(self.start))?;
        refuse(About::Key("start"), self.connects_once())?;
        let server = match &self.target {
            LoadTarget::Started(Target::Builtin) => ServerOf::Own,
            LoadTarget::Started(_) => ServerOf::Started,
            LoadTarget::Url(_) => ServerOf::Running,
        };
        self.handshake.validate(server, &[stack])?;
        refuse(About::Key("stack"), self.handshake.refuses(stack))?;
        let payload = match &self.payload {
            Payload::Size(_) => "size",
            Payload::Readings(_) => "readings",
            Payload::File(_) | Payload::Template(_) => "payload",
        };
        refuse(About::Key(payload), stack.refuses(self.payload.bytes()))?;
        let is_empty = self.chunk.is_some_and(|chunk| chunk.bytes() == 0);
        refuse(
            About::Key("chunk"),
            is_empty.then(|| "a chunk has at least 1 B".to_owned()),
        )?;
        refuse(About::Key("chunk"), sending::refusal(stack, self.chunk, false))?;
        refuse(About::Key("connection"), self.cannot_connect_per_message())?;
        refuse(About::Key("nagle"), sending::refusal(stack, None, self.nagle))?;
        refuse(About::Key("pipelined_connect"), self.cannot_pipeline())?;
        refuse(
            About::Key("congestion"),
            sending::congestion_refusal(stack, self.congestion),
        )?;
        let simulates = self.engine == LoadEngine::Sim;
        refuse(
            About::Key("congestion"),
            sending::congestion_problem(self.congestion, simulates, self.has_link()),
        )?;
        refuse(
            About::Key("amqp_frame_size"),
            sending::frame_size_refusal(self.stack, self.amqp_frame_size),
        )?;
        let is_builtin = self.target == LoadTarget::Started(Target::Builtin);
        refuse(
            About::Key("amqp_frame_size"),
            sending::frame_size_problem(self.amqp_frame_size, is_builtin),
        )?;
        self.check_http()?;
        refuse(About::Key("cert"), self.cannot_present())?;
        refuse(About::Key("stack"), self.lacks_contexts())?;
        refuse(About::Key("shared_socket"), self.cannot_share())
    }

    /// Why clients cannot send behind their request to connect. A subscriber must know whether the server has its session.
    fn cannot_pipeline(&self) -> Option<String> {
        if !self.pipelined_connect {
            return None;
        }
        let asks = self.session_expiry.is_some() && self.subscribers.is_some();
        let why = "a subscriber that does not wait for CONNACK does not know whether the server has its session: leave out session_expiry";
        let stack = self.stack;
        let lacks = (!stack.pipelines()).then(|| {
            format!("{stack} has no request to connect with an answer to wait for: MQTT and AMQP have")
        });
        stack.cannot_pipeline().or(lacks).or(asks.then(|| why.to_owned()))
    }

    /// Why brokers cannot pass on messages to one another.
    fn cannot_bridge(&self) -> Option<String> {
        let sites = self.sites.as_ref().filter(|sites| sites.has_bridges())?;
        let broker = match self.engine {
            LoadEngine::Live => Target::Mosquitto,
            LoadEngine::Sim => Target::Builtin,
        };
        let bridges = |name: &String| sites.named(name).is_some_and(|site| site.servers == [broker]);
        let servers = sites
            .place()
            .map(|placement| placement.servers)
            .unwrap_or_default();
        // Only Mosquitto's configuration has bridges here, and only the built-in broker runs in virtual time.
        if !servers.iter().all(bridges) {
            return Some(
                "a bridge is between two mosquitto servers live, and between two of servers: builtin in virtual time"
                    .into(),
            );
        }
        if !self.stack.is_mqtt() || self.stack.channel != Channel::Plain || self.ipv6 {
            return Some(format!(
                "a bridge passes on plain MQTT over IPv4, and the stack is {}",
                self.stack
            ));
        }
        None
    }

    /// Why its first device cannot send its trace.
    fn cannot_replay(&self) -> Option<String> {
        let trace = self.trace.as_ref()?;
        let publishes = self
            .phases
            .iter()
            .filter(|phase| matches!(phase, Phase::Publish(_)));
        if publishes.clone().any(|phase| {
            phase
                .offer()
                .is_some_and(|offer| offer.arrivals == Arrivals::Closed)
        }) {
            return Some("a trace is sent among messages at a rate: leave out closed_loop".to_owned());
        }
        // Its times count from the start of one phase: a second phase would send it again, or cut it.
        if publishes.count() != 1 {
            return Some("a trace is sent in one phase that publishes, from its start on".to_owned());
        }
        // The rate of the phase is divided among the others.
        if self.clients < 2 {
            return Some(
                "the first device sends the trace: the rate is that of the others, of which there are none"
                    .to_owned(),
            );
        }
        let mut values = trace.values().iter();
        values.find_map(|recorded| self.stack.refuses(recorded.value.len() as u64))
    }

    /// Why its target cannot have its settings.
    fn cannot_set(&self) -> Option<String> {
        match &self.target {
            LoadTarget::Started(target) => self.settings.refusal(*target),
            LoadTarget::Url(url) => (!self.settings.is_empty())
                .then(|| format!("{url} runs already, and has the settings that it was started with")),
        }
    }

    /// Checks what HTTP requests and answers carry beyond the least.
    fn check_http(&self) -> Checked {
        let key = match self.http.request_headers {
            Some(_) => "request_headers",
            None if self.http.reading_in_query => "reading_in_query",
            None => "response_body",
        };
        refuse(About::Key(key), self.http.refuses(self.stack))?;
        match self
            .http
            .problem(self.target == LoadTarget::Started(Target::Builtin))
        {
            Some((key, why)) => refuse(About::Key(key), Some(why)),
            None => Ok(()),
        }
    }

    /// Why its messages cannot have a connection each.
    fn cannot_connect_per_message(&self) -> Option<String> {
        if self.connection.is_kept() {
            return None;
        }
        let is_more = self.inflight.is_some_and(|inflight| inflight > 1);
        if is_more {
            return Some("a connection of one message has one in flight: leave out inflight".to_owned());
        }
        if self.session_expiry.is_some() {
            return Some(
                "a session that outlives its connection sends what is left on the next one: leave out session_expiry"
                    .to_owned(),
            );
        }
        (!self.stack.has_connect(self.start))
            .then(|| self.has_no("connections: nothing is exchanged before its messages"))
    }

    /// Why its devices cannot present certificates, if they are to.
    fn cannot_present(&self) -> Option<String> {
        if self.cert.is_none() {
            return self
                .key
                .as_ref()
                .map(|_| "a key goes with a certificate: name it, too".to_owned());
        }
        if !matches!(self.target, LoadTarget::Url(_)) {
            let why = "a server that wirecost starts asks devices for no certificates: name the URL of one that does";
            return Some(why.to_owned());
        }
        let presents = matches!(
            self.stack.channel,
            Channel::Tls13 | Channel::Tls12 | Channel::Dtls13 | Channel::Dtls12
        ) || self.stack.application == Application::Http3;
        (!presents).then(|| self.has_no("certificates of devices: those are TLS's and DTLS's"))
    }

    /// The sender id of an OSCORE context has two bytes.
    fn lacks_contexts(&self) -> Option<String> {
        let devices = self.clients.saturating_add(self.receivers());
        let lacks = self.stack.channel == Channel::Oscore && devices > u32::from(u16::MAX);
        lacks.then(|| {
            format!(
                "{devices} devices need an OSCORE context each, and there are {}",
                u16::MAX
            )
        })
    }

    /// Why no connection can be resumed: a resumed start needs an earlier connection.
    fn connects_once(&self) -> Option<String> {
        let again = |phase: &Phase| matches!(phase, Phase::Handshakes { .. } | Phase::Reconnect { .. });
        let is_in_vain =
            self.start.needs_earlier() && self.connection.is_kept() && !self.phases.iter().any(again);
        is_in_vain.then(|| {
            format!(
                "each device connects once, and {} needs an earlier connection: let devices connect again, by handshakes \
                or by a phase that reconnects",
                self.start
            )
        })
    }

    /// Checks times and counts.
    fn check_times(&self) -> Checked {
        for (key, time) in [
            ("timeout", self.timeout),
            ("connect_timeout", self.connect_timeout),
        ] {
            refuse(
                About::Key(key),
                time.is_zero().then(|| "must be above 0 s".to_owned()),
            )?;
        }
        for (key, number) in [
            ("inflight", self.inflight),
            ("threads", self.threads),
            ("processes", self.processes),
        ] {
            refuse(
                About::Key(key),
                (number == Some(0)).then(|| "must be above 0".to_owned()),
            )?;
        }
        let has_rest = |time: Duration| time.subsec_nanos() > 0;
        let why = "must be whole seconds, the unit of MQTT";
        // Cut off to whole seconds, a session of half a second would have none at all.
        let rest = self.session_expiry.is_some_and(has_rest).then(|| why.to_owned());
        refuse(About::Key("session_expiry"), rest)
    }

    /// Checks the options that only some protocols have.
    fn check_session(&self) -> Checked {
        let stack = self.stack;
        let has_login = stack.has_login();
        for (key, is_asked, is_there, what) in [
            (
                "will",
                self.will.is_some(),
                stack.is_mqtt(),
                "wills: those are MQTT's",
            ),
            (
                "retain",
                self.retain,
                stack.is_mqtt(),
                "retained messages: those are MQTT's",
            ),
            (
                "user_properties",
                !self.user_properties.is_empty(),
                matches!(stack.application, Application::Mqtt5(_)),
                "user properties: those are MQTT 5's, which mqtt5-qos1 speaks, and a URL with --mqtt 5 or a stack",
            ),
            (
                "session_expiry",
                self.session_expiry.is_some(),
                stack.is_mqtt(),
                "sessions that outlive connections: those are MQTT's",
            ),
            (
                "login",
                self.login.is_some(),
                has_login,
                "user names: those are MQTT's, AMQP's and the databases'",
            ),
            (
                "credentials",
                self.roster.is_some(),
                has_login,
                "user names: those are MQTT's, AMQP's and the databases'",
            ),
            (
                "subscribers",
                self.subscribers.is_some(),
                stack.is_mqtt() || stack.is_coap() || stack.is_http(),
                "subscribers: those are MQTT's, CoAP's observers, and HTTP's that poll",
            ),
        ] {
            refuse(
                About::Key(key),
                (is_asked && !is_there).then(|| self.has_no(what)),
            )?;
        }
        refuse(About::Key("credentials"), self.cannot_name_devices())?;
        refuse(About::Key("subscribers"), self.cannot_poll())
    }

    /// Why a file cannot name its devices.
    fn cannot_name_devices(&self) -> Option<String> {
        let roster = self.roster.as_ref()?;
        if self.login.is_some() {
            return Some("the file has the users: leave out the login".to_owned());
        }
        if roster.topics().is_some() && self.subscribers.is_some() {
            let why = "how many messages subscribers are to receive is counted for topics of a pattern alone: leave out the column \
                       topic, or the subscribers";
            return Some(why.to_owned());
        }
        roster.lacks(u64::from(self.clients) + u64::from(self.receivers()))
    }

    /// Why its subscribers cannot receive as they are asked to: HTTP has nothing but polls, and the others push.
    fn cannot_poll(&self) -> Option<String> {
        let asked = self.subscribers.as_ref()?;
        let is_http = self.stack.is_http();
        let is_foreign = matches!(&self.target, LoadTarget::Started(target) if !target.is_builtin());
        match asked.poll {
            None => is_http.then(|| {
                format!("{} pushes nothing: say how often each subscriber asks, by poll, like 500ms", self.stack)
            }),
            Some(_) if !is_http => Some(format!("{} pushes its messages, and polls are HTTP's: leave out poll", self.stack)),
            Some(interval) if interval.is_zero() => Some("poll must be above 0 s".to_owned()),
            Some(_) => is_foreign.then(|| {
                format!("{} has no pages of messages to poll: leave out the target, or name the URL of a server that has", self.target)
            }),
        }
    }

    fn has_no(&self, what: &str) -> String {
        format!("{} has no {what}", self.stack)
    }

    /// Checks names with placeholders.
    fn check_names(&self) -> Checked {
        if let Some((key, why)) = resources::problem(self) {
            return refuse(About::Key(key), Some(why));
        }
        if let Payload::Template(text) = &self.payload {
            let pattern: Result<Pattern, _> = text.parse();
            refuse(
                About::Key("payload"),
                pattern.err().map(|error| error.to_string()),
            )?;
        }
        Ok(())
    }

    /// Why devices cannot run a phase; `None` if they can.
    fn cannot_do(&self, phase: &Phase) -> Option<String> {
        let stack = self.stack;
        let nothing_to_connect = || {
            let what = "connections: nothing is exchanged before its messages";
            (!stack.has_connect(self.start)).then(|| self.has_no(what))
        };
        match phase {
            Phase::Publish(offer) => offer.is_idle(self.clients),
            Phase::Request(_) if !stack.is_coap() && !stack.is_http() => {
                Some(self.has_no("requests: those are CoAP's and HTTP's"))
            }
            Phase::Request(offer) => offer.is_idle(self.clients),
            Phase::Handshakes { offer, start } => nothing_to_connect()
                .or_else(|| self.cannot_shake(*start))
                .or_else(|| offer.is_idle(self.clients)),
            Phase::Connect { who, .. } => self.is_nobody(*who),
            Phase::DropAll { who, .. } | Phase::Reconnect { who, .. } => {
                nothing_to_connect().or_else(|| self.is_nobody(*who))
            }
            Phase::AwaitReplay { .. } => self.is_nobody(Who::Subscribers),
            Phase::Hold { .. } | Phase::Close { .. } => None,
        }
    }

    /// Why handshakes cannot have this start.
    fn cannot_shake(&self, start: Start) -> Option<String> {
        let stack = self.stack;
        if start != self.start {
            return Some(format!(
                "handshakes start as all connections of a load do, {}: say start: {start} for the load",
                self.start
            ));
        }
        let is_early = start == Start::ZeroRtt && !stack.has_login();
        is_early.then(|| {
            format!(
                "{stack} sends early data with its first message: a handshake without a message cannot be 0-RTT"
            )
        })
    }

    fn is_nobody(&self, who: Who) -> Option<String> {
        let is_nobody = who == Who::Subscribers && self.subscribers.is_none();
        is_nobody.then(|| "there are no subscribers".to_owned())
    }
}

impl Offer {
    /// Why its messages cannot be spread.
    fn cannot_spread(&self, clients: u32) -> Option<String> {
        let spread = self.spread?;
        let poisson = matches!(self.arrivals, Arrivals::Open { poisson: true, .. });
        if poisson || !self.ramp.is_zero() {
            return Some("spread needs equal gaps: leave out Poisson arrivals and the ramp".into());
        }
        let round =
            Duration::try_from_secs_f64(f64::from(clients) / self.rate(clients)?).unwrap_or(Duration::MAX);
        (spread > round).then(|| {
            format!(
                "spread must be at most the time between two messages of a device, {}",
                DisplayDuration(round)
            )
        })
    }

    /// Why nothing would be measured; `None` if something is.
    fn is_idle(&self, clients: u32) -> Option<String> {
        if let Some(why) = self.cannot_spread(clients) {
            return Some(why);
        }
        if self.count == Some(0) || self.duration == Some(Duration::ZERO) {
            return Some("count and duration must be above 0".into());
        }
        let length = self.length(clients)?;
        (!self.warm_up.is_zero() && self.warm_up >= length)
            .then(|| "the warm-up must be shorter than the time in which messages are offered".into())
    }
}

#[cfg(test)]
mod tests;
