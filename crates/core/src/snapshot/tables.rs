//! Tables that neither their page nor Chromium calls so: an HTML table without heads that are marked as such, and boxes that a style places in
//! rows and columns.
//!
//! A value stands below its head by the cells before it, so that empty ones count. What a page lays out in a table is none: it has large
//! parts, other tables or forms in it, or rows of several lengths. Boxes are read as a table only where one of them is empty, which would be
//! lost otherwise.

use std::collections::HashMap;

use super::accessibility::Accessibility;
use super::capture::{CapturedNode, Document, Layout};

/// Maximum number of characters and of nodes in a cell.
const MAX_CELL: [usize; 2] = [300, 60];

/// The same of a box that is read as a cell.
const MAX_BOX: [usize; 2] = [100, 20];

/// Minimum number of rows of boxes, and of columns and rows of a table whose first row does not look like one of heads.
const MIN_LINES: usize = 3;

/// Maximum number of rows of a table that are looked at. A longer one is no layout.
const MAX_ROWS: usize = 2000;

/// Maximum number of columns that a cell may be in.
const MAX_SPAN: usize = 100;

/// Difference of two edges in one column, in CSS pixels.
const TOLERANCE: f64 = 2.0;

/// Minimum width of an empty box, in CSS pixels. A narrower one only keeps others apart.
const MIN_WIDTH: f64 = 8.0;

/// Elements that a cell of data does not have.
const LARGE: &[&str] = &[
    "article", "canvas", "embed", "fieldset", "form", "frame", "h1", "h2", "h3", "h4", "h5", "h6", "header", "iframe",
    "nav", "object", "section", "video",
];

/// Elements that may be boxes in a row, and the rows.
const PLAIN: &[&str] = &["dd", "div", "dl", "dt", "li", "ol", "p", "span", "ul"];

/// Roles of the nodes of tables, by the ids of those.
pub(super) type TableRoles = HashMap<u64, &'static str>;

/// Content of a node, with the node itself.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
struct CellContent {
    nodes: usize,
    /// Number of characters that are drawn.
    drawn: usize,
    /// Number of those that are bold by their element.
    bold: usize,
    has_table: bool,
    has_field: bool,
    has_picture: bool,
    has_control: bool,
    is_large: bool,
}

impl CellContent {
    fn add(&mut self, other: Self) {
        self.nodes += other.nodes;
        self.drawn += other.drawn;
        self.bold += other.bold;
        self.has_table |= other.has_table;
        self.has_field |= other.has_field;
        self.has_picture |= other.has_picture;
        self.has_control |= other.has_control;
        self.is_large |= other.is_large;
    }

    /// Returns true if a cell with this content shows nothing.
    const fn is_empty(&self) -> bool {
        self.drawn == 0
            && !self.has_field
            && !self.has_picture
            && !self.has_control
            && !self.is_large
            && !self.has_table
    }

    const fn is_short(&self, max: [usize; 2]) -> bool {
        let [drawn, nodes] = max;
        self.drawn <= drawn && self.nodes <= nodes && !self.has_table && !self.is_large
    }
}

/// Nodes of a document with what is in each.
struct UnmarkedTables<'a> {
    document: &'a Document,
    accessibility: &'a Accessibility,
    contents: Vec<CellContent>,
    /// Elements in each element, in their order, where nothing else is beside them.
    children: Vec<Vec<usize>>,
    /// True for an element that has a text beside the elements in it.
    has_text: Vec<bool>,
    roles: TableRoles,
}

/// Returns the roles of the nodes of tables that have no role.
pub(super) fn roles(document: &Document, accessibility: &Accessibility) -> TableRoles {
    let count = document.nodes.len();
    let mut tables = UnmarkedTables {
        document,
        accessibility,
        contents: vec![CellContent::default(); count],
        children: vec![Vec::new(); count],
        has_text: vec![false; count],
        roles: TableRoles::new(),
    };
    tables.add_contents();
    for (position, node) in document.nodes.iter().enumerate() {
        if !node.is_element || !tables.is_plain(node) {
            continue;
        }
        match node.tag.as_str() {
            "table" => tables.add_table(position),
            tag if PLAIN.contains(&tag) => tables.add_boxes(position),
            _ => {}
        }
    }
    tables.roles
}

impl UnmarkedTables<'_> {
    fn node(&self, position: usize) -> Option<&CapturedNode> {
        self.document.nodes.get(position)
    }

    fn layout(&self, position: usize) -> Option<&Layout> {
        self.node(position)?.layout.as_ref()
    }

    fn content(&self, position: usize) -> CellContent {
        self.contents.get(position).copied().unwrap_or_default()
    }

    fn children(&self, position: usize) -> &[usize] {
        self.children.get(position).map_or(&[], Vec::as_slice)
    }

    /// Returns true if neither a page nor Chromium gives an element a role.
    fn is_plain(&self, node: &CapturedNode) -> bool {
        let is_none =
            |role: &str| matches!(role, "" | "generic" | "none" | "presentation") || role.starts_with("Layout");
        self.document.attribute(node, "role").is_none()
            && self.accessibility.get(node.id).is_none_or(|own| is_none(&own.role))
    }

    /// Collects what is in each node.
    fn add_contents(&mut self) {
        for (position, node) in self.document.nodes.iter().enumerate().rev() {
            let mut own = self.content(position);
            own.nodes += 1;
            let tag = node.tag.as_str();
            let is_there = node.layout.as_ref().is_some_and(|layout| layout.is_visible);
            if node.is_text && is_there {
                own.drawn += node.text.chars().filter(|c| !c.is_whitespace()).count();
            }
            if matches!(tag, "b" | "strong" | "th") {
                own.bold = own.drawn;
            }
            let is_hidden =
                || self.document.attribute(node, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"));
            own.has_table |= tag == "table";
            own.has_field |= matches!(tag, "select" | "textarea") || tag == "input" && !is_hidden();
            own.has_picture |= matches!(tag, "img" | "svg");
            own.has_control |= matches!(tag, "a" | "button" | "summary");
            own.is_large |= LARGE.contains(&tag);
            if let Some(content) = self.contents.get_mut(position) {
                *content = own;
            }
            let Some(parent) = node.parent else { continue };
            if let Some(around) = self.contents.get_mut(parent) {
                around.add(own);
            }
            if node.is_element && node.layout.is_some() {
                if let Some(children) = self.children.get_mut(parent) {
                    children.push(position);
                }
            } else if own.drawn > 0
                && let Some(has_text) = self.has_text.get_mut(parent)
            {
                *has_text = true;
            }
        }
        self.children.iter_mut().for_each(|children| children.reverse());
    }

    /// Returns the rows of an HTML table, each with its cells.
    fn rows(&self, table: usize) -> Vec<(usize, Vec<usize>)> {
        let is = |at: &usize, tags: &[&str]| self.node(*at).is_some_and(|node| tags.contains(&node.tag.as_str()));
        let mut rows = Vec::new();
        for part in self.children(table) {
            let in_part =
                if is(part, &["thead", "tbody", "tfoot"]) { self.children(*part) } else { std::slice::from_ref(part) };
            let cells = |row: &usize| self.children(*row).iter().copied().filter(|at| is(at, &["td", "th"])).collect();
            rows.extend(in_part.iter().filter(|row| is(row, &["tr"])).map(|row| (*row, cells(row))));
        }
        rows
    }

    fn span(&self, cell: usize, name: &str) -> usize {
        let span = self.node(cell).and_then(|node| self.document.attribute(node, name)?.trim().parse().ok());
        span.unwrap_or(1).clamp(1, MAX_SPAN)
    }

    /// Returns the number of columns of rows that all have the same one. The cell of a title may be in all of them.
    fn columns(&self, rows: &[(usize, Vec<usize>)]) -> Option<usize> {
        let columns = rows.iter().map(|(_, cells)| cells.len()).max()?;
        // Columns that the cells of rows before reach into, each with the number of rows that it still does.
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut width = None;
        for (_, cells) in rows {
            let before: usize = taken.iter().map(|(columns, _)| columns).sum();
            let own: usize = cells.iter().map(|cell| self.span(*cell, "colspan")).sum();
            let is_title = cells.len() == 1 && columns > 1 && own > 1;
            if cells.is_empty() || !is_title && *width.get_or_insert(own + before) != own + before {
                return None;
            }
            taken.retain_mut(|(_, rows)| {
                *rows -= 1;
                *rows > 0
            });
            let spans = cells.iter().map(|cell| (self.span(*cell, "colspan"), self.span(*cell, "rowspan") - 1));
            taken.extend(spans.filter(|(_, rows)| *rows > 0));
        }
        width
    }

    /// Returns true if the author of the page calls an element a head.
    fn says_head(&self, position: usize) -> bool {
        let class = self.node(position).and_then(|node| self.document.attribute(node, "class"));
        class.is_some_and(|class| class.to_ascii_lowercase().contains("head"))
    }

    /// Returns true if the first of two rows looks like one of heads: its author calls it so, all of its texts are bold, or it has a
    /// background that the next row does not have.
    fn is_head(&self, (row, cells): &(usize, Vec<usize>), next: Option<&(usize, Vec<usize>)>) -> bool {
        let contents = |cells: &[usize]| cells.iter().map(|cell| self.content(*cell)).collect::<Vec<_>>();
        let own = contents(cells);
        let is_bold = |content: &CellContent| content.drawn == 0 || content.bold == content.drawn;
        let has_words = own.iter().filter(|content| content.drawn > 0).count() >= 2;
        if !has_words || own.iter().any(|content| content.has_field) {
            return false;
        }
        let color = |row: usize, cell: Option<&usize>| {
            let own =
                |at: usize| self.layout(at).filter(|layout| layout.is_painted).map(|layout| layout.color.as_str());
            cell.and_then(|cell| own(*cell)).or_else(|| own(row))
        };
        let colors: Vec<_> = cells.iter().map(|cell| color(*row, Some(cell))).collect();
        let is_painted =
            colors.first().is_some_and(|first| first.is_some() && colors.iter().all(|other| other == first));
        let next_color = || next.map(|(row, cells)| color(*row, cells.first()));
        let is_next_bold = || next.is_some_and(|(_, cells)| contents(cells).iter().all(is_bold));
        let is_called_head = || self.says_head(*row) || cells.iter().all(|cell| self.says_head(*cell));
        is_called_head()
            || own.iter().all(is_bold) && !is_next_bold()
            || is_painted && next_color() != colors.first().copied()
    }

    /// Adds the roles of an HTML table, if it is one of data.
    fn add_table(&mut self, table: usize) {
        let rows = self.rows(table);
        let is_whole = rows.iter().filter(|(_, cells)| cells.len() > 1).count() >= 2 && rows.len() <= MAX_ROWS;
        let Some(columns) = self.columns(&rows).filter(|columns| is_whole && *columns > 1) else { return };
        let contents: Vec<_> = rows.iter().flat_map(|(_, cells)| cells).map(|cell| self.content(*cell)).collect();
        if !contents.iter().all(|content| content.is_short(MAX_CELL)) {
            return;
        }
        let first = rows.iter().position(|(_, cells)| cells.len() > 1).unwrap_or_default();
        let head = rows.get(first).filter(|head| self.is_head(head, rows.get(first + 1)));
        let has_acts = |content: &CellContent| content.has_field || content.has_picture || content.has_control;
        let is_plain_data = || {
            columns >= MIN_LINES
                && rows.len() >= MIN_LINES
                && !contents.iter().any(has_acts)
                && contents.iter().any(CellContent::is_empty)
                && contents.iter().filter(|content| content.is_empty()).count() * 2 <= contents.len()
        };
        if head.is_none() && !is_plain_data() {
            return;
        }
        let head = head.map(|(row, _)| *row);
        self.add_role(table, "table");
        for (row, cells) in rows {
            self.add_role(row, "row");
            for cell in cells {
                self.add_role(cell, if head == Some(row) { "columnheader" } else { "cell" });
            }
        }
    }

    fn add_role(&mut self, position: usize, role: &'static str) {
        let Some(node) = self.document.nodes.get(position) else { return };
        if self.is_plain(node) {
            self.roles.insert(node.id, role);
        }
    }

    /// Returns the boxes in an element, if there is nothing else in it.
    fn boxes(&self, position: usize) -> Option<&[usize]> {
        let is_box = |at: &usize| {
            self.node(*at).is_some_and(|node| PLAIN.contains(&node.tag.as_str()) && self.is_plain(node))
                && self
                    .layout(*at)
                    .is_some_and(|layout| layout.is_visible && !layout.look.is_absolute && !layout.look.is_fixed)
        };
        let children = self.children(position);
        let is_alone = self.has_text.get(position) == Some(&false);
        (is_alone && children.iter().all(is_box)).then_some(children)
    }

    /// Returns true if boxes are in the columns of these ones, one below each.
    fn are_below(&self, heads: &[usize], cells: &[usize]) -> bool {
        let is_below = |(head, cell): (&usize, &usize)| {
            let layouts = self.layout(*head).zip(self.layout(*cell));
            layouts.is_some_and(|(head, cell)| {
                let is_near = |one: f64, other: f64| (one - other).abs() <= TOLERANCE;
                is_near(head.x, cell.x) && is_near(head.width, cell.width) && head.y < cell.y
            })
        };
        heads.len() == cells.len() && heads.iter().zip(cells).all(is_below)
    }

    /// Adds the roles of boxes in rows and columns, if one of them is empty and below others.
    fn add_boxes(&mut self, position: usize) {
        let Some(boxes) = self.boxes(position).filter(|boxes| boxes.len() >= MIN_LINES && boxes.len() <= MAX_ROWS)
        else {
            return;
        };
        let rows: Option<Vec<&[usize]>> = boxes.iter().map(|row| self.boxes(*row)).collect();
        let rows = rows.filter(|rows| self.are_rows(rows));
        let is_arranged = self.layout(position).is_some_and(|layout| layout.is_arranged);
        let cells: Vec<usize> = match &rows {
            Some(rows) => rows.concat(),
            None if is_arranged && self.are_cells(boxes) => boxes.to_vec(),
            None => return,
        };
        let rows = if rows.is_some() { boxes.to_vec() } else { Vec::new() };
        // An entry of a menu with a number behind its name is one thing to press.
        let is_pressed = |at: &usize| {
            let is_pointed = |layout: &Layout| layout.cursor == "pointer";
            self.node(*at).is_some_and(|node| {
                node.input.is_clickable || node.input.is_pressed || node.layout.as_ref().is_some_and(is_pointed)
            })
        };
        if cells.len() < rows.len() * MIN_LINES && rows.iter().any(is_pressed) {
            return;
        }
        self.add_role(position, "table");
        for row in rows {
            self.add_role(row, "row");
        }
        for cell in cells {
            self.add_role(cell, "cell");
        }
    }

    /// Returns true if the boxes in these ones are the cells of a table.
    fn are_rows(&self, rows: &[&[usize]]) -> bool {
        let Some((heads, others)) = rows.split_first() else { return false };
        others.iter().all(|cells| self.are_below(heads, cells)) && self.are_data(heads, others)
    }

    /// Returns true if boxes that are beside and below each other are the cells of a table.
    fn are_cells(&self, boxes: &[usize]) -> bool {
        let y = |at: &usize| self.layout(*at).map_or(f64::NEG_INFINITY, |layout| layout.y);
        let top = boxes.first().map_or(0.0, y);
        let columns = boxes.iter().take_while(|at| (y(at) - top).abs() <= TOLERANCE).count();
        if columns < 2 || !boxes.len().is_multiple_of(columns) {
            return false;
        }
        let rows: Vec<_> = boxes.chunks_exact(columns).collect();
        rows.len() >= MIN_LINES && self.are_rows(&rows)
    }

    /// Returns true if the boxes of some rows are short, those of the first row have words, and another one is empty.
    fn are_data(&self, heads: &[usize], others: &[&[usize]]) -> bool {
        let is_short = |at: &usize| {
            let content = self.content(*at);
            content.is_short(MAX_BOX) && !content.has_field && !content.has_picture
        };
        let is_wide = |at: &usize| self.layout(*at).is_some_and(|layout| layout.width >= MIN_WIDTH);
        let is_empty = |at: &usize| self.content(*at).is_empty() && is_wide(at);
        heads.len() > 1
            && heads.iter().all(|at| self.content(*at).drawn > 0)
            && heads.iter().chain(others.iter().copied().flatten()).all(is_short)
            && others.iter().copied().flatten().any(is_empty)
            && others.iter().all(|cells| cells.iter().any(|at| !self.content(*at).is_empty()))
    }
}
