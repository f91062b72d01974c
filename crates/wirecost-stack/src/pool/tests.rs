use super::*;

fn config(stack: &str, resource: &str, payload: PayloadSource) -> PoolConfig {
    PoolConfig {
        stack: stack.parse().expect("a stack"),
        resource: resource.parse().expect("a pattern"),
        authority: "server".into(),
        requests: Requests::default(),
        retain: false,
        topics: None,
        user_properties: Arc::default(),
        recorded: None,
        payload,
        utc_offset_ns: 0,
        seed: 1,
        mark: 0,
    }
}

fn stamp(device: u32, message: u32) -> Stamp {
    Stamp {
        device,
        message,
        intended_ns: 5_000_000,
    }
}

/// Topic and payload of a message.
fn published(outgoing: &Outgoing) -> (String, Vec<u8>) {
    let Template::Mqtt(template) = &outgoing.template else {
        panic!("no PUBLISH")
    };
    let mut payload = template.payload().to_vec();
    if let Some(stamp) = outgoing.stamp {
        stamp.put(&mut payload);
    }
    (template.topic().to_string(), payload)
}

#[test]
fn a_message_that_is_held_is_not_written_over() {
    let mut pool =
        MessagePool::new(config("mqtt-qos1", "t/%d/%n", PayloadSource::random(32, 1))).expect("a pool");
    let held: Vec<_> = (0..100)
        .map(|number| pool.message(stamp(number % 7, number)).expect("a message"))
        .collect();
    for (number, outgoing) in (0..).zip(&held) {
        let (topic, payload) = published(outgoing);
        assert_eq!(topic, format!("t/{}/{}", number % 7 + 1, number + 1));
        assert_eq!(Stamp::read(&payload), Some(stamp(number % 7, number)));
        assert_eq!(payload.len(), 32);
    }
}

#[test]
fn a_message_that_is_free_is_used_again() {
    let mut pool =
        MessagePool::new(config("mqtt-qos1", "t/%d", PayloadSource::random(32, 1))).expect("a pool");
    for number in 0..1_000 {
        let outgoing = pool.message(stamp(number, number)).expect("a message");
        assert_eq!(published(&outgoing).0, format!("t/{}", number + 1));
    }
    assert_eq!(pool.templates.len(), 1);
}

#[test]
fn a_stalled_device_does_not_keep_the_pool_growing() {
    let mut pool =
        MessagePool::new(config("mqtt-qos1", "t/%d", PayloadSource::random(32, 1))).expect("a pool");
    let _stalled: Vec<_> = (0..3).map(|number| pool.message(stamp(0, number))).collect();
    for number in 0..10_000 {
        pool.message(stamp(1, number)).expect("a message");
    }
    assert!(pool.templates.len() <= 3 + TRIES, "{}", pool.templates.len());
}

#[test]
fn payloads_are_stamped_bytes_as_given_or_a_text() {
    let of = |payload| {
        let mut pool = MessagePool::new(config("mqtt-qos0", "t", payload)).expect("a pool");
        let first = published(&pool.message(stamp(1, 9)).expect("a message")).1;
        (
            pool.is_stamped(),
            first,
            published(&pool.message(stamp(1, 10)).expect("a message")).1,
        )
    };
    let (stamped, first, second) = of(PayloadSource::random(16, 1));
    assert!(stamped && first != second);
    let (stamped, first, second) = of(PayloadSource::random(15, 1));
    assert!(!stamped && first == second && first.len() == 15);
    let file: Arc<[u8]> = Arc::from(*b"the contents of a file");
    let (stamped, first, second) = of(PayloadSource::Bytes(file.clone()));
    assert!(!stamped && first == second && *first == *file);
    let text = "{\"d\":%d,\"n\":%n,\"t\":%t}".parse().expect("a pattern");
    let (stamped, first, second) = of(PayloadSource::Text(text));
    assert!(!stamped);
    assert_eq!(first, b"{\"d\":2,\"n\":10,\"t\":5}");
    assert_eq!(second, b"{\"d\":2,\"n\":11,\"t\":5}");
}

#[test]
fn every_stack_has_messages_and_those_with_requests_have_them() {
    for stack in [
        "tcp",
        "udp",
        "mqtt-qos0",
        "mqtt5-qos2",
        "coap-non",
        "coap-con",
        "amqp-settled",
        "amqp-unsettled",
        "http1",
        "http3",
        "udp+cose",
        "coap-con+oscore",
    ] {
        let mut pool = MessagePool::new(config(stack, "test", PayloadSource::random(64, 1))).expect(stack);
        let one = pool.message(stamp(0, 0)).expect(stack);
        let other = pool.message(stamp(0, 1)).expect(stack);
        assert!(one != other, "{stack}: each has its stamp, or is sealed anew");
        let asks = stack.starts_with("coap") || stack.starts_with("http");
        assert_eq!(pool.request(stamp(0, 0)).is_ok(), asks, "{stack}");
    }
}

#[test]
fn the_path_of_a_request_differs_where_its_pattern_does() {
    for stack in ["coap-con", "http1"] {
        let mut pool = MessagePool::new(config(stack, "t%d", PayloadSource::random(64, 1))).expect(stack);
        let of = |pool: &mut MessagePool, device| pool.request(stamp(device, 0)).expect(stack);
        assert_eq!(of(&mut pool, 1), of(&mut pool, 1));
        assert_ne!(of(&mut pool, 1), of(&mut pool, 2));
        let sent = |pool: &mut MessagePool, device| pool.message(stamp(device, 0)).expect(stack);
        assert_ne!(sent(&mut pool, 1), sent(&mut pool, 2));
    }
}

#[test]
fn what_a_protocol_cannot_carry_is_an_error_before_the_start() {
    let error = |stack, resource| {
        MessagePool::new(config(stack, resource, PayloadSource::random(16, 1)))
            .expect_err("an error")
            .to_string()
    };
    assert!(error("mqtt-qos1", "a/+/b").contains("wildcard"));
    assert!(error("amqp-unsettled", "t%n").contains("one address"));
}
