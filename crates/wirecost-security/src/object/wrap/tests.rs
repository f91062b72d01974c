//! The examples of the COSE working group (github.com/cose-wg/Examples), and the contexts as `coset` writes them.

use coset::iana::{Algorithm, EnumI64 as _};
use coset::{
    CborSerializable as _, CoseEncrypt, CoseKdfContextBuilder, HeaderBuilder, SuppPubInfoBuilder,
    TaggedCborSerializable as _,
};

use super::*;
use crate::object::Curve;
use crate::object::frame::{parse_part, parse_recipient};
use crate::object::tests::hex;

/// p256-wrap-128-01: ECDH-ES with A128KW on P-256, A128GCM.
mod p256_wrap_128_01 {
    pub(super) const PRIVATE: &str = "aff907c99f9ad3aae6c4cdf21122bce2bd68b5283e6907154ad911840fa208cf";
    pub(super) const CONTENT_KEY: &str = "B2353161740AACF1F7163647984B522A";
    pub(super) const CONTEXT: &str = "842283F6F6F683F6F6F682188044A101381C";
    pub(super) const KEY_ENCRYPTION_KEY: &str = "7C60CB35A78B24DCF40A394395E9E8CD";
    pub(super) const MESSAGE: &str = "D8608443A10101A1054C02D1F7E6F26C43D4868D87CE582464F84D913BA60A76070A9A48F26E9\
        7E863E2852948658F0811139868826E89218A75715B818344A101381CA220A401022001215820ECDBCEC636CC1408A503BBF6B7311B\
        900C9AED9C5B71503848C89A07D0EF6F5B225820D6D1586710C02203E4E53B20DC7B233CA4C8B6853467B9FB8244A3840ACCD602045\
        8246D65726961646F632E6272616E64796275636B406275636B6C616E642E6578616D706C655818D23BCA11C3F8E35BF6F81412794E\
        159772E946FF4FB31BD1";
}

/// x25519-hkdf-256-direct: the derived key is the content key itself. The example's key pair is invalid (its x does
/// not belong to its d), so the test checks the derivation from the example's secret.
mod x25519_hkdf_256_direct {
    pub(super) const SHARED: &str = "B5DA948F36B6847ADD95BBE6DC0AD254222F3A7040E9FAD6ACB335928917DB7F";
    pub(super) const CONTEXT: &str = "840183F6F6F683F6F6F682188044A1013818";
    pub(super) const CONTENT_KEY: &str = "FF38572D1EBE0ABEAC5EEE1F48F9CA64";
}

/// RFC 7748, section 6.1.
mod x25519 {
    pub(super) const ALICE_PUBLIC: &str = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
    pub(super) const BOB_PRIVATE: &str = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
    pub(super) const BOB_PUBLIC: &str = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
    pub(super) const SHARED: &str = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
}

#[test]
fn the_content_key_of_a_foreign_message_is_unwrapped() {
    use p256_wrap_128_01::{CONTENT_KEY, CONTEXT, KEY_ENCRYPTION_KEY, MESSAGE, PRIVATE};
    let secret = Secret::from_bytes(Curve::P256, &hex(PRIVATE)).expect("a key");
    let message = CoseEncrypt::from_tagged_slice(&hex(MESSAGE)).expect("a message");
    let mut recipient = message.recipients[0].clone();
    // The example's key identifier is a mail address. Ours have 8 bytes.
    recipient.unprotected.key_id = secret.id().as_bytes().to_vec();
    let recipient = parse_recipient(&recipient).expect("a recipient");
    let kek = key_encryption_key(&secret, &recipient.ephemeral);
    assert_eq!(kek.expect("a key").as_slice(), hex(KEY_ENCRYPTION_KEY));
    assert_eq!(hex(CONTEXT), KDF_CONTEXT);
    let key = unwrap(recipient.wrapped, &secret, &recipient.ephemeral);
    assert_eq!(key.expect("a key").as_slice(), hex(CONTENT_KEY));
}

#[test]
fn a_foreign_message_is_decrypted() {
    use p256_wrap_128_01::{CONTENT_KEY, MESSAGE};
    let message = parse_part(&hex(MESSAGE)).expect("a part");
    let key = hex(CONTENT_KEY).try_into().expect("16 bytes");
    let plaintext = message.decrypt_ciphertext(
        &[],
        || Unspecified,
        |ciphertext, enc_structure| {
            crate::object::open::decrypt(ciphertext, &key, &message.unprotected.iv, enc_structure)
        },
    );
    assert_eq!(plaintext.as_deref(), Ok(&b"This is the content."[..]));
}

#[test]
fn a_key_is_derived_as_in_a_foreign_message() {
    use x25519_hkdf_256_direct::{CONTENT_KEY, CONTEXT, SHARED};
    let key = derive(&hex(SHARED), &hex(CONTEXT));
    assert_eq!(key.expect("a key").as_slice(), hex(CONTENT_KEY));
}

#[test]
fn the_shared_secret_on_x25519_matches_rfc_7748() {
    use x25519::{ALICE_PUBLIC, BOB_PRIVATE, BOB_PUBLIC, SHARED};
    let bob = Secret::from_bytes(Curve::X25519, &hex(BOB_PRIVATE)).expect("a key");
    assert_eq!(bob.public_bytes(), hex(BOB_PUBLIC));
    let alice = Participant::new(Curve::X25519, &hex(ALICE_PUBLIC)).expect("a key");
    let shared = bob.agree(&alice, |shared| Ok(shared.to_vec()));
    assert_eq!(shared, Ok(hex(SHARED)));
}

#[test]
fn the_kdf_context_matches_coset() {
    let header = HeaderBuilder::new().algorithm(Algorithm::ECDH_ES_A128KW).build();
    let public = SuppPubInfoBuilder::new()
        .key_data_length(128)
        .protected(header)
        .build();
    let context = CoseKdfContextBuilder::new()
        .algorithm(Algorithm::A128KW)
        .supp_pub_info(public)
        .build();
    assert_eq!(context.to_vec().expect("a context"), KDF_CONTEXT);
    assert_eq!(Algorithm::ECDH_ES_A128KW.to_i64(), -29);
}

#[test]
fn a_public_key_of_low_order_shares_no_secret() {
    // RFC 7748 section 6.1: with the point 0 the result would be 0 for every private key.
    let zero = Participant::new(Curve::X25519, &[0; 32]);
    let wrapped = zero.and_then(|zero| wrap(&[7; KEY_BYTES], &zero, &mut Entropy::system()).map(drop));
    assert_eq!(wrapped, Err(KeyError::Numbers("x25519")));
}
