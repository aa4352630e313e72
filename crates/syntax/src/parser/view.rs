//! CREATE VIEW and ALTER VIEW (manual 13.1.23, 13.1.11).

use types::Result;

use super::{Parser, account, clauses};
use crate::ast::{CheckOption, CreateView, Statement, ViewAlgorithm, ViewVerb};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// `[OR REPLACE] [ALGORITHM = ...] [DEFINER = ...] [SQL SECURITY ...] VIEW ...`, after CREATE or ALTER.
/// `None`, with nothing taken, if it is not a view.
pub fn view(parser: &mut Parser<'_>, alters: bool) -> Result<Option<Statement>> {
    let mut ahead = parser.fork();
    let Ok(mut view) = view_clauses(&mut ahead, alters) else {
        return Ok(None);
    };
    if !ahead.is(Kw::VIEW) {
        return Ok(None);
    }
    *parser = ahead;
    parser.advance();
    view.name = parser.object_name()?;
    view.columns = clauses::column_list(parser)?;
    parser.expect(Kw::AS)?;
    parser.in_view = true;
    *view.query = parser.query()?;
    parser.in_view = false;
    view.check_option = check_option(parser)?;
    Ok(Some(Statement::CreateView(Box::new(view))))
}

/// The clauses before VIEW.
fn view_clauses(parser: &mut Parser<'_>, alters: bool) -> Result<CreateView> {
    let verb = if alters {
        ViewVerb::Alter
    } else if parser.eat_all(&[Kw::OR, Kw::REPLACE]) {
        ViewVerb::Replace
    } else {
        ViewVerb::Create
    };
    let mut view = CreateView::new(verb);
    if parser.eat(Kw::ALGORITHM) {
        parser.expect_kind(Kind::Equal)?;
        view.algorithm = match parser.eat_any(&[Kw::UNDEFINED, Kw::MERGE, Kw::TEMPTABLE]) {
            Some(Kw::UNDEFINED) => Some(ViewAlgorithm::Undefined),
            Some(Kw::MERGE) => Some(ViewAlgorithm::Merge),
            Some(_) => Some(ViewAlgorithm::TempTable),
            None => return parser.fail(),
        };
    }
    if parser.eat(Kw::DEFINER) {
        parser.expect_kind(Kind::Equal)?;
        view.definer = Some(account::account_name(parser)?);
    }
    if parser.eat_all(&[Kw::SQL, Kw::SECURITY]) {
        view.invoker = match parser.eat_any(&[Kw::DEFINER, Kw::INVOKER]) {
            Some(word) => Some(word == Kw::INVOKER),
            None => return parser.fail(),
        };
    }
    Ok(view)
}

fn check_option(parser: &mut Parser<'_>) -> Result<Option<CheckOption>> {
    if !parser.eat(Kw::WITH) {
        return Ok(None);
    }
    let word = parser.eat_any(&[Kw::CASCADED, Kw::LOCAL]);
    parser.expect(Kw::CHECK)?;
    parser.expect(Kw::OPTION)?;
    Ok(Some(match word {
        Some(Kw::LOCAL) => CheckOption::Local,
        _ => CheckOption::Cascaded,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_one;
    use crate::testing::sql_mode;

    fn view(text: &str) -> CreateView {
        match parse_one(text, sql_mode()).unwrap().statement {
            Statement::CreateView(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_clauses() {
        let all = view(
            "create or replace algorithm = merge definer = `a`@`%` sql security invoker view d.v (x, y) as \
             select 1, 2 with local check option",
        );
        assert_eq!(all.verb, ViewVerb::Replace);
        assert_eq!(all.algorithm, Some(ViewAlgorithm::Merge));
        assert_eq!(all.definer, Some(("a".into(), "%".into())));
        assert_eq!(all.invoker, Some(true));
        assert_eq!(all.columns, ["x", "y"]);
        assert_eq!(all.check_option, Some(CheckOption::Local));
        let plain = view("create view v as (select 1) union select 2 with check option");
        assert_eq!(
            (plain.verb, plain.check_option),
            (ViewVerb::Create, Some(CheckOption::Cascaded))
        );
        let altered = view("alter view v as select 1");
        assert_eq!((altered.verb, altered.invoker), (ViewVerb::Alter, None));
    }

    #[test]
    fn what_is_wrong() {
        for text in [
            "create view v",
            "create view v as",
            "create view v as select 1 with local option",
            "create view if not exists v as select 1",
            "alter or replace view v as select 1",
        ] {
            assert_eq!(parse_one(text, sql_mode()).unwrap_err().code, 1064, "{text}");
        }
        // The error names the trigger.
        let error = parse_one("create definer = a trigger t", sql_mode()).unwrap_err();
        assert_eq!(error.code, 1235);
    }
}
