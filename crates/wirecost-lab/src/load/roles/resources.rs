//! Names with placeholders, before a load begins: what they come to, and what cannot be one.

use crate::load::options::LoadOptions;
use crate::stack::pattern::{Pattern, PatternError};

/// The topic filter that matches every topic of a pattern: `+` for each level with a placeholder.
pub fn filter_of(resource: &str) -> String {
    let level = |level: &str| match level.parse::<Pattern>() {
        Ok(pattern) if pattern.is_constant() => level.to_owned(),
        _ => "+".to_owned(),
    };
    resource.split('/').map(level).collect::<Vec<_>>().join("/")
}

/// What is wrong with a pattern of the load, in one sentence; `None` where nothing is.
pub fn problem(options: &LoadOptions) -> Option<String> {
    let pattern = |what: &str, text: &str| {
        let parsed: Result<Pattern, PatternError> = text.parse();
        parsed.err().map(|error| format!("{what}: {error}"))
    };
    let of_device = |what: &str, text: &str| {
        let parsed = Pattern::of_device(text);
        parsed.err().map(|error| format!("{what}: {error}"))
    };
    let filter = options.subscribers.as_ref().map(|some| some.filter.as_str());
    let will = options.will.as_ref().map(|will| will.topic.as_str());
    let user = options.login.as_ref().map(|(user, _)| user.as_str());
    pattern("topic", &options.resource)
        .or_else(|| of_device("client identifier", &options.client_id))
        .or_else(|| of_device("filter", filter?))
        .or_else(|| of_device("topic of the will", will?))
        .or_else(|| of_device("user name", user?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::options::{LoadTarget, Will};
    use crate::target::Target;

    #[test]
    fn a_filter_has_a_plus_where_a_topic_has_a_placeholder() {
        for (topic, filter) in [
            ("test", "test"),
            ("t/%d/s", "t/+/s"),
            ("t/d%05d/%n", "t/+/+"),
            ("50%%/x", "50%%/x"),
        ] {
            assert_eq!(filter_of(topic), filter);
        }
    }

    #[test]
    fn what_is_said_once_for_each_device_has_no_number_of_messages() {
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
        let problem = problem(&willed).expect("a problem");
        assert!(problem.starts_with("topic of the will: "), "{problem}");
    }
}
