//! The key of a load. It does not depend on the other loads of the run.

use serde::{Serialize, Serializer};
use wirecost_proto::random::key_of;
use wirecost_results::repeat::RunOf;
use wirecost_results::resolved::Tree;

use crate::options::load::LoadOptions;
use crate::options::row::{self, Changes, Row};

/// Everything that the figures of a load depend on, in a fixed order of fields.
#[derive(Debug, Serialize)]
struct Identity<'a> {
    load: Question<'a>,
    engine: &'static str,
    version: &'static str,
}

/// Every option that changes figures.
#[derive(Debug)]
struct Question<'a>(&'a LoadOptions);

impl Serialize for Question<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        row::serialize_as(to, |row| in_key(row, self.0))
    }
}

/// An option as the key of a load has it: as the resolved file does, but for three. Generators that load one broker at the same time
/// must use different client identifiers: it keeps one client per identifier (MQTT 5, section 3.1.4). For the same reason the key
/// has the name of a file of credentials and not its folder, and that devices present certificates, but not which.
fn in_key(row: &Row<LoadOptions>, load: &LoadOptions) -> Option<Tree> {
    match (row.key, row.spec.changes) {
        ("client_id", _) => Some(Tree::text("")),
        ("cert", _) => load.cert.as_ref().map(|_| Tree::text("")),
        ("credentials", _) => Some(Tree::text(load.roster.clone()?.without_folder().path)),
        (_, Changes::Nothing) => None,
        (_, Changes::Figures | Changes::Dimension) => row.resolved(load),
    }
}

/// The key of a load: 16 hexadecimal digits. Loads of one key that ran at the same time are added, so the key does not
/// include the layout of the generator (processes, loops, source addresses).
pub fn key(options: &LoadOptions) -> String {
    let identity = Identity {
        load: Question(options),
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
    /// Names it in the journal and in the names of its files: equal options have equal keys.
    pub key: String,
    /// The options of this run alone.
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
    use crate::options::load::roster::Roster;
    use crate::options::row::Rows;

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
        let with_files = |folder: &str| LoadOptions {
            cert: Some(format!("{folder}/device.crt").into()),
            key: Some(format!("{folder}/device.key").into()),
            roster: Some(Roster::unread(format!("{folder}/creds.csv"))),
            ..options.clone()
        };
        assert_eq!(key(&with_files("/home/a")), key(&with_files("/home/b")));
        let changes: [fn(&mut LoadOptions); 5] = [
            |options| options.cert = Some("device.crt".into()),
            |options| options.roster = Some(Roster::unread("creds.csv".into())),
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

    /// A field that no key of the resolved file contains would be lost with the folder, and in the key of a load.
    #[test]
    fn each_field_is_in_keys_that_there_are() {
        assert_eq!(
            row::strays::<LoadOptions>(LoadOptions::BY_HAND, &["is_permitted", "shard"]),
            Vec::<&str>::new()
        );
    }

    /// Of every row there is and will be: a value that is not the default changes the key, unless no figure depends on it.
    #[test]
    fn a_row_changes_the_key_unless_it_says_that_no_figure_depends_on_it() {
        let plain = LoadOptions::defaults();
        for row in LoadOptions::ROWS {
            let (Some(read), Some(kind)) = (row.read, row.kind) else {
                continue;
            };
            let mut changed = plain.clone();
            read(row.example(kind), &mut changed).expect(row.key);
            match row.spec.changes {
                Changes::Figures | Changes::Dimension => {
                    assert_ne!(key(&changed), key(&plain), "{}", row.key)
                }
                Changes::Nothing => assert_eq!(key(&changed), key(&plain), "{}", row.key),
            }
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
