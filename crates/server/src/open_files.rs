//! The limit of open files: connections, RocksDB's tables, files of sorts and loads.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the process' soft limit to its hard one. The soft one is low (1024 on most systems) for programs that use
/// `select`.
///
/// # Errors
/// The system refuses it; the limit stays.
pub fn raise_limit() -> std::io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return Ok(());
    }
    let current = maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        // Low, but enough for the tests beside this one.
        let current = maximum.map_or(Some(10_000), |hard| Some(hard - 1));
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
        raise_limit().unwrap();
        assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    }
}
