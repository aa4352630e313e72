//! CREATE VIEW and ALTER VIEW (manual 13.1.23, 13.1.11).

use types::Result;

use super::Parser;
use crate::ast::{CheckOption, CreateView, Statement, ViewAlgorithm, ViewVerb};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// `[OR REPLACE] [ALGORITHM = ...] [DEFINER = ...] [SQL SECURITY ...] VIEW ...`, CREATE or ALTER taken.
    /// `None`, with nothing taken, where it is not a view.
    pub fn view(&mut self, alters: bool) -> Result<Option<Statement>> {
        let mut ahead = self.fork();
        let Ok(mut view) = ahead.view_clauses(alters) else {
            return Ok(None);
        };
        if !ahead.is(Kw::VIEW) {
            return Ok(None);
        }
        *self = ahead;
        self.advance();
        view.name = self.object_name()?;
        view.columns = self.column_list()?;
        self.expect(Kw::AS)?;
        *view.query = self.query()?;
        view.check_option = self.check_option()?;
        Ok(Some(Statement::CreateView(Box::new(view))))
    }

    /// What stands before VIEW.
    fn view_clauses(&mut self, alters: bool) -> Result<CreateView> {
        let verb = if alters {
            ViewVerb::Alter
        } else if self.eat_all(&[Kw::OR, Kw::REPLACE]) {
            ViewVerb::Replace
        } else {
            ViewVerb::Create
        };
        let mut view = CreateView::new(verb);
        if self.eat(Kw::ALGORITHM) {
            self.expect_kind(Kind::Equal)?;
            view.algorithm = match self.eat_any(&[Kw::UNDEFINED, Kw::MERGE, Kw::TEMPTABLE]) {
                Some(Kw::UNDEFINED) => Some(ViewAlgorithm::Undefined),
                Some(Kw::MERGE) => Some(ViewAlgorithm::Merge),
                Some(_) => Some(ViewAlgorithm::TempTable),
                None => return self.fail(),
            };
        }
        if self.eat(Kw::DEFINER) {
            self.expect_kind(Kind::Equal)?;
            view.definer = Some(self.account_name()?);
        }
        if self.eat_all(&[Kw::SQL, Kw::SECURITY]) {
            view.invoker = match self.eat_any(&[Kw::DEFINER, Kw::INVOKER]) {
                Some(word) => Some(word == Kw::INVOKER),
                None => return self.fail(),
            };
        }
        Ok(view)
    }

    fn check_option(&mut self) -> Result<Option<CheckOption>> {
        if !self.eat(Kw::WITH) {
            return Ok(None);
        }
        let word = self.eat_any(&[Kw::CASCADED, Kw::LOCAL]);
        self.expect(Kw::CHECK)?;
        self.expect(Kw::OPTION)?;
        Ok(Some(match word {
            Some(Kw::LOCAL) => CheckOption::Local,
            _ => CheckOption::Cascaded,
        }))
    }
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
        // Of a trigger, it says so.
        let error = parse_one("create definer = a trigger t", sql_mode()).unwrap_err();
        assert_eq!(error.code, 1235);
    }
}
