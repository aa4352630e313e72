use super::*;

fn digest(text: &str) -> String {
    statement_digest(text, &SqlMode::default(), 1024).text
}

#[test]
fn literals_and_their_lists_are_merged() {
    assert_eq!(digest("SELECT 1"), "SELECT ?");
    assert_eq!(digest("select -1, - -2, a-1"), "SELECT ?, ... , `a` - ?");
    assert_eq!(
        digest("INSERT INTO t VALUES (1,'a'),(2,NULL)"),
        "INSERT INTO `t` VALUES (...) /* , ... */"
    );
    assert_eq!(
        digest("SELECT * FROM t WHERE a NOT IN (?)"),
        "SELECT * FROM `t` WHERE `a` NOT IN (...)"
    );
}

/// MySQL 8.0.33's answers.
#[test]
fn rows_of_literals_are_skipped() {
    for (rows, expected) in [
        (
            r"(1,2), (-3.5 , 'it''s'), (NULL,'b' 'c'), ('x\'),(', 4), (5, f(6)), (7), (1,1), (2 , DEFAULT), (1,-2)",
            "(...) /* , ... */ , ( ?, ... ? ) , (...) , ( ? , `f` (?) ) , (?) , (...) , ( ? , DEFAULT ) , (...)",
        ),
        (
            "(1,2),(3,4),( 5,6) , (NULL,'') ON DUPLICATE KEY UPDATE a=1",
            "(...) /* , ... */ ON DUPLICATE KEY UPDATE `a` = ?",
        ),
        (
            "(1,2),(3,4+1),(5,6),(7,8)",
            "(...) , ( ?, ... + ? ) , (...) /* , ... */",
        ),
    ] {
        let text = digest(&format!("INSERT INTO t VALUES {rows}"));
        assert_eq!(text, format!("INSERT INTO `t` VALUES {expected}"));
    }
}

#[test]
fn tokens_that_do_not_fit_are_left_out() {
    let whole = statement_digest("SELECT a, b FROM t", &SqlMode::default(), 1024);
    for bytes_max in 0..whole.tokens.len() {
        let cut = statement_digest("SELECT a, b FROM t", &SqlMode::default(), bytes_max);
        assert!(cut.tokens.len() <= bytes_max && whole.tokens.starts_with(&cut.tokens));
        assert!(whole.text.starts_with(&cut.text));
    }
}

#[test]
fn any_text_has_a_digest() {
    for text in [
        "",
        "'",
        "@",
        "@@",
        "@`",
        "a.",
        ".1",
        "SELECT /*+",
        "/*! x",
        "`",
        ")",
        "()",
        "\u{e9}\0",
        "_utf8mb4",
        "x'4'",
    ] {
        digest(text);
    }
}
