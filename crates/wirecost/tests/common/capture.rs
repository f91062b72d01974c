//! Reads the blocks of a pcapng file without wirecost's own reader.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A block: its type and its content between the lengths.
pub(crate) struct Block {
    pub(crate) kind: u32,
    pub(crate) content: Vec<u8>,
}

/// Block types.
pub(crate) const DECRYPTION_SECRETS: u32 = 0x0000_000a;
pub(crate) const ENHANCED_PACKET: u32 = 0x0000_0006;

/// The blocks of a capture in order.
pub(crate) fn blocks(capture: &Path) -> Vec<Block> {
    let bytes = std::fs::read(capture).expect("a capture");
    let (mut rest, mut blocks) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (kind, length) = (word(rest), word(&rest[4..]) as usize);
        blocks.push(Block {
            kind,
            content: rest[8..length - 4].to_vec(),
        });
        rest = &rest[length..];
    }
    blocks
}

/// A packet of a capture.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    /// 0 is up, 1 is down.
    pub(crate) way: usize,
    /// Its length on the link.
    pub(crate) bytes: u64,
}

/// The packets of a capture in order.
pub(crate) fn packets(capture: &Path) -> Vec<Packet> {
    let blocks = blocks(capture).into_iter();
    let packets = blocks.filter(|block| block.kind == ENHANCED_PACKET);
    // Interface, time in two words, captured length, length on the link, the padded packet, and its first option: the flags.
    let packet = |Block { content, .. }| {
        let captured = word(&content[12..]) as usize;
        let option = &content[20 + captured.next_multiple_of(4)..];
        assert_eq!(option[..4], [2, 0, 4, 0], "flags of four bytes");
        Packet {
            way: match word(&option[4..]) {
                2 => 0,
                1 => 1,
                flags => panic!("flags {flags:#x}"),
            },
            bytes: word(&content[16..]).into(),
        }
    };
    packets.map(packet).collect()
}

/// The key log in a capture.
pub(crate) fn key_log(capture: &Path) -> Option<String> {
    let blocks = blocks(capture);
    let secrets = blocks.iter().find(|block| block.kind == DECRYPTION_SECRETS)?;
    assert_eq!(&secrets.content[..4], b"KSLT", "secrets of TLS");
    let length = word(&secrets.content[4..]) as usize;
    let text = secrets.content[8..8 + length].to_vec();
    Some(String::from_utf8(text).expect("text"))
}

/// The mode of a file.
pub(crate) fn mode(file: &Path) -> u32 {
    let metadata = std::fs::metadata(file).expect("a file");
    metadata.permissions().mode() & 0o777
}

/// The modes of the files below a folder that contain lines of a key log.
pub(crate) fn files_with_secrets(folder: &Path) -> Vec<u32> {
    let mut folders = vec![folder.to_path_buf()];
    let mut modes = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if holds_secret(&std::fs::read(&path).expect("a file")) {
                modes.push(mode(&path));
            }
        }
    }
    modes
}

fn holds_secret(bytes: &[u8]) -> bool {
    let labels: [&[u8]; 2] = [b"CLIENT_TRAFFIC_SECRET_0 ", b"CLIENT_RANDOM "];
    let holds = |label: &&[u8]| bytes.windows(label.len()).any(|window| window == *label);
    labels.iter().any(holds)
}

fn word(bytes: &[u8]) -> u32 {
    let bytes = bytes[..4].try_into().expect("four bytes");
    u32::from_le_bytes(bytes)
}
