//! Expressions: names resolved, calls bound by `functions::bind`.

use functions::Expr;
use functions::aggregate::{self, AggregateCall};
use functions::bind;
use types::{Collation, Decimal, Error, Result, SqlType, TypeKind, Value, Warning, errno};

use super::aggregates::{bound_arguments, home_of, strength_of, unknown_position};
use super::block::value_of_subquery;
use super::bound_rows::operand_columns;
use super::collation::collation_named;
use super::context::{Aggregates, Context, invalid_group_function};
use super::literal::wants_number;
use super::names::FromWithin;
use super::parameter::GUESSED_CHARS;
use super::row_compare::is_row;
use super::{
    Binder, collation, column_default, defined_view, full_text, literal, parameter, resolution, row_compare,
    subquery, window,
};
use crate::logical::columns_of;
use syntax::ast::{self, BinaryOp, CastType, TruthTest, UnaryOp};

impl Binder<'_> {
    /// An expression of one column.
    pub fn scalar(&self, expr: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
        self.hinted(expr, None, context)
    }

    /// An expression; if it is a parameter of unknown type, its type is `hint`.
    pub fn hinted(&self, expr: &ast::Expr, hint: Option<SqlType>, context: &Context<'_>) -> Result<Expr> {
        if let Some(literal) = literal::bind_literal(self, expr)? {
            return Ok(literal);
        }
        types::stack::with_room(|| self.composite(expr, hint, context))
    }

    fn composite(&self, expr: &ast::Expr, hint: Option<SqlType>, context: &Context<'_>) -> Result<Expr> {
        match expr {
            ast::Expr::Parameter(index) => self.parameter(*index, hint),
            ast::Expr::Column(name) => self.column(name, context),
            ast::Expr::SystemVariable { scope, name } => self.system_variable(*scope, name),
            ast::Expr::UserVariable(name) => self.user_variable(name),
            ast::Expr::Assign { name, value } => self.assignment(name, value, context),
            ast::Expr::Unary { op, operand } => self.unary(*op, operand, context),
            ast::Expr::Binary { op, left, right } => self.binary(*op, left, right, context),
            ast::Expr::And(list) => self.call("and", self.arguments("and", list, context)?),
            ast::Expr::Or(list) => self.call("or", self.arguments("or", list, context)?),
            ast::Expr::Is {
                operand,
                test,
                negated,
            } => {
                let test = truth_test(*test, *negated);
                self.call(test, parameter::operands(self, test, &[operand], context)?)
            }
            ast::Expr::Between {
                operand,
                low,
                high,
                negated,
            } => self.compared("between", &[operand, low, high], *negated, context),
            ast::Expr::In {
                operand,
                list,
                negated,
            } => self.in_list(operand, list, *negated, context),
            ast::Expr::Like {
                operand,
                pattern,
                escape,
                negated,
            } => self.like(operand, pattern, escape.as_deref(), *negated, context),
            ast::Expr::Regexp {
                operand,
                pattern,
                negated,
            } => self.compared("regexp", &[operand, pattern], *negated, context),
            ast::Expr::Case {
                operand,
                branches,
                otherwise,
            } => self.case(operand.as_deref(), branches, otherwise.as_deref(), context),
            ast::Expr::Cast { operand, ty } => self.cast(operand, ty, context),
            ast::Expr::ConvertUsing { operand, charset } => self.convert_using(operand, charset, context),
            ast::Expr::Collate { operand, collation } => self.collate(operand, collation, context),
            ast::Expr::Binarize(operand) => {
                self.warn_each_time(Warning::warning(
                    crate::errno::ER_WARN_DEPRECATED_SYNTAX,
                    BINARIZE_DEPRECATED,
                ));
                self.call("binary", vec![self.scalar(operand, context)?])
            }
            ast::Expr::Function { name, args } => self.function(name, args, context),
            ast::Expr::Aggregate { name, distinct, args } => self.aggregate(name, *distinct, args, context),
            ast::Expr::GroupConcat {
                distinct,
                args,
                order_by,
                separator,
            } => self.group_concat(*distinct, args, order_by, separator, context),
            ast::Expr::Default(Some(name)) => self.default_of(name, context),
            ast::Expr::Values(name) => context.names.values(name),
            ast::Expr::Row(_) => Err(operand_columns(1)),
            ast::Expr::Subquery(_)
            | ast::Expr::Exists(_)
            | ast::Expr::InSubquery { .. }
            | ast::Expr::Quantified { .. } => self.subquery(expr, hint, context),
            ast::Expr::Over { function, window } => window::bind_over(self, function, window, context),
            ast::Expr::Default(None) => Err(Error::not_supported(
                "DEFAULT inside an expression",
                "name the column: DEFAULT(c)",
            )),
            ast::Expr::Null
            | ast::Expr::Bool(_)
            | ast::Expr::Number(_)
            | ast::Expr::Text(_)
            | ast::Expr::Keyword(_)
            | ast::Expr::Introduced { .. }
            | ast::Expr::Bytes(_)
            | ast::Expr::Temporal { .. } => Err(Error::internal("a literal that was not bound as one")),
        }
    }

    pub fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        bind::call(name, args, &self.types)
    }

    pub(super) fn parameter(&self, index: usize, hint: Option<SqlType>) -> Result<Expr> {
        if let Some(refused) = self.in_definition {
            return Err(refused(None));
        }
        defined_view::check_in_view(self)?;
        parameter::bind_parameter(self, index, hint)
    }

    fn column(&self, name: &ast::ColumnName, context: &Context<'_>) -> Result<Expr> {
        let column = context.names.column(name);
        // What SET reads is a query of its own.
        let is_of_set = self.verb.get() == "SET" && self.query_depth.get() == 1;
        let is_inner = context.outer.is_some() && !is_of_set;
        let column = column.map_err(|error| resolution::hidden_column(self, name, is_inner, error))?;
        resolution::note_column(self, name, &column);
        Ok(column)
    }

    fn user_variable(&self, name: &str) -> Result<Expr> {
        defined_view::check_in_view(self)?;
        self.not_cacheable();
        // A variable that the statement assigns to may have another value in each row.
        let read = if self.assigns { "@ now" } else { "@" };
        self.call(read, vec![self.keyword(name)])
    }

    /// `@name := value`
    fn assignment(&self, name: &str, value: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
        defined_view::check_in_view(self)?;
        self.not_cacheable();
        self.warn_of_text(Warning::warning(
            crate::errno::ER_WARN_DEPRECATED_SYNTAX,
            ASSIGNMENT_DEPRECATED,
        ));
        let value = self.scalar(value, context)?;
        self.call("@:=", vec![self.keyword(name), value])
    }

    fn convert_using(&self, operand: &ast::Expr, charset: &str, context: &Context<'_>) -> Result<Expr> {
        let charset = collation::charset_of_expression(self, charset)?;
        let operand = self.scalar(operand, context)?;
        self.call("convert using", vec![operand, self.keyword(charset.name())])
    }

    fn collate(&self, operand: &ast::Expr, collation: &str, context: &Context<'_>) -> Result<Expr> {
        let collation = collation_named(collation)?;
        let operand = self.scalar(operand, context)?;
        self.call("collate", vec![operand, self.keyword(collation.name())])
    }

    /// `DEFAULT(name)`
    fn default_of(&self, name: &ast::ColumnName, context: &Context<'_>) -> Result<Expr> {
        if let Some(value) = context.names.default_in_definition(self, name) {
            return value;
        }
        let (table, offset) = context.names.defaulted(name)?;
        if let Ok(column) = context.names.column(name) {
            let ids = columns_of(&column).into_iter();
            ids.for_each(|id| self.accesses.names(id));
        }
        Ok(table.shown(column_default::default_value(self, table, offset)?))
    }

    /// An expression that is a subquery, or that compares with one.
    fn subquery(&self, expr: &ast::Expr, hint: Option<SqlType>, context: &Context<'_>) -> Result<Expr> {
        if let Some(refused) = self.in_definition {
            return Err(refused(None));
        }
        match expr {
            ast::Expr::Subquery(query) => match value_of_subquery(query) {
                Some(value) => {
                    let names = FromWithin(context.names);
                    let context = Context {
                        names: &names,
                        ..*context
                    };
                    self.one_deeper(|| self.hinted(value, hint, &context))
                }
                None => subquery::scalar_subquery(self, query, context),
            },
            ast::Expr::Exists(query) => subquery::exists(self, query, context),
            ast::Expr::InSubquery {
                operand,
                query,
                negated,
            } => subquery::in_subquery(self, operand, query, *negated, context),
            ast::Expr::Quantified {
                op,
                operand,
                quantifier,
                query,
            } => subquery::quantified(self, *op, operand, *quantifier, query, context),
            _ => Err(Error::internal("an expression without a subquery")),
        }
    }

    /// A condition over operands that are compared with each other, such as BETWEEN.
    fn compared(
        &self,
        name: &str,
        operands: &[&ast::Expr],
        negated: bool,
        context: &Context<'_>,
    ) -> Result<Expr> {
        let args = self.comparands(name, operands, context)?;
        if name == "between" {
            parameter::note_compared(self, operands, &args);
        }
        if name == "between" && args.iter().any(|arg| arg.ty().kind == TypeKind::Json) {
            self.warn_each_time(Warning::warning(
                errno::ER_NOT_SUPPORTED_YET,
                "This version of MySQL doesn't yet support 'comparison of JSON in the BETWEEN operator'",
            ));
        }
        self.negatable(name, args, negated)
    }

    fn negatable(&self, name: &str, args: Vec<Expr>, negated: bool) -> Result<Expr> {
        let positive = self.call(name, args)?;
        if negated {
            self.call("not", vec![positive])
        } else {
            Ok(positive)
        }
    }

    /// A keyword that a function takes as an argument.
    pub(super) fn keyword(&self, word: &str) -> Expr {
        let ty = bind::literal_type(word.chars().count(), Collation::DEFAULT);
        Expr::literal(Value::String(word.to_owned()), ty)
    }

    fn list(&self, list: &[ast::Expr], context: &Context<'_>) -> Result<Vec<Expr>> {
        list.iter().map(|item| self.scalar(item, context)).collect()
    }

    pub(super) fn arguments(
        &self,
        function: &str,
        list: &[ast::Expr],
        context: &Context<'_>,
    ) -> Result<Vec<Expr>> {
        parameter::operands(self, function, &list.iter().collect::<Vec<_>>(), context)
    }

    fn system_variable(&self, scope: Option<ast::VariableScope>, name: &str) -> Result<Expr> {
        defined_view::check_in_view(self)?;
        self.not_cacheable();
        let value = (self.env.system_variable)(scope, name)?;
        let ty = match &value {
            // Among integer variables, only those that are ON or OFF are signed.
            Value::Int(_) => SqlType::BOOL,
            Value::UInt(_) => SqlType {
                length: 21,
                ..SqlType::BIGINT_UNSIGNED
            },
            // All variables that can be NULL are texts.
            Value::String(_) | Value::Null => SqlType::varchar(VARIABLE_CHARS, Collation::Utf8mb3GeneralCi),
            Value::Double(_) => SqlType {
                decimals: VARIABLE_DECIMALS,
                ..SqlType::DOUBLE
            },
            other => bind::type_of_value(other, Collation::DEFAULT),
        };
        Ok(Expr::literal(value, ty))
    }

    fn unary(&self, op: UnaryOp, operand: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
        let name = match op {
            UnaryOp::Minus => "unary -",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "not",
        };
        let bound = parameter::operands(self, name, &[operand], context)?;
        let bound = match op {
            UnaryOp::Not => bound,
            UnaryOp::Minus | UnaryOp::BitNot => bound
                .into_iter()
                .map(|bound| literal::as_number(self, operand, bound))
                .collect(),
        };
        self.call(name, bound)
    }

    fn binary(
        &self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        context: &Context<'_>,
    ) -> Result<Expr> {
        if op.is_comparison() && (is_row(left) || is_row(right)) {
            return row_compare::row_comparison(self, op, left, right, context);
        }
        let of_bits = matches!(op.function(), "&" | "|" | "^" | "<<" | ">>");
        let is = |of: fn(&ast::Expr) -> bool| of(left) || of(right);
        let has_parameter = !self.types.literal_params && is(|e| matches!(e, ast::Expr::Parameter(_)));
        let calculates =
            op.is_arithmetic() || of_bits && has_parameter && !is(|e| matches!(e, ast::Expr::Bytes(_)));
        let args = if calculates {
            parameter::operands(self, op.function(), &[left, right], context)?
        } else {
            self.comparands(op.function(), &[left, right], context)?
        };
        if op.is_comparison() && op != BinaryOp::NullSafeEqual {
            parameter::note_compared(self, &[left, right], &args);
        }
        if op.is_comparison() || matches!(op, BinaryOp::Xor | BinaryOp::JsonExtract | BinaryOp::JsonUnquote) {
            return self.call(op.function(), args);
        }
        // With a binary string as the other operand, bit operators treat a hexadecimal literal as a binary
        // string.
        let of_pair = matches!(op.function(), "&" | "|" | "^");
        if of_pair && args.iter().any(functions::is_binary_of_bits) {
            return self.call(op.function(), args);
        }
        let numbers = args
            .into_iter()
            .zip([left, right])
            .map(|(arg, written)| literal::as_number(self, written, arg));
        self.call(op.function(), numbers.collect())
    }

    /// Operands that are compared or computed with each other: hexadecimal literals among numbers are numbers.
    pub fn comparands(
        &self,
        function: &str,
        operands: &[&ast::Expr],
        context: &Context<'_>,
    ) -> Result<Vec<Expr>> {
        let bound = parameter::operands(self, function, operands, context)?;
        let is_hex = |e: &ast::Expr| matches!(e, ast::Expr::Bytes(_));
        let mut both = operands.iter().zip(&bound);
        if !both.any(|(written, bound)| !is_hex(written) && wants_number(&bound.ty())) {
            return Ok(bound);
        }
        let numbers = bound.into_iter().zip(operands);
        Ok(numbers
            .map(|(bound, written)| literal::as_number(self, written, bound))
            .collect())
    }

    fn in_list(
        &self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        context: &Context<'_>,
    ) -> Result<Expr> {
        if row_compare::is_row(operand) {
            return row_compare::row_in_list(self, operand, list, negated, context);
        }
        if let Some(ast::Expr::Row(_)) = list.iter().find(|item| matches!(item, ast::Expr::Row(_))) {
            return Err(operand_columns(1));
        }
        let mut operands = Vec::with_capacity(list.len() + 1);
        operands.push(operand);
        operands.extend(list);
        let args = self.comparands("in", &operands, context)?;
        parameter::note_compared(self, &operands, &args);
        self.negatable("in", args, negated)
    }

    fn like(
        &self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        context: &Context<'_>,
    ) -> Result<Expr> {
        let text = Some(SqlType::varchar(GUESSED_CHARS, self.types.collation));
        let mut args = vec![
            self.hinted(operand, text, context)?,
            self.hinted(pattern, text, context)?,
        ];
        if let Some(written) = escape {
            let escape = self.hinted(written, text, context)?;
            if !escape.is_constant() && !is_of_subqueries(written) {
                return Err(Error::new(
                    errno::ER_WRONG_ARGUMENTS,
                    "Incorrect arguments to ESCAPE",
                ));
            }
            args.push(self.escape_or_backslash(escape)?);
        }
        if self.env.sql_mode.no_backslash_escapes {
            self.put_escape(&mut args)?;
        }
        self.negatable("like", args, negated)
    }

    /// In the mode NO_BACKSLASH_ESCAPES: LIKE without ESCAPE has no escape character, and a written one may not be
    /// empty. The expression says so itself, because those that make ranges of it know no modes.
    fn put_escape(&self, args: &mut Vec<Expr>) -> Result<()> {
        let escape = match args.len() {
            3 => {
                let written = args.drain(2..).collect();
                self.call("escape character", written)?
            }
            _ => Expr::literal(Value::from(""), SqlType::varchar(1, self.types.collation)),
        };
        args.push(escape);
        Ok(())
    }

    /// ESCAPE NULL is ESCAPE '\\', in all modes.
    fn escape_or_backslash(&self, escape: Expr) -> Result<Expr> {
        let backslash = Expr::literal(Value::from("\\"), SqlType::varchar(1, self.types.collation));
        match &escape {
            Expr::Literal { value, .. } if value.is_null() => Ok(backslash),
            Expr::Literal { .. } | Expr::Param { nullable: false, .. } => Ok(escape),
            _ => self.call("ifnull", vec![escape, backslash]),
        }
    }

    fn case(
        &self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        context: &Context<'_>,
    ) -> Result<Expr> {
        // Only the values are in the CASE's own place.
        let apart = Context {
            parameters: None,
            ..*context
        };
        // Each WHEN of a simple CASE is compared with the operand; otherwise it is a condition.
        let compared = match operand {
            Some(_) => "compared",
            None => "and",
        };
        let whens = branches.iter().map(|(when, _)| when).chain(operand);
        let mut conditions = parameter::operands(self, compared, &whens.collect::<Vec<_>>(), &apart)?;
        let operand = operand.and_then(|_| conditions.pop());
        let values: Vec<&ast::Expr> = branches.iter().map(|(_, then)| then).chain(otherwise).collect();
        let mut values = parameter::operands(self, "case", &values, context)?;
        let otherwise = values.split_off(conditions.len()).pop();
        let branches = conditions.into_iter().zip(values).collect();
        bind::case(operand, branches, otherwise, &self.types)
    }

    fn cast(&self, operand: &ast::Expr, ty: &CastType, context: &Context<'_>) -> Result<Expr> {
        let ty = self.cast_type(ty)?;
        let bound = self.scalar(operand, context)?;
        if let Expr::Param { index, .. } = bound {
            parameter::announce(self, index, ty);
        }
        let bound = match ty.kind {
            TypeKind::Json => self
                .as_truths(std::slice::from_ref(operand), vec![bound])?
                .remove(0),
            _ if ty.is_numeric() => literal::as_number(self, operand, bound),
            _ => bound,
        };
        bind::cast(bound, ty)
    }

    pub(super) fn cast_type(&self, ty: &CastType) -> Result<SqlType> {
        let characters =
            |length: Option<u32>, collation| SqlType::varchar(length.unwrap_or(u32::MAX), collation);
        let limited = |length: Option<u32>, collation: Collation| {
            let bytes = length.map(|length| length.checked_mul(collation.charset().max_bytes_per_char()));
            match bytes {
                // A definition that is stored may have it.
                Some(None) if self.in_definition.is_none() => Err(Error::new(
                    errno::ER_DATA_OUT_OF_RANGE,
                    "char(n) value is out of range in 'cast_as_char'",
                )),
                _ => Ok(characters(length, collation)),
            }
        };
        Ok(match ty {
            // The length of all ones is that of a type without one.
            CastType::Binary(length) => {
                characters(length.map(|length| length.min(u32::MAX - 1)), Collation::Binary)
            }
            CastType::Char {
                length,
                charset,
                binary,
            } => {
                let collation = match charset {
                    Some(charset) => collation::charset_of_expression(self, charset)?.default_collation(),
                    None => self.types.collation,
                };
                let collation = if *binary {
                    collation.charset().bytewise_collation()
                } else {
                    collation
                };
                limited(*length, collation)?
            }
            CastType::NChar(length) => {
                limited(*length, collation::national_charset(self).default_collation())?
            }
            CastType::Signed => SqlType::BIGINT,
            CastType::Unsigned => SqlType::BIGINT_UNSIGNED,
            CastType::Date => SqlType::DATE,
            CastType::Time(fsp) => SqlType::time(*fsp),
            CastType::DateTime(fsp) => SqlType::datetime(*fsp),
            CastType::Year => SqlType::YEAR,
            CastType::Decimal { precision, scale } => {
                let is_in_range =
                    *scale <= Decimal::MAX_SCALE && *precision <= u32::from(Decimal::MAX_DIGITS);
                if *precision == 0 || is_in_range && u32::from(*scale) > *precision {
                    super::column::check_decimals("", u64::from(*precision), u64::from(*scale))?;
                }
                super::column::decimal_type("CAST", *precision, u32::from(*scale))?
            }
            CastType::Float => SqlType {
                length: 23,
                ..SqlType::FLOAT
            },
            CastType::Double => SqlType::COMPUTED_DOUBLE,
            CastType::Json => SqlType::JSON,
            CastType::Array(_) => return Err(super::multi_valued::not_here()),
        })
    }

    fn function(&self, name: &str, args: &[ast::Expr], context: &Context<'_>) -> Result<Expr> {
        let lower = name.to_lowercase();
        if full_text::is_match(&lower) {
            return full_text::bind_match(self, &lower, args, context);
        }
        if let ("char", [.., ast::Expr::Keyword(charset)]) = (lower.as_str(), args) {
            collation::charset_of_expression(self, charset)?;
        }
        if lower == "any_value" {
            let [arg] = args else {
                return Err(bind::wrong_count(name));
            };
            return self.any_value(arg, context);
        }
        if lower == "grouping" && !context.grouped {
            return Err(invalid_group_function());
        }
        // A number would be a position, as in GROUP BY.
        let is_position = |arg: &ast::Expr| matches!(arg, ast::Expr::Number(ast::NumberText::Integer(_)));
        if lower == "grouping" && args.iter().any(is_position) {
            return Err(Error::new(
                errno::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to GROUPING function",
            ));
        }
        if let ("name_const", [ast::Expr::Null, _]) = (lower.as_str(), args) {
            return Err(Error::new(
                ER_RESERVED_SYNTAX,
                "The 'NAME_CONST' syntax is reserved for purposes internal to the MySQL server",
            ));
        }
        if let ("name_const", [name, value]) = (lower.as_str(), args)
            && !(name.is_literal() && is_constant_value(value))
        {
            return Err(Error::new(
                errno::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to NAME_CONST",
            ));
        }
        if let (Some(refused), "name_const") = (self.in_definition, lower.as_str()) {
            return Err(refused(None));
        }
        let deprecated = match (lower.as_str(), args) {
            ("found_rows", []) => Some(FOUND_ROWS_DEPRECATED),
            ("json_merge", _) => Some(JSON_MERGE_DEPRECATED),
            _ => None,
        };
        if let Some(message) = deprecated {
            self.warn_each_time(Warning::warning(crate::errno::ER_WARN_DEPRECATED_SYNTAX, message));
        }
        let mut bound = self.arguments(&lower, args, context)?;
        if lower.starts_with("json_") {
            bound = self.as_truths(args, bound)?;
        }
        match (
            self.in_definition,
            bind::call_as_written(&lower, name, bound, &self.types),
        ) {
            (Some(refused), Err(error)) if error.code == errno::ER_SP_DOES_NOT_EXIST => {
                Err(refused(Some(&format!("`{name}`"))))
            }
            (_, bound) => bound,
        }
    }

    /// Arguments for JSON, where conditions with subqueries are `true` and `false`: their columns are numbers.
    fn as_truths(&self, written: &[ast::Expr], bound: Vec<Expr>) -> Result<Vec<Expr>> {
        let truth = |(written, bound)| match written {
            &ast::Expr::Exists(_) | &ast::Expr::InSubquery { .. } | &ast::Expr::Quantified { .. } => {
                self.call("=", vec![bound, Expr::literal(Value::Int(1), SqlType::BIGINT)])
            }
            _ => Ok(bound),
        };
        written.iter().zip(bound).map(truth).collect()
    }

    /// ANY_VALUE(x): the first row's, in a query with groups.
    fn any_value(&self, arg: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
        if !context.grouped || context.aggregates.is_none() || arg.has_aggregate() {
            return self.scalar(arg, context);
        }
        let bound = self.scalar(arg, &context.inside_aggregate())?;
        self.collect("any_value", vec![bound], false, context)
    }

    fn aggregate(
        &self,
        name: &str,
        distinct: bool,
        args: &[ast::Expr],
        context: &Context<'_>,
    ) -> Result<Expr> {
        let (mut bound, place) = bound_arguments(context, |inside| self.arguments(name, args, inside))?;
        if name.starts_with("json_") {
            bound = self.as_truths(args, bound)?;
        }
        self.collect(name, bound, distinct, &place)
    }

    /// Adds a call to the query's aggregates, unless it is there already.
    fn collect(&self, name: &str, args: Vec<Expr>, distinct: bool, context: &Context<'_>) -> Result<Expr> {
        self.add_aggregate(aggregate::bind(name, args, distinct, &self.types)?, context)
    }

    fn group_concat(
        &self,
        distinct: bool,
        args: &[ast::Expr],
        order_by: &[ast::OrderItem],
        separator: &str,
        context: &Context<'_>,
    ) -> Result<Expr> {
        let (bound, place) = bound_arguments(context, |inside| self.list(args, inside))?;
        let inside = context.inside_aggregate();
        let mut order = Vec::with_capacity(order_by.len());
        for item in order_by {
            let key = match &item.expr {
                // A literal that was taken out of the text might be a position.
                ast::Expr::Parameter(_) if self.types.literal_params => {
                    return Err(Error::internal(
                        "GROUP_CONCAT: the text has to be bound as it stands",
                    ));
                }
                ast::Expr::Number(ast::NumberText::Integer(position)) => {
                    let at = position.parse::<usize>().ok().and_then(|p| p.checked_sub(1));
                    let arg = at.and_then(|at| bound.get(at));
                    arg.cloned().ok_or_else(|| unknown_position(position))?
                }
                key => self.scalar(key, &inside)?,
            };
            order.push((key, item.descending));
        }
        let call = aggregate::bind_group_concat(bound, distinct, order, separator.to_owned(), &self.types)?;
        self.add_aggregate(call, &place)
    }

    /// The result of a call. It is one of a query around if its arguments name columns of that alone.
    fn add_aggregate(&self, call: AggregateCall, context: &Context<'_>) -> Result<Expr> {
        let aggregates = home_of(&call, context).ok_or_else(invalid_group_function)?;
        let column = self.aggregate_column(&call, aggregates);
        Ok(functions::aggregate::result(column, &call))
    }

    /// The column of a call among a block's aggregates, which it joins unless it is there already.
    pub fn aggregate_column(&self, call: &AggregateCall, aggregates: &Aggregates) -> Expr {
        let mut aggregates = aggregates.borrow_mut();
        let same = aggregates
            .iter()
            .find(|(_, other)| other == call)
            .map(|(id, _)| *id);
        let id = same.unwrap_or_else(|| {
            let id = self.new_column();
            aggregates.push((id, call.clone()));
            id
        });
        match strength_of(call) {
            Some(strength) => Expr::made_column(id.0, call.ty, call.nullable(), strength),
            None => Expr::column(id.0, call.ty, call.nullable()),
        }
    }
}

const ER_RESERVED_SYNTAX: u16 = 1382;

/// Whether all that an expression reads are the rows of subqueries, and it has some.
fn is_of_subqueries(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Subquery(_) | ast::Expr::Exists(_) => true,
        ast::Expr::InSubquery { operand, .. } | ast::Expr::Quantified { operand, .. } => {
            operand.is_literal() || is_of_subqueries(operand)
        }
        _ => false,
    }
}

/// What NAME_CONST() takes for a value: a literal, negative or with a collation.
fn is_constant_value(value: &ast::Expr) -> bool {
    match value {
        ast::Expr::Bool(_) | ast::Expr::Temporal { .. } => false,
        ast::Expr::Unary {
            op: ast::UnaryOp::Minus,
            operand,
        } => matches!(**operand, ast::Expr::Number(_)),
        ast::Expr::Collate { operand, .. } => is_constant_value(operand),
        value => value.is_literal(),
    }
}

const ASSIGNMENT_DEPRECATED: &str = "Setting user variables within expressions is deprecated and will be removed in a future \
     release. Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.";

const FOUND_ROWS_DEPRECATED: &str =
    "FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) instead.";

const JSON_MERGE_DEPRECATED: &str = "'JSON_MERGE' is deprecated and will be removed in a future release. Please use \
     JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead";

const BINARIZE_DEPRECATED: &str =
    "'BINARY expr' is deprecated and will be removed in a future release. Please use CAST instead";

/// The length that MySQL reports for a system variable's text.
const VARIABLE_CHARS: u32 = 21_845;

/// The digits after the point of a variable with a fraction.
const VARIABLE_DECIMALS: u8 = 6;

fn truth_test(test: TruthTest, negated: bool) -> &'static str {
    match (test, negated) {
        (TruthTest::Null, false) => "is null",
        (TruthTest::Null, true) => "is not null",
        (TruthTest::True, false) => "is true",
        (TruthTest::True, true) => "is not true",
        (TruthTest::False, false) => "is false",
        (TruthTest::False, true) => "is not false",
        (TruthTest::Unknown, false) => "is unknown",
        (TruthTest::Unknown, true) => "is not unknown",
    }
}
