//! Encodes signaling messages (RFC 8323 section 5). Their option numbers depend on the code of the message.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::{BASE_MAX_MESSAGE_BYTES, Fault};
use crate::code::Code;
use crate::message::Repr;
use crate::option::{OptionNumber, Options, OptionsView};
use crate::token::Token;

/// Max-Message-Size, of a CSM.
pub(super) const MAX_MESSAGE_SIZE: OptionNumber = OptionNumber(2);
/// Block-Wise-Transfer, of a CSM.
pub(super) const BLOCK_WISE_TRANSFER: OptionNumber = OptionNumber(4);
/// Custody, of a Ping and a Pong.
pub(super) const CUSTODY: OptionNumber = OptionNumber(2);
/// Bad-CSM-Option, of an Abort.
const BAD_CSM_OPTION: OptionNumber = OptionNumber(2);

/// Appends a CSM: messages of at most `max_message_bytes`, block-wise transfers.
pub(crate) fn emit_csm(max_message_bytes: u32, out: &mut Vec<u8>) {
    let mut options = Options::new();
    if max_message_bytes != BASE_MAX_MESSAGE_BYTES {
        options.push_uint(MAX_MESSAGE_SIZE, u64::from(max_message_bytes));
    }
    options.push(BLOCK_WISE_TRANSFER, &[]);
    emit(Code::CSM, Token::EMPTY, options.view(), &[], out);
}

/// Appends a Ping.
pub(crate) fn emit_ping(token: Token, out: &mut Vec<u8>) {
    emit(Code::PING, token, OptionsView::default(), &[], out);
}

/// Appends the Pong that answers `ping`. The endpoints process every message before they read the next one, so a Pong may
/// always confirm it if the Ping asks for that (Custody, section 5.4.1).
pub(crate) fn emit_pong(ping: &Repr<'_>, out: &mut Vec<u8>) {
    let mut options = Options::new();
    if ping.options.iter().any(|option| option.number == CUSTODY) {
        options.push(CUSTODY, &[]);
    }
    emit(Code::PONG, ping.token, options.view(), &[], out);
}

/// Appends a Release.
pub(crate) fn emit_release(out: &mut Vec<u8>) {
    emit(Code::RELEASE, Token::EMPTY, OptionsView::default(), &[], out);
}

/// Appends an Abort with `fault` as its diagnostic payload.
pub(crate) fn emit_abort(fault: &Fault, out: &mut Vec<u8>) {
    let mut options = Options::new();
    match fault {
        Fault::CsmOption { number, .. }
        | Fault::CriticalOption {
            code: Code::CSM,
            number,
        } => options.push_uint(BAD_CSM_OPTION, u64::from(number.0)),
        _ => {}
    }
    let diagnostic = fault.to_string();
    emit(
        Code::ABORT,
        Token::EMPTY,
        options.view(),
        diagnostic.as_bytes(),
        out,
    );
}

fn emit(code: Code, token: Token, options: OptionsView<'_>, payload: &[u8], out: &mut Vec<u8>) {
    let emitted = Repr::on_stream(code, token, options, payload).emit_stream(out);
    debug_assert_eq!(emitted, Ok(()), "a signal of a few bytes");
}
