//! The finder of readings, packet by packet.

use super::*;

/// A span of a message that was not sent before.
const fn span(len: u32, layer: Layer) -> Span {
    Span {
        len,
        layer,
        phase: Phase::Message,
        cause: Cause::Original,
    }
}

fn headers(transport: u32) -> [Span; 2] {
    [span(20, Layer::Ip), span(transport, Layer::Transport)]
}

const TCP: u32 = 32;
const UDP: u32 = 8;

#[derive(Default)]
struct Told {
    found: Readings,
    seconds: u64,
}

impl Told {
    fn packet(&mut self, direction: Direction, transport: u32, content: &[Span]) -> &mut Self {
        self.seconds += 1;
        self.found.packet(&ObservedPacket {
            at: Instant::from_nanos(self.seconds * 1_000_000_000),
            direction,
            phase: Phase::Message,
            cause: Cause::Original,
            spans: &[&headers(transport), content].concat(),
        });
        self
    }

    fn up(&mut self, transport: u32, content: &[Span]) -> &mut Self {
        self.packet(Direction::Up, transport, content)
    }

    fn down(&mut self, transport: u32, content: &[Span]) -> &mut Self {
        self.packet(Direction::Down, transport, content)
    }

    fn connect(&mut self) -> &mut Self {
        self.found.event(Instant::from_nanos(0), DeviceEvent::Connect);
        self
    }

    /// Second and bytes of each reading up.
    fn seen(&self) -> Vec<(u64, u64)> {
        seconds(&self.found.seen)
    }

    fn encrypted(&self, mqtt: bool) -> (Vec<(u64, u64)>, u64) {
        let found = self.found.encrypted(mqtt);
        let By::Records { small, openings, .. } = found.by else {
            panic!("records are no payload");
        };
        (seconds(&found.readings), small + openings)
    }
}

fn seconds(readings: &[Reading]) -> Vec<(u64, u64)> {
    let readings = readings.iter();
    readings
        .map(|(at, bytes)| (at.as_nanos() / 1_000_000_000, *bytes))
        .collect()
}

#[test]
fn a_publish_over_two_segments_is_one_reading() {
    let mut told = Told::default();
    told.up(TCP, &[span(12, Layer::Application), span(1_400, Layer::Payload)])
        .up(TCP, &[span(600, Layer::Payload)])
        .up(TCP, &[span(12, Layer::Application), span(48, Layer::Payload)]);
    assert_eq!(told.seen(), [(1, 2_000), (3, 48)]);
}

#[test]
fn two_publishes_in_one_segment_are_two_readings() {
    let mut told = Told::default();
    let one = [span(12, Layer::Application), span(48, Layer::Payload)];
    told.up(TCP, &[one, one].concat());
    assert_eq!(told.seen(), [(1, 48), (1, 48)]);
}

#[test]
fn a_head_in_its_own_segment_begins_the_reading_of_its_body() {
    let mut told = Told::default();
    // HTTP and AMQP: the head may go before the body.
    told.up(TCP, &[span(80, Layer::Application)])
        .up(TCP, &[span(300, Layer::Payload)]);
    assert_eq!(told.seen(), [(2, 300)]);
}

#[test]
fn each_datagram_with_payload_is_a_reading() {
    let mut told = Told::default();
    told.up(UDP, &[span(12, Layer::Application), span(48, Layer::Payload)])
        .up(UDP, &[span(30, Layer::Payload)])
        .up(UDP, &[span(31, Layer::Payload)]);
    assert_eq!(told.seen(), [(1, 48), (2, 30), (3, 31)]);
}

#[test]
fn a_pause_separates_the_readings_of_bare_tcp() {
    let mut told = Told::default();
    told.up(TCP, &[span(48, Layer::Payload), span(2, Layer::Payload)])
        .up(TCP, &[span(48, Layer::Payload)]);
    assert_eq!(told.seen(), [(1, 50), (2, 48)]);
}

#[test]
fn a_retransmission_is_no_reading() {
    let mut told = Told::default();
    let again = |len, layer| Span {
        cause: Cause::Retransmission,
        ..span(len, layer)
    };
    told.up(UDP, &[span(12, Layer::Application), span(48, Layer::Payload)])
        .up(UDP, &[again(12, Layer::Application), again(48, Layer::Payload)]);
    assert_eq!(told.seen(), [(1, 48)]);
}

#[test]
fn readings_that_the_device_gets_are_kept_apart() {
    let mut told = Told::default();
    told.down(TCP, &[span(12, Layer::Application), span(20, Layer::Payload)])
        .up(TCP, &[span(12, Layer::Application), span(48, Layer::Payload)]);
    assert_eq!(told.seen(), [(2, 48)]);
    assert_eq!(seconds(&told.found.down), [(1, 20)]);
    assert_eq!(told.found.layers, [40, 64, 0, 24, 68]);
}

#[test]
fn the_records_of_a_packet_are_one_reading_and_its_rest_follows() {
    let mut told = Told::default();
    let head = span(5, Layer::Security);
    // A record over two segments, and a head and a body as two records of one segment.
    told.up(TCP, &[head, span(1_400, Layer::Application)])
        .up(TCP, &[span(617, Layer::Application)])
        .up(
            TCP,
            &[
                head,
                span(90, Layer::Application),
                head,
                span(65, Layer::Application),
            ],
        );
    assert_eq!(told.encrypted(false), (vec![(1, 2_017), (3, 155)], 0));
}

#[test]
fn a_record_without_room_for_a_reading_is_left_out() {
    let mut told = Told::default();
    let record = |bytes| [span(5, Layer::Security), span(bytes, Layer::Application)];
    // PINGREQ, and an alert behind DISCONNECT.
    told.up(TCP, &record(19))
        .up(TCP, &[record(19), record(19)].concat())
        .up(TCP, &record(75));
    assert_eq!(told.encrypted(false), (vec![(3, 75)], 3));
}

#[test]
fn the_first_record_of_a_connection_may_be_its_connect() {
    let mut told = Told::default();
    let record = |bytes| [span(5, Layer::Security), span(bytes, Layer::Application)];
    told.connect()
        .up(TCP, &record(39))
        .up(TCP, &record(75))
        .connect()
        .up(TCP, &record(39))
        .up(TCP, &record(76));
    assert_eq!(told.encrypted(true), (vec![(2, 75), (4, 76)], 2));
    assert_eq!(told.encrypted(false).0.len(), 4);
    assert_eq!(told.found.connects, 2);
}

#[test]
fn encrypted_datagrams_are_readings_of_their_own() {
    let mut told = Told::default();
    // DTLS, OSCORE with its tag behind, QUIC, its ACK, and a reading over two packets of QUIC.
    told.up(UDP, &[span(13, Layer::Security), span(78, Layer::Application)])
        .up(UDP, &[span(70, Layer::Application), span(8, Layer::Security)])
        .up(UDP + 130, &[])
        .up(UDP + 32, &[])
        .up(UDP + 1_200, &[])
        .up(UDP + 300, &[]);
    let (records, left_out) = told.encrypted(false);
    assert_eq!(records, [(1, 78), (2, 70), (3, 130), (5, 1_500)]);
    assert_eq!(left_out, 0);
}

#[test]
fn the_median_and_the_interval_are_those_of_the_middle() {
    assert_eq!(median(vec![3, 1, 2]), Some(2));
    assert_eq!(median(vec![4, 1, 3, 2]), Some(2));
    assert_eq!(median(Vec::<u64>::new()), None);
    let at = |millis: u64| (Instant::from_nanos(millis * 1_000_000), 48);
    let regular = [at(0), at(60_000), at(120_001), at(180_000)];
    assert_eq!(interval(&regular), Some(Duration::from_secs(60)));
    assert!(!is_irregular(&regular, Duration::from_secs(60)));
    assert!(is_irregular(
        &[at(0), at(60_000), at(90_000)],
        Duration::from_secs(60)
    ));
    assert_eq!(interval(&[at(0)]), None);
}

#[test]
fn sizes_keep_their_counts_and_many_become_means_of_equal_parts() {
    let of = |sizes: &[u64]| -> Vec<Reading> {
        let sizes = sizes.iter();
        sizes.map(|size| (Instant::from_nanos(0), *size)).collect()
    };
    assert_eq!(sizes(&of(&[48, 60, 48]), 2), [(48, 2), (60, 1)]);
    assert_eq!(sizes(&of(&[10, 20, 30, 50]), 2), [(15, 2), (40, 2)]);
    let all: u64 = sizes(&of(&[1, 2, 3, 4, 5, 6, 7]), 3)
        .iter()
        .map(|(_, count)| count)
        .sum();
    assert_eq!(all, 7);
}
