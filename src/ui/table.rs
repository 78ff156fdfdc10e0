//! Columns of text.

/// Rows under headings, each column as wide as its widest cell.
#[derive(Debug)]
pub struct Table {
    headings: Vec<&'static str>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table. A heading that begins with `>` stands, without that, over a column set to the right.
    #[must_use]
    pub fn new(headings: &[&'static str]) -> Self {
        Self {
            headings: headings.iter().map(|h| h.trim_start_matches('>')).collect(),
            right: headings.iter().map(|h| h.starts_with('>')).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells must be escaped already.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines of the table, headings first. Columns in which nothing stands are left out.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let columns: Vec<usize> =
            (0..self.headings.len()).filter(|n| self.rows.iter().any(|row| !row[*n].is_empty())).collect();
        let width = |n: usize| {
            let cells = self.rows.iter().map(|row| row[n].chars().count());
            // A format has no room for more than 65,535 columns, and neither has anybody's terminal.
            cells.max().unwrap_or(0).max(self.headings[n].len()).min(1_000)
        };
        let widths: Vec<usize> = columns.iter().map(|n| width(*n)).collect();
        let line = |cell: &dyn Fn(usize) -> String| {
            let cells = columns.iter().zip(&widths).map(|(n, width)| {
                if self.right[*n] { format!("{:>width$}", cell(*n)) } else { format!("{:width$}", cell(*n)) }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut lines = vec![line(&|n| self.headings[n].to_owned())];
        lines.extend(self.rows.iter().map(|row| line(&|n| row[n].clone())));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_line_up_and_empty_ones_disappear() {
        let mut table = Table::new(&["name", "tags", ">size"]);
        table.row(vec!["a".into(), String::new(), "10".into()]);
        table.row(vec!["größer".into(), String::new(), "5".into()]);
        assert_eq!(table.lines(), ["name    size", "a         10", "größer     5"]);
    }
}
