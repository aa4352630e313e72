//! The lines of EXPLAIN FORMAT=TREE and EXPLAIN ANALYZE.

use std::fmt::Write;

use planner::plan::{Measure, Measured};

/// An operator with what it reads.
#[derive(Debug, Default)]
pub struct Node {
    pub text: String,
    /// A line above it, indented one step less: which subquery it is.
    pub heading: Option<String>,
    /// Microseconds for all rows, and how many rows.
    pub expected: Option<(f64, f64)>,
    pub measure: Option<Measure>,
    pub inputs: Vec<Node>,
}

impl Node {
    pub fn new(text: impl Into<String>, cost: f64, rows: f64, inputs: Vec<Node>) -> Self {
        Self {
            text: text.into(),
            expected: Some((cost, rows)),
            inputs,
            ..Self::default()
        }
    }

    /// An operator of which nothing is expected.
    pub fn plain(text: impl Into<String>, inputs: Vec<Node>) -> Self {
        Self {
            text: text.into(),
            inputs,
            ..Self::default()
        }
    }

    /// The lowest operator along the first inputs.
    pub fn innermost(&mut self) -> &mut Self {
        match self.inputs.is_empty() {
            true => self,
            false => self.inputs[0].innermost(),
        }
    }

    pub fn rows(&self) -> f64 {
        self.expected
            .map_or_else(|| self.inputs.first().map_or(1.0, Self::rows), |(_, rows)| rows)
    }

    pub fn cost(&self) -> f64 {
        self.expected
            .map_or_else(|| self.inputs.first().map_or(0.0, Self::cost), |(cost, _)| cost)
    }

    /// The lines; `analyzed`: with what was measured.
    pub fn write(&self, depth: usize, analyzed: bool, out: &mut String) {
        let mut depth = depth;
        if let Some(heading) = &self.heading {
            let _ = writeln!(out, "{}-> {heading}", "    ".repeat(depth));
            depth += 1;
        }
        let _ = write!(out, "{}-> {}", "    ".repeat(depth), self.text);
        let mut separator = "  ";
        if let Some((cost, rows)) = self.expected {
            let _ = write!(
                out,
                "{separator}(cost={} rows={})",
                readable(cost),
                readable(rows)
            );
            separator = " ";
        }
        if analyzed && let Some(measured) = self.measure.as_ref().and_then(Measure::get) {
            let _ = write!(out, "{separator}({})", measured_text(measured));
        }
        out.push('\n');
        for input in &self.inputs {
            input.write(depth + 1, analyzed, out);
        }
    }
}

fn measured_text(measured: Measured) -> String {
    if measured.loops == 0 {
        return "never executed".to_owned();
    }
    let loops = measured.loops as f64;
    let ms = |time: std::time::Duration| readable(time.as_secs_f64() * 1e3 / loops);
    format!(
        "actual time={}..{} rows={} loops={}",
        ms(measured.first),
        ms(measured.all),
        readable(measured.rows as f64 / loops),
        measured.loops
    )
}

/// A number with three digits that matter, as MySQL writes it.
pub fn readable(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if number.abs() >= 999_999.5 {
        let text = format!("{number:.2e}");
        return text.replace('e', "e+");
    }
    if number.abs() < 0.001 {
        let exponent = (number.abs().log10() / 3.0).floor() as i32 * 3;
        return format!("{}e{exponent}", (number / 10f64.powi(exponent)).round());
    }
    if number.abs() >= 99.95 {
        return format!("{}", number.round());
    }
    let digits = (2 - number.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [
            0.0,
            0.551,
            10.25,
            2.0,
            1020.4,
            65.333,
            0.00008,
            1_234_567.0,
            0.0999,
        ];
        let texts: Vec<String> = numbers.into_iter().map(readable).collect();
        assert_eq!(
            texts,
            [
                "0", "0.551", "10.2", "2", "1020", "65.3", "80e-6", "1.23e+6", "0.0999"
            ]
        );
    }
}
