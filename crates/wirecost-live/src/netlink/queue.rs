//! Queueing disciplines: `RTM_NEWQDISC` (rtnetlink(7)).

use super::Netlink;
use super::message::Request;
use std::io;

const FIXED_LENGTH: usize = 20;
const ROOT: u32 = u32::MAX; // TC_H_ROOT: linux/pkt_sched.h

/// `struct tcmsg`: family, index, handle, parent (the root), info.
fn fixed(index: u32) -> [u8; FIXED_LENGTH] {
    let mut fixed = [0; FIXED_LENGTH];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[12..16].copy_from_slice(&ROOT.to_ne_bytes());
    fixed
}

impl Netlink {
    /// Removes the queue in front of the interface (`noqueue`). The machine's default may be `fq`, which paces TCP, or
    /// a discipline whose drops the interface's counters do not show.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN; ENOENT if the kernel does not support this.
    pub(crate) fn remove_queueing(&self, index: u32) -> io::Result<()> {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let request = Request::new(libc::RTM_NEWQDISC, flags, &fixed(index));
        self.ask(request.text(libc::TCA_KIND, "noqueue")).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_the_root_of_an_interface() {
        let header = fixed(5);
        assert_eq!(header[4..8], 5u32.to_ne_bytes());
        assert_eq!(header[8..12], [0; 4]);
        assert_eq!(header[12..16], [0xff; 4]);
    }
}
