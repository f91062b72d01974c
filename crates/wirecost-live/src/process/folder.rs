//! The folder of a server: its configuration, its secrets and all that it writes. Nobody else can look into it.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

use wirecost_files::output::{self, Existing};

use super::user::ServerUser;
use crate::error::{Doing, EnvironmentError};
use crate::sys;
use crate::sys::init::Become;

/// Folders that every system has (Filesystem Hierarchy Standard 3.0, sections 3.11, 3.12 and 3.17) and no server needs.
const PLACES: [&str; 3] = ["/mnt", "/media", "/srv"];
/// The accounts that a server with a number of its own sees.
const ACCOUNTS: &str = "passwd";

/// What becomes of a file when the server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// It stays with the results, and belongs to the caller.
    Kept,
    /// It is removed: it holds a secret, or nothing that anybody wants to read.
    Removed,
}

/// The folder of a server, of mode 0700, and the user that the server runs as. Dropping it removes all but the configuration, which the
/// caller then owns.
#[derive(Debug)]
pub struct ServerFolder {
    path: PathBuf,
    /// Where the server finds it.
    seen: PathBuf,
    log: PathBuf,
    user: ServerUser,
    kept: Vec<PathBuf>,
}

impl ServerFolder {
    /// Makes the folder `NAME.d` below that of a run, beside which the log `NAME.log` will be.
    ///
    /// # Errors
    /// There is no user for the server, or the folder cannot be made.
    pub fn create(run: &Path, name: &str) -> Result<Self, EnvironmentError> {
        let user = ServerUser::choose()?;
        let made = |path: &Path| format!("make the folder {}", path.display());
        let path = run.join(format!("{name}.d"));
        // An earlier load of the same run may have left its configuration.
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            // From its creation nobody else may look in: keys are written into it.
            _ => DirBuilder::new().mode(0o700).create(&path),
        }
        .doing("mkdir", || made(&path))?;
        // The server has another working folder, where a relative path leads elsewhere.
        let path = fs::canonicalize(&path).doing("realpath", || made(&path))?;
        let mut folder = Self {
            seen: place_for(&path, user),
            log: run.join(format!("{name}.log")),
            path,
            user,
            kept: Vec::new(),
        };
        folder.give(&folder.path)?;
        if let Some(number) = user.owner() {
            let (root, home) = ("root:x:0:0::/:/bin/false", folder.seen.display());
            let accounts = format!("{root}\nwirecost:x:{number}:{number}::{home}:/bin/sh\n");
            folder.write_as(ACCOUNTS, &accounts, 0o644, Afterwards::Removed)?;
        }
        Ok(folder)
    }

    /// The path of something in it, as the server sees it.
    pub fn seen(&self, name: &str) -> PathBuf {
        self.seen.join(name)
    }

    /// The path of the folder, as the server sees it.
    pub fn home(&self) -> &Path {
        &self.seen
    }

    /// The file of the server's output, which is not in the folder.
    pub fn log(&self) -> PathBuf {
        self.log.clone()
    }

    /// The user that the server runs as.
    pub const fn user(&self) -> ServerUser {
        self.user
    }

    /// Writes a file that only the server may read. Returns its path as the server sees it.
    ///
    /// # Errors
    /// The file system refused.
    pub fn write(
        &mut self,
        name: &str,
        text: &str,
        afterwards: Afterwards,
    ) -> Result<PathBuf, EnvironmentError> {
        self.write_as(name, text, 0o600, afterwards)
    }

    /// Writes a file that only the server may read, and nobody may write.
    ///
    /// # Errors
    /// The file system refused.
    pub(super) fn write_cookie(&mut self, name: &str, text: &str) -> Result<PathBuf, EnvironmentError> {
        self.write_as(name, text, 0o400, Afterwards::Removed)
    }

    fn write_as(
        &mut self,
        name: &str,
        text: &str,
        mode: u32,
        afterwards: Afterwards,
    ) -> Result<PathBuf, EnvironmentError> {
        let path = self.path.join(name);
        let opened = output::own(&path, Existing::Refused, mode).map_err(io::Error::from);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.doing("write", || format!("write {}", path.display()))?;
        self.give(&path)?;
        if afterwards == Afterwards::Kept {
            self.kept.push(path);
        }
        Ok(self.seen(name))
    }

    /// Makes the server the owner of a file, if it is another user.
    pub(super) fn give(&self, path: &Path) -> Result<(), EnvironmentError> {
        let Some(number) = self.user.owner() else {
            return Ok(());
        };
        let given = lchown(path, Some(number), Some(number));
        given.doing("chown", || format!("give {} to user {number}", path.display()))
    }

    /// Removes the folder of a server that was never started, with its configuration.
    pub(crate) fn discard(mut self) {
        self.kept.clear();
    }

    /// What the server's process does before it is the server.
    pub(super) fn become_server(&self) -> io::Result<Become> {
        let is_elsewhere = self.seen != self.path;
        let accounts = self.user.owner().map(|_| self.seen(ACCOUNTS));
        Become::new(
            is_elsewhere.then_some([self.path.as_path(), self.seen.as_path()]),
            accounts.as_deref(),
            &self.seen,
            self.user.owner(),
            self.user.maps(),
        )
    }

    /// Removes what is not kept. What is kept belongs to the caller then.
    fn clear(&self) -> io::Result<()> {
        let (user, group) = sys::user_and_group();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let path = entry.path();
            if self.kept.contains(&path) {
                // Not `chown`: the server owned the folder, and may have put a symbolic link there that leads out of it.
                lchown(&path, Some(user), Some(group))?;
            } else if entry.file_type()?.is_dir() {
                fs::remove_dir_all(&path)?;
            } else {
                fs::remove_file(&path)?;
            }
        }
        lchown(&self.path, Some(user), Some(group))?;
        if self.log.is_file() {
            lchown(&self.log, Some(user), Some(group))?;
        }
        match self.kept.is_empty() {
            true => fs::remove_dir(&self.path),
            false => Ok(()),
        }
    }
}

impl Drop for ServerFolder {
    fn drop(&mut self) {
        // The results do not depend on it, and there is no caller to report to.
        drop(self.clear());
    }
}

/// Where a server finds the folder at `path`: there, unless another user cannot search a folder above it. Then it is mounted in a place
/// that only the server sees.
fn place_for(path: &Path, user: ServerUser) -> PathBuf {
    let is_open = |folder: &Path| fs::metadata(folder).is_ok_and(|found| found.mode() & 0o001 != 0);
    if user.owner().is_none() || path.ancestors().skip(1).all(is_open) {
        return path.to_owned();
    }
    let path_variable = std::env::var_os("PATH").unwrap_or_default();
    let programs: Vec<PathBuf> = std::env::split_paths(&path_variable).collect();
    let is_free = |place: &&Path| place.is_dir() && !programs.iter().any(|folder| folder.starts_with(place));
    let mut places = PLACES.iter().map(|place| Path::new(*place));
    places.find(is_free).unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_configuration_stays_and_only_its_owner_may_look() {
        let run = tempfile::tempdir().expect("a folder");
        let mut folder = ServerFolder::create(run.path(), "server").expect("a folder");
        folder.write("kept", "a", Afterwards::Kept).expect("a file");
        folder.write("secret", "b", Afterwards::Removed).expect("a file");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        let place = run.path().join("server.d");
        assert_eq!((mode(&place), mode(&place.join("secret"))), (0o700, 0o600));
        fs::create_dir_all(place.join("data/more")).expect("what a server writes");
        std::os::unix::fs::symlink("/etc/hostname", place.join("link")).expect("a link");
        drop(folder);
        let left: Vec<_> = fs::read_dir(&place).expect("the folder").flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(mode(&place.join("kept")), 0o600);
        let mine = fs::metadata(run.path()).expect("a folder").uid();
        assert_eq!(fs::metadata(&place).expect("the folder").uid(), mine);
        assert!(Path::new("/etc/hostname").exists());
    }

    #[test]
    fn a_folder_without_configuration_goes() {
        let run = tempfile::tempdir().expect("a folder");
        drop(ServerFolder::create(run.path(), "server").expect("a folder"));
        assert!(!run.path().join("server.d").exists());
        let mut folder = ServerFolder::create(run.path(), "server").expect("a folder");
        folder.write("kept", "a", Afterwards::Kept).expect("a file");
        folder.discard();
        assert!(!run.path().join("server.d").exists());
    }

    #[test]
    fn a_folder_that_others_cannot_reach_is_seen_in_another_place() {
        let closed = tempfile::tempdir().expect("a folder");
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).expect("permissions");
        let path = closed.path().join("server.d");
        assert_ne!(place_for(&path, ServerUser::Own(7)), path);
        assert_eq!(place_for(&path, ServerUser::Caller), path);
        let open = Path::new("/usr/server.d");
        assert_eq!(place_for(open, ServerUser::Own(7)), open);
    }
}
