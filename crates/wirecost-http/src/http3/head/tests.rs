use super::*;

fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Section::new();
    for (name, value) in fields {
        section.push(name, value);
    }
    section.bytes
}

const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "wirecost"),
    (":path", "/test"),
];

#[test]
fn the_head_of_a_post_of_128_bytes_takes_46_bytes() {
    let octets = Some("application/octet-stream");
    let template =
        RequestTemplate::new(Method::Post, "wirecost", "/test", octets, [7; 128]).expect("a template");
    let frames = encode_request(&template);
    let (headers, size) = Header::read(&frames).expect("a frame");
    assert_eq!(headers.kind, frame::HEADERS);
    let (data, data_size) = Header::read(&frames[size + headers.len as usize..]).expect("a frame");
    assert_eq!((data.kind, data.len), (frame::DATA, 128));
    assert_eq!(frames.len(), size + headers.len as usize + data_size);
    let read = read_request(&frames[size..size + headers.len as usize]).expect("a field section");
    let head = read.expect("a head");
    let expected = RequestHead {
        method: Some(Method::Post),
        path: "/test".into(),
        content_type: octets.map(String::from),
        content_length: Some(128),
    };
    assert_eq!(head, expected);
    // 2 B prefix, 1 + 1 + 8 + 6 B pseudo-fields, 19 + 4 B about the content, 2 + 3 B frame headers.
    assert_eq!(frames.len(), 46);
}

#[test]
fn a_template_is_encoded_once() {
    let new = || RequestTemplate::new(Method::Post, "wirecost", "/test", None, [7; 128]).expect("a template");
    let template = new();
    assert_eq!(template.http3_head(encode_request), encode_request(&template));
    let again = template.http3_head(|_| unreachable!("it has been encoded"));
    assert_eq!(again, encode_request(&template));
    assert_eq!(template, new());
}

#[test]
fn a_204_takes_6_bytes() {
    let frames = encode_response(&Response::empty(Status::NO_CONTENT), false);
    assert_eq!(frames, [0x01, 0x04, 0x00, 0x00, 0xff, 0x01]);
    let read = read_response(&frames[2..]).expect("a field section");
    let head = read.expect("a head");
    assert_eq!(head.status, Status::NO_CONTENT);
}

#[test]
fn a_response_to_head_has_a_length_but_no_content() {
    let frames = encode_response(&Response::ok(None, [1; 7]), true);
    let read = read_response(&frames[2..]).expect("a field section");
    let head = read.expect("a head");
    assert_eq!(head.content_length, Some(7));
    assert_eq!(frames.len(), 2 + usize::from(frames[1]));
}

/// The request, or what is wrong with it.
fn request(fields: &[(&str, &str)]) -> Result<RequestHead, Malformed> {
    read_request(&section(fields)).expect("a field section")
}

#[test]
fn malformed_requests_are_refused_with_a_reason() {
    let with = |name, value| [&GET[..], &[(name, value)]].concat();
    let connect = [(":method", "CONNECT"), (":authority", "a:443")];
    let table = [
        (GET[1..].to_vec(), Malformed::Frames),
        (GET[..3].to_vec(), Malformed::Target),
        (vec![GET[0], GET[1], GET[3]], Malformed::Host(0)),
        (vec![GET[0], GET[2], GET[3]], Malformed::Frames),
        (with(":method", "GET"), Malformed::Frames),
        (with(":status", "200"), Malformed::Frames),
        (with(":protocol", "websocket"), Malformed::Frames),
        (with("Accept", "x"), Malformed::Field),
        (with("", "x"), Malformed::Field),
        (with("a b", "x"), Malformed::Field),
        (with("connection", "close"), Malformed::Field),
        (with("proxy-connection", "close"), Malformed::Field),
        (with("keep-alive", "1"), Malformed::Field),
        (with("upgrade", "x"), Malformed::Field),
        (with("transfer-encoding", "chunked"), Malformed::Field),
        (with("te", "gzip"), Malformed::Field),
        (with("a", "b\r\nc: d"), Malformed::Field),
        (with("a", "b\0"), Malformed::Field),
        (with("a", "\u{1b}[2J"), Malformed::Field),
        (with("content-length", "+1"), Malformed::ContentLength),
        (
            [&GET[..], &[("content-length", "1"), ("content-length", "2")]].concat(),
            Malformed::ContentLength,
        ),
        ([&[("a", "b")], &GET[..]].concat(), Malformed::Frames),
        (with("host", "other"), Malformed::Authority),
        (
            vec![GET[0], GET[1], GET[3], (":authority", "")],
            Malformed::Authority,
        ),
        (
            vec![GET[0], GET[1], GET[3], (":authority", "me@host")],
            Malformed::Authority,
        ),
        (vec![GET[0], GET[1], GET[2], (":path", "")], Malformed::Target),
        (vec![GET[0], GET[1], GET[2], (":path", "*")], Malformed::Target),
        ([&connect[..], &[GET[3]]].concat(), Malformed::Frames),
        (connect[..1].to_vec(), Malformed::Host(0)),
    ];
    for (fields, reason) in table {
        assert_eq!(request(&fields), Err(reason), "{fields:?}");
    }
}

#[test]
fn valid_requests_are_accepted() {
    let with = |name, value| [&GET[..], &[(name, value)]].concat();
    for fields in [
        with("host", "wirecost"),
        with("te", "trailers"),
        with("a", "\t\u{e4}"),
        vec![GET[0], GET[1], GET[3], ("host", "[::1]:443")],
        vec![(":method", "OPTIONS"), GET[1], GET[2], (":path", "*")],
    ] {
        assert!(request(&fields).is_ok(), "{fields:?}");
    }
    let tunnel = request(&[(":method", "CONNECT"), (":authority", "a:443")]);
    assert_eq!(tunnel.map(|head| head.method), Ok(None));
}

#[test]
fn malformed_responses_are_refused_with_a_reason() {
    let table: [(&[(&str, &str)], Malformed); 7] = [
        (&[], Malformed::Frames),
        (&[(":status", "200"), (":status", "200")], Malformed::Frames),
        (&[(":status", "200"), (":path", "/")], Malformed::Frames),
        (&[(":status", "99")], Malformed::Head),
        (&[(":status", "600")], Malformed::Status(600)),
        (&[(":status", "101")], Malformed::Switching),
        (&[(":status", "200"), ("Server", "x")], Malformed::Field),
    ];
    for (fields, reason) in table {
        let read = read_response(&section(fields)).expect("a field section");
        assert_eq!(read, Err(reason), "{fields:?}");
    }
}

#[test]
fn trailers_have_no_pseudo_fields() {
    let read = |fields: &[(&str, &str)]| read_trailers(&section(fields)).expect("a field section");
    assert_eq!(read(&[("a", "b")]), Ok(()));
    assert_eq!(read(&[(":status", "200")]), Err(Malformed::Frames));
}

#[test]
fn an_undecodable_section_is_a_connection_error() {
    for bytes in [&[0, 0, 0xff, 0x24][..], &[1, 0], &[0, 0x80], &[0, 0, 0x27]] {
        let code = Code::QpackDecompressionFailed;
        assert_eq!(read_request(bytes).map_err(|fault| fault.code), Err(code));
        assert_eq!(read_response(bytes).map_err(|fault| fault.code), Err(code));
        assert_eq!(read_trailers(bytes).map_err(|fault| fault.code), Err(code));
    }
}
