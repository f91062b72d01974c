//! The list of resources in link format, and its filters (RFC 6690).

use alloc::vec::Vec;

use super::definition::{Access, Definition};

/// The links of the `definitions` that match `query`, in link format.
pub(super) fn write(definitions: &[Definition], query: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    let matching = definitions.iter().filter(|definition| matches(definition, query));
    for definition in matching {
        if !out.is_empty() {
            out.push(b',');
        }
        write_link(definition, &mut out);
    }
    out
}

fn write_link(definition: &Definition, out: &mut Vec<u8>) {
    let mut text = |part: &str| out.extend_from_slice(part.as_bytes());
    text("<");
    text(definition.path);
    text(">");
    for (name, value) in definition.attributes {
        // Numbers are not quoted (RFC 6690 section 3.3, RFC 7252 section 7.2.1).
        let quote = match value.bytes().all(|byte| byte.is_ascii_digit()) {
            true => "",
            false => "\"",
        };
        [";", name, "=", quote, value, quote]
            .into_iter()
            .for_each(&mut text);
    }
    if definition.access == Access::Protected {
        // RFC 8613 section 9.
        text(";osc");
    }
    if definition.observable.is_some() {
        // RFC 7641 section 6: a hint that the resource is worth observing.
        text(";obs");
    }
}

/// Whether a link matches the filter `name=value`. A value may end with `*`. The values of an attribute are separated
/// by spaces (RFC 6690 section 4.1).
fn matches(definition: &Definition, query: Option<&str>) -> bool {
    let Some((name, wanted)) = query.and_then(|query| query.split_once('=')) else {
        return true;
    };
    let is_wanted = |value: &str| match wanted.strip_suffix('*') {
        Some(prefix) => value.starts_with(prefix),
        None => value == wanted,
    };
    if name == "href" {
        return is_wanted(definition.path);
    }
    let named = definition.attributes.iter().filter(|(own, _)| *own == name);
    named.flat_map(|(_, values)| values.split(' ')).any(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::super::plugtest::DEFINITIONS;
    use super::*;
    use alloc::string::String;

    fn paths(query: &str) -> Vec<String> {
        let text = String::from_utf8(write(DEFINITIONS, Some(query))).expect("links are text");
        let path = |link: &str| String::from(link.split(['<', '>']).nth(1).expect("a link has a target"));
        text.split(',')
            .filter(|link| !link.is_empty())
            .map(path)
            .collect()
    }

    #[test]
    fn filters_by_attribute_prefix_and_target() {
        // TD_COAP_LINK_02 to 09.
        assert_eq!(paths("rt=Type1"), ["/link1", "/link3"]);
        assert_eq!(paths("rt=Type2"), ["/link1", "/link2"]);
        assert_eq!(paths("rt=Type*"), ["/link1", "/link2", "/link3"]);
        assert_eq!(paths("if=If*"), ["/link1", "/link2"]);
        assert_eq!(paths("if=foo"), ["/link3"]);
        assert_eq!(paths("href=/link1"), ["/link1"]);
        assert_eq!(paths("href=/link*"), ["/link1", "/link2", "/link3"]);
        assert_eq!(paths("sz=*"), ["/large", "/large-update"]);
        assert_eq!(paths("ct=40"), ["/path", "/.well-known/core"]);
        assert!(paths("rt=None").is_empty());
        assert!(paths("none=1").is_empty());
    }

    #[test]
    fn a_link_shows_its_attributes() {
        let text = |query| String::from_utf8(write(DEFINITIONS, Some(query))).expect("links are text");
        assert_eq!(text("href=/link1"), "</link1>;rt=\"Type1 Type2\";if=\"If1\"");
        assert_eq!(text("href=/obs"), "</obs>;obs");
        assert_eq!(text("href=/large"), "</large>;sz=1280");
        assert_eq!(text("href=/multi-format"), "</multi-format>;ct=\"0 41 50 60\"");
        assert_eq!(text("href=/oscore/hello/1"), "</oscore/hello/1>;osc");
    }
}
