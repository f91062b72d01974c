//! Certificates by OpenSSL: an authority, and servers that are good, out of date or of another name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::need_program;

const CONFIGURATION: &str = "\
[ca]
default_ca = here
[here]
dir = .
database = index
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = keyCertSign
";

/// A folder with an authority, `ca.pem`.
pub(crate) struct Authority<'a>(pub(crate) &'a Path);

impl<'a> Authority<'a> {
    /// A new authority.
    pub(crate) fn new(folder: &'a Path) -> Self {
        let authority = Self::nameless(folder);
        authority.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 \
             -subj /CN=lab-CA -config ca.cnf -extensions authority",
        );
        authority
    }

    /// A folder with what OpenSSL needs for an authority, but its certificate.
    fn nameless(folder: &'a Path) -> Self {
        need_program("openssl", "openssl");
        fs::write(folder.join("ca.cnf"), CONFIGURATION).expect("a configuration");
        fs::write(folder.join("index"), "").expect("a database");
        fs::write(folder.join("serial"), "01").expect("a serial number");
        Self(folder)
    }

    /// An authority in another folder that this one has issued.
    pub(crate) fn intermediate<'b>(&self, folder: &'b Path) -> Authority<'b> {
        let issued = Authority::nameless(folder);
        issued.openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out request -subj /CN=lab-middle -config ca.cnf",
        );
        let rights = "basicConstraints = critical, CA:TRUE\nkeyUsage = keyCertSign\n";
        fs::write(self.0.join("names"), rights).expect("rights");
        let [request, certificate] = ["request", "ca.pem"].map(|name| folder.join(name));
        self.openssl(&format!(
            "ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in {} -out {} -notext -extfile names \
             -startdate 20200101000000Z -enddate 20490101000000Z",
            request.display(),
            certificate.display()
        ));
        issued
    }

    /// A server's certificate and key for a name (`DNS:localhost,IP:127.0.0.1`), valid until a year.
    pub(crate) fn server(&self, label: &str, names: &str, until: u32) -> [PathBuf; 2] {
        fs::write(self.0.join("names"), format!("subjectAltName = {names}\n")).expect("names");
        self.openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {label}.key -out request -subj /CN={label} \
             -config ca.cnf"
        ));
        self.openssl(&format!(
            "ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in request -out {label}.pem -notext -extfile names \
             -startdate 20200101000000Z -enddate {until}0101000000Z"
        ));
        [format!("{label}.pem"), format!("{label}.key")].map(|name| self.0.join(name))
    }

    /// A server's certificate that is good for the loopback interface.
    pub(crate) fn good(&self) -> [PathBuf; 2] {
        self.server("good", "DNS:localhost,IP:127.0.0.1", 2049)
    }

    fn openssl(&self, arguments: &str) {
        let output = Command::new("openssl")
            .current_dir(self.0)
            .args(arguments.split_whitespace())
            .output()
            .expect("openssl starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {arguments}\n{said}");
    }
}
