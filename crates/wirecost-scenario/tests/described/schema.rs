//! JSON Schemas from the keys that readers know.

use serde_json::json;
use wirecost_results::resolved::Tree;
use wirecost_scenario::edit::varied;
use wirecost_scenario::figure::FIGURE;
use wirecost_scenario::key::{Defined, Holds, Key, Presence};
use wirecost_scenario::link::shape::LINK;
use wirecost_scenario::{KEYS, all_keys};

use crate::Scenarios;

/// A schema while it is written.
#[derive(Default)]
pub(crate) struct Writer {
    /// The definitions so far, each with its name.
    pub(crate) definitions: Vec<(String, Tree)>,
    /// The kind of scenario that is written.
    kind: Option<Scenarios>,
}

/// A table of JSON in this order.
pub(crate) fn object<const N: usize>(entries: [(&str, Tree); N]) -> Tree {
    Tree::Table(entries.map(|(key, value)| (key.to_owned(), value)).into())
}

fn json(value: &serde_json::Value) -> Tree {
    Tree::from_value(value)
}

/// A schema with more entries.
fn with(tree: Tree, more: impl IntoIterator<Item = (&'static str, Tree)>) -> Tree {
    let Tree::Table(mut entries) = tree else {
        panic!("a schema is a table");
    };
    entries.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Tree::Table(entries)
}

/// A schema behind its description, if it has one.
fn with_help(help: &str, tree: Tree) -> Tree {
    let Tree::Table(entries) = tree else {
        panic!("a schema is a table");
    };
    let help = Some(help).filter(|help| !help.is_empty());
    let description = help.map(|help| ("description".to_owned(), Tree::text(help)));
    Tree::Table(description.into_iter().chain(entries).collect())
}

fn reference(name: &str) -> Tree {
    json(&json!({"$ref": format!("#/$defs/{name}")}))
}

/// The same without a list: one value of what can have several. A text may be written as a number there.
const fn single(holds: Holds) -> Holds {
    match holds {
        Holds::Several(Holds::Text) | Holds::Text => Holds::Scalar,
        Holds::Several(of) => *of,
        other => other,
    }
}

impl Writer {
    /// The schema of a table.
    pub(crate) fn table(&mut self, keys: &[Key]) -> Tree {
        let property = |key: &Key| {
            let schema = with_help(key.help, self.holds(key.holds));
            // Names that must be there are at least one.
            let is_needed = key.need == Presence::Must && matches!(key.holds, Holds::ByName(..));
            let least = is_needed.then_some(("minProperties", Tree::number(1)));
            (key.name.to_owned(), with(schema, least))
        };
        let properties = keys.iter().map(property).collect();
        self.closed(keys, properties)
    }

    /// A table with these properties alone, of which those of `keys` may have to be there.
    fn closed(&self, keys: &[Key], properties: Vec<(String, Tree)>) -> Tree {
        let of = |need| {
            keys.iter()
                .filter(move |key| key.need == need)
                .map(|key| key.name)
        };
        let required: Vec<&str> = of(Presence::Must).collect();
        let either: Vec<Tree> = of(Presence::Either)
            .map(|key| json(&json!({"required": [key]})))
            .collect();
        let schema = object([
            ("type", Tree::text("object")),
            ("additionalProperties", Tree::Bool(false)),
        ]);
        let required = (!required.is_empty()).then(|| ("required", Tree::from_value(&required)));
        let either = (!either.is_empty()).then_some(("anyOf", Tree::List(either)));
        let properties = ("properties", Tree::Table(properties));
        with(schema, required.into_iter().chain(either).chain([properties]))
    }

    /// The schema of a value.
    fn holds(&mut self, holds: Holds) -> Tree {
        match holds {
            Holds::Version => json(&json!({"const": 1})),
            Holds::Flag => json(&json!({"type": "boolean"})),
            Holds::Text => json(&json!({"type": "string"})),
            Holds::Scalar => json(&json!({"type": ["string", "number", "boolean"]})),
            Holds::Number(least) => json(&json!({"type": "number", "minimum": least})),
            Holds::Positive => json(&json!({"type": "number", "exclusiveMinimum": 0})),
            Holds::Whole(least, u64::MAX) => json(&json!({"type": "integer", "minimum": least})),
            Holds::Whole(least, most) => json(&json!({"type": "integer", "minimum": least, "maximum": most})),
            Holds::Word(words) => json(&json!({"enum": words})),
            Holds::Pattern(pattern) => json(&json!({"type": "string", "pattern": pattern})),
            Holds::Amount(units) => {
                let pattern = format!(r"^[0-9]+(\.[0-9]+)? ?({})$", units().join("|"));
                json(&json!({"type": "string", "pattern": pattern}))
            }
            Holds::Of(kind) => self.defined(kind),
            Holds::Figure(kind) => self.figure(kind),
            Holds::Table(keys) => self.table(keys),
            Holds::Few(least, most, keys) => {
                let bounds = [("minProperties", least), ("maxProperties", most)];
                with(
                    self.table(keys),
                    bounds.map(|(key, bound)| (key, Tree::number(bound as u64))),
                )
            }
            Holds::Do(kinds) => {
                let kinds = kinds.iter().map(|kind| self.phase(kind)).collect();
                object([("anyOf", Tree::List(kinds))])
            }
            Holds::ByName(names, of) => {
                let table = object([
                    ("type", Tree::text("object")),
                    ("additionalProperties", self.holds(*of)),
                ]);
                let names = (!names.is_empty()).then(|| ("propertyNames", json(&json!({"pattern": names}))));
                with(table, names)
            }
            Holds::List(least, of) => {
                let list = object([("type", Tree::text("array")), ("items", self.holds(*of))]);
                with(
                    list,
                    (least > 0).then_some(("minItems", Tree::number(least as u64))),
                )
            }
            Holds::Several(of) => self.any(&[*of, Holds::List(1, of)]),
            Holds::Either(all) => self.any(all),
            Holds::Nothing => json(&json!({"type": "null"})),
            Holds::Lists => self.lists(),
            Holds::Conditions => self.conditions(),
            Holds::Loads => {
                let properties = self.rows();
                let load = self.closed(&[], properties);
                object([
                    ("type", Tree::text("array")),
                    ("minItems", Tree::number(1)),
                    ("items", load),
                ])
            }
            Holds::Network => reference("network"),
        }
    }

    fn any(&mut self, all: &[Holds]) -> Tree {
        let all = all.iter().map(|holds| self.holds(*holds)).collect();
        object([("anyOf", Tree::List(all))])
    }

    /// A reference to a kind of value, which is defined once.
    fn defined(&mut self, kind: &Defined) -> Tree {
        let schema = with_help(kind.help, self.holds(kind.holds));
        let examples = (!kind.examples.is_empty()).then(|| ("examples", Tree::from_value(&kind.examples)));
        self.define(kind.name, with(schema, examples))
    }

    /// A figure: the value alone, or with its source and its spread.
    fn figure(&mut self, kind: &'static Defined) -> Tree {
        let value = |key: &Key| match key.holds {
            Holds::Scalar => Key {
                holds: Holds::Of(kind),
                ..*key
            },
            _ => *key,
        };
        let keys: Vec<Key> = FIGURE.iter().map(value).collect();
        let both = vec![self.defined(kind), self.table(&keys)];
        self.define(
            &format!("{}_figure", kind.name),
            object([("anyOf", Tree::List(both))]),
        )
    }

    fn define(&mut self, name: &str, schema: Tree) -> Tree {
        match self.definitions.iter().find(|(other, _)| other == name) {
            Some((_, other)) => assert_eq!(*other, schema, "two kinds of values have the name {name}"),
            None => self.definitions.push((name.to_owned(), schema)),
        }
        reference(name)
    }

    /// What a phase holds that does this.
    fn phase(&mut self, kind: &Key) -> Tree {
        let does = Key {
            name: "do",
            need: Presence::Must,
            holds: Holds::Text,
            help: "",
        };
        let keys: Vec<Key> = std::iter::once(does)
            .chain(kind.holds.keys().iter().copied())
            .collect();
        let mut table = self.table(&keys);
        *crate::within(crate::within(&mut table, "properties"), "do") = json(&json!({"const": kind.name}));
        with_help(kind.help, table)
    }

    fn kind(&self) -> &Scenarios {
        self.kind.as_ref().expect("a scenario")
    }

    /// A kind of scenario, which is a definition.
    pub(crate) fn scenario(&mut self, kind: Scenarios) {
        let (name, help, keys) = (kind.definition, kind.help, all_keys(kind.kind));
        self.kind = Some(kind);
        let of_all = KEYS.iter().filter(|key| keys.contains(&key.name)).copied();
        let of_all: Vec<Key> = of_all.chain(self.kind().keys.iter().copied()).collect();
        let mut table = self.table(&of_all);
        for (key, property) in self.rows() {
            *crate::within(crate::within(&mut table, "properties"), &key) = property;
        }
        self.definitions.push((name.to_owned(), with_help(help, table)));
    }

    /// The properties of the options, each with its key in the files that people write and in the resolved form.
    fn rows(&mut self) -> Vec<(String, Tree)> {
        let kind = self.kind().clone();
        let mut properties = Vec::new();
        for row in &kind.rows {
            let default = row.default.as_deref();
            let default = default.map_or_else(String::new, |default| format!(" Default: {default}."));
            for key in [Some(row.key), row.also].into_iter().flatten() {
                let is_several = kind.several.contains(&key) || (row.also == Some(key) && !row.is_own);
                let schema = match is_several {
                    true => self.any(&[row.holds, Holds::List(1, Box::leak(Box::new(row.holds)))]),
                    false => self.holds(row.holds),
                };
                let help = format!("{}.{default}", row.help);
                properties.push((key.to_owned(), with_help(&help, schema)));
            }
        }
        properties
    }

    /// The lists of the keys that can have several values.
    fn lists(&mut self) -> Tree {
        let kind = self.kind().clone();
        let is_nbiot = kind.definition == "nbiot";
        let keys = match is_nbiot {
            true => kind.several.to_vec(),
            false => [vec!["link"], varied(kind.several)].concat(),
        };
        let list = |key: &str| {
            let of_link = match key {
                "link" => Some("name"),
                key => key.strip_prefix("link."),
            };
            let holds = match of_link {
                Some(name) => LINK.iter().find(|key| key.name == name).map(|key| key.holds),
                None => kind.rows.iter().find(|row| row.key == key).map(|row| row.holds),
            };
            let holds = single(holds.unwrap_or_else(|| panic!("{key} is no key")));
            (
                key.to_owned(),
                self.holds(Holds::List(1, Box::leak(Box::new(holds)))),
            )
        };
        let properties = keys.into_iter().map(list).collect();
        let table = self.closed(&[], properties);
        // Parameters of the network have their paths as keys.
        let paths = is_nbiot
            .then(|| json(&json!({r"^(nbiot\.)?[a-z_]+(\.[a-z0-9_]+)+$": {"type": "array", "minItems": 1}})));
        with(table, paths.map(|paths| ("patternProperties", paths)))
    }

    /// What is left out.
    fn conditions(&mut self) -> Tree {
        let several = self.kind().several;
        let value = with_help(
            "A value, a pattern with *, or a list of them.",
            self.holds(Holds::Several(&Holds::Scalar)),
        );
        let properties = several
            .iter()
            .map(|key| ((*key).to_owned(), value.clone()))
            .collect();
        let conditions = with(self.closed(&[], properties), [("minProperties", Tree::number(1))]);
        object([("type", Tree::text("array")), ("items", conditions)])
    }
}

/// What stands before the keys of a file.
pub(crate) fn head(file: &str, of: &str, description: &str) -> Tree {
    object([
        (
            "$schema",
            Tree::text("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("$id", Tree::text(format_args!("urn:wirecost:{file}:1"))),
        ("title", Tree::text(format_args!("{of} of wirecost, version 1"))),
        ("description", Tree::text(description)),
    ])
}

/// The schema of a file that is one table.
pub(crate) fn of_file(head: Tree, keys: &[Key]) -> String {
    let mut writer = Writer::default();
    let (Tree::Table(mut entries), Tree::Table(body)) = (head, writer.table(keys)) else {
        panic!("tables");
    };
    entries.extend(body);
    entries.push(("$defs".to_owned(), Tree::Table(writer.definitions)));
    text_of(&Tree::Table(entries))
}

/// The text of a schema.
pub(crate) fn text_of(schema: &Tree) -> String {
    serde_json::to_string_pretty(schema).expect("JSON") + "\n"
}
