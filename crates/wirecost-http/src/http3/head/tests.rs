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
    let head = read_request(&frames[size..size + headers.len as usize]).expect("a head");
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
fn a_template_is_encoded_once_and_stays_equal_to_its_like() {
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
    let head = read_response(&frames[2..]).expect("a head");
    assert_eq!(head.status, Status::NO_CONTENT);
}

#[test]
fn a_response_to_head_says_the_length_and_has_no_content() {
    let frames = encode_response(&Response::ok(None, [1; 7]), true);
    let head = read_response(&frames[2..]).expect("a head");
    assert_eq!(head.content_length, Some(7));
    assert_eq!(frames.len(), 2 + usize::from(frames[1]));
}

#[test]
fn malformed_requests_are_refused_with_their_reason() {
    let with = |name, value| section(&[&GET[..], &[(name, value)]].concat());
    let table = [
        (section(&GET[1..]), Malformed::Frames),
        (section(&GET[..3]), Malformed::Target),
        (section(&[GET[0], GET[1], GET[3]]), Malformed::Host(0)),
        (with(":method", "GET"), Malformed::Frames),
        (with("Accept", "x"), Malformed::Head),
        (with("connection", "close"), Malformed::Head),
        (with("a", "b\r\nc: d"), Malformed::Head),
        (with("content-length", "+1"), Malformed::ContentLength),
        (section(&[&[("a", "b")], &GET[..]].concat()), Malformed::Frames),
    ];
    for (section, reason) in table {
        assert_eq!(read_request(&section), Err(reason));
    }
    assert!(read_request(&with("host", "wirecost")).is_ok());
}
