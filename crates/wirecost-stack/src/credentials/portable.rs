//! Credentials in a form for another process of the same run.

use serde::{Deserialize, Serialize};
use wirecost_security::certificate::{self, Identity, authorities_from_pem};
use wirecost_security::{Epoch, KeyLog};

use super::{Credentials, SECRET_BYTES, oscore_contexts};

/// Credentials as text. They are secrets: send them over a pipe, not in a file or on a command line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Portable {
    authority: String,
    server: [String; 2],
    client: [String; 2],
    psk: String,
    oscore_secret: [u8; SECRET_BYTES],
}

impl Portable {
    /// The same as [`Credentials::oscore_contexts`].
    pub fn oscore_contexts(&self, devices: u16) -> String {
        oscore_contexts(&self.oscore_secret, devices)
    }

    /// The credentials for a process whose clock is at `epoch`. The secrets of connections are not kept.
    ///
    /// # Errors
    /// [`Credentials::portable`] did not write the texts.
    pub fn unpack(&self, epoch: Epoch) -> Result<Credentials, certificate::Error> {
        let authority = authorities_from_pem(&self.authority)?;
        let identity =
            |[certificates, key]: &[String; 2]| Identity::from_pem(certificates.as_str(), key.as_str());
        Ok(Credentials {
            epoch,
            key_log: KeyLog::disabled(),
            authority: authority.into_iter().next().unwrap_or_default(),
            authority_pem: self.authority.clone(),
            server: identity(&self.server)?,
            client: identity(&self.client)?,
            psk: self.psk.clone(),
            oscore_secret: self.oscore_secret,
            // Only a run of several stacks has others, and it has one process.
            dtls: None,
        })
    }
}

impl Credentials {
    /// The credentials for another process.
    ///
    /// # Errors
    /// The PEM encoder fails.
    pub fn portable(&self) -> Result<Portable, certificate::Error> {
        let identity = |identity: &Identity| -> Result<_, certificate::Error> {
            Ok([identity.certificates_to_pem()?, identity.private_key_to_pem()?])
        };
        Ok(Portable {
            authority: self.authority_pem.clone(),
            server: identity(&self.server)?,
            client: identity(&self.client)?,
            psk: self.psk.clone(),
            oscore_secret: self.oscore_secret,
        })
    }
}

impl std::fmt::Debug for Portable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys stay out of logs.
        f.debug_struct("Portable").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::virtual_epoch;
    use super::*;

    #[test]
    fn credentials_are_the_same_in_another_process() {
        let epoch = virtual_epoch();
        let credentials = Credentials::generate(epoch, false).expect("credentials");
        let text = serde_json::to_string(&credentials.portable().expect("texts")).expect("a text");
        let portable: Portable = serde_json::from_str(&text).expect("what was written");
        let there = portable.unpack(epoch).expect("credentials");
        assert_eq!(there.authority, credentials.authority);
        assert_eq!(there.server, credentials.server);
        assert_eq!(there.client, credentials.client);
        assert_eq!(there.psk, credentials.psk);
        assert_eq!(there.oscore_secret, credentials.oscore_secret);
        assert_eq!(portable.oscore_contexts(2), credentials.oscore_contexts(2));
        assert!(!format!("{portable:?}").contains("PRIVATE"));
    }
}
