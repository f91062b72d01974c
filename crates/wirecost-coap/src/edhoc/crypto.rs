//! What `lakers` needs of P-256, AES-CCM and SHA-256, by the crates that the rest of the program uses too.

use aes::Aes128;
use ccm::aead::{AeadInOut, KeyInit};
use ccm::consts::{U8, U13};
use ccm::{Ccm, Key, Tag};
use hkdf::{Hkdf, HkdfExtract};
use lakers::{
    AES_CCM_TAG_LEN, BufferCiphertext3, BufferPlaintext3, BytesCcmIvLen, BytesCcmKeyLen, BytesHashLen,
    BytesMaxBuffer, BytesMaxInfoBuffer, BytesP256ElemLen, CryptoTrait, EDHOCError, MAX_BUFFER_LEN,
};
use p256::elliptic_curve::point::{AffineCoordinates, DecompressPoint};
use p256::{AffinePoint, FieldBytes, ProjectivePoint, SecretKey};
use sha2::{Digest, Sha256};

use super::Failure;

type Cipher = Ccm<Aes128, U8, U13>;

/// The primitives, without randomness: ephemeral keys come from outside.
///
/// The trait of `lakers` has no way to say that an operation failed, so that the failure is kept here.
#[derive(Debug, Default)]
pub(super) struct Primitives {
    failed: bool,
}

impl Primitives {
    /// Fails if an operation had an input that it could not use: a point that is not on the curve, a private key that is none.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.failed {
            true => Err(Failure::Key),
            false => Ok(()),
        }
    }
}

/// The x and y coordinates of the public key that belongs to a private key; `None` if it is no private key.
pub(super) fn public_key(private: &[u8]) -> Option<(BytesP256ElemLen, BytesP256ElemLen)> {
    let key = SecretKey::from_slice(private).ok()?.public_key();
    Some((key.as_affine().x().into(), key.as_affine().y().into()))
}

/// The x coordinate of the shared point.
fn shared(private: &BytesP256ElemLen, public_x: &BytesP256ElemLen) -> Option<BytesP256ElemLen> {
    let private = SecretKey::from_slice(private).ok()?;
    // Either y gives the same x.
    let public = AffinePoint::decompress(&FieldBytes::from(*public_x), 0.into());
    let public: AffinePoint = Option::from(public)?;
    let point = ProjectivePoint::from(public) * *private.to_nonzero_scalar();
    Some(point.to_affine().x().into())
}

impl CryptoTrait for Primitives {
    fn sha256_digest(&mut self, message: &BytesMaxBuffer, message_len: usize) -> BytesHashLen {
        Sha256::digest(message.get(..message_len).unwrap_or_default()).into()
    }

    fn hkdf_expand(
        &mut self,
        prk: &BytesHashLen,
        info: &BytesMaxInfoBuffer,
        info_len: usize,
        length: usize,
    ) -> BytesMaxBuffer {
        let mut output = [0; MAX_BUFFER_LEN];
        let (info, wanted) = (info.get(..info_len), output.get_mut(..length));
        let expanded = match (Hkdf::<Sha256>::from_prk(prk), info, wanted) {
            (Ok(hkdf), Some(info), Some(wanted)) => hkdf.expand(info, wanted).is_ok(),
            _ => false,
        };
        self.failed |= !expanded;
        output
    }

    fn hkdf_extract(&mut self, salt: &BytesHashLen, ikm: &BytesP256ElemLen) -> BytesHashLen {
        let mut extract = HkdfExtract::<Sha256>::new(Some(salt));
        extract.input_ikm(ikm);
        extract.finalize().0.into()
    }

    fn aes_ccm_encrypt_tag_8(
        &mut self,
        key: &BytesCcmKeyLen,
        iv: &BytesCcmIvLen,
        ad: &[u8],
        plaintext: &BufferPlaintext3,
    ) -> BufferCiphertext3 {
        let mut sealed = *plaintext;
        let cipher = Cipher::new(&Key::<Cipher>::from(*key));
        let content = sealed.content.get_mut(..sealed.len).unwrap_or_default();
        let tag = cipher.encrypt_inout_detached(&(*iv).into(), ad, content.into());
        let appended = tag.is_ok_and(|tag| sealed.extend_from_slice(&tag).is_ok());
        self.failed |= !appended;
        sealed
    }

    fn aes_ccm_decrypt_tag_8(
        &mut self,
        key: &BytesCcmKeyLen,
        iv: &BytesCcmIvLen,
        ad: &[u8],
        ciphertext: &BufferCiphertext3,
    ) -> Result<BufferPlaintext3, EDHOCError> {
        let (sealed, tag) = ciphertext
            .as_slice()
            .split_last_chunk::<AES_CCM_TAG_LEN>()
            .ok_or(EDHOCError::ParsingError)?;
        let mut opened = BufferPlaintext3::new_from_slice(sealed).map_err(|_| EDHOCError::ParsingError)?;
        let cipher = Cipher::new(&Key::<Cipher>::from(*key));
        let content = opened.content.get_mut(..opened.len).unwrap_or_default();
        cipher
            .decrypt_inout_detached(&(*iv).into(), ad, content.into(), &Tag::<U8>::from(*tag))
            .map_err(|_| EDHOCError::MacVerificationFailed)?;
        Ok(opened)
    }

    fn p256_ecdh(
        &mut self,
        private_key: &BytesP256ElemLen,
        public_key: &BytesP256ElemLen,
    ) -> BytesP256ElemLen {
        let point = shared(private_key, public_key);
        self.failed |= point.is_none();
        point.unwrap_or_default()
    }

    fn get_random_byte(&mut self) -> u8 {
        // Only identifiers are drawn so, and those come from outside.
        self.failed = true;
        0
    }

    fn p256_generate_key_pair(&mut self) -> (BytesP256ElemLen, BytesP256ElemLen) {
        self.failed = true;
        Default::default()
    }
}
