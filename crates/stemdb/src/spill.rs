//! The directory of what queries spill. DataFusion makes a directory with named files in it for a query, and removes it
//! when the query ends. A process that is killed meanwhile leaves it there, and the next start removes it. The files of
//! `executor` have no names, and leave nothing.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// While this exists, no other process empties the directory.
pub struct SpillDirectory {
    pub path: PathBuf,
    _lock: Option<File>,
}

/// Makes the directory, or empties it.
///
/// # Errors
/// A message for the terminal.
pub fn open(data_directory: Option<&Path>) -> Result<SpillDirectory, String> {
    let Some(directory) = data_directory else {
        // Other programs use it too, so it is not emptied.
        return Ok(SpillDirectory {
            path: std::env::temp_dir(),
            _lock: None,
        });
    };
    let path = directory.join("spill");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(&path).map_err(failed)?;
    let lock = File::open(&path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => empty(&path),
        Err(TryLockError::WouldBlock) => {
            tracing::info!(path = %path.display(), "another process spills to this directory, too");
        }
        Err(TryLockError::Error(error)) => {
            tracing::warn!(path = %path.display(), %error, "what a killed process has spilled stays");
        }
    }
    // Each running process holds a shared lock, so that none can get the exclusive one.
    if let Err(error) = lock.lock_shared() {
        tracing::warn!(path = %path.display(), %error, "another process may remove what this one spills");
    }
    Ok(SpillDirectory {
        path,
        _lock: Some(lock),
    })
}

fn empty(path: &Path) {
    let removed = fs::read_dir(path).and_then(|entries| {
        entries
            .flatten()
            .try_for_each(|entry| match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            })
    });
    if let Err(error) = removed {
        tracing::warn!(path = %path.display(), %error, "what a killed process has spilled cannot be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_has_spilled_is_removed_unless_another_one_runs() {
        let directory = std::env::temp_dir().join(format!("stemdb-spill-{}", std::process::id()));
        let left = directory.join("spill/datafusion-x");
        let spill = || {
            fs::create_dir_all(&left).unwrap();
            fs::write(left.join("1"), "rows").unwrap();
        };
        spill();
        let first = open(Some(&directory)).unwrap();
        assert!(!left.exists() && first.path.is_dir());
        spill();
        let second = open(Some(&directory)).unwrap();
        assert!(left.exists());
        drop(first);
        let third = open(Some(&directory)).unwrap();
        assert!(left.exists());
        drop((second, third));
        open(Some(&directory)).unwrap();
        assert!(!left.exists());
        fs::remove_dir_all(&directory).unwrap();
    }
}
