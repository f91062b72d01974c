//! Builds the director of a part's devices: what they send, count and receive.

use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_scenario::options::load::Payload;
use wirecost_scenario::options::load::roster::Roster;
use wirecost_stack::error::ClientError;
use wirecost_stack::media::Media;
use wirecost_stack::pattern::{Pattern, Values};
use wirecost_stack::pool::{PayloadSource, PoolConfig};
use wirecost_stack::{Application, Channel, MessagePool, Subscription};

use super::{Outbox, Share};
use crate::devices::activity::Part;
use crate::devices::connections::Connections;
use crate::devices::part::Inbox;
use crate::devices::part::PartError;
use crate::devices::population::Devices;
use crate::devices::roles::subscriber::{Reception, Subscribers};
use crate::devices::tracker::{MessageTracker, Rules};
use crate::schedule::clock::Origin;

impl Share {
    pub(crate) fn director(
        &self,
        origin: Origin,
        inbox: &Arc<Inbox>,
        outbox: &Outbox,
    ) -> Result<Devices, PartError> {
        let options = &self.options;
        let (senders, subscribers) = (self.devices.len(), self.subscribers.len());
        let rules = Rules {
            answered: options.is_answered(),
            timeout: options.timeout,
            session: options.session_expiry.is_some(),
            connects: options.stack.has_connect(options.start),
        };
        let rng = self.rng("back-off").host(u64::from(self.number));
        let pool = self.pool(origin)?;
        let has_bare_datagrams = options.stack.transport() == Transport::Datagram
            && options.stack.application != Application::Http3;
        let part = Part {
            subscribers: self.subscribers(origin, pool.is_stamped())?,
            connections: Connections::new(senders + subscribers, options.connect_timeout, rng)
                .with_reconnect_gap(self.reconnect_gap()),
            tracker: MessageTracker::new(rules, senders + subscribers),
            pool,
            first: self.devices.start,
            senders,
            closes_silently: has_bare_datagrams,
            answers_in_one_datagram: has_bare_datagrams
                && matches!(options.stack.channel, Channel::Plain | Channel::Oscore),
            clock_start_ns: origin.monotonic_ns,
        };
        let (outbox, number) = (outbox.clone(), self.number);
        // Sending fails if the coordinator has gone, which ends the part soon.
        let report = Box::new(move |message| drop(outbox.send((number, message))));
        Ok(Devices::new(part, self.phases(), Arc::clone(inbox), report))
    }

    /// The least time between two reconnects of the part.
    fn reconnect_gap(&self) -> Duration {
        let rate = self.options.most_reconnects_in_a_second();
        rate.map_or(Duration::ZERO, |rate| self.gap(rate))
    }

    /// The time between two of the part's devices at `rate` over all devices.
    pub(super) fn gap(&self, rate: f64) -> Duration {
        let all = f64::from(self.options.clients.saturating_add(self.options.receivers()));
        let share = f64::from(self.count()) / all.max(1.0);
        Duration::try_from_secs_f64(1.0 / (rate * share)).unwrap_or(Duration::ZERO)
    }

    fn pool(&self, origin: Origin) -> Result<MessagePool, PartError> {
        let options = &self.options;
        let payload = match &options.payload {
            Payload::Size(size) => {
                let bytes = usize::try_from(size.bytes()).map_err(|_| PartError::PayloadSize(*size))?;
                PayloadSource::random(bytes, options.seed)
            }
            Payload::File(bytes) => PayloadSource::Bytes(Arc::clone(bytes)),
            Payload::Readings(readings) => {
                PayloadSource::Described(Arc::clone(&readings.bytes), Media::from_batch(readings.batch))
            }
            Payload::Template(text) => PayloadSource::Text(text.parse()?),
        };
        Ok(MessagePool::new(PoolConfig {
            stack: options.stack,
            resource: options.resource.parse()?,
            authority: self.destination.authority.clone(),
            requests: options.http.requests(),
            retain: options.retain,
            topics: options.roster.as_ref().and_then(Roster::topics),
            user_properties: options.user_properties(),
            payload,
            recorded: self.options.trace.as_ref().map(|trace| {
                let values = trace.values().iter();
                values.map(|recorded| Arc::clone(&recorded.value)).collect()
            }),
            utc_offset_ns: origin.utc_ns.saturating_sub(origin.monotonic_ns),
            seed: options.seed,
            mark: self.destination.mark,
        })?)
    }

    fn subscribers(&self, origin: Origin, stamped: bool) -> Result<Subscribers, PartError> {
        let Some(asked) = &self.options.subscribers else {
            return Ok(Subscribers::none());
        };
        let filter = Pattern::of_device(&asked.filter)?;
        let subscription = |device| {
            let filter = filter.text(&Values::of_device(device));
            let group = asked.shared.as_deref();
            Subscription::new(self.options.stack, &filter, group, asked.qos).map(Arc::new)
        };
        let subscriptions = self.subscribers.clone().map(subscription);
        let reception = Reception {
            stamped,
            senders: self.options.clients,
            mark: self.destination.mark,
            // Recorded values have no stamps.
            // Without a mark of the run the messages of other programs look like our own.
            tells_others: stamped && self.destination.mark != 0 && self.options.trace.is_none(),
            will_bytes: self.options.will.as_ref().map(|will| will.payload.len() as u64),
            clock_start_ns: origin.monotonic_ns,
            clock_error_ns: self.clock_error_ns,
            poll: asked.poll,
        };
        let subscriptions = subscriptions.collect::<Result<_, ClientError>>()?;
        Ok(Subscribers::new(self.devices.len(), subscriptions, reception))
    }
}
