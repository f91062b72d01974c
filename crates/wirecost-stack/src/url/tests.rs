use super::*;

#[test]
fn a_scheme_has_its_registered_port() {
    // The discard service's for bare payloads (RFC 863).
    let ports = [
        1_883, 8_883, 1_883, 8_883, 5_683, 5_684, 5_683, 5_684, 5_672, 5_671, 80, 443, 443, 9, 9,
    ];
    for ((scheme, name, protocol), port) in Scheme::TABLE.into_iter().zip(ports) {
        let url: Url = format!("{name}://host/a/b?c").parse().expect("a URL");
        assert_eq!(
            (url.scheme, url.port, url.scheme.protocol()),
            (scheme, port, protocol)
        );
        assert_eq!(url.resource, "a/b?c");
        let has_counterpart = !matches!(protocol, Protocol::Tcp | Protocol::Udp);
        assert_eq!(
            scheme.counterpart().is_secure() != scheme.is_secure(),
            has_counterpart
        );
    }
}

#[test]
fn a_scheme_names_its_stacks() {
    for (url, stack, others) in [
        ("mqtt://host", "mqtt-qos1", "mqtt5-qos0 mqtt-qos2"),
        ("mqtts://host", "mqtt-qos1+tls1.3", "mqtt5-qos2+tls1.2"),
        ("mqttsn://host", "mqttsn-qos1", "mqttsn-qos-1 mqttsn-qos2"),
        ("mqttsns://host", "mqttsn-qos1+dtls1.2", "mqttsn-qos0+dtls1.2-psk"),
        ("coap://host", "coap-con", "coap-non coap-con+oscore"),
        ("coaps://host", "coap-con+dtls1.2", "coap-non+dtls1.3"),
        ("coap+tcp://host", "coap-tcp", "coap-tcp+cose"),
        ("coaps+tcp://host", "coap-tcp+tls1.3", "coap-tcp+tls1.2"),
        ("amqps://host", "amqp-unsettled+tls1.3", "amqp-settled+tls1.2"),
        ("http://host", "http1", "http1+cose"),
        ("h3://host", "http3", "http3+cose"),
        ("tcp://host:7", "tcp", "tcp+tls1.3"),
        ("udp://host:7", "udp", "udp+dtls1.3"),
    ] {
        let url: Url = url.parse().expect("a URL");
        assert_eq!(url.scheme.stack().to_string(), stack);
        for name in others.split(' ').chain([stack]) {
            assert!(url.names(name.parse().expect("a stack")), "{url} {name}");
        }
    }
    let url: Url = "mqtts://host".parse().expect("a URL");
    for name in ["mqtt-qos1", "coap-con+dtls1.2", "http3"] {
        assert!(!url.names(name.parse().expect("a stack")), "{name}");
    }
}

#[test]
fn ports_users_and_ipv6_addresses_are_read() {
    let url: Url = "MQTT://me:p%40ss@[fd78::1]:1884".parse().expect("a URL");
    assert_eq!(
        (url.host.as_str(), url.port, url.resource.as_str()),
        ("fd78::1", 1884, "")
    );
    let login = url.login.clone().expect("a login");
    assert_eq!((login.user.as_str(), login.password.as_str()), ("me", "p@ss"));
    assert_eq!(
        url.to_string(),
        "mqtt://[fd78::1]:1884/",
        "a password is not shown"
    );
}

#[test]
fn a_percent_sign_that_encodes_nothing_is_found() {
    for (url, stray) in [
        ("mqtt://host/a%2fb%25", None),
        ("mqtt://host/dev/%d/up", Some("%d")),
        ("coap://host/a%20b/%n", Some("%n")),
        ("mqtt://host/50%", Some("%")),
        ("mqtt://host/%é", Some("%é")),
        ("mqtt://host", None),
    ] {
        assert_eq!(url.parse::<Url>().expect(url).stray_percent(), stray, "{url}");
    }
}

#[test]
fn the_path_of_a_url_is_what_messages_name() {
    for (url, expected) in [
        ("mqtt://host", None),
        ("mqtt://host/", None),
        ("mqtt://host/a%2fb%25", Some("a/b%%")),
        ("http://host/a%2Fb?x=a%26b", Some("a%%2Fb?x=a%%26b")),
        ("http://host", Some("/")),
        ("h3://host/", Some("/")),
        ("https://host/a?b", Some("a?b")),
    ] {
        let url: Url = url.parse().expect("a URL");
        assert_eq!(url.resource_pattern().as_deref(), expected, "{url}");
    }
}

#[test]
fn what_is_no_url_is_refused_with_the_reason() {
    let error = |text: &str| text.parse::<Url>().expect_err(text).to_string();
    assert!(error("mqt://host").starts_with("unknown scheme \"mqt\" (did you mean mqtt?)"));
    assert!(error("gopher://host").starts_with("unknown scheme \"gopher\"; the schemes are mqtt"));
    assert!(error("wss://host/mqtt").starts_with("wirecost speaks no WebSocket: write mqtts://HOST:PORT"));
    assert!(error("host:1883").contains("no scheme"));
    assert!(error("mqtt:///topic").contains("no host"));
    assert!(error("mqtt://host:0").contains("from 1 to 65535"));
    assert!(error("mqtt://host:99999").contains("\"99999\""));
}

#[test]
fn percent_signs_that_stand_for_nothing_stay() {
    assert_eq!(percent_decoded("a%2fb%zz%"), "a/b%zz%");
}
