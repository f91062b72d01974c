use super::*;

const ID: RequestId = RequestId {
    flow: FlowId(1),
    request: 0,
};

const fn request(method: Method, target: &str) -> Request<'_> {
    Request {
        method,
        target,
        content_type: Some("application/json"),
        early: false,
    }
}

/// The immediate response of the resources.
fn ask(resources: &mut Resources, method: Method, target: &str, body: &[u8]) -> Response {
    let answer = resources.answer(ID, &request(method, target), body, Instant::START);
    answer.expect("an answer at once")
}

fn text(response: &Response) -> &str {
    std::str::from_utf8(response.content.as_ref().unwrap().bytes()).unwrap()
}

#[test]
fn the_last_content_comes_back() {
    let mut resources = Resources::new(Config::default());
    assert_eq!(ask(&mut resources, Method::Get, "/test", b"").status.code(), 404);
    assert_eq!(ask(&mut resources, Method::Put, "/test", b"1").status.code(), 201);
    assert_eq!(ask(&mut resources, Method::Put, "/test", b"2").status.code(), 204);
    assert_eq!(
        ask(&mut resources, Method::Post, "/test", b"3").status.code(),
        204
    );
    assert_eq!(text(&ask(&mut resources, Method::Get, "/test", b"")), "3");
    assert_eq!(text(&ask(&mut resources, Method::Get, "/", b"")), "3");
}

#[test]
fn an_answer_has_the_content_that_the_server_is_to_send() {
    let mut resources = Resources::new(Config {
        answer_bytes: 1_000,
        ..Config::default()
    });
    for (method, target, status) in [
        (Method::Put, "/test", 201),
        (Method::Post, "/test", 200),
        (Method::Post, "/messages", 200),
    ] {
        let answer = ask(&mut resources, method, target, b"1");
        assert_eq!(
            (answer.status.code(), answer.content_length()),
            (status, 1_000),
            "{method} {target}"
        );
    }
    assert_eq!(text(&ask(&mut resources, Method::Get, "/test", b"")), "1");
}

#[test]
fn a_bad_request_is_refused_before_its_content() {
    let resources = Resources::new(Config {
        max_body_bytes: 10,
        ..Config::default()
    });
    let refusal = |request: &Request<'_>, length| resources.check(request, length).unwrap_err();
    assert_eq!(
        refusal(&request(Method::Get, "/other"), None).status,
        Status::NOT_FOUND
    );
    let refused = refusal(&request(Method::Delete, "/test"), None);
    assert_eq!(
        (refused.status, refused.allow),
        (Status::METHOD_NOT_ALLOWED, Some("GET, HEAD, POST, PUT"))
    );
    let post = request(Method::Post, "/test");
    assert_eq!(resources.check(&post, Some(10)), Ok(()));
    assert_eq!(refusal(&post, Some(11)).status, Status::CONTENT_TOO_LARGE);
    let word = request(Method::Get, "/messages?limit=many");
    assert_eq!(refusal(&word, None).status, Status::BAD_REQUEST);
    assert_eq!(
        refusal(&request(Method::Get, "/long-poll/"), None).status,
        Status::NOT_FOUND
    );
}

#[test]
fn an_unsafe_request_in_early_data_is_too_early() {
    let early = |method| Request {
        early: true,
        ..request(method, "/test")
    };
    let resources = Resources::new(Config::default());
    let refused = resources.check(&early(Method::Post), None).unwrap_err();
    assert_eq!(refused.status, Status::TOO_EARLY);
    assert_eq!(resources.check(&early(Method::Get), None), Ok(()));
    let resources = Resources::new(Config {
        unsafe_early_data: true,
        ..Config::default()
    });
    assert_eq!(resources.check(&early(Method::Post), None), Ok(()));
}

#[test]
fn a_long_poll_waits_for_the_next_value() {
    let mut resources = Resources::new(Config::default());
    ask(&mut resources, Method::Post, "/long-poll/a", b"before");
    let poll = request(Method::Get, "/long-poll/a?timeout=10");
    assert_eq!(resources.answer(ID, &poll, b"", Instant::from_millis(1)), None);
    ask(&mut resources, Method::Post, "/long-poll/b", b"elsewhere");
    assert_eq!(resources.poll_answer(), None);
    assert_eq!(resources.next_timeout(), Some(Instant::from_millis(10_001)));
    ask(&mut resources, Method::Post, "/long-poll/a", b"now");
    let (exchange, response) = resources.poll_answer().unwrap();
    assert_eq!((exchange, text(&response)), (ID, "now"));
    assert_eq!(resources.next_timeout(), None);
}

#[test]
fn a_long_poll_ends_at_its_time_out_and_with_its_flow() {
    let mut resources = Resources::new(Config::default());
    let poll = request(Method::Get, "/long-poll/a?timeout=10");
    assert_eq!(resources.answer(ID, &poll, b"", Instant::START), None);
    resources.expire(Instant::from_millis(9_999));
    assert_eq!(resources.poll_answer(), None);
    resources.expire(Instant::from_millis(10_000));
    let (_, response) = resources.poll_answer().unwrap();
    assert_eq!(response.status, Status::NO_CONTENT);
    assert_eq!(resources.answer(ID, &poll, b"", Instant::START), None);
    resources.forget(ID.flow);
    assert_eq!(resources.next_timeout(), None);
    resources.expire(Instant::from_millis(20_000));
    assert_eq!(resources.poll_answer(), None);
}

#[test]
fn each_page_continues_the_last_one() {
    let mut resources = Resources::new(Config::default());
    for message in ["{\"test\":1}", "{\"test\":2}", "no json"] {
        ask(&mut resources, Method::Post, "/messages", message.as_bytes());
    }
    let mut page = |query: &str| {
        let response = ask(&mut resources, Method::Get, &format!("/messages{query}"), b"");
        text(&response).to_owned()
    };
    assert_eq!(
        page("?limit=2"),
        "{\"result\":[{\"test\":1},{\"test\":2}],\"next_key\":2}"
    );
    assert_eq!(
        page("?next_key=2&limit=2"),
        "{\"result\":[\"bm8ganNvbg==\"],\"next_key\":3}"
    );
    assert_eq!(page("?next_key=3"), "{\"result\":[],\"next_key\":3}");
    assert_eq!(
        page("?next_key=18446744073709551615"),
        "{\"result\":[],\"next_key\":3}"
    );
}

#[test]
fn the_oldest_messages_make_room() {
    let mut resources = Resources::new(Config {
        kept_messages: 2,
        kept_bytes: 4,
        ..Config::default()
    });
    for message in ["1", "22", "3", "444"] {
        ask(&mut resources, Method::Post, "/messages", message.as_bytes());
    }
    let page = ask(&mut resources, Method::Get, "/messages?next_key=0", b"");
    assert_eq!(text(&page), "{\"result\":[3,444],\"next_key\":4}");
    assert_eq!(resources.posted(), 4);
}

#[test]
fn a_get_with_a_reading_in_its_query_stores_it() {
    let mut resources = Resources::new(Config::default());
    let reading = |target| request(Method::Get, target).reading();
    assert_eq!(reading("/test?reading=68%2e5"), Ok(Some(b"68.5".to_vec())));
    for target in ["/test", "/messages?reading=1"] {
        assert_eq!(reading(target), Ok(None), "{target}");
    }
    let target = "/test?reading=68%2e5";
    assert_eq!(
        ask(&mut resources, Method::Get, target, b"68.5").status.code(),
        204
    );
    assert_eq!(text(&ask(&mut resources, Method::Get, "/test", b"")), "68.5");
}

#[test]
fn a_query_that_is_no_reading_is_refused_and_changes_nothing() {
    let mut resources = Resources::new(Config::default());
    ask(&mut resources, Method::Post, "/test", b"kept");
    for target in [
        "/test?reading=%6",
        "/test?value=68.5",
        "/test?reading=1&reading=2",
    ] {
        let answer = ask(&mut resources, Method::Get, target, b"");
        assert_eq!(answer.status.code(), 400, "{target}");
        let refused = resources.check(&request(Method::Get, target), None);
        assert_eq!(refused.expect_err(target).status.code(), 400);
        assert_eq!(
            ask(&mut resources, Method::Post, target, b"kept").status.code(),
            204,
            "{target}"
        );
    }
    assert_eq!(text(&ask(&mut resources, Method::Get, "/test", b"")), "kept");
}
