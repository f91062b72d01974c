//! The resources of the ETSI CoAP plugtests (test descriptions TD_COAP_CORE, LINK, BLOCK and OBS) and of the OSCORE
//! interoperability tests.

use super::definition::{Access, Behaviour, Definition, Initial};
use crate::code::Method::{self, Delete, Get, Post, Put};
use crate::option::content_format::{CBOR, JSON, LINK_FORMAT, TEXT_PLAIN, XML};

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
    access: Access::Either,
    etag: &[],
    max_age: None,
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

/// A resource that a request must create first.
const fn create(path: &'static str) -> Definition {
    store(path, ALL, Initial::Absent)
}

/// A resource that requires OSCORE.
const fn protected(path: &'static str, methods: &'static [Method], initial: Initial) -> Definition {
    Definition {
        access: Access::Protected,
        ..store(path, methods, initial)
    }
}

/// A resource that requires OSCORE, and changes in steps while it is observed.
const fn protected_steps(path: &'static str) -> Definition {
    Definition {
        observable: Some(true),
        ..protected(path, READ, Initial::Steps(&["one", "two"]))
    }
}

const fn observable(path: &'static str, confirmable: bool, initial: Initial) -> Definition {
    Definition {
        observable: Some(confirmable),
        ..store(path, &[Get, Put, Delete], initial)
    }
}

/// Every resource, the most used first.
pub(super) static DEFINITIONS: &[Definition] = &[
    Definition {
        behaviour: Behaviour::Create("/location1/location2/location3"),
        ..store("/test", ALL, Initial::Text("wirecost"))
    },
    store("/location1/location2/location3", &[Get, Delete], Initial::Absent),
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
    Definition {
        attributes: &[("sz", "1280")],
        ..store("/large", READ, Initial::Generated(1280))
    },
    Definition {
        attributes: &[("sz", "1280")],
        ..store("/large-update", WRITE, Initial::Generated(1280))
    },
    Definition {
        behaviour: Behaviour::Create("/large-create/1"),
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
        attributes: &[("ct", "0 41 50 60")],
        // The last one is a CBOR text string: its head is the byte `h`.
        behaviour: Behaviour::MultiFormat(&[
            (TEXT_PLAIN, "wirecost"),
            (XML, "<wirecost/>"),
            (JSON, "\"wirecost\""),
            (CBOR, "hwirecost"),
        ]),
        ..store("/multi-format", READ, Initial::Absent)
    },
    link("/link1", &[("rt", "Type1 Type2"), ("if", "If1")]),
    link("/link2", &[("rt", "Type2 Type3"), ("if", "If2")]),
    link("/link3", &[("rt", "Type1 Type3"), ("if", "foo")]),
    Definition {
        attributes: &[("ct", "40")],
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
    protected("/oscore", ALL, Initial::Text("wirecost")),
    Definition {
        access: Access::Open,
        ..store("/oscore/hello/coap", READ, Initial::Text("Hello World!"))
    },
    protected("/oscore/hello/1", READ, Initial::Text("Hello World!")),
    Definition {
        etag: &[0x2b],
        ..protected("/oscore/hello/2", READ, Initial::Text("Hello World!"))
    },
    Definition {
        max_age: Some(5),
        ..protected("/oscore/hello/3", READ, Initial::Text("Hello World!"))
    },
    Definition {
        behaviour: Behaviour::Uppercase,
        ..protected("/oscore/hello/6", &[Post], Initial::Absent)
    },
    Definition {
        etag: &[0x7b],
        ..protected("/oscore/hello/7", WRITE, Initial::Text("wirecost"))
    },
    protected_steps("/oscore/observe1"),
    protected_steps("/oscore/observe2"),
    protected("/oscore/test", ALL, Initial::Text("wirecost")),
    Definition {
        attributes: &[("ct", "40")],
        behaviour: Behaviour::Core,
        format: LINK_FORMAT,
        ..store("/.well-known/core", READ, Initial::Absent)
    },
];
