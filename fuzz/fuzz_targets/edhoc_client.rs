#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wirecost_fuzz::edhoc::client(bytes);
});
