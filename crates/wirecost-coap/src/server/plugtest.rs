//! The resources of the ETSI CoAP plugtests (test descriptions TD_COAP_CORE, LINK, BLOCK and OBS).

use super::resource::{Behaviour, Definition, Initial};
use crate::code::Method::{self, Delete, Get, Post, Put};
use crate::option::content_format::{LINK_FORMAT, TEXT_PLAIN, XML};

const READ: &[Method] = &[Get];
const WRITE: &[Method] = &[Get, Put];
const ALL: &[Method] = &[Get, Put, Post, Delete];

const DEFAULT: Definition = Definition {
    path: "",
    attributes: &[],
    methods: READ,
    behaviour: Behaviour::Store,
    initial: Initial::Text("wirecost"),
    format: TEXT_PLAIN,
    observable: None,
};

const fn store(path: &'static str, methods: &'static [Method], initial: Initial) -> Definition {
    Definition {
        path,
        methods,
        initial,
        ..DEFAULT
    }
}

const fn link(path: &'static str, attributes: &'static [(&'static str, &'static str)]) -> Definition {
    Definition {
        path,
        attributes,
        ..DEFAULT
    }
}

const fn create(path: &'static str) -> Definition {
    Definition {
        behaviour: Behaviour::Create,
        ..store(path, ALL, Initial::Absent)
    }
}

const fn observable(path: &'static str, confirmable: bool, initial: Initial) -> Definition {
    Definition {
        observable: Some(confirmable),
        ..store(path, &[Get, Put, Delete], initial)
    }
}

/// Every resource, the busiest first.
pub(super) static DEFINITIONS: &[Definition] = &[
    store("/test", ALL, Initial::Text("wirecost")),
    Definition {
        behaviour: Behaviour::Validate,
        ..store("/validate", WRITE, Initial::Text("validate"))
    },
    create("/create1"),
    create("/create2"),
    create("/create3"),
    Definition {
        behaviour: Behaviour::Query,
        ..store("/query", READ, Initial::Absent)
    },
    Definition {
        behaviour: Behaviour::LocationQuery,
        ..store("/location-query", &[Post], Initial::Absent)
    },
    Definition {
        behaviour: Behaviour::Separate,
        ..store("/separate", READ, Initial::Text("separate"))
    },
    store("/large", READ, Initial::Generated(1280)),
    store("/large-update", WRITE, Initial::Generated(1280)),
    Definition {
        behaviour: Behaviour::CreateBelow("/large-create/1"),
        ..store("/large-create", &[Post], Initial::Absent)
    },
    store("/large-create/1", &[Get, Delete], Initial::Absent),
    Definition {
        behaviour: Behaviour::Uppercase,
        ..store("/large-post", &[Post], Initial::Absent)
    },
    observable("/obs", true, Initial::Ticks(16)),
    observable("/obs-non", false, Initial::Ticks(16)),
    observable("/obs-large", true, Initial::Ticks(1280)),
    observable("/obs-pumping", true, Initial::Ticks(16)),
    observable("/obs-pumping-non", false, Initial::Ticks(16)),
    Definition {
        behaviour: Behaviour::ForgetObservers("/obs"),
        ..store("/obs-reset", &[Post], Initial::Absent)
    },
    Definition {
        behaviour: Behaviour::MultiFormat(&[(TEXT_PLAIN, "wirecost"), (XML, "<wirecost/>")]),
        ..store("/multi-format", READ, Initial::Absent)
    },
    link("/link1", &[("rt", "Type1 Type2"), ("if", "If1")]),
    link("/link2", &[("rt", "Type2 Type3"), ("if", "If2")]),
    link("/link3", &[("rt", "Type1 Type3"), ("if", "foo")]),
    Definition {
        format: LINK_FORMAT,
        ..store(
            "/path",
            READ,
            Initial::Text("</path/sub1>,</path/sub2>,</path/sub3>"),
        )
    },
    store("/path/sub1", READ, Initial::Text("sub1")),
    store("/path/sub2", READ, Initial::Text("sub2")),
    store("/path/sub3", READ, Initial::Text("sub3")),
    store("/seg1", READ, Initial::Text("seg1")),
    store("/seg1/seg2", READ, Initial::Text("seg2")),
    store("/seg1/seg2/seg3", READ, Initial::Text("seg3")),
    Definition {
        behaviour: Behaviour::Core,
        format: LINK_FORMAT,
        ..store("/.well-known/core", READ, Initial::Absent)
    },
];
