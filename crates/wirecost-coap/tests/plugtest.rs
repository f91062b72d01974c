//! The ETSI plugtest cases TD_COAP_CORE, LINK and BLOCK with our server.

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Request, Response};
use wirecost_coap::code::{Code, Method};
use wirecost_coap::message::Repr;
use wirecost_coap::option::{OptionNumber, content_format};
use wirecost_proto::Direction;

fn texts(response: &Response, number: OptionNumber) -> Vec<String> {
    let values = response.options.view().all(number);
    values
        .filter_map(|option| option.text().map(String::from))
        .collect()
}

fn with(request: Request, number: OptionNumber, value: &[u8]) -> Request {
    let options = vec![(number, value.to_vec())];
    Request { options, ..request }
}

fn query(path: &str, arguments: &[&str]) -> Request {
    Request {
        query: arguments.iter().map(|argument| String::from(*argument)).collect(),
        ..Request::get(path)
    }
}

#[test]
fn core_01_to_08_the_four_methods_confirmable_and_not() {
    for (confirmable, up, down) in [(true, ">CON", "<ACK"), (false, ">NON", "<NON")] {
        for (method, code) in [
            (Method::Get, Code::CONTENT),
            (Method::Put, Code::CHANGED),
            (Method::Post, Code::CREATED),
            (Method::Delete, Code::DELETED),
        ] {
            let mut pair = pair(Lossy::default());
            let response = exchange(
                &mut pair,
                Request {
                    confirmable,
                    ..Request::new(method, "/test")
                },
            );
            assert_eq!(response.code, code, "{method:?}");
            assert_eq!(
                flow_of(&pair),
                [format!("{up} {}", method.code()), format!("{down} {code}")]
            );
        }
    }
}

#[test]
fn core_09_a_separate_response() {
    let mut pair = pair(Lossy::default());
    assert_eq!(
        exchange(&mut pair, Request::get("/separate")).payload,
        b"separate"
    );
    assert_eq!(
        flow_of(&pair),
        [">CON 0.01", "<ACK 0.00", "<CON 2.05", ">ACK 0.00"]
    );
}

#[test]
fn core_10_to_12_a_token_of_any_length_is_echoed() {
    for token_bytes in [0, 1, 2, 8] {
        let mut config = client_config();
        config.token_bytes = token_bytes;
        let mut pair = pair_with(Lossy::default(), config, server_config());
        let response = exchange(&mut pair, Request::get("/test"));
        assert_eq!(response.token.bytes().len(), token_bytes);
        let token = |sent: &wirecost_proto::pair::Sent| Repr::parse(&sent.bytes).map(|repr| repr.token);
        assert_eq!(token(&pair.sent[0]), token(&pair.sent[1]));
    }
}

#[test]
fn core_13_and_14_uri_path_and_uri_query() {
    assert_eq!(ask(Request::get("/seg1/seg2/seg3")).payload, b"seg3");
    assert_eq!(ask(Request::get("/seg1/seg2")).payload, b"seg2");
    assert_eq!(ask(Request::get("/seg1/seg2/none")).code, Code::NOT_FOUND);
    assert_eq!(ask(Request::get("")).code, Code::NOT_FOUND);
    let response = ask(query("/query", &["first=1", "second=2"]));
    assert_eq!(response.payload, b"first=1\nsecond=2\n");
}

#[test]
fn core_15_and_16_a_lossy_context() {
    for path in ["/test", "/separate"] {
        for seed in 0..20 {
            let mut pair = pair(Lossy::share(0.1, seed));
            pair.command(request(Request::get(path)));
            pair.drive_for(Duration::from_secs(200));
            assert_eq!(responses(&pair).len(), 1, "{path}, seed {seed}");
            assert_eq!(processed_bodies(&pair).len(), 1, "{path}, seed {seed}");
        }
    }
}

#[test]
fn core_18_location_path() {
    let mut pair = pair(Lossy::default());
    let post = Request {
        method: Method::Post,
        ..Request::put("/test", *b"new")
    };
    let created = exchange(&mut pair, post);
    assert_eq!(created.code, Code::CREATED);
    let location = texts(&created, OptionNumber::LOCATION_PATH);
    assert_eq!(location, ["location1", "location2", "location3"]);
    assert_eq!(
        exchange(&mut pair, Request::get(location.join("/"))).payload,
        b"new"
    );
    assert_eq!(exchange(&mut pair, Request::get("/test")).payload, b"wirecost");
}

#[test]
fn core_19_location_query() {
    let response = ask(Request::new(Method::Post, "/location-query"));
    assert_eq!(response.code, Code::CREATED);
    assert_eq!(
        texts(&response, OptionNumber::LOCATION_QUERY),
        ["first=1", "second=2"]
    );
}

#[test]
fn core_20_the_format_that_is_accepted() {
    for (accept, format, payload) in [
        (None, 0, &b"wirecost"[..]),
        (Some(content_format::TEXT_PLAIN), 0, b"wirecost"),
        (Some(content_format::XML), 41, b"<wirecost/>"),
        (Some(content_format::JSON), 50, b"\"wirecost\""),
        (Some(content_format::CBOR), 60, b"hwirecost"),
    ] {
        let response = ask(Request {
            accept,
            ..Request::get("/multi-format")
        });
        assert_eq!(response.options.view().content_format(), Some(format));
        assert_eq!(response.payload, payload);
    }
    for path in ["/multi-format", "/test", "/query"] {
        let refused = ask(Request {
            // application/exi.
            accept: Some(47),
            ..Request::get(path)
        });
        assert_eq!(refused.code, Code::NOT_ACCEPTABLE);
    }
}

#[test]
fn core_21_validation_by_entity_tag() {
    let mut pair = pair(Lossy::default());
    let etag = |response: &Response| response.options.view().etag().map(<[u8]>::to_vec).expect("a tag");
    let first = etag(&exchange(&mut pair, Request::get("/validate")));
    let ask_with_tag = with(Request::get("/validate"), OptionNumber::ETAG, &first);
    let valid = exchange(&mut pair, ask_with_tag.clone());
    assert_eq!(
        (valid.code, valid.payload.len(), etag(&valid)),
        (Code::VALID, 0, first.clone())
    );
    let text = Request {
        content_format: Some(content_format::TEXT_PLAIN),
        ..Request::put("/validate", *b"other")
    };
    assert_eq!(exchange(&mut pair, text).code, Code::CHANGED);
    let changed = exchange(&mut pair, ask_with_tag);
    assert_eq!(
        (changed.code, &changed.payload[..]),
        (Code::CONTENT, &b"other"[..])
    );
    assert_ne!(etag(&changed), first);
}

#[test]
fn core_22_if_match() {
    let mut pair = pair(Lossy::default());
    let current = exchange(&mut pair, Request::get("/validate"));
    let etag = current.options.view().etag().expect("a tag").to_vec();
    let put = |tag: &[u8]| {
        let text = Request {
            content_format: Some(content_format::TEXT_PLAIN),
            ..Request::put("/validate", *b"x")
        };
        with(text, OptionNumber::IF_MATCH, tag)
    };
    assert_eq!(exchange(&mut pair, put(&etag)).code, Code::CHANGED);
    assert_eq!(exchange(&mut pair, put(&etag)).code, Code::PRECONDITION_FAILED);
    assert_eq!(exchange(&mut pair, put(&[])).code, Code::CHANGED);
}

#[test]
fn core_23_if_none_match() {
    for path in ["/create1", "/create2", "/create3"] {
        let mut pair = pair(Lossy::default());
        assert_eq!(exchange(&mut pair, Request::get(path)).code, Code::NOT_FOUND);
        let create = with(Request::put(path, *b"x"), OptionNumber::IF_NONE_MATCH, &[]);
        assert_eq!(exchange(&mut pair, create.clone()).code, Code::CREATED);
        assert_eq!(exchange(&mut pair, create).code, Code::PRECONDITION_FAILED);
        assert_eq!(exchange(&mut pair, Request::put(path, *b"y")).code, Code::CHANGED);
        assert_eq!(
            exchange(&mut pair, Request::new(Method::Delete, path)).code,
            Code::DELETED
        );
        assert_eq!(exchange(&mut pair, Request::get(path)).code, Code::NOT_FOUND);
    }
}

#[test]
fn link_01_the_list_of_resources_comes_in_blocks() {
    let response = ask(Request::get("/.well-known/core"));
    let format = response.options.view().content_format();
    assert_eq!(format, Some(content_format::LINK_FORMAT));
    let text = String::from_utf8(response.payload).expect("links are text");
    for link in ["</test>", "</obs>;obs", "</link1>;rt=\"Type1 Type2\";if=\"If1\""] {
        assert!(text.split(',').any(|part| part == link), "{link} in {text}");
    }
}

#[test]
fn link_02_to_09_filters() {
    for (filter, expected) in [
        (
            "rt=Type1",
            "</link1>;rt=\"Type1 Type2\";if=\"If1\",</link3>;rt=\"Type1 Type3\";if=\"foo\"",
        ),
        ("if=foo", "</link3>;rt=\"Type1 Type3\";if=\"foo\""),
        ("href=/link2", "</link2>;rt=\"Type2 Type3\";if=\"If2\""),
        ("sz=*", "</large>;sz=1280,</large-update>;sz=1280"),
        ("ct=40", "</path>;ct=40,</.well-known/core>;ct=40"),
        ("rt=nothing", ""),
    ] {
        let response = ask(query("/.well-known/core", &[filter]));
        assert_eq!(response.payload, expected.as_bytes(), "{filter}");
    }
}

#[test]
fn link_09_a_collection_lists_its_parts() {
    let response = ask(Request::get("/path"));
    assert_eq!(
        response.options.view().content_format(),
        Some(content_format::LINK_FORMAT)
    );
    assert_eq!(ask(Request::get("/path/sub2")).payload, b"sub2");
}

#[test]
fn block_01_and_02_early_and_late_negotiation() {
    for (size, datagrams) in [(None, 2), (Some(0x02), 20), (Some(0x06), 2)] {
        let mut pair = pair(Lossy::default());
        let get = Request {
            options: size
                .map(|size| (OptionNumber::BLOCK2, vec![size]))
                .into_iter()
                .collect(),
            ..Request::get("/large")
        };
        let response = exchange(&mut pair, get);
        assert_eq!(
            (response.payload.len(), response.transmissions),
            (1280, datagrams)
        );
    }
}

#[test]
fn block_03_put_and_block_04_post_with_location() {
    let mut pair = pair(Lossy::default());
    let body = pattern(1500);
    assert_eq!(
        exchange(&mut pair, Request::put("/large-update", body.clone())).code,
        Code::CHANGED
    );
    assert_eq!(exchange(&mut pair, Request::get("/large-update")).payload, body);
    let post = Request {
        method: Method::Post,
        ..Request::put("/large-create", body.clone())
    };
    let created = exchange(&mut pair, post);
    assert_eq!(created.code, Code::CREATED);
    let location = texts(&created, OptionNumber::LOCATION_PATH).join("/");
    assert_eq!(exchange(&mut pair, Request::get(location)).payload, body);
}

#[test]
fn block_05_post_with_blocks_both_ways() {
    let post = Request {
        method: Method::Post,
        ..Request::put("/large-post", vec![b'x'; 1500])
    };
    assert_eq!(ask(post).payload, vec![b'X'; 1500]);
}

#[test]
fn errors_name_what_is_wrong() {
    for (request, code) in [
        (Request::get("/none"), Code::NOT_FOUND),
        (Request::new(Method::Post, "/large"), Code::METHOD_NOT_ALLOWED),
        (Request::new(Method::Fetch, "/test"), Code::METHOD_NOT_ALLOWED),
        (Request::put("/validate", *b"x"), Code::UNSUPPORTED_CONTENT_FORMAT),
        (
            with(
                Request::get("/test"),
                OptionNumber::PROXY_URI,
                b"coap://[2001:db8::1]/",
            ),
            Code::PROXYING_NOT_SUPPORTED,
        ),
        (
            with(Request::get("/test"), OptionNumber::OSCORE, &[9]),
            Code::BAD_OPTION,
        ),
        (
            with(Request::get("/test"), OptionNumber::URI_HOST, b"example.org"),
            Code::CONTENT,
        ),
    ] {
        assert_eq!(ask(request.clone()).code, code, "{request:?}");
    }
}

#[test]
fn a_refused_request_is_not_reported_as_a_message() {
    let mut pair = pair(Lossy::default());
    exchange(&mut pair, Request::put("/none", *b"x"));
    assert!(processed_bodies(&pair).is_empty());
    assert_eq!(pair.server.stats().refused, 1);
    assert_eq!(sent(&pair, Direction::Down).len(), 1);
}
