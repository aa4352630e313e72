//! The programs under `tests/clients/frameworks/`: applications that use frameworks. Each prints a line for
//! everything it does, `NAME: RESULT`. The output on MySQL 8.0.33 is recorded next to the program, and must
//! be the same here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::clients::{NODE_MODULES, PYTHON_ENVIRONMENT, last_lines, on_path, shell};
use crate::report::Report;
use crate::server::Address;

struct Framework {
    name: &'static str,
    /// Below `tests/clients/frameworks`.
    directory: &'static str,
    /// Programs it needs in the PATH, or files with their full path.
    needs: &'static [&'static str],
    /// Commands that build it in its directory. `$OUT` is the directory for build results.
    build: &'static str,
    run: &'static str,
}

const fn python(name: &'static str, run: &'static str) -> Framework {
    Framework {
        name,
        directory: "python",
        needs: &["python3"],
        build: PYTHON_ENVIRONMENT,
        run,
    }
}

const fn node(name: &'static str, run: &'static str) -> Framework {
    Framework {
        name,
        directory: "node",
        needs: &["node", "npm"],
        build: NODE_MODULES,
        run,
    }
}

const fn java(name: &'static str, run: &'static str) -> Framework {
    Framework {
        name,
        directory: "java",
        needs: &["java", "javac", "mvn"],
        build: "mvn -q -B -Dout=\"$OUT\" process-classes",
        run,
    }
}

/// Both are programs of one package, so that shared dependencies are compiled once.
const fn rust(name: &'static str, run: &'static str) -> Framework {
    Framework {
        name,
        directory: "rust",
        needs: &["cargo", "mysql_config"],
        build: "cargo build --quiet --locked --target-dir \"$OUT\"",
        run,
    }
}

/// The version in Debian 12. It cannot be pinned in another way, and other versions print other lines.
const ACTIVE_RECORD: &str =
    "/usr/share/rubygems-integration/all/specifications/activerecord-6.1.7.10.gemspec";

/// Eloquent in Debian 12's version, for the same reason.
const ELOQUENT: &str = "/usr/share/php/Illuminate/Database/PDO/Connection.php";

const ALL: [Framework; 14] = [
    python("sqlalchemy", "\"$OUT/venv/bin/python\" -B sqlalchemy_app.py"),
    python("django", "\"$OUT/venv/bin/python\" -B django_app.py"),
    Framework {
        name: "gorm",
        directory: "go",
        needs: &["go"],
        build: "go build -o \"$OUT/gorm\" .",
        run: "\"$OUT/gorm\"",
    },
    node("sequelize", "NODE_PATH=\"$OUT/node_modules\" node sequelize.js"),
    node("typeorm", "NODE_PATH=\"$OUT/node_modules\" node typeorm.js"),
    node("drizzle", "NODE_PATH=\"$OUT/node_modules\" node drizzle.js"),
    node("knex", "NODE_PATH=\"$OUT/node_modules\" node knex.js"),
    rust("sqlx", "\"$OUT/debug/sqlx_app\""),
    rust("diesel", "\"$OUT/debug/diesel_app\""),
    Framework {
        name: "activerecord",
        directory: "ruby",
        needs: &["ruby", ACTIVE_RECORD],
        build: "",
        run: "ruby -W0 activerecord_app.rb",
    },
    Framework {
        name: "eloquent",
        directory: "php",
        needs: &[
            "php",
            ELOQUENT,
            "/usr/share/php/Doctrine/DBAL/autoload.php",
            "/usr/share/php/Illuminate/Events/autoload.php",
        ],
        build: "",
        run: "php eloquent_app.php",
    },
    java("jooq", "java -cp \"$OUT/classes:$OUT/lib/*\" JooqApp"),
    java("hibernate", "java -cp \"$OUT/classes:$OUT/lib/*\" HibernateApp"),
    java(
        "migrations",
        "java -cp \"$OUT/classes:$OUT/lib/*\" MigrationTools",
    ),
];

/// Runs all applications, or the named ones, and compares their output with the recorded output, or records
/// it with `UPDATE=1`. `clients`: the directory of all clients.
pub fn check(address: &Address, clients: &Path, out: &Path, names: &[String], report: &mut Report) {
    for framework in &ALL {
        if !names.is_empty() && !names.iter().any(|n| n == framework.name) {
            continue;
        }
        if let Some(missing) = framework.needs.iter().find(|program| !on_path(program)) {
            let reason = format!("{missing} is not installed");
            report.skip(&format!("framework {}", framework.name), &reason);
            continue;
        }
        if let Err(e) = one(framework, address, &clients.join("frameworks"), out, report) {
            report.fail(&format!("framework {}", framework.name), &e);
        }
    }
}

fn one(
    framework: &Framework,
    address: &Address,
    frameworks: &Path,
    out: &Path,
    report: &mut Report,
) -> Result<(), String> {
    let source = frameworks.join(framework.directory);
    let out = out.join("frameworks").join(framework.directory);
    fs::create_dir_all(&out).map_err(|e| e.to_string())?;
    let out = out.canonicalize().map_err(|e| e.to_string())?;
    let built = shell(framework.build, &source, &out, address)?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr) + String::from_utf8_lossy(&built.stdout);
        return Err(format!("cannot be built: {}", last_lines(&said)));
    }
    let output = shell(framework.run, &source, &out, address)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let recorded = expected_file(&source, framework.name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&recorded, printed.as_bytes()).map_err(|e| format!("{}: {e}", recorded.display()))?;
    }
    let expected = fs::read_to_string(&recorded).map_err(|e| format!("{}: {e}", recorded.display()))?;
    let results = lines_by_name(&printed);
    for (name, wanted) in lines_by_name(&expected) {
        let check = format!("{}: {name}", framework.name);
        match results.get(name) {
            Some(result) if *result == wanted => report.pass(&check),
            Some(result) => report.fail(&check, &format!("{result}\n  MySQL: {wanted}")),
            None => report.fail(&check, "nothing was printed"),
        }
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, last_lines(&said)));
    }
    Ok(())
}

fn expected_file(source: &Path, name: &str) -> PathBuf {
    source.join("expected").join(format!("{name}.txt"))
}

fn lines_by_name(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(": ")).collect()
}
