//! What the grammar takes and what it refuses, with MySQL's words for it. The lists are data:
//! `syntax/accepted.sql`, `syntax/errors.txt`.

#![allow(clippy::unwrap_used)]

use types::SqlMode;

#[test]
fn accepted() {
    for line in include_str!("syntax/accepted.sql").lines() {
        if let Err(error) = syntax::parse_one(line, SqlMode::default()) {
            panic!("{line}\n{error}");
        }
    }
}

#[test]
fn refused() {
    let mut wrong = String::new();
    for line in include_str!("syntax/errors.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let mut fields = line.splitn(3, '|');
        let code: u16 = fields.next().unwrap().trim().parse().unwrap();
        let part = fields.next().unwrap().trim();
        let statement = fields.next().unwrap().trim_start();
        let error = match syntax::parse_one(statement, SqlMode::default()) {
            Err(error) => error,
            Ok(_) => {
                wrong += &format!("{statement}\n  is taken\n");
                continue;
            }
        };
        let wanted = if code == 1064 {
            format!("near '{part}' at line 1")
        } else {
            part.to_owned()
        };
        if error.code != code || !error.message.contains(&wanted) {
            wrong += &format!("{statement}\n  {error}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn near_shows_the_line_and_not_more_than_80_bytes() {
    let error = syntax::parse_one("select 1\nfrom\nwhere x", SqlMode::default()).unwrap_err();
    assert!(error.message.ends_with("near 'where x' at line 3"), "{error}");
    let error = syntax::parse_one("select 1\nfrom\n ;\n", SqlMode::default()).unwrap_err();
    assert!(error.message.ends_with("near '' at line 2"), "{error}");
    let error = syntax::parse_one("select 1 2 x; \n", SqlMode::default()).unwrap_err();
    assert!(error.message.ends_with("near '2 x' at line 1"), "{error}");
    let error =
        syntax::parse_one(&format!("select 1 2 {}", "é".repeat(100)), SqlMode::default()).unwrap_err();
    let near = error.message.split("near '").nth(1).unwrap();
    assert!(near.len() <= 80 + "' at line 1".len(), "{near}");
}

#[test]
fn statements_are_split_at_semicolons_outside_of_quotes() {
    let text = "select ';'; select 2 /* ; */; -- ;\n select `a;b` from t;";
    let parsed = syntax::parse(text, &SqlMode::default()).unwrap();
    let texts: Vec<&str> = parsed.iter().map(|p| &text[p.text.clone()]).collect();
    assert_eq!(texts, ["select ';'", "select 2", "select `a;b` from t"]);
    assert_eq!(
        syntax::parse("select 1;; ;\n", &SqlMode::default())
            .unwrap()
            .len(),
        1
    );
    let parsed = syntax::parse("select 1; foo; select 2", &SqlMode::default()).unwrap();
    assert_eq!(parsed.len(), 2);
    assert!(matches!(&parsed[1].statement, syntax::ast::Statement::Invalid(error) if error.code == 1064));
}

#[test]
fn parameters_are_counted() {
    let parsed = syntax::parse_one("select ?, a from t where b = ? limit ?, ?", SqlMode::default()).unwrap();
    assert_eq!(parsed.parameters, 4);
    assert_eq!(
        syntax::parse_one("select '?', `?`, /* ? */ 1", SqlMode::default())
            .unwrap()
            .parameters,
        0
    );
}

#[test]
fn names_of_columns_are_the_texts_written() {
    let names = |text: &str| -> Vec<String> {
        let syntax::ast::Statement::Query(query) =
            syntax::parse_one(text, SqlMode::default()).unwrap().statement
        else {
            panic!()
        };
        let syntax::ast::QueryBody::Select(select) = query.body else {
            panic!()
        };
        let name = |item: &syntax::ast::SelectItem| match item {
            syntax::ast::SelectItem::Expr { name, .. } => name.clone(),
            _ => "*".into(),
        };
        select.items.iter().map(name).collect()
    };
    // As MySQL 8.0.33 answers.
    assert_eq!(
        names(
            "select A, `b`, t.a, 'abc', 'a' 'b', _utf8mb4'abc', N'abc', x'41', 0x41, date '2020-01-01', 1.0, -1, + 1, \
             count( * ), null, true, (1), ( a ), -  a , @x, @@autocommit, a /* c */ + 1, a + /*! 1 + */ 2 , '  x', 'x  ', \
             @@session.autocommit, \"a\"\"b\", _utf8mb4 0x41, d.t.a, not a, TRUE , (1+1), ((a+1)), +a, + (a), + 'x', ('x'), \
             + - 1, +1.0 , database(  ), (@@autocommit), (NULL), ? from t"
        ),
        [
            "A",
            "b",
            "a",
            "abc",
            "a",
            "abc",
            "abc",
            "x'41'",
            "0x41",
            "date '2020-01-01'",
            "1.0",
            "-1",
            "1",
            "count( * )",
            "NULL",
            "true",
            "1",
            "a",
            "-  a",
            "@x",
            "@@autocommit",
            "a /* c */ + 1",
            "a +  1 +  2",
            "x",
            "x  ",
            "@@session.autocommit",
            "a\"b",
            "_utf8mb4 0x41",
            "a",
            "not a",
            "TRUE",
            "(1+1)",
            "((a+1))",
            "a",
            "a",
            "x",
            "x",
            "+ - 1",
            "1.0",
            "database(  )",
            "(@@autocommit)",
            "NULL",
            "?",
        ]
    );
}

#[test]
fn any_text_is_answered() {
    // Every prefix of every statement: no panic, no endless loop.
    for line in include_str!("syntax/accepted.sql").lines() {
        for (end, _) in line.char_indices() {
            let _ = syntax::parse(&line[..end], &SqlMode::default());
        }
    }
}

#[test]
fn nested_intervals_are_read_once() {
    let nested = |depth: usize| {
        let open = "INTERVAL(1, ".repeat(depth);
        format!("SELECT {open}1{}", ")".repeat(depth))
    };
    assert!(syntax::parse_one(&nested(100), SqlMode::default()).is_ok());
    let error = syntax::parse_one(&nested(10_000), SqlMode::default()).unwrap_err();
    assert_eq!(error.code, 1064);
    // The amount of an interval, in parentheses, with another one in it.
    let open = "INTERVAL (d + ".repeat(50);
    let text = format!("SELECT d + {open}1{}", ") DAY".repeat(50));
    assert!(syntax::parse_one(&text, SqlMode::default()).is_ok());
}
