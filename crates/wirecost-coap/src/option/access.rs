//! Typed access to option values. A value of wrong length counts as absent (RFC 7252 section 5.4.3).

use super::codec::{OptionValue, OptionsView};
use super::{Format, OptionNumber};
use crate::block::Block;

impl<'a> OptionValue<'a> {
    /// The value as a number, or `None` if it has more than 8 bytes.
    pub fn uint(&self) -> Option<u64> {
        if self.value.len() > 8 {
            return None;
        }
        let shift = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(self.value.iter().fold(0, shift))
    }

    /// The value as text, or `None` if it is not UTF-8.
    pub fn text(&self) -> Option<&'a str> {
        core::str::from_utf8(self.value).ok()
    }

    /// Whether the option is registered and its value has a valid length.
    pub(crate) fn is_recognized(&self) -> bool {
        self.number.definition().is_some_and(|definition| {
            let is_text = || definition.format != Format::String || self.text().is_some();
            definition.fits(self.value) && is_text()
        })
    }
}

impl<'a> OptionsView<'a> {
    /// The values of the option `number`, in order, without those of wrong length.
    pub fn all(&self, number: OptionNumber) -> impl Iterator<Item = OptionValue<'a>> + use<'a> {
        self.numbered(number).filter(OptionValue::is_recognized)
    }

    /// All values of the option `number`, in order.
    fn numbered(&self, number: OptionNumber) -> impl Iterator<Item = OptionValue<'a>> + use<'a> {
        // Options are in ascending order (RFC 7252 section 3.1).
        let until = move |option: &OptionValue<'_>| option.number <= number;
        let wanted = move |option: &OptionValue<'_>| option.number == number;
        let options = if self.may_have(number) {
            *self
        } else {
            OptionsView::default()
        };
        options.iter().take_while(until).filter(wanted)
    }

    /// The first value of the option `number`.
    #[inline]
    pub fn first(&self, number: OptionNumber) -> Option<OptionValue<'a>> {
        if self.may_have(number) {
            self.find(number)
        } else {
            None
        }
    }

    #[inline(never)]
    fn find(&self, number: OptionNumber) -> Option<OptionValue<'a>> {
        self.all(number).next()
    }

    /// The numeric value of the option `number`.
    #[inline]
    pub fn uint(&self, number: OptionNumber) -> Option<u32> {
        self.first(number)?.uint()?.try_into().ok()
    }

    /// The segments of the path.
    pub fn uri_path(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts(OptionNumber::URI_PATH)
    }

    /// The arguments of the query.
    pub(crate) fn uri_query(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts(OptionNumber::URI_QUERY)
    }

    /// The values of a text option.
    fn texts(&self, number: OptionNumber) -> impl Iterator<Item = &'a str> + use<'a> {
        let definition = number.definition();
        let fits = move |value: &[u8]| definition.is_some_and(|definition| definition.fits(value));
        self.numbered(number)
            .filter(move |option| fits(option.value))
            .filter_map(|option| option.text())
    }

    /// The content format of the payload.
    pub fn content_format(&self) -> Option<u16> {
        self.uint(OptionNumber::CONTENT_FORMAT)?.try_into().ok()
    }

    /// The content format that the client accepts.
    pub fn accept(&self) -> Option<u16> {
        self.uint(OptionNumber::ACCEPT)?.try_into().ok()
    }

    /// The entity-tag of a response.
    pub fn etag(&self) -> Option<&'a [u8]> {
        self.first(OptionNumber::ETAG).map(|option| option.value)
    }

    /// Registration (0), deregistration (1), or a notification's sequence number.
    pub fn observe(&self) -> Option<u32> {
        self.uint(OptionNumber::OBSERVE)
    }

    /// The block of the request's body.
    pub(crate) fn block1(&self) -> Option<Block> {
        self.uint(OptionNumber::BLOCK1).map(Block::from_value)
    }

    /// The block of the response's body.
    pub(crate) fn block2(&self) -> Option<Block> {
        self.uint(OptionNumber::BLOCK2).map(Block::from_value)
    }

    /// Whether a block option has the size exponent 7, which is reserved in datagrams (RFC 7959 section 2.2) and means BERT on
    /// a stream (RFC 8323 section 6).
    pub(crate) fn has_bert_block(&self) -> bool {
        let blocks = [self.block1(), self.block2()];
        blocks.into_iter().flatten().any(|block| block.size.is_bert())
    }

    /// The seconds that a response may be cached; 60 by default (RFC 7252 section 5.10.5).
    pub fn max_age(&self) -> u32 {
        self.uint(OptionNumber::MAX_AGE).unwrap_or(60)
    }

    /// The classes of responses that the client suppresses.
    pub fn no_response(&self) -> Option<u8> {
        self.uint(OptionNumber::NO_RESPONSE)?.try_into().ok()
    }

    /// The first critical option that the recipient must refuse: unknown, unsupported, of wrong length, or repeated
    /// where it must not be (RFC 7252 sections 5.4.1, 5.4.3 and 5.4.5).
    pub(crate) fn unacceptable(&self, supports: impl Fn(OptionNumber) -> bool) -> Option<OptionNumber> {
        let mut previous = None;
        for option in self.iter() {
            let number = option.number;
            let repeated = previous.replace(number) == Some(number);
            let repeatable = number
                .definition()
                .is_some_and(|definition| definition.repeatable);
            let fine = supports(number) && option.is_recognized() && (repeatable || !repeated);
            if number.is_critical() && !fine {
                return Some(number);
            }
        }
        None
    }
}
