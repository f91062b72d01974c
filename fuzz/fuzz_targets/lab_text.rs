#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wirecost_fuzz::text::names_and_rows(bytes);
});
