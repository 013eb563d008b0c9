//! Columns of text, as kubectl draws them: aligned, two spaces apart, no lines.

/// A table whose columns are as wide as their widest cell.
pub(super) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&'static str]) -> Self {
        Self::with_head(head.iter().map(|cell| (*cell).to_owned()).collect())
    }

    /// A table whose columns depend on what was asked.
    pub(super) fn with_head(head: Vec<String>) -> Self {
        Self {
            head,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.head.len(), "a cell for every column");
        self.rows.push(cells);
    }

    /// The text, each line with its end.
    pub(super) fn text(&self) -> String {
        let mut widths: Vec<usize> = self.head.iter().map(|cell| cell.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let head = self.head.clone();
        let mut text = String::new();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for (width, cell) in widths.iter().zip(row) {
                line.push_str(cell);
                let missing = width - cell.chars().count() + 2;
                line.extend(std::iter::repeat_n(' ', missing));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The same as comma-separated values, with the head in lower case.
    pub(super) fn csv(&self) -> String {
        let mut text = String::new();
        let head: Vec<String> = self
            .head
            .iter()
            .map(|cell| cell.to_lowercase().replace(' ', "_"))
            .collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }
}

/// Quoted where it must be. A cell that a spreadsheet would take for a formula is led by an apostrophe.
fn quoted(cell: &str) -> String {
    let cell = match cell.chars().next() {
        Some('=' | '+' | '@' | '\t') => format!("'{cell}"),
        _ => cell.to_owned(),
    };
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::Table;

    fn table() -> Table {
        let mut table = Table::new(&["NAME", "GPU HOURS"]);
        table.row(vec!["a,b".to_owned(), "1".to_owned()]);
        table.row(vec!["=cmd()".to_owned(), "23".to_owned()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_lines_do_not_trail() {
        assert_eq!(table().text(), "NAME    GPU HOURS\na,b     1\n=cmd()  23\n");
    }

    #[test]
    fn values_with_commas_are_quoted_and_formulas_are_defused() {
        assert_eq!(table().csv(), "name,gpu_hours\n\"a,b\",1\n'=cmd(),23\n");
    }
}
