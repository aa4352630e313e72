//! Window functions and the clause WINDOW.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{Expr, Frame, FrameBound, FrameOffset, FrameUnit, NamedWindow, Window, WindowSpec};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// `WINDOW name AS (specification), ...`, where it is there.
    pub fn window_clause(&mut self) -> Result<Vec<NamedWindow>> {
        if !self.eat(Kw::WINDOW) {
            return Ok(Vec::new());
        }
        self.comma_separated(|parser| {
            let name = parser.name()?;
            parser.expect(Kw::AS)?;
            let spec = parser.window_spec()?;
            Ok(NamedWindow { name, spec })
        })
    }

    /// A function of a window, from its name on: `LAG(a, 2) IGNORE NULLS OVER ...`.
    pub fn window_function(&mut self) -> Result<Expr> {
        let name = self.word().to_ascii_lowercase();
        self.advance();
        let args = self.window_arguments(&name)?;
        if self.eat_all(&[Kw::FROM, Kw::LAST]) {
            return Err(not_yet("FROM LAST"));
        }
        self.eat_all(&[Kw::FROM, Kw::FIRST]);
        if self.eat_all(&[Kw::IGNORE, Kw::NULLS]) {
            return Err(not_yet("IGNORE NULLS"));
        }
        self.eat_all(&[Kw::RESPECT, Kw::NULLS]);
        if !self.is(Kw::OVER) {
            return self.fail();
        }
        self.over(Expr::Function { name, args })
    }

    /// The grammar says how many arguments there are, and that a number of rows is a literal, a parameter or
    /// a variable.
    fn window_arguments(&mut self, name: &str) -> Result<Vec<Expr>> {
        self.expect_kind(Kind::LeftParen)?;
        let mut args = Vec::new();
        match name {
            "ntile" => args.push(self.row_count()?),
            "lead" | "lag" => {
                args.push(self.expression()?);
                if self.eat_kind(Kind::Comma) {
                    args.push(self.row_count()?);
                    if self.eat_kind(Kind::Comma) {
                        args.push(self.expression()?);
                    }
                }
            }
            "first_value" | "last_value" => args.push(self.expression()?),
            "nth_value" => {
                args.push(self.expression()?);
                self.expect_kind(Kind::Comma)?;
                args.push(self.nested(|parser| parser.arithmetic(8))?);
            }
            _ => {}
        }
        self.expect_kind(Kind::RightParen)?;
        Ok(args)
    }

    fn row_count(&mut self) -> Result<Expr> {
        match self.kind() {
            Kind::Integer | Kind::Parameter | Kind::At => self.primary(),
            // A name would be that of a stored program's variable.
            Kind::Word | Kind::QuotedWord if !self.is_reserved() => {
                let name = self.name()?;
                Err(Error::new(
                    errno::ER_SP_UNDECLARED_VAR,
                    format!("Undeclared variable: {name}"),
                ))
            }
            _ => self.fail(),
        }
    }

    /// `OVER name`, `OVER (specification)`, the cursor at OVER.
    pub fn over(&mut self, function: Expr) -> Result<Expr> {
        self.expect(Kw::OVER)?;
        let window = if self.kind() == Kind::LeftParen {
            Window::Spec(Box::new(self.window_spec()?))
        } else {
            Window::Named(self.name()?)
        };
        self.grow()?;
        Ok(Expr::Over {
            function: Box::new(function),
            window,
        })
    }

    fn window_spec(&mut self) -> Result<WindowSpec> {
        self.expect_kind(Kind::LeftParen)?;
        let at_clause = self.kind() == Kind::RightParen
            || self.is_any(&[Kw::PARTITION, Kw::ORDER, Kw::ROWS, Kw::RANGE, Kw::GROUPS]);
        let base = if at_clause { None } else { Some(self.name()?) };
        let partition_by = if self.eat_all(&[Kw::PARTITION, Kw::BY]) {
            self.comma_separated(Self::expression)?
        } else {
            Vec::new()
        };
        let order_by = self.order_by()?;
        let frame = self.frame()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(WindowSpec {
            base,
            partition_by,
            order_by,
            frame,
        })
    }

    fn frame(&mut self) -> Result<Option<Frame>> {
        let unit = match self.eat_any(&[Kw::ROWS, Kw::RANGE, Kw::GROUPS]) {
            Some(Kw::ROWS) => FrameUnit::Rows,
            Some(Kw::RANGE) => FrameUnit::Range,
            Some(_) => FrameUnit::Groups,
            None => return Ok(None),
        };
        if !self.eat(Kw::BETWEEN) {
            let start = self.frame_bound()?;
            // Without an end, the frame ends at the current row and cannot start after it.
            if matches!(start, FrameBound::Following(_) | FrameBound::UnboundedFollowing) {
                return self.fail();
            }
            self.refuse_exclusion()?;
            return Ok(Some(Frame {
                unit,
                start,
                end: None,
            }));
        }
        let start = self.frame_bound()?;
        self.expect(Kw::AND)?;
        let end = Some(self.frame_bound()?);
        self.refuse_exclusion()?;
        Ok(Some(Frame { unit, start, end }))
    }

    fn refuse_exclusion(&self) -> Result<()> {
        match self.is(Kw::EXCLUDE) {
            true => Err(not_yet("EXCLUDE")),
            false => Ok(()),
        }
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_all(&[Kw::CURRENT, Kw::ROW]) {
            return Ok(FrameBound::CurrentRow);
        }
        let offset = match self.eat(Kw::UNBOUNDED) {
            true => None,
            false => Some(self.frame_offset()?),
        };
        match (self.eat_any(&[Kw::PRECEDING, Kw::FOLLOWING]), offset) {
            (Some(Kw::PRECEDING), None) => Ok(FrameBound::UnboundedPreceding),
            (Some(Kw::PRECEDING), Some(offset)) => Ok(FrameBound::Preceding(offset)),
            (Some(_), None) => Ok(FrameBound::UnboundedFollowing),
            (Some(_), Some(offset)) => Ok(FrameBound::Following(offset)),
            (None, _) => self.fail(),
        }
    }

    fn frame_offset(&mut self) -> Result<FrameOffset> {
        if self.at_interval() {
            let (amount, unit) = self.interval()?;
            return Ok(FrameOffset {
                amount,
                unit: Some(unit),
            });
        }
        let is_number = matches!(
            self.kind(),
            Kind::Integer | Kind::Decimal | Kind::Float | Kind::Hex | Kind::Bits | Kind::Parameter
        );
        if !is_number {
            return self.fail();
        }
        Ok(FrameOffset {
            amount: self.primary()?,
            unit: None,
        })
    }
}

/// Refuses what MySQL parses and does not support.
fn not_yet(what: &str) -> Error {
    Error::new(
        errno::ER_NOT_SUPPORTED_YET,
        format!("This version of MySQL doesn't yet support '{what}'"),
    )
}
