//! The key of a load. It does not depend on the other loads of the run.

use serde::Serialize;
use wirecost_proto::random::key_of;
use wirecost_results::repeat::RunOf;

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

/// One run of a load.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its key.
    pub key: String,
    /// Its options.
    pub options: LoadOptions,
    /// Which run of a repeated load it is; `None` for a load that runs once.
    pub of: Option<RunOf>,
}

/// All runs of loads, in order.
pub fn runs(loads: &[LoadOptions]) -> Vec<Run> {
    let of_load = |load: &LoadOptions| {
        let base = key(load);
        let runs = load.repeat;
        let run = move |(run, options): (u32, LoadOptions)| Run {
            key: key(&options),
            of: (runs > 1).then(|| RunOf {
                load: base.clone(),
                run,
                runs,
            }),
            options,
        };
        (1..).zip(load.runs()).map(run).collect::<Vec<Run>>()
    };
    loads.iter().flat_map(of_load).collect()
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

    #[test]
    fn the_runs_of_a_load_differ_in_their_seeds_alone() {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let mut options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
        let once = key(&options);
        assert!(runs(std::slice::from_ref(&options))[0].of.is_none());
        options.repeat = 3;
        let runs = runs(std::slice::from_ref(&options));
        let mut keys: Vec<&str> = runs.iter().map(|run| run.key.as_str()).collect();
        assert_eq!(keys[0], once, "the first run is the load without repeat");
        keys.dedup();
        assert_eq!(keys.len(), 3);
        let again = LoadOptions {
            seed: options.seed,
            ..runs[2].options.clone()
        };
        assert_eq!(key(&again), once);
        assert_eq!(runs[2].of.as_ref().map(|of| (of.run, of.runs)), Some((3, 3)));
    }
}
