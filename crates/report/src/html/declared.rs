//! The study's tables and figures for the template.

use super::parts::{Copy, SheetView, copies};
use crate::{
    figures::declared::{self as figures, DeclaredFigure},
    tables::declared::{self as tables, DeclaredTable},
    tree::{Format, Report, declared::Lookup},
};

/// The tables, then the figures.
#[derive(Default)]
pub struct DeclaredView {
    pub tables: Vec<TableView>,
    pub figures: Vec<FigureView>,
}

/// A declared table.
pub struct TableView {
    pub table: DeclaredTable,
    pub copies: Vec<Copy>,
}

/// A declared figure.
pub struct FigureView {
    pub figure: DeclaredFigure,
    pub svg: String,
    pub table: SheetView,
}

impl DeclaredView {
    /// Returns what the plan of a report declares.
    pub fn of(report: &Report) -> Self {
        let Some(lookup) = Lookup::of(report) else { return Self::default() };
        Self {
            tables: tables::all(lookup).into_iter().map(|table| TableView::of(table, report.formats)).collect(),
            figures: figures::all(lookup).into_iter().map(FigureView::of).collect(),
        }
    }

    /// Returns whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.figures.is_empty()
    }
}

impl TableView {
    fn of(table: DeclaredTable, formats: &[Format]) -> Self {
        Self { copies: copies(&table.sheet(), formats), table }
    }
}

impl FigureView {
    fn of(figure: DeclaredFigure) -> Self {
        Self { svg: figure.drawing.inline(), table: SheetView::of(&figure.table), figure }
    }
}
