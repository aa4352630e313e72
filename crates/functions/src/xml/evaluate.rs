//! The value of an XPath expression over a document.

use std::collections::BTreeMap;

use types::{Collation, Error, Result, SqlType, Value, errno};

use super::document::{Document, NodeKind};
use super::parse::{Axis, Function, Operator, Start, Step, Test, XPath};
use crate::Expr;
use crate::cast::conversion::Conversion;
use crate::cast::{self, number_text::parse_double};
use crate::context::EvalContext;
use crate::datum::Datum;

pub(super) enum XPathValue {
    /// In the order of the document.
    Nodes(Vec<FoundNode>),
    Text(String),
    Number(f64),
    Truth(bool),
}

/// A node that a step has found, and its position among those found from the same node.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundNode {
    pub index: usize,
    position: usize,
    count: usize,
}

impl XPathValue {
    /// The texts of nodes, with blanks between.
    pub fn text(&self, document: &Document<'_>) -> String {
        match self {
            Self::Nodes(nodes) => {
                // In the document's order, which is not that of the nodes if one is below another.
                let texts = nodes.iter().flat_map(|node| document.numbered_texts(node.index));
                let texts: BTreeMap<usize, &str> = texts.collect();
                texts.into_values().collect::<Vec<_>>().join(" ")
            }
            Self::Text(text) => text.clone(),
            Self::Number(number) => Value::Double(*number).display_text(&SqlType::DOUBLE),
            Self::Truth(truth) => u8::from(*truth).to_string(),
        }
    }

    fn number(&self, document: &Document<'_>) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Truth(truth) => f64::from(u8::from(*truth)),
            other => number_of(&other.text(document)),
        }
    }

    fn truth(&self) -> bool {
        match self {
            Self::Nodes(nodes) => !nodes.is_empty(),
            Self::Text(text) => number_of(text) != 0.0,
            Self::Number(number) => *number != 0.0,
            Self::Truth(truth) => *truth,
        }
    }
}

fn number_of(text: &str) -> f64 {
    parse_double(text.as_bytes()).value
}

pub(super) struct Evaluation<'e> {
    pub document: &'e Document<'e>,
    pub collation: Collation,
    pub ctx: &'e EvalContext,
}

impl Evaluation<'_> {
    /// The value of an expression at the root.
    pub fn root(&self, path: &XPath) -> Result<XPathValue> {
        self.value(path, whole(0))
    }

    fn value(&self, path: &XPath, here: FoundNode) -> Result<XPathValue> {
        Ok(match path {
            XPath::Number(number) => XPathValue::Number(*number),
            XPath::Text(text) => XPathValue::Text(text.clone()),
            XPath::Variable(name) => {
                let variable = self.ctx.user_variables.get(&name.to_lowercase());
                let value = variable.map(|variable| &variable.value);
                match value {
                    Some(Value::Int(v)) => XPathValue::Number(*v as f64),
                    Some(Value::UInt(v)) => XPathValue::Number(*v as f64),
                    Some(Value::Double(v)) => XPathValue::Number(*v),
                    Some(Value::Decimal(v)) => XPathValue::Number(v.to_f64()),
                    Some(Value::Null) | None => XPathValue::Text(String::new()),
                    Some(text) => XPathValue::Text(text.display_text(&SqlType::NULL)),
                }
            }
            XPath::Negate(operand) => XPathValue::Number(-self.value(operand, here)?.number(self.document)),
            XPath::Call(function, args) => self.call(*function, args, here)?,
            XPath::Binary(operator, left, right) => self.binary(*operator, left, right, here)?,
            XPath::Path(start, steps) => {
                let mut nodes = match start {
                    Start::Root => vec![whole(0)],
                    Start::Here => vec![here],
                    Start::Nodes(path) => self.nodes(path, here)?,
                };
                for step in steps {
                    nodes = self.step(&nodes, step)?;
                }
                XPathValue::Nodes(nodes)
            }
        })
    }

    fn nodes(&self, path: &XPath, here: FoundNode) -> Result<Vec<FoundNode>> {
        match self.value(path, here)? {
            XPathValue::Nodes(nodes) => Ok(nodes),
            _ => Err(xpath_error("XPATH error: a nodeset is wanted")),
        }
    }

    fn step(&self, from: &[FoundNode], step: &Step) -> Result<Vec<FoundNode>> {
        let mut all: Vec<FoundNode> = Vec::new();
        if step.axis == Axis::Unchanged {
            let nodes = from.iter().filter(|node| self.passes(node.index, step));
            return self.filtered(nodes.copied().collect(), step);
        }
        for node in from {
            self.ctx.check_interrupted()?;
            let mut found: Vec<usize> = self.axis(node.index, step.axis);
            found.retain(|index| self.passes(*index, step));
            all.extend(self.filtered(numbered(&found), step)?);
        }
        Ok(in_document_order(all))
    }

    /// The nodes for which a step's predicates hold.
    fn filtered(&self, mut nodes: Vec<FoundNode>, step: &Step) -> Result<Vec<FoundNode>> {
        for predicate in &step.predicates {
            let mut kept = Vec::with_capacity(nodes.len());
            for node in nodes {
                let position = (node.position + 1) as i64;
                let holds = match self.value(predicate, node)? {
                    // MySQL reads the integer of a variable without a warning.
                    XPathValue::Text(text) if matches!(predicate, XPath::Variable(_)) => {
                        number_of(&text).trunc() as i64 == position
                    }
                    XPathValue::Number(number) => number.round_ties_even() as i64 == position,
                    XPathValue::Text(text) => self.integer_of(&text)? == position,
                    other => other.truth(),
                };
                if holds {
                    kept.push(node.index);
                }
            }
            nodes = numbered(&kept);
        }
        Ok(nodes)
    }

    /// The integer that a text begins with; warning 1292 if it is not all of it.
    fn integer_of(&self, text: &str) -> Result<i64> {
        let conversion = Conversion {
            from: SqlType::varchar(text.len() as u32, self.collation),
            to: SqlType::BIGINT,
            implicit: true,
            ctx: self.ctx,
            input: &Expr::null(),
        };
        Ok(match cast::datum(Datum::String(text), &conversion)? {
            Value::Int(number) => number,
            _ => 0,
        })
    }

    fn axis(&self, index: usize, axis: Axis) -> Vec<usize> {
        match axis {
            Axis::Child | Axis::Attribute => self.document.children(index).map(|(child, _)| child).collect(),
            Axis::Descendant => self.document.below(index).map(|(below, _)| below).collect(),
            Axis::DescendantOrSelf => {
                let below = self.document.below(index).map(|(below, _)| below);
                std::iter::once(index).chain(below).collect()
            }
            Axis::Unchanged => vec![index],
            Axis::Parent => {
                let own = self.document.nodes.get(index).filter(|_| index != 0);
                own.map(|node| node.parent).into_iter().collect()
            }
            Axis::Ancestor => self.ancestors(index).collect(),
            Axis::AncestorOrSelf => std::iter::once(index).chain(self.ancestors(index)).collect(),
        }
    }

    /// The root is not among them: it is not an element.
    fn ancestors(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let parent = |index: &usize| self.document.nodes.get(*index).map(|node| node.parent);
        std::iter::successors(parent(&index), parent).take_while(|parent| *parent != 0)
    }

    fn passes(&self, index: usize, step: &Step) -> bool {
        let Some(node) = self.document.nodes.get(index) else {
            return false;
        };
        let of_axis = match step.axis {
            Axis::Attribute => node.kind == NodeKind::Attribute,
            Axis::Unchanged => true,
            _ => node.kind == NodeKind::Element,
        };
        of_axis
            && match &step.test {
                Test::Any => true,
                Test::Name(name) => node.text == name,
            }
    }

    fn binary(&self, operator: Operator, left: &XPath, right: &XPath, here: FoundNode) -> Result<XPathValue> {
        let truth = |path| Ok::<_, Error>(self.value(path, here)?.truth());
        let number = |path| Ok::<_, Error>(self.value(path, here)?.number(self.document));
        Ok(match operator {
            Operator::Or => XPathValue::Truth(truth(left)? || truth(right)?),
            Operator::And => XPathValue::Truth(truth(left)? && truth(right)?),
            Operator::Plus => XPathValue::Number(number(left)? + number(right)?),
            Operator::Minus => XPathValue::Number(number(left)? - number(right)?),
            Operator::Times => XPathValue::Number(number(left)? * number(right)?),
            Operator::Divide => XPathValue::Number(number(left)? / number(right)?),
            Operator::Modulo => XPathValue::Number(number(left)? % number(right)?),
            Operator::Union => {
                let mut nodes = self.nodes(left, here)?;
                nodes.extend(self.nodes(right, here)?);
                XPathValue::Nodes(in_document_order(nodes))
            }
            comparison => {
                let (left, right) = (self.value(left, here)?, self.value(right, here)?);
                XPathValue::Truth(self.compare(comparison, &left, &right))
            }
        })
    }

    /// For nodes: whether the comparison is true for the text of one of them.
    fn compare(&self, operator: Operator, left: &XPathValue, right: &XPathValue) -> bool {
        let each = |nodes: &[FoundNode]| -> Vec<XPathValue> {
            let texts = nodes.iter().flat_map(|node| self.document.texts(node.index));
            texts.map(|text| XPathValue::Text(text.to_owned())).collect()
        };
        match (left, right) {
            (XPathValue::Nodes(nodes), right) => {
                each(nodes).iter().any(|left| self.holds(operator, left, right))
            }
            (left, XPathValue::Nodes(nodes)) => {
                each(nodes).iter().any(|right| self.holds(operator, left, right))
            }
            (left, right) => self.holds(operator, left, right),
        }
    }

    fn holds(&self, operator: Operator, left: &XPathValue, right: &XPathValue) -> bool {
        let order = match (left, right) {
            (XPathValue::Text(left), XPathValue::Text(right)) => {
                self.collation.compare(left.as_bytes(), right.as_bytes())
            }
            (left, right) => left.number(self.document).total_cmp(&right.number(self.document)),
        };
        match operator {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            _ => order.is_ge(),
        }
    }

    fn call(&self, function: Function, args: &[XPath], here: FoundNode) -> Result<XPathValue> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.value(arg, here)?);
        }
        let text = |at: usize| {
            values
                .get(at)
                .map_or(String::new(), |value| value.text(self.document))
        };
        let number = |at: usize| values.get(at).map_or(0.0, |value| value.number(self.document));
        let truth = values.first().is_some_and(XPathValue::truth);
        Ok(match function {
            Function::True => XPathValue::Truth(true),
            Function::False => XPathValue::Truth(false),
            Function::Not => XPathValue::Truth(!truth),
            Function::Boolean => XPathValue::Truth(truth),
            Function::Position => XPathValue::Number((here.position + 1) as f64),
            Function::Last | Function::Count => XPathValue::Number(match values.first() {
                // MySQL counts the nodes among which a single one was found.
                Some(XPathValue::Nodes(nodes)) => match nodes.as_slice() {
                    [node] => node.count as f64,
                    nodes => nodes.len() as f64,
                },
                Some(_) => return Err(xpath_error("XPATH error: a nodeset is wanted")),
                None => here.count as f64,
            }),
            Function::Sum => match values.first() {
                Some(XPathValue::Nodes(nodes)) => {
                    let texts = nodes.iter().flat_map(|node| self.document.texts(node.index));
                    XPathValue::Number(texts.map(number_of).sum())
                }
                _ => return Err(xpath_error("XPATH error: a nodeset is wanted")),
            },
            Function::Floor => XPathValue::Number(number(0).floor()),
            Function::Ceiling => XPathValue::Number(number(0).ceil()),
            Function::Round => XPathValue::Number(number(0).round()),
            Function::Number => XPathValue::Number(number(0)),
            Function::Concat => XPathValue::Text((0..values.len()).map(text).collect()),
            Function::Contains => XPathValue::Truth(text(0).contains(&text(1))),
            Function::StringLength => {
                let own = || XPathValue::Nodes(vec![here]).text(self.document);
                let text = if values.is_empty() { own() } else { text(0) };
                XPathValue::Number(text.chars().count() as f64)
            }
            Function::Substring => {
                let skip = (number(1).max(1.0) - 1.0) as usize;
                let count = if values.len() > 2 {
                    number(2).max(0.0) as usize
                } else {
                    usize::MAX
                };
                XPathValue::Text(text(0).chars().skip(skip).take(count).collect())
            }
        })
    }
}

/// A node by itself.
fn whole(index: usize) -> FoundNode {
    FoundNode {
        index,
        position: 0,
        count: 1,
    }
}

fn numbered(found: &[usize]) -> Vec<FoundNode> {
    let node = |(position, index): (usize, &usize)| FoundNode {
        index: *index,
        position,
        count: found.len(),
    };
    found.iter().enumerate().map(node).collect()
}

fn in_document_order(mut nodes: Vec<FoundNode>) -> Vec<FoundNode> {
    nodes.sort_by_key(|node| node.index);
    nodes.dedup_by_key(|node| node.index);
    nodes
}

fn xpath_error(message: &str) -> Error {
    Error::new(errno::ER_UNKNOWN_ERROR, message)
}
