use super::*;
use proptest::prelude::*;

fn field<'a>(name: &'a str, value: &'a str) -> Field<'a> {
    Field {
        name: Cow::Borrowed(name.as_bytes()),
        value: Cow::Borrowed(value.as_bytes()),
    }
}

/// RFC 9204 appendix B.1: literal field line with name reference.
#[test]
fn the_static_example_of_the_standard_is_read() {
    let section = b"\x00\x00\x51\x0b/index.html";
    assert_eq!(read(section), Ok(vec![field(":path", "/index.html")]));
}

#[test]
fn every_representation_is_the_shortest_one() {
    let table: [(&str, &str, &[u8]); 4] = [
        (":method", "POST", &[0xd4]),
        (":scheme", "https", &[0xd7]),
        ("content-length", "128", &[0x54, 0x82, 0x08, 0xbc | 0x03]),
        (":path", "/~", &[0x51, 0x02, b'/', b'~']),
    ];
    for (name, value, bytes) in table {
        let mut out = Vec::new();
        begin(&mut out);
        push(name.as_bytes(), value.as_bytes(), &mut out);
        assert_eq!(read(&out), Ok(vec![field(name, value)]));
        assert_eq!(out[2..].len(), bytes.len(), "{name}: {value} {out:x?}");
        assert_eq!(out[2], bytes[0], "{name}: {value}");
    }
}

#[test]
fn malformed_sections_are_refused_with_a_reason() {
    let table: [(&[u8], SectionError); 11] = [
        (&[], SectionError::Truncated),
        (&[0], SectionError::Truncated),
        (&[2, 0], SectionError::Dynamic),
        (&[0, 0x80, 0xd1], SectionError::Dynamic),
        (&[0, 0, 0x80], SectionError::Dynamic),
        (&[0, 0, 0x10], SectionError::Dynamic),
        (&[0, 0, 0x40, 0], SectionError::Dynamic),
        (&[0, 0, 0xff, 0x24], SectionError::Index(99)),
        (&[0, 0, 0x51, 0x0b, b'/'], SectionError::Truncated),
        (&[0, 0, 0x51, 0x81, 0xff], SectionError::Huffman),
        (&[0, 0, 0x27], SectionError::Truncated),
    ];
    for (section, error) in table {
        assert_eq!(read(section), Err(error), "{section:x?}");
    }
}

proptest! {
    #[test]
    fn a_string_is_as_long_as_it_says(
        lengths in (prop_oneof![0usize..200, 16_300usize..16_500, Just(70_000)], prop_oneof![0usize..200, 65_500usize..65_600]),
        byte: u8,
    ) {
        let (name, value) = (vec![byte; lengths.0], vec![byte.wrapping_add(1); lengths.1]);
        let mut out = Vec::new();
        begin(&mut out);
        push(&name, &value, &mut out);
        push(b"after", b"it", &mut out);
        let read = read(&out).expect("a section");
        let read: Vec<_> = read.iter().map(|field| (&field.name[..], &field.value[..])).collect();
        prop_assert_eq!(read, [(&name[..], &value[..]), (b"after", b"it")]);
    }

    #[test]
    fn every_field_survives(fields: Vec<(Vec<u8>, Vec<u8>)>) {
        let mut out = Vec::new();
        begin(&mut out);
        for (name, value) in &fields {
            push(name, value, &mut out);
        }
        let read = read(&out).expect("a section");
        let read: Vec<_> = read.into_iter().map(|field| (field.name.into_owned(), field.value.into_owned())).collect();
        prop_assert_eq!(read, fields);
    }
}
