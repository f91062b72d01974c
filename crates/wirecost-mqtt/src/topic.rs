//! Topic names and topic filters (section 4.7).

/// The wildcard that matches one level.
pub(crate) const SINGLE_LEVEL: &str = "+";
/// The wildcard that matches its parent and any number of levels. It must be the last level of a filter.
pub(crate) const MULTI_LEVEL: &str = "#";
/// The first level of a shared subscription (section 4.8.2).
const SHARE: &str = "$share/";

/// Whether `name` has a character that is allowed only in filters [MQTT-3.3.2-2].
pub(crate) fn has_wildcard(name: &str) -> bool {
    name.contains(['+', '#'])
}

/// Whether `name` is hidden from filters that begin with a wildcard [MQTT-4.7.2-1].
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('$')
}

/// Whether the topic is reserved for the server, so that clients must not publish to it: server information (section
/// 4.7.2) and shared subscriptions (section 4.8.2). Applications may use other names with a dollar sign, as with
/// Mosquitto.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name.split('/').next(), Some("$SYS" | "$share"))
}

/// Whether `filter` is valid: a wildcard takes a whole level, `#` is the last level [MQTT-4.7.1-1], and a shared filter
/// names its group [MQTT-4.8.2-1].
pub(crate) fn is_filter(filter: &str) -> bool {
    let shared = filter.starts_with(SHARE) || filter == "$share";
    if shared && split_shared(filter).is_none() {
        return false;
    }
    let mut levels = filter.split('/').peekable();
    while let Some(level) = levels.next() {
        let last = levels.peek().is_none();
        if has_wildcard(level) && level != SINGLE_LEVEL && !(level == MULTI_LEVEL && last) {
            return false;
        }
    }
    !filter.is_empty()
}

/// The group and the filter of a shared subscription; `None` if `filter` is not one. MQTT 3.1.1 does not have shared
/// subscriptions. Like common brokers, this one supports them there, too.
pub(crate) fn split_shared(filter: &str) -> Option<(&str, &str)> {
    let (group, filter) = filter.strip_prefix(SHARE)?.split_once('/')?;
    // [MQTT-4.8.2-1], [MQTT-4.8.2-2]
    (!group.is_empty() && !has_wildcard(group) && !filter.is_empty()).then_some((group, filter))
}

/// Whether a subscription to `filter` matches the topic `name`.
///
/// ```
/// use wirecost_mqtt::topic::matches;
/// assert!(matches("sport/+/player1", "sport/tennis/player1"));
/// assert!(matches("sport/#", "sport"));
/// assert!(!matches("#", "$SYS/uptime"));
/// ```
pub fn matches(filter: &str, name: &str) -> bool {
    if is_hidden(name) && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut levels = name.split('/');
    for wanted in filter.split('/') {
        if wanted == MULTI_LEVEL {
            return true;
        }
        match levels.next() {
            Some(level) if wanted == SINGLE_LEVEL || wanted == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_in_section_4_7_1() {
        let matching = [
            ("sport/tennis/player1/#", "sport/tennis/player1"),
            ("sport/tennis/player1/#", "sport/tennis/player1/ranking"),
            ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon"),
            ("sport/#", "sport"),
            ("#", "a/b"),
            ("sport/tennis/+", "sport/tennis/player1"),
            ("sport/+", "sport/"),
            ("+/+", "/finance"),
            ("/+", "/finance"),
            ("$SYS/#", "$SYS/a"),
            ("$SYS/monitor/+", "$SYS/monitor/Clients"),
        ];
        for (filter, name) in matching {
            assert!(matches(filter, name), "{filter} {name}");
        }
        let others = [
            ("sport/tennis/+", "sport/tennis/player1/ranking"),
            ("sport/+", "sport"),
            ("+", "/finance"),
            ("#", "$SYS/a"),
            ("+/monitor/Clients", "$SYS/monitor/Clients"),
            ("a", "A"),
            ("a/b", "a"),
        ];
        for (filter, name) in others {
            assert!(!matches(filter, name), "{filter} {name}");
        }
    }

    #[test]
    fn a_wildcard_takes_a_whole_level() {
        for filter in [
            "#",
            "+",
            "a/#",
            "+/a/#",
            "/",
            "a//b",
            "$share/g/#",
            "$share/g//",
            "$sharex",
        ] {
            assert!(is_filter(filter), "{filter}");
        }
        let wrong = [
            "",
            "a#",
            "a/#/b",
            "a+",
            "#/a",
            "$share",
            "$share/",
            "$share/g",
            "$share//a",
            "$share/g/",
            "$share/+/a",
        ];
        for filter in wrong {
            assert!(!is_filter(filter), "{filter}");
        }
    }
}
