//! The nested tables of scenarios, key by key: those of loads with their phases and sites, and those of comparisons.

use crate::key::Holds::{
    ByName, Do, Either, Flag, List, Nothing, Of, Scalar, Several, Table, Text, Whole, Word,
};
use crate::key::{CLIENTS, COMPRESSION, COUNT, ENCODING, Key, RATE, READINGS, SIZE, TIME, defined, keys};
use crate::link::shape::LINKS;
use wirecost_security::Start;

/// Groups of devices.
const WHO: &[&str] = &["all", "senders", "subscribers"];

defined! {
    pub(crate) PHASE "phase" Do(PHASES) => "One thing that devices do, all of them at the same time.";
    pub(crate) SITES "sites" ByName("^[A-Za-z0-9_]+$", &Either(&[Table(SITE), Nothing]))
        => "Places, by name: devices, or servers that wirecost starts.";
    pub(crate) SITE_LINKS "site_links" ByName("", &Of(&LINKS))
        => "The links between sites, by the names of the two sites joined by -. Up is from devices to their server, and between two servers from the first site to the second.";
    pub(crate) SETTINGS "settings" ByName("", &Either(&[Whole(0, u64::MAX), Text]))
        => "Settings of the server that replace those that wirecost gives it, e.g. max_queued_messages of mosquitto, workers of apache.";
    pub(crate) PLACES "at" Table(AT) => "The sites of the devices.";
    pub(crate) SENT "schedule" Table(SCHEDULE) => "What a device sends on a connection, and when.";
}

keys! {
    /// Devices that subscribe.
    pub(crate) SUBSCRIBERS {
        must devices Of(&CLIENTS) => "";
        may filter Text => "Topic filter, or the path to poll; %d is the subscriber's number. Default where they poll: messages.";
        may poll Of(&TIME) => "How often each of them asks for the messages since its last question (HTTP), as in 500ms.";
        may shared Text => "The group of a shared subscription (MQTT 5).";
        may qos Whole(0, 2) => "The QoS that they ask for. Default: 0.";
    }
    /// A payload, and beside it a trace.
    pub(crate) PAYLOAD {
        may size Of(&SIZE) => "";
        may file Text => "A file beside the scenario.";
        may template Text
            => "A text with %d the device's number, %n the message's, %t the time in milliseconds, %r random digits.";
        may hex Text => "Bytes in hexadecimal digits.";
        may readings Table(BATCH) => "Readings of a sensor.";
        may trace Text => "A file beside the scenario with lines time,value: the first device sends these values at these times, in seconds from the start of the phase. Beside it one of the others may be there, for the other devices.";
    }
    pub(crate) BATCH {
        may count Of(&READINGS) => "";
        may encoding Of(&ENCODING) => "";
        may compression Of(&COMPRESSION) => "";
    }
    /// A will.
    pub(crate) WILL {
        must topic Text => "Topic; %d is the device's number.";
        may payload Text => "Payload.";
    }
    /// The contents of a capture.
    pub(crate) RECORD {
        may keys Flag => "Whether it holds the secrets of its connections. Default: true.";
    }
    /// A login.
    pub(crate) LOGIN {
        must user Text => "User; %d is the device's number.";
        may password Either(&[Scalar, Table(VARIABLE)]) => "The password, or the environment's variable that holds it.";
    }
    pub(crate) VARIABLE {
        must env Text => "The name of a variable.";
    }
    /// The kinds of phases by the value of `do`, with the keys of each.
    pub(crate) PHASES {
        may connect Table(CONNECT) => "Connect at a rate per second.";
        may publish Table(OFFER) => "Send messages.";
        may request Table(OFFER) => "Send requests and wait for responses with content (CoAP, HTTP: GET).";
        may handshakes Table(HANDSHAKES) => "Connect, close and connect again.";
        may hold Table(HOLD) => "Keep connections open and do nothing.";
        may drop_all Table(DROP_ALL) => "Lose all connections at once.";
        may reconnect Table(RECONNECT) => "Connect lost devices again.";
        may await_replay Table(AWAIT_REPLAY) => "Wait until queued messages have come.";
        may close Table(CLOSE) => "Close as the protocol does.";
    }
    CONNECT {
        may who Word(WHO) => "Which devices. Default: all.";
        may rate Of(&RATE) => "Connections per second; as fast as they come where it is absent.";
    }
    HANDSHAKES {
        may rate Of(&RATE) => "Scheduled messages per second. Default: the load's rate, 1000/s.";
        may per_client Flag => "Whether the rate is each device's. Default: false, of all together.";
        may arrivals Word(&["constant", "poisson"]) => "Gaps between messages. Default: constant.";
        may closed_loop Flag => "Whether the next message waits for the answer to the one before.";
        either duration Of(&TIME) => "When it ends.";
        either count Of(&CLIENTS) => "How many messages, over all devices.";
        may warm_up Of(&TIME) => "Time at the beginning that is in no figure.";
        may ramp Of(&TIME) => "Time in which the rate rises to its full height.";
        may spread Of(&TIME) => "The time over which each round of messages, one of each device, is spread.";
        may start Word(&Start::NAMES) => "How the connections start. Default: the load's.";
    }
    HOLD {
        must duration Of(&TIME) => "How long.";
    }
    DROP_ALL {
        may who Word(WHO) => "Which devices. Default: all.";
        may reset Flag => "By RST instead of a close. Default: true.";
    }
    RECONNECT {
        may who Word(WHO) => "Which devices. Default: all.";
        may backoff Table(BACKOFF) => "How long devices wait before they connect again, doubled after each failure.";
        may timeout Of(&TIME) => "When to give up. Default: 120s.";
    }
    pub(crate) BACKOFF {
        may first Of(&TIME) => "After the first loss. Default: 1s.";
        may max Of(&TIME) => "At most. Default: 60s.";
        may jitter Word(&["none", "full"]) => "full draws each wait evenly from 0. Default: full.";
    }
    AWAIT_REPLAY {
        may timeout Of(&TIME) => "When to give up. Default: 120s.";
    }
    CLOSE {
        may rate Of(&RATE) => "Connections closed per second; by default all at once.";
    }
    pub(crate) SITE {
        may servers Several(&Text) => "The servers there: one, or a list.";
        may settings Of(&SETTINGS) => "";
        may bridges List(0, &Table(BRIDGE))
            => "What the Mosquitto of the site passes on to that of another site, over the link between them.";
    }
    pub(crate) BRIDGE {
        must to Text => "The other site.";
        must topic Text => "The topics, as a filter.";
        may qos Whole(0, 2) => "The most QoS of what is passed on. Default: 0.";
    }
    pub(crate) AT {
        must senders Text => "Of those that send.";
        may subscribers Text => "Of those that subscribe. Default: that of those that send.";
    }
    /// The contents of a capture.
    pub(crate) RECORD_OF_CELLS {
        may keys Flag => "Whether it holds the secrets of its connections. Default: true.";
        may hosts Of(&COUNT) => "Devices per cell in the capture of a run of more than 10,000 messages. Default: 1.";
    }
    pub(crate) SCHEDULE {
        may messages_per_connection Whole(1, u64::MAX) => "Measured messages.";
        may warm_up Flag => "Whether a message goes before them.";
        may interval Of(&TIME) => "Time between them; each one settles where it is absent.";
        may keep_alive Of(&TIME)
            => "Time between keep-alives of MQTT, in place of that of the run; stacks without keep-alives have no such cells.";
    }
    /// The bytes of each message.
    pub(crate) BYTES {
        may file Text => "A file beside the scenario.";
        may hex Text => "Bytes in hexadecimal digits.";
    }
}

/// What messages and requests have: all that handshakes have but their start.
const OFFER: &[Key] = HANDSHAKES.split_last().expect("there are keys").1;

/// What a payload holds beside its trace.
pub(crate) const CONTENT: &[Key] = PAYLOAD.split_last().expect("there are keys").1;
