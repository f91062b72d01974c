//! Names with placeholders: topics, filters, client identifiers, and their validation.

use std::sync::Arc;

use wirecost_stack::credentials::SERVER_NAME;
use wirecost_stack::message::Requests;
use wirecost_stack::pattern::{Pattern, PatternError, Values};
use wirecost_stack::pool::{PayloadSource, PoolConfig};
use wirecost_stack::run_tag::RunTag;
use wirecost_stack::{MessagePool, Subscription};

use crate::options::load::{LoadOptions, Payload, Subscribers, Will};

/// The topic filter that matches every topic of a pattern: `+` for each level with a placeholder.
pub fn filter_of(resource: &str) -> String {
    let level = |level: &str| match level.parse::<Pattern>() {
        Ok(pattern) if pattern.is_constant() => level.to_owned(),
        _ => "+".to_owned(),
    };
    resource.split('/').map(level).collect::<Vec<_>>().join("/")
}

impl LoadOptions {
    /// The load with `tag` in place of `%x`, in every text that has placeholders.
    #[must_use]
    pub fn of_run(&self, tag: RunTag) -> Self {
        Self {
            client_id: tag.fill(&self.client_id),
            resource: tag.fill(&self.resource),
            subscribers: self.subscribers.clone().map(|asked| Subscribers {
                filter: tag.fill(&asked.filter),
                ..asked
            }),
            will: self.will.clone().map(|will| Will {
                topic: tag.fill(&will.topic),
                ..will
            }),
            login: self
                .login
                .as_ref()
                .map(|(user, password)| (tag.fill(user), tag.fill(password))),
            payload: match &self.payload {
                Payload::Template(text) => Payload::Template(tag.fill(text).into()),
                // Bytes are sent as they are: %x in a file is data.
                other @ (Payload::Size(_) | Payload::File(_) | Payload::Readings(_)) => other.clone(),
            },
            ..self.clone()
        }
    }
}

/// The first error in a name of the load, with the key of the scenario; `None` if there is none.
pub fn problem(options: &LoadOptions) -> Option<(&'static str, String)> {
    let of_device = |key: &'static str, what: &str, text: &str| {
        let parsed = Pattern::of_device(text);
        parsed.err().map(|error| (key, format!("{what}: {error}")))
    };
    let resource: Result<Pattern, PatternError> = options.resource.parse();
    let resource = resource
        .err()
        .map(|error| ("resource", format!("topic: {error}")));
    let filter = options.subscribers.as_ref().map(|some| some.filter.as_str());
    let will = options.will.as_ref().map(|will| will.topic.as_str());
    let user = options.login.as_ref().map(|(user, _)| user.as_str());
    resource
        .or_else(|| of_device("client_id", "client identifier", &options.client_id))
        .or_else(|| of_device("subscribers", "filter", filter?))
        .or_else(|| of_device("will", "topic of the will", will?))
        .or_else(|| of_device("login", "user name", user?))
        .or_else(|| same_for_all(options))
        .or_else(|| objection(options))
}

/// The error of the protocol for the first message or the first subscription.
fn objection(options: &LoadOptions) -> Option<(&'static str, String)> {
    let with = |key: &'static str, resource: &str, topics: Option<Arc<[String]>>| {
        let pool = MessagePool::new(PoolConfig {
            stack: options.stack,
            // A name that is no pattern has its error already.
            resource: resource.parse().ok()?,
            authority: SERVER_NAME.to_owned(),
            requests: Requests::default(),
            retain: options.retain,
            topics,
            user_properties: options.user_properties(),
            recorded: None,
            payload: PayloadSource::Bytes(Arc::default()),
            utc_offset_ns: 0,
            seed: options.seed,
            mark: 0,
        });
        pool.err().map(|error| (key, error.to_string()))
    };
    let named = |key: &'static str, resource: &str| with(key, resource, None);
    let of_file = || {
        let topics = options.roster.as_ref()?.topics()?;
        let mut topics = topics.iter();
        topics.find_map(|topic| with("credentials", &options.resource, Some([topic.clone()].into())))
    };
    let subscribed = || {
        let asked = options.subscribers.as_ref()?;
        let filter = Pattern::of_device(&asked.filter).ok()?.text(&Values::default());
        let subscription = Subscription::new(options.stack, &filter, asked.shared.as_deref(), asked.qos);
        Some(("subscribers", subscription.err()?.to_string()))
    };
    named("resource", &options.resource)
        .or_else(of_file)
        .or_else(|| named("will", &options.will.as_ref()?.topic))
        .or_else(subscribed)
}

/// A broker disconnects a client when another one connects with the same identifier ([MQTT-3.1.4-3]).
fn same_for_all(options: &LoadOptions) -> Option<(&'static str, String)> {
    let is_own = Pattern::of_device(&options.client_id).is_ok_and(|id| id.differs_by_device());
    let clash = options.stack.publishes() && options.clients > 1 && !is_own;
    clash.then(|| {
        let why = format!(
            "client identifier: {:?} is that of all {} devices, which would disconnect one another: write %d for the device's number",
            options.client_id, options.clients
        );
        ("client_id", why)
    })
}

#[cfg(test)]
mod tests {
    use wirecost_stack::target::Target;

    use super::*;
    use crate::options::load::CLIENT_ID;
    use crate::options::load::LoadTarget;

    #[test]
    fn a_run_puts_its_tag_into_every_name() {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let asked = LoadOptions {
            resource: "t/%x/%d".into(),
            subscribers: Some(Subscribers {
                devices: 1,
                filter: "t/%x/+".into(),
                poll: None,
                shared: None,
                qos: 1,
            }),
            will: Some(Will {
                topic: "will/%x".into(),
                payload: "%x".into(),
            }),
            login: Some(("u-%x".into(), "p%d".into())),
            payload: Payload::Template("%x %n".into()),
            client_id: CLIENT_ID.into(),
            ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
        };
        let named = asked.of_run(RunTag::from_number(0));
        assert_eq!(named.client_id, "000%05d");
        assert_eq!(named.resource, "t/000/%d");
        assert_eq!(
            named.subscribers.map(|asked| asked.filter).as_deref(),
            Some("t/000/+")
        );
        let will = named.will.map(|will| (will.topic, will.payload));
        assert_eq!(
            will,
            Some(("will/000".into(), "%x".into())),
            "a payload of a will is no pattern"
        );
        assert_eq!(named.login, Some(("u-000".into(), "p%d".into())));
        assert_eq!(named.payload, Payload::Template("000 %n".into()));
        assert_eq!(problem(&asked), None, "a tag has its place before it is known");
    }

    #[test]
    fn a_filter_has_a_plus_where_a_topic_has_a_placeholder() {
        for (topic, filter) in [
            ("test", "test"),
            ("t/%d/s", "t/+/s"),
            ("t/d%05d/%n", "t/+/+"),
            ("50%%/x", "50%%/x"),
            ("t/%x/%d", "t/%x/+"),
        ] {
            assert_eq!(filter_of(topic), filter);
        }
    }

    #[test]
    fn a_name_that_the_protocol_does_not_have_is_a_problem() {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let options = |resource: &str, filter: &str| LoadOptions {
            resource: resource.into(),
            subscribers: Some(Subscribers {
                devices: 1,
                filter: filter.into(),
                poll: None,
                shared: None,
                qos: 1,
            }),
            ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
        };
        assert_eq!(problem(&options("t/%d", "t/+")), None);
        let topic = problem(&options("t/+", "t/+")).expect("a problem");
        assert!(topic.1.contains("topic name must have"), "{topic:?}");
        let filter = problem(&options("t/%d", "t/#/x")).expect("a problem");
        assert!(filter.1.starts_with("mqtt-qos1 cannot do this: "), "{filter:?}");
    }

    #[test]
    fn a_will_has_a_topic_name_and_no_filter() {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let options = LoadOptions {
            will: Some(Will {
                topic: "w/+".into(),
                payload: String::new(),
            }),
            ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
        };
        let (key, problem) = problem(&options).expect("a problem");
        assert!(
            key == "will" && problem.contains("topic name must have"),
            "{problem}"
        );
    }

    #[test]
    fn names_per_device_cannot_have_the_message_number() {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
        assert_eq!(problem(&options), None);
        let willed = LoadOptions {
            will: Some(Will {
                topic: "w/%n".into(),
                payload: String::new(),
            }),
            ..options
        };
        let (key, problem) = problem(&willed).expect("a problem");
        assert!(
            key == "will" && problem.starts_with("topic of the will: "),
            "{problem}"
        );
    }
}
