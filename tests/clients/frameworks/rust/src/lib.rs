//! What both applications share: each prints a line for each step, `NAME: RESULT`.

use std::env;
use std::fmt::Debug;

/// An URL of the server. Both libraries take the same.
pub fn url(database: &str) -> String {
    let host = env::var("STEMDB_HOST").expect("STEMDB_HOST");
    let port = env::var("STEMDB_PORT").expect("STEMDB_PORT");
    format!("mysql://root@{host}:{port}/{database}")
}

pub fn step<T: Debug, E: Debug>(name: &str, result: Result<T, E>) {
    match result {
        Ok(value) => println!("{name}: {value:?}"),
        Err(e) => println!("{name}: error {}", format!("{e:?}").replace('\n', " ")),
    }
}
