//! The programs under `tests/clients/`: real clients that check a running server and print a line per
//! check, `ok NAME` or `FAIL NAME: why`. A client whose toolchain is missing is skipped with one line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::frameworks;
use crate::report::Report;
use crate::server::Address;

/// A client that takes longer is a hang.
const CLIENT_MAX: Duration = Duration::from_secs(1800);

macro_rules! python_environment {
    () => {
        "venv=\"$OUT/venv\" && { [ -x \"$venv/bin/python\" ] || python3 -m venv \"$venv\"; } && \
         \"$venv/bin/python\" -m pip install --quiet --disable-pip-version-check -r requirements.txt"
    };
}

macro_rules! node_modules {
    () => {
        "cmp -s package-lock.json \"$OUT/installed.json\" || \
         { cp package.json package-lock.json \"$OUT\" && cd \"$OUT\" && npm ci --silent && \
           cp package-lock.json installed.json; }"
    };
}

struct Client {
    name: &'static str,
    /// Below `tests/clients`. Clients of one directory share what is built.
    directory: &'static str,
    /// Programs it needs in the PATH, or files with their full path.
    needs: &'static [&'static str],
    /// Commands that build it in the client's directory. `$OUT` is the directory for everything built.
    build: &'static str,
    run: &'static str,
}

/// The directory of their sources.
pub const CLIENTS: &str = "tests/clients";

const ALL: [Client; 17] = [
    Client {
        name: "go",
        directory: "go",
        needs: &["go"],
        build: "go build -o \"$OUT/checks\" .",
        run: "\"$OUT/checks\"",
    },
    Client {
        name: "pymysql",
        directory: "python",
        needs: &["python3"],
        build: PYTHON_ENVIRONMENT,
        run: "PYTHONDONTWRITEBYTECODE=1 \"$OUT/venv/bin/python\" pymysql_checks.py",
    },
    Client {
        name: "mysqlclient",
        directory: "python",
        needs: &["python3"],
        build: PYTHON_ENVIRONMENT,
        run: "PYTHONDONTWRITEBYTECODE=1 \"$OUT/venv/bin/python\" mysqlclient_checks.py",
    },
    Client {
        name: "node",
        directory: "node",
        needs: &["node", "npm"],
        build: NODE_MODULES,
        run: "NODE_PATH=\"$OUT/node_modules\" node checks.js",
    },
    Client {
        name: "browser",
        directory: "browser",
        needs: &["node", "npm", "chromium"],
        build: NODE_MODULES,
        run: "NODE_PATH=\"$OUT/node_modules\" node checks.js",
    },
    Client {
        name: "wordpress",
        directory: "applications",
        needs: &[
            "node",
            "npm",
            "chromium",
            "php",
            "/usr/share/wordpress/wp-load.php",
            "/usr/share/wordpress/wp-content/themes/twentytwentyone/index.php",
        ],
        build: NODE_MODULES,
        run: "NODE_PATH=\"$OUT/node_modules\" node wordpress.js",
    },
    Client {
        name: "phpmyadmin",
        directory: "applications",
        needs: &[
            "node",
            "npm",
            "chromium",
            "php",
            "/usr/share/phpmyadmin/index.php",
        ],
        build: NODE_MODULES,
        run: "NODE_PATH=\"$OUT/node_modules\" node phpmyadmin.js",
    },
    Client {
        name: "ghost",
        directory: "applications",
        needs: &["node", "npm"],
        build: concat!("(", node_modules!(), ") && bash ghost.sh"),
        run: "NODE_PATH=\"$OUT/node_modules\" node ghost.js",
    },
    Client {
        name: "java",
        directory: "java",
        needs: &["java", "javac", "mvn"],
        build: "mvn -q -B -Dout=\"$OUT\" process-classes",
        run: "java -cp \"$OUT/classes:$OUT/lib/*\" Checks",
    },
    Client {
        name: "mariadb",
        directory: "cli",
        needs: &["mariadb", "mariadb-admin", "mariadb-dump", "mariadb-slap"],
        build: "",
        run: "bash mariadb.sh",
    },
    Client {
        name: "sysbench",
        directory: "cli",
        needs: &["sysbench", "mariadb"],
        build: "",
        run: "bash sysbench.sh",
    },
    Client {
        name: "mydumper",
        directory: "cli",
        needs: &["mydumper", "myloader", "mariadb"],
        build: "",
        run: "bash tools.sh mydumper",
    },
    Client {
        name: "mycli",
        directory: "cli",
        needs: &["mycli", "mariadb"],
        build: "",
        run: "bash tools.sh mycli",
    },
    Client {
        name: "percona",
        directory: "cli",
        needs: &["pt-table-checksum", "mariadb"],
        build: "",
        run: "bash tools.sh percona",
    },
    Client {
        name: "exporter",
        directory: "cli",
        needs: &["prometheus-mysqld-exporter", "python3", "mariadb"],
        build: "",
        run: "bash tools.sh exporter",
    },
    suite(
        "sqlalchemy-suite",
        "\"$OUT/venv/bin/python\" -B suite.py sqlalchemy",
    ),
    suite("django-suite", "\"$OUT/venv/bin/python\" -B suite.py django"),
];

/// A framework's own test suite.
const fn suite(name: &'static str, run: &'static str) -> Client {
    Client {
        name,
        directory: "suites",
        needs: &["python3"],
        build: SUITES,
        run,
    }
}

/// What the directory's package-lock.json pins, installed again when it changes.
pub const NODE_MODULES: &str = node_modules!();

/// A virtual environment with what the directory's requirements.txt pins.
pub const PYTHON_ENVIRONMENT: &str = python_environment!();

/// The same with the source packages, which have the suites.
const SUITES: &str = concat!(python_environment!(), " && bash fetch.sh");

/// Builds and runs the clients, or the named ones. `out` holds the builds from one run to the next.
pub fn check(address: &Address, directory: &Path, out: &Path, names: &[String], report: &mut Report) {
    for client in &ALL {
        if !names.is_empty() && !names.iter().any(|n| n == client.name) {
            continue;
        }
        if let Some(missing) = client.needs.iter().find(|program| !on_path(program)) {
            report.skip(
                &format!("client {}", client.name),
                &format!("{missing} is not installed"),
            );
            continue;
        }
        if client.name == "browser" && address.status_port.is_none() {
            report.skip("client browser", "the server's status port is not known");
            continue;
        }
        if let Err(e) = one(client, address, directory, out, report) {
            report.fail(&format!("client {}", client.name), &e);
        }
    }
    frameworks::check(address, directory, out, names, report);
}

fn one(
    client: &Client,
    address: &Address,
    directory: &Path,
    out: &Path,
    report: &mut Report,
) -> Result<(), String> {
    let source = directory.join(client.directory);
    let out = out.join(client.directory);
    fs::create_dir_all(&out).map_err(|e| e.to_string())?;
    let out = out.canonicalize().map_err(|e| e.to_string())?;
    if !client.build.is_empty() {
        let output = shell(client.build, &source, &out, address)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            return Err(format!("cannot be built: {}", last_lines(&said)));
        }
    }
    let output = shell(client.run, &source, &out, address)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut failed = false;
    let mut lines = 0;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ok ") {
            report.pass(&format!("{}: {name}", client.name));
            lines += 1;
        } else if let Some(rest) = line.strip_prefix("FAIL ") {
            let (name, why) = rest.split_once(": ").unwrap_or((rest, ""));
            report.fail(&format!("{}: {name}", client.name), why);
            failed = true;
        }
    }
    if lines == 0 || (!output.status.success() && !failed) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, last_lines(&said)));
    }
    Ok(())
}

pub fn shell(script: &str, directory: &Path, out: &Path, address: &Address) -> Result<Output, String> {
    let socket = address.socket.clone().unwrap_or_default();
    let mut child = Command::new("timeout")
        .args([
            "--kill-after=10",
            &CLIENT_MAX.as_secs().to_string(),
            "bash",
            "-c",
            script,
        ])
        .current_dir(directory)
        .env("OUT", out)
        .env("STEMDB_HOST", &address.host)
        .env("STEMDB_PORT", address.port.to_string())
        .env("STEMDB_SOCKET", absolute(&socket))
        .env(
            "STEMDB_STATUS_PORT",
            address.status_port.unwrap_or_default().to_string(),
        )
        .env("STEMDB_LARGE_ROWS", if address.large_rows { "1" } else { "0" })
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let start = Instant::now();
    // Both pipes are read while it runs, so that it never waits for us.
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let (stdout, stderr) = thread::scope(|scope| {
        let errors = scope.spawn(move || read_all(stderr));
        (read_all(stdout), errors.join().unwrap_or_default())
    });
    let status = child.wait().map_err(|e| e.to_string())?;
    if start.elapsed() >= CLIENT_MAX {
        return Err(format!(
            "not done within {CLIENT_MAX:?}:\n{}",
            String::from_utf8_lossy(&stdout)
        ));
    }
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

fn read_all(pipe: Option<impl std::io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

pub fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(program).is_file()))
}
