//! The key of a load. It does not depend on the other loads of the run.

use serde::Serialize;
use wirecost_proto::random::key_of;

use crate::options::load::LoadOptions;
use crate::options::load::print::{Resolved, Secrets};

/// Everything that the figures of a load depend on, in a fixed order of fields.
#[derive(Debug, Serialize)]
struct Identity<'a> {
    load: Resolved<'a>,
    engine: &'static str,
    version: &'static str,
}

/// The key of a load: 16 hexadecimal digits. Loads of one key that ran at the same time are added, so the key does not
/// include the layout of the generator (processes, loops, source addresses), nor client identifiers: a broker keeps one
/// client per identifier (MQTT 5, section 3.1.4), so that two generators must use different ones.
pub fn key(options: &LoadOptions) -> String {
    let question = LoadOptions {
        sources: Vec::new(),
        threads: None,
        processes: None,
        client_id: String::new(),
        ..options.clone()
    };
    let identity = Identity {
        load: Resolved::new(&question, Secrets::Hidden),
        engine: options.engine.name(),
        version: env!("CARGO_PKG_VERSION"),
    };
    // Texts, numbers and lists: there is nothing that JSON cannot hold.
    let text = serde_json::to_string(&identity).unwrap_or_default();
    format!("{:016x}", key_of(&text))
}

#[cfg(test)]
mod tests {
    use wirecost_stack::target::Target;

    use super::*;
    use crate::options::load::LoadTarget;

    #[test]
    fn a_key_follows_from_the_question_and_not_from_the_generator() {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
        let plain = key(&options);
        assert!(plain.len() == 16 && plain.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let laid_out = LoadOptions {
            threads: Some(2),
            processes: Some(3),
            sources: vec!["127.0.0.2".parse().expect("an address")],
            client_id: "north-%d".into(),
            ..options.clone()
        };
        assert_eq!(key(&laid_out), plain);
        let changes: [fn(&mut LoadOptions); 3] = [
            |options| options.clients = 11,
            |options| options.seed = 43,
            |options| options.inflight = Some(1),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut other = options.clone();
            change(&mut other);
            assert_ne!(key(&other), plain, "change {index}");
        }
    }
}
