//! Files on the server's disk that statements name: checks of privileges, and MySQL's errors.
//!
//! Source: manual 5.1.8, "secure_file_priv"; 6.2.2, "FILE".

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use functions::FileContents;
use rustix::fs::{Mode, OFlags};
use schema::privilege::{Privilege, PrivilegeSet};
use types::{Error, Result};

use crate::variables::{GlobalVariables, lookup};
use crate::view::SessionView;

const ER_CANT_GET_STAT: u16 = 13;
const ER_ERROR_ON_READ: u16 = 2;
const EE_CANTCREATEFILE: u16 = 1;
const EE_WRITE: u16 = 3;
const ER_FILE_EXISTS_ERROR: u16 = 1086;
const ER_OPTION_PREVENTS_STATEMENT: u16 = 1290;

/// For a file that does not exist yet.
const CREATE: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL);

/// Fails unless the account may use files (1227 and 1045), and this file is allowed (1290).
///
/// # Errors
/// See above.
pub fn check_usable(view: &SessionView<'_>, name: &str) -> Result<()> {
    check_privilege(view)?;
    let allowed = allowed_directory(&view.shared.variables)?;
    match allowed.is_none_or(|directory| is_within(&full_path(view, name), &directory)) {
        true => Ok(()),
        false => Err(prevented()),
    }
}

/// Error 1045 without the privilege FILE.
pub fn check_privilege(view: &SessionView<'_>) -> Result<()> {
    view.client.check_everywhere(PrivilegeSet::of(&[Privilege::File]))
}

/// Creates a file that does not exist yet.
///
/// # Errors
/// 1086 if it exists, 1 if it cannot be created.
pub fn create(view: &SessionView<'_>, name: &str) -> Result<(PathBuf, File)> {
    let path = full_path(view, name);
    let allowed = allowed_directory(&view.shared.variables)?;
    match open_allowed(&path, allowed.as_deref(), CREATE) {
        Ok(file) => Ok((path, file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::new(
            ER_FILE_EXISTS_ERROR,
            format!("File '{name}' already exists"),
        )),
        Err(error) => Err(Error::new(
            EE_CANTCREATEFILE,
            format!(
                "Can't create/write to file '{}' ({})",
                path.display(),
                os_error(&error)
            ),
        )),
    }
}

/// Error 3.
pub fn writing_failed(path: &Path, error: &io::Error) -> Error {
    Error::new(
        EE_WRITE,
        format!("Error writing file '{}' ({})", path.display(), os_error(error)),
    )
}

/// Opens a file to read it.
///
/// # Errors
/// 13 if it does not exist or cannot be opened, 2 if it is a directory.
pub fn open(view: &SessionView<'_>, name: &str) -> Result<File> {
    let path = full_path(view, name);
    let allowed = allowed_directory(&view.shared.variables)?;
    let opened = open_allowed(&path, allowed.as_deref(), OFlags::RDONLY);
    let file = opened.map_err(|error| cannot_stat(&path, &error))?;
    let metadata = file.metadata().map_err(|error| cannot_stat(&path, &error))?;
    match metadata.is_dir() {
        true => Err(reading_failed(name, &io::Error::from_raw_os_error(21))),
        false => Ok(file),
    }
}

/// Error 2.
pub fn reading_failed(name: &str, error: &io::Error) -> Error {
    Error::new(
        ER_ERROR_ON_READ,
        format!("Error reading file '{name}' ({})", os_error(error)),
    )
}

fn cannot_stat(path: &Path, error: &io::Error) -> Error {
    Error::new(
        ER_CANT_GET_STAT,
        format!("Can't get stat of '{}' ({})", path.display(), os_error(error)),
    )
}

/// `OS errno 2 - No such file or directory`
pub fn os_error(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("OS errno {} - {text}", error.raw_os_error().unwrap_or(0))
}

/// What LOAD_FILE() reads.
pub fn read(variables: &GlobalVariables, name: &Path, bytes_max: usize) -> FileContents {
    let path = data_directory(variables).join(name);
    let Ok(allowed) = allowed_directory(variables) else {
        return FileContents::Absent;
    };
    if allowed.as_ref().is_some_and(|within| !is_within(&path, within)) {
        return FileContents::Absent;
    }
    contents(&path, allowed.as_deref(), bytes_max).unwrap_or(FileContents::Absent)
}

/// The contents of a plain file. To open a device can change what it does, and to open a pipe can take for ever.
fn contents(path: &Path, allowed: Option<&Path>, bytes_max: usize) -> io::Result<FileContents> {
    let no_plain_file = || Ok(FileContents::NoPlainFile(path.display().to_string()));
    if !path.metadata()?.is_file() {
        return no_plain_file();
    }
    let file = open_allowed(path, allowed, OFlags::RDONLY | OFlags::NONBLOCK)?;
    let opened = file.metadata()?;
    // The name may be that of another file since.
    if !opened.is_file() {
        return no_plain_file();
    }
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    if opened.len() > limit {
        return Ok(FileContents::TooLarge);
    }
    // It may grow meanwhile.
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() > bytes_max {
        true => Ok(FileContents::TooLarge),
        false => Ok(FileContents::Bytes(bytes)),
    }
}

/// Opens a file within the allowed directory, or any without one.
fn open_allowed(path: &Path, allowed: Option<&Path>, flags: OFlags) -> io::Result<File> {
    let Some(directory) = allowed else {
        return opened(rustix::fs::CWD, path, flags);
    };
    let denied = || io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error());
    let real = match flags.contains(OFlags::CREATE) {
        // It must not exist, not even as a link that leads nowhere.
        true => {
            let parent = path.parent().ok_or_else(denied)?.canonicalize()?;
            parent.join(path.file_name().ok_or_else(denied)?)
        }
        false => path.canonicalize()?,
    };
    let below = real.strip_prefix(directory).map_err(|_| denied())?;
    open_below(directory, below, flags)
}

/// Opens a file below a directory and follows no links: what another process replaces by a link, after the name has been
/// checked, leads to an error and not out of the directory.
fn open_below(directory: &Path, below: &Path, flags: OFlags) -> io::Result<File> {
    let is_directory = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut place = opened(rustix::fs::CWD, directory, is_directory)?;
    let mut names = below.iter().peekable();
    while let Some(name) = names.next() {
        let flags = match names.peek() {
            Some(_) => is_directory,
            None => flags,
        };
        place = opened(&place, name, flags | OFlags::NOFOLLOW)?;
    }
    Ok(place)
}

fn opened(at: impl AsFd, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<File> {
    let (name, flags) = (name.as_ref(), flags | OFlags::CLOEXEC);
    let open = || rustix::fs::openat(&at, name, flags, Mode::from_raw_mode(0o666));
    Ok(rustix::io::retry_on_intr(open)?.into())
}

/// The directory of `secure_file_priv`; `None`: any.
///
/// # Errors
/// 1290 if it is NULL.
fn allowed_directory(variables: &GlobalVariables) -> Result<Option<PathBuf>> {
    let directory = lookup("secure_file_priv").and_then(|definition| variables.get(definition));
    let Some(directory) = directory else {
        return Err(prevented());
    };
    match directory.is_empty() {
        true => Ok(None),
        false => Ok(Some(resolved(Path::new(&*directory)))),
    }
}

/// The data directory; without one, the current one.
fn data_directory(variables: &GlobalVariables) -> PathBuf {
    let data = lookup("datadir").and_then(|definition| variables.get(definition));
    PathBuf::from(data.as_deref().unwrap_or("."))
}

/// As in MySQL, a name without a directory is in the directory of the default database.
pub fn full_path(view: &SessionView<'_>, name: &str) -> PathBuf {
    let name = Path::new(name);
    if name.is_absolute() {
        return name.to_owned();
    }
    let data = data_directory(&view.shared.variables);
    match (view.database, name.parent()) {
        (Some(database), Some(parent)) if parent.as_os_str().is_empty() => data.join(&**database).join(name),
        _ => data.join(name),
    }
}

/// Whether a file, which need not exist, is within a directory. Links are followed.
fn is_within(path: &Path, directory: &Path) -> bool {
    let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back()) else {
        return false;
    };
    let parent = resolved(parent);
    let is_plain = parent.components().all(|part| part != Component::ParentDir);
    is_plain && resolved(&parent.join(name)).starts_with(directory)
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn prevented() -> Error {
    Error::new(
        ER_OPTION_PREVENTS_STATEMENT,
        "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_comes_after_the_check_does_not_lead_out_of_the_directory() {
        let root = std::env::temp_dir().join(format!("stemdb-server-files-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        // The directory for temporary files may be a link.
        let root = root.canonicalize().unwrap();
        let (allowed, outside) = (root.join("allowed"), root.join("outside"));
        for directory in [&allowed.join("plain"), &outside] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("file"), "text").unwrap();
        }
        symlink(outside.join("file"), allowed.join("file")).unwrap();
        symlink(&outside, allowed.join("directory")).unwrap();

        let open = |name: &str, flags| open_below(&allowed, Path::new(name), flags);
        for name in ["file", "directory/file"] {
            assert!(open(name, OFlags::RDONLY).is_err(), "{name}");
        }
        assert!(open("directory/new", CREATE).is_err());
        assert!(!outside.join("new").exists());

        assert!(open("plain/file", OFlags::RDONLY).is_ok());
        assert!(open("plain/new", CREATE).is_ok());
        let again = open("plain/new", CREATE).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let links = open_allowed(&allowed.join("file"), Some(&allowed), OFlags::RDONLY);
        assert_eq!(links.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(&root).unwrap();
    }
}
