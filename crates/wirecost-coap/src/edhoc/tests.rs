//! RFC 9529 chapter 3 (static Diffie-Hellman keys, credentials by reference), and what a peer may send.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::responder::{Id, identifiers};
use super::*;
use crate::testing::digits;

const CLAIMS_I: &str = "a2027734322d35302d33312d46462d45462d33372d33322d333908a101a5010202412b2001215820ac75e9ece3e50bfc8ed6\
0399889522405c47bf16df96660a41298cb4307f7eb62258206e5de611388a4b8a8211334ac7d37ecb52a387d257e6db3c2a93df21ff3affc8";
const CLAIMS_R: &str = "a2026b6578616d706c652e65647508a101a501020241322001215820bbc34960526ea4d32e940cad2a234148ddc21791a12a\
fbcbac93622046dd44f02258204519e257236b2a0ce2023f0931f1f386ca7afda64fcde0108c224c51eabf6072";
const MESSAGE_1: &str = "0382060258208af6f430ebe18d34184017a9a11bf511c8dff8f834730b96c1b7c8dbca2fc3b637";
const MESSAGE_2: &str =
    "582b419701d7f00a26c2dc587a36dd752549f33763c893422c8ea0f955a13a4ff5d59862a1eef9e0e7e1886fcd";
const MESSAGE_3: &str = "52e562097bc417dd5919485ac7891ffd90a9fc";

fn key(text: &str) -> [u8; KEY_BYTES] {
    digits(text).try_into().expect("32 bytes")
}

fn identities() -> [Identity; 2] {
    let identity =
        |private: &str, claims: &str| Identity::new(key(private), &digits(claims)).expect("an identity");
    [
        identity(
            "fb13adeb6518cee5f88417660841142e830a81fe334380a953406a1305e8706b",
            CLAIMS_I,
        ),
        identity(
            "72cc4761dbd4c78f758931aa589d348d1ef874a7e303ede2f140dcf3e6aa4aac",
            CLAIMS_R,
        ),
    ]
}

fn ends(transfer: Transfer) -> (Initiator, Responder) {
    let [client, server] = identities();
    let clients = client.credential().clone();
    let initiator = Initiator {
        identity: client,
        server: server.credential().clone(),
        transfer,
        identifier: [0x37].to_vec(),
        secret: [1; KEY_BYTES],
    };
    let responder = Responder::new(ServerConfig {
        identity: server,
        clients,
        by_value_to: match transfer {
            Transfer::ByReference => Vec::new(),
            Transfer::ByValue => initiator.identifier.clone(),
        },
        expected: 1,
        secret: [2; KEY_BYTES],
    });
    (initiator, responder)
}

/// The lengths of the three messages of a session, and the contexts that it gives.
fn session(transfer: Transfer) -> ([usize; 3], [Context; 2]) {
    let (initiator, mut responder) = ends(transfer);
    let (waiting, message_1) = initiator.begin(0).expect("a message_1");
    let message_2 = responder.take_message_1(&message_1).expect("a message_2");
    let established = initiator
        .take_message_2(&waiting, &message_2)
        .expect("a message_3");
    let kid = established.context.sender_id().to_vec();
    let context = responder
        .take_message_3(&kid, &established.message_3)
        .expect("a context");
    let lengths = [&message_1, &message_2, &established.message_3].map(Vec::len);
    (lengths, [established.context, context])
}

#[test]
fn the_messages_and_the_context_are_those_of_rfc_9529() {
    let (initiator, mut responder) = ends(Transfer::ByReference);
    let x = key("368ec1f69aeb659ba37d5a8d45b21bdc0299dceaa8ef235f3ca42ce3530f9525");
    let (waiting, message_1) = initiator.begin_with(x, &[6, 2]).expect("a message_1");
    assert_eq!(message_1, digits(MESSAGE_1));

    let y = key("e2f4126777205e853b437d6eaca1e1f753cdcc3e2c69fa884b0a1a640977e418");
    // C_R is -8, 0x27.
    responder.given = 31;
    let (at_server, message_2) = responder.answer(&message_1, y).expect("a message_2");
    assert_eq!(message_2, digits(MESSAGE_2));
    responder
        .waiting
        .insert(Id::new(&[0x27]).expect("an id"), at_server);

    let established = initiator
        .take_message_2(&waiting, &message_2)
        .expect("a message_3");
    assert_eq!(established.message_3, digits(MESSAGE_3));
    let expected = Parameters {
        master_secret: digits("f9868f6a3aca78a05d1485b35030b162"),
        master_salt: digits("ada24c7dbfc85eeb"),
        id_context: None,
        sender_id: [0x27].to_vec(),
        recipient_id: [0x37].to_vec(),
    };
    assert_eq!(
        established.context,
        Context::new(&expected).expect("ids that fit")
    );
    let at_server = responder.take_message_3(&[0x27], &established.message_3);
    assert_eq!(
        at_server,
        Ok(Context::new(&expected.of_peer()).expect("ids that fit"))
    );
}

#[test]
fn a_first_message_with_suite_6_is_refused_with_suite_2() {
    let (_, mut responder) = ends(Transfer::ByReference);
    let first = "03065820741a13d7ba048fbb615e94386aa3b61bea5b3d8f65f32620b749bee8d278efa90e";
    let refused = responder.take_message_1(&digits(first)).expect_err("suite 6");
    // RFC 9529 section 3.2: the error message.
    assert_eq!((refused, refused.message()), (Failure::Suite, digits("0202")));
}

/// By value, the claims sets of 95 and 107 B and two bytes before them stand where a reference has one byte; the byte string of
/// message_3 has a second byte of length.
#[test]
fn credentials_by_value_lengthen_the_second_and_the_third_message() {
    let (by_reference, contexts) = session(Transfer::ByReference);
    assert_eq!(by_reference, [37, 45, 19]);
    assert_eq!(contexts[0].sender_id(), contexts[1].recipient_id());
    let (by_value, _) = session(Transfer::ByValue);
    assert_eq!(by_value, [37, 45 + 96, 19 + 108 + 1]);
}

#[test]
fn another_identity_is_not_trusted() {
    let (mut initiator, mut responder) = ends(Transfer::ByReference);
    let other = Identity::with_subject([9; KEY_BYTES], "other", 0x32).expect("an identity");
    initiator.server = other.credential().clone();
    let (waiting, message_1) = initiator.begin(0).expect("a message_1");
    let message_2 = responder.take_message_1(&message_1).expect("a message_2");
    let refused = initiator
        .take_message_2(&waiting, &message_2)
        .expect_err("another key");
    assert_eq!(refused, Failure::NotAuthentic { message: "message_2" });
}

#[test]
fn a_claims_set_must_be_of_the_key() {
    let refused = Identity::new([9; KEY_BYTES], &digits(CLAIMS_I));
    assert_eq!(refused, Err(Failure::Key));
    assert_eq!(PublicCredential::parse(&[0xa0]), Err(Failure::Credential));
    assert!(Identity::with_subject([0; KEY_BYTES], "zero", 1).is_err());
}

#[test]
fn identifiers_have_the_bytes_that_all_clients_need() {
    for (clients, bytes) in [(1, 1), (8, 1), (9, 2), (16_384, 2), (16_385, 3)] {
        let (initiator, mut responder) = ends(Transfer::ByReference);
        responder = Responder::new(ServerConfig {
            expected: clients,
            ..responder.config().clone()
        });
        for number in 0..50 {
            let (waiting, message_1) = initiator.begin(number).expect("a message_1");
            let message_2 = responder.take_message_1(&message_1).expect("a message_2");
            let established = initiator
                .take_message_2(&waiting, &message_2)
                .expect("a message_3");
            assert_eq!(established.context.sender_id().len(), bytes, "{clients} clients");
            assert_ne!(established.context.sender_id(), [0x37], "the client's own");
        }
    }
}

#[test]
fn above_the_bound_the_oldest_session_is_forgotten() {
    let (initiator, responder) = ends(Transfer::ByReference);
    // With identifiers of one, two and three bytes, whose order differs.
    for expected in [1, 9, 20_000] {
        let config = ServerConfig {
            expected,
            ..responder.config().clone()
        };
        let mut responder = Responder::bounded(config, 3);
        let mut third_messages = Vec::new();
        for number in 0..5 {
            let (waiting, message_1) = initiator.begin(number).expect("a message_1");
            let message_2 = responder.take_message_1(&message_1).expect("a message_2");
            third_messages.push(
                initiator
                    .take_message_2(&waiting, &message_2)
                    .expect("a message_3"),
            );
            assert!(responder.waiting.len() <= 3, "{expected} clients");
        }
        let taken = third_messages.iter().map(|established| {
            let taken = responder.take_message_3(established.context.sender_id(), &established.message_3);
            taken.map(drop)
        });
        let forgotten = Err(Failure::NoSession);
        let expected_of_each = [forgotten, forgotten, Ok(()), Ok(()), Ok(())];
        assert_eq!(taken.collect::<Vec<_>>(), expected_of_each, "{expected} clients");
        assert!(responder.waiting.is_empty());
    }
}

/// `serve coap --edhoc` has the identifiers of 16,384 clients.
#[test]
fn no_more_sessions_wait_than_there_are_identifiers() {
    assert_eq!([8, 16_384, 16_385].map(identifiers), [48, 49_152, 1 << 24]);
    let (initiator, mut responder) = ends(Transfer::ByReference);
    let begin = |number, responder: &mut Responder| {
        let (waiting, message_1) = initiator.begin(number).expect("a message_1");
        let message_2 = responder.take_message_1(&message_1).expect("a message_2");
        initiator
            .take_message_2(&waiting, &message_2)
            .expect("a message_3")
    };
    let first = [0, 1, 2].map(|number| begin(number, &mut responder));
    for number in 3..49 {
        begin(number, &mut responder);
    }
    // The client has one of the 48, which no session of its server gets.
    assert_eq!(responder.waiting.len(), 47);
    let taken = first.map(|established| {
        let taken = responder.take_message_3(established.context.sender_id(), &established.message_3);
        taken.is_ok()
    });
    assert_eq!(taken, [false, false, true]);
}

#[test]
fn a_point_that_is_not_on_the_curve_is_refused() {
    let (initiator, mut responder) = ends(Transfer::ByReference);
    let (waiting, message_1) = initiator.begin(0).expect("a message_1");
    let mut wrong = message_1.clone();
    wrong[4..36].fill(0xff);
    assert_eq!(responder.take_message_1(&wrong), Err(Failure::Key));
    let mut message_2 = responder.take_message_1(&message_1).expect("a message_2");
    message_2[2..34].fill(0xff);
    assert_eq!(
        initiator.take_message_2(&waiting, &message_2).err(),
        Some(Failure::Key)
    );
}

#[test]
fn a_message_is_one_byte_string() {
    let (initiator, mut responder) = ends(Transfer::ByValue);
    let (waiting, message_1) = initiator.begin(0).expect("a message_1");
    let message_2 = responder.take_message_1(&message_1).expect("a message_2");
    let longer = [&message_2[..], &[0]].concat();
    assert!(initiator.take_message_2(&waiting, &longer).is_err());
    let established = initiator
        .take_message_2(&waiting, &message_2)
        .expect("a message_3");
    let kid = established.context.sender_id().to_vec();
    let mut message_3 = established.message_3;
    // An integer in place of the head of the string.
    assert_eq!(message_3[0], 0x58);
    message_3[0] = 0x02;
    assert_eq!(
        responder.take_message_3(&kid, &message_3).map(drop),
        Err(Failure::Malformed { message: "message_3" })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a peer sends: no panic, and no context. `a_message_is_one_byte_string` has the case that this found.
    #[test]
    fn damaged_messages_are_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        at in 0_usize..140,
        change in 1_u8..,
        by_value in any::<bool>(),
    ) {
        let transfer = if by_value { Transfer::ByValue } else { Transfer::ByReference };
        let (initiator, mut responder) = ends(transfer);
        let (waiting, message_1) = initiator.begin(0).expect("a message_1");
        let _ = responder.take_message_1(&bytes);
        prop_assert!(initiator.take_message_2(&waiting, &bytes).is_err());
        let message_2 = responder.take_message_1(&message_1).expect("a message_2");
        let mut damaged = message_2.clone();
        let place = at % damaged.len();
        damaged[place] ^= change;
        prop_assert!(initiator.take_message_2(&waiting, &damaged).is_err());
        let established = initiator.take_message_2(&waiting, &message_2).expect("a message_3");
        let kid = established.context.sender_id().to_vec();
        let mut damaged = established.message_3.clone();
        let place = at % damaged.len();
        damaged[place] ^= change;
        prop_assert!(responder.take_message_3(&kid, &damaged).is_err());
        prop_assert!(responder.take_message_3(&kid, &bytes).is_err());
    }
}
