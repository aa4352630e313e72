//! Looks for import cycles between the files of each crate. Modules import in one direction, so that each can
//! be read and changed with only those below it in mind.
//!
//! These count: `use` statements and paths in code that begin with `crate::`, `self::` or `super::`, in files
//! without their tests. A name that `lib.rs` re-exports counts as an import of the file that defines it.
//! `lib.rs` itself, which declares all modules, does not count. Neither do inherent methods that a type has
//! in other files. Where the language is recursive (an expression may hold a query, a query holds
//! expressions), the two sides call each other through methods of one type (`planner`'s `Binder`) or through
//! a function that is passed along (`executor`'s `Scope`). The types of the AST name each other through
//! `syntax::ast`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// In how many files beside its own a type may have inherent methods.
const FILES_MAX: usize = 3;

/// A module's path within its crate; empty for `lib.rs`.
type Module = Vec<String>;

#[test]
fn modules_import_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for folder in fs::read_dir(crates).expect("the crates' folder") {
        let folder = folder.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let cycles = cycles(&imports(&folder.join("src")));
        if !cycles.is_empty() {
            wrong.push(format!("{name}: files that import each other: {cycles:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn methods_are_found_from_their_types() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for folder in fs::read_dir(crates).expect("the crates' folder") {
        let folder = folder.expect("an entry").path();
        let mut files = BTreeMap::new();
        add_files(&folder.join("src"), &Vec::new(), &mut files);
        let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (module, path) in files {
            let text = code(&fs::read_to_string(path).expect("a source file"));
            for name in types_with_methods(&text) {
                homes.entry(name).or_default().push(module.join("::"));
            }
        }
        let many = homes.iter().filter(|(_, homes)| homes.len() > FILES_MAX);
        wrong.extend(many.map(|(name, homes)| format!("{}: {name} in {homes:?}", folder.display())));
    }
    assert!(
        wrong.is_empty(),
        "methods of one type in more than {FILES_MAX} files beside its own:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn types_with_methods_are_found() {
    let text = "struct Own;\nimpl Own {}\nimpl<'a, T: Into<U>> Other<'a, T> {}\nimpl Clone for Third {}\nimpl Fourth\n{}";
    let found = types_with_methods(text);
    assert_eq!(found, BTreeSet::from(["Fourth".to_owned(), "Other".to_owned()]));
}

/// The types of other files that a file has inherent methods of. Types of its own do not count: several files may have
/// one of the same name.
fn types_with_methods(code: &str) -> BTreeSet<String> {
    let mut types = BTreeSet::new();
    for line in code.lines() {
        let Some(rest) = line.strip_prefix("impl") else {
            continue;
        };
        let rest = match rest.strip_prefix('<') {
            Some(generics) => after_generics(generics),
            None => rest,
        };
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (name, _) = rest.split_at(end.unwrap_or(rest.len()));
        if !(rest.contains(" for ") || name.is_empty() || defines(code, name)) {
            types.insert(name.to_owned());
        }
    }
    types
}

/// What follows the `>` of `<...>`, whose `<` has been read.
fn after_generics(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

/// Whether a type is defined in a file.
fn defines(code: &str, name: &str) -> bool {
    ["struct ", "enum ", "union "].iter().any(|kind| {
        let definitions = code.match_indices(kind).map(|(at, _)| &code[at + kind.len()..]);
        let mut after = definitions.filter_map(|text| text.strip_prefix(name));
        after.any(|text| !text.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

#[test]
fn paths_are_found() {
    let mut found = Vec::new();
    let text = "use crate::a::{self, b::C, d::{E, F as G}};\npub use super::x; // use crate::no;\nfn f() { crate::h::i(); }";
    paths(&code(text), &mut |path| found.push(path.join("::")));
    let expected = [
        "crate::a",
        "crate::a::b::C",
        "crate::a::d::E",
        "crate::a::d::F",
        "super::x",
        "crate::h::i",
    ];
    assert_eq!(found, expected);
}

/// Which files of a crate each of them imports from.
fn imports(source: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut files = BTreeMap::new();
    add_files(source, &Vec::new(), &mut files);
    let texts: BTreeMap<Module, String> = files
        .into_iter()
        .map(|(module, path)| (module, code(&fs::read_to_string(path).expect("a source file"))))
        .collect();
    let reexports = texts
        .get(&Module::new())
        .map(|root| reexports(root))
        .unwrap_or_default();
    let file_of = |mut path: Module| {
        if let [name] = path.as_slice()
            && let Some(home) = reexports.get(name)
        {
            path = home.clone();
        }
        while !texts.contains_key(&path) {
            path.pop()?;
        }
        Some(path)
    };
    let mut imports = BTreeMap::new();
    for (module, text) in texts.iter().filter(|(module, _)| !module.is_empty()) {
        let mut from = BTreeSet::new();
        paths(text, &mut |path| {
            let file = absolute(module, path).and_then(&file_of);
            from.extend(file.filter(|file| !file.is_empty() && file != module));
        });
        imports.insert(module.clone(), from);
    }
    imports
}

fn add_files(folder: &Path, module: &Module, files: &mut BTreeMap<Module, PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut inner = module.clone();
        if path.is_dir() {
            inner.push(name);
            add_files(&path, &inner, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            if !matches!(name.as_str(), "lib" | "main" | "mod") {
                inner.push(name);
            }
            files.insert(inner, path);
        }
    }
}

/// A file's text without comments and tests.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let lines = text[..tests].lines();
    lines
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Calls `found` with each path that begins at the crate or near the module.
fn paths(code: &str, found: &mut dyn FnMut(&[String])) {
    let mut rest = code;
    while let Some((start, keyword)) = ["crate::", "self::", "super::"]
        .iter()
        .filter_map(|keyword| rest.find(keyword).map(|at| (at, *keyword)))
        .min()
    {
        let before = rest[..start].chars().next_back();
        rest = &rest[start..];
        // Not `$crate::`, not the end of another path.
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ':')) {
            rest = &rest[keyword.len()..];
            continue;
        }
        rest = tree(rest, &mut Vec::new(), found);
    }
}

/// Reads a path, or a tree of them in braces; the text after it.
fn tree<'t>(text: &'t str, prefix: &mut Vec<String>, found: &mut dyn FnMut(&[String])) -> &'t str {
    let text = text.trim_start();
    let depth = prefix.len();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = tree(rest, prefix, found).trim_start();
            match rest.strip_prefix(',') {
                Some(next) if !next.trim_start().starts_with('}') => rest = next,
                Some(next) => return next.trim_start().strip_prefix('}').unwrap_or_default(),
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    if !(name.is_empty() || name == "self" && depth > 0) {
        prefix.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(next) => rest = tree(next, prefix, found),
        None => {
            found(prefix);
            if let Some(renamed) = rest.strip_prefix(" as ") {
                rest = renamed.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            }
        }
    }
    prefix.truncate(depth);
    rest
}

/// Where the names are that `lib.rs` re-exports.
fn reexports(root: &str) -> BTreeMap<String, Module> {
    let mut homes = BTreeMap::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        tree(statement, &mut Vec::new(), &mut |path| {
            if let [module @ .., name] = path {
                homes.insert(name.clone(), module.to_vec());
            }
        });
    }
    homes
}

/// A path from the crate's root.
fn absolute(module: &Module, path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let mut absolute = match first.as_str() {
        "crate" => Module::new(),
        "self" => module.clone(),
        _ => module[..module.len() - 1].to_vec(),
    };
    for name in rest {
        match name.as_str() {
            "super" => drop(absolute.pop()),
            name => absolute.push(name.to_owned()),
        }
    }
    Some(absolute)
}

/// The groups of modules that import each other, directly or by way of others.
fn cycles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<String>> {
    let reachable: BTreeMap<&Module, BTreeSet<&Module>> = imports
        .keys()
        .map(|module| {
            let mut seen = BTreeSet::new();
            let mut next = vec![module];
            while let Some(module) = next.pop() {
                next.extend(
                    imports
                        .get(module)
                        .into_iter()
                        .flatten()
                        .filter(|other| seen.insert(*other)),
                );
            }
            (module, seen)
        })
        .collect();
    let in_cycle = |module: &&Module| reachable[*module].contains(*module);
    imports
        .keys()
        .filter(in_cycle)
        .map(|module| {
            let back = |other: &&&Module| reachable.get(**other).is_some_and(|seen| seen.contains(module));
            reachable[module]
                .iter()
                .filter(back)
                .map(|other| other.join("::"))
                .collect()
        })
        .collect()
}
