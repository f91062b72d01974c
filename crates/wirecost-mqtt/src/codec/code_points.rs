//! Disallowed Unicode code points (section 1.5.4): text should not have them, and a receiver may treat a packet that has them
//! as malformed. The broker does, so that no subscriber receives what it would have to refuse (section 5.4.9).

use crate::codec::{Connect, Malformed, Packet, Properties, Property};

/// Whether `text` has a control character (U+0000 to U+001F, U+007F to U+009F) or a code point that Unicode defines as no
/// character.
pub fn has_disallowed(text: &str) -> bool {
    // Most text is ASCII, where one comparison for each byte is enough.
    let is_printable_ascii = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    !is_printable_ascii && text.chars().any(is_disallowed)
}

const fn is_disallowed(character: char) -> bool {
    let is_no_character = matches!(character, '\u{fdd0}'..='\u{fdef}') || character as u32 & 0xfffe == 0xfffe;
    matches!(character, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}') || is_no_character
}

/// Checks every text of a packet.
///
/// # Errors
/// A text has a disallowed code point.
pub(crate) fn check(packet: &Packet<'_>) -> Result<(), Malformed> {
    let (is_bad, properties) = match packet {
        Packet::Connect(connect) => (in_connect(connect), connect.properties),
        Packet::Connack(connack) => (false, connack.properties),
        Packet::Publish(publish) => (has_disallowed(&publish.topic), publish.properties),
        Packet::Puback(packet)
        | Packet::Pubrec(packet)
        | Packet::Pubrel(packet)
        | Packet::Pubcomp(packet) => (false, packet.properties),
        Packet::Subscribe(subscribe) => {
            let is_bad = subscribe
                .filters
                .iter()
                .any(|(filter, _)| has_disallowed(&filter));
            (is_bad, subscribe.properties)
        }
        Packet::Unsubscribe(unsubscribe) => {
            let is_bad = unsubscribe.topics.iter().any(|filter| has_disallowed(&filter));
            (is_bad, unsubscribe.properties)
        }
        Packet::Suback(outcomes) | Packet::Unsuback(outcomes) => (false, outcomes.properties),
        Packet::Disconnect(reason) | Packet::Auth(reason) => (false, reason.properties),
        Packet::Pingreq | Packet::Pingresp => (false, Properties::EMPTY),
    };
    if is_bad || in_properties(properties) {
        return Err(Malformed::CodePoint);
    }
    Ok(())
}

fn in_connect(connect: &Connect<'_>) -> bool {
    let in_will = connect
        .will
        .is_some_and(|will| has_disallowed(&will.topic) || in_properties(will.properties));
    let in_username = connect.username.is_some_and(|name| has_disallowed(&name));
    in_will || in_username || has_disallowed(&connect.client_id)
}

fn in_properties(properties: Properties<'_>) -> bool {
    properties.iter().any(|property| match property {
        Property::ContentType(text)
        | Property::ResponseTopic(text)
        | Property::AssignedClientIdentifier(text)
        | Property::AuthenticationMethod(text)
        | Property::ResponseInformation(text)
        | Property::ServerReference(text)
        | Property::ReasonString(text) => has_disallowed(&text),
        Property::UserProperty(name, value) => has_disallowed(&name) || has_disallowed(&value),
        Property::PayloadFormatIndicator(_)
        | Property::MessageExpiryInterval(_)
        | Property::CorrelationData(_)
        | Property::SubscriptionIdentifier(_)
        | Property::SessionExpiryInterval(_)
        | Property::ServerKeepAlive(_)
        | Property::AuthenticationData(_)
        | Property::RequestProblemInformation(_)
        | Property::WillDelayInterval(_)
        | Property::RequestResponseInformation(_)
        | Property::ReceiveMaximum(_)
        | Property::TopicAliasMaximum(_)
        | Property::TopicAlias(_)
        | Property::MaximumQos(_)
        | Property::RetainAvailable(_)
        | Property::MaximumPacketSize(_)
        | Property::WildcardSubscriptionAvailable(_)
        | Property::SubscriptionIdentifiersAvailable(_)
        | Property::SharedSubscriptionAvailable(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_what_is_no_character_are_disallowed() {
        let disallowed = [
            "a\u{1}",
            "\u{1f}",
            "\u{7f}",
            "é\u{80}",
            "\u{9f}",
            "\u{fdd0}",
            "\u{fdef}",
            "\u{fffe}",
            "\u{1ffff}",
            "\u{10ffff}",
        ];
        for text in disallowed {
            assert!(has_disallowed(text), "{text:?}");
        }
        for text in [
            "",
            "a/b c~",
            "é",
            "\u{a0}",
            "\u{feff}",
            "\u{fdcf}",
            "\u{fdf0}",
            "\u{fffd}",
            "\u{10fffd}",
            "🦀",
        ] {
            assert!(!has_disallowed(text), "{text:?}");
        }
    }
}
