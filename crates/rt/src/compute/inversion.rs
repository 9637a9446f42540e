//! Gauss-Jordan inversion with partial pivoting in f64, in memory that is allocated beforehand.

use alloc::{boxed::Box, vec, vec::Vec};

/// A matrix, the room to invert copies of it, and the first inverse, which all later ones must equal.
#[derive(Debug)]
pub struct Workspace {
    n: usize,
    original: Box<[f64]>,
    /// n rows of 2n numbers. At first they contain the matrix with the identity to its right, in the end the identity with the inverse to
    /// its right.
    pub(super) rows: Box<[f64]>,
    first: Box<[f64]>,
}

/// The matrix has no inverse: in this column, counted from 0, no pivot other than zero was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular(pub usize);

impl Workspace {
    /// Creates a workspace for a square matrix, given row by row. Returns `None` unless `matrix` has n rows of n numbers, with n at least
    /// 1.
    pub fn new(n: usize, matrix: Vec<f64>) -> Option<Self> {
        let square = n.checked_mul(n).filter(|square| *square == matrix.len() && *square > 0)?;
        let rows = vec![0.0; square.checked_mul(2)?].into_boxed_slice();
        Some(Self { n, original: matrix.into_boxed_slice(), rows, first: vec![0.0; square].into_boxed_slice() })
    }

    /// Returns the number of rows, which is also the number of columns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Copies the matrix to the left of the identity, number by number: a copy in one piece would be a call of the C library.
    pub(super) fn copy(&mut self) {
        let n = self.n.max(1);
        let both = self.rows.chunks_exact_mut(width(n)).zip(self.original.chunks_exact(n));
        for (index, (row, original)) in both.enumerate() {
            let identity = (0..n).map(|column| if column == index { 1.0 } else { 0.0 });
            for (to, from) in row.iter_mut().zip(original.iter().copied().chain(identity)) {
                *to = core::hint::black_box(from);
            }
        }
    }

    /// Inverts the copy.
    ///
    /// # Errors
    /// The matrix is singular.
    #[inline(never)]
    pub(super) fn invert(&mut self) -> Result<(), Singular> {
        invert(&mut self.rows, self.n)
    }

    /// Keeps the inverse as the one that all later ones must equal.
    pub(super) fn keep(&mut self) {
        let first = &mut *self.first;
        for (to, from) in first.iter_mut().zip(inverse(&self.rows, self.n)) {
            *to = core::hint::black_box(*from);
        }
    }

    /// Returns whether the inverse equals the kept one, bit for bit.
    pub(super) fn equals_first(&self) -> bool {
        let differing = inverse(&self.rows, self.n).zip(&*self.first).filter(|(a, b)| a.to_bits() != b.to_bits());
        differing.count() == 0
    }

    /// Returns the largest deviation of the matrix times its inverse from the identity, or infinity if any entry is NaN.
    pub(super) fn residual(&self) -> f64 {
        let n = self.n.max(1);
        let mut worst = 0.0f64;
        for (index, row) in self.original.chunks_exact(n).enumerate() {
            for column in 0..n {
                let entries = self.rows.chunks_exact(width(n)).map(|row| entry(row, n.saturating_add(column)));
                let product: f64 = row.iter().zip(entries).map(|(a, b)| a * b).sum();
                let off = (product - if index == column { 1.0 } else { 0.0 }).abs();
                if off.is_nan() {
                    return f64::INFINITY;
                }
                worst = if off > worst { off } else { worst };
            }
        }
        worst
    }

    /// Returns the inverse, row by row.
    #[cfg(test)]
    pub(super) fn inverse(&self) -> Vec<f64> {
        inverse(&self.rows, self.n).copied().collect()
    }
}

/// Returns the length of a row: matrix and identity together. Never 0.
#[inline(always)]
fn width(n: usize) -> usize {
    n.saturating_mul(2).max(2)
}

/// Iterates over the right half of each row.
#[inline(always)]
fn inverse(rows: &[f64], n: usize) -> impl Iterator<Item = &f64> {
    rows.chunks_exact(width(n)).flat_map(move |row| row.iter().skip(n))
}

#[inline(always)]
fn entry(row: &[f64], column: usize) -> f64 {
    row.get(column).copied().unwrap_or(f64::NAN)
}

/// The elimination, see W. H. Press et al., Numerical Recipes, section 2.1: for each column it swaps the row with the largest pivot into
/// place, divides it by the pivot, and subtracts it from all other rows.
#[inline(always)]
fn invert(rows: &mut [f64], n: usize) -> Result<(), Singular> {
    let width = width(n);
    for column in 0..n {
        let pivot = largest(rows, width, column)?;
        let start = column.saturating_mul(width);
        swap(rows, width, column, pivot);
        // Neither split can fail while there are n rows. The error is only there because the loop must not be able to panic.
        let (above, rest) = rows.split_at_mut_checked(start).ok_or(Singular(column))?;
        let (pivot_row, below) = rest.split_at_mut_checked(width).ok_or(Singular(column))?;
        // The entries before this column are already zero.
        let pivot_row = pivot_row.get_mut(column..).ok_or(Singular(column))?;
        let divisor = entry(pivot_row, 0);
        for value in pivot_row.iter_mut() {
            *value /= divisor;
        }
        for half in [above, below] {
            for row in half.chunks_exact_mut(width) {
                let row = row.get_mut(column..).ok_or(Singular(column))?;
                let factor = entry(row, 0);
                for (value, pivot) in row.iter_mut().zip(pivot_row.iter()) {
                    *value -= factor * pivot;
                }
            }
        }
    }
    Ok(())
}

/// Returns the row, at or below the diagonal, with the largest number in a column.
#[inline(always)]
fn largest(rows: &[f64], width: usize, column: usize) -> Result<usize, Singular> {
    let (mut pivot, mut size) = (column, 0.0);
    for (index, row) in rows.chunks_exact(width).enumerate().skip(column) {
        let candidate = entry(row, column).abs();
        if candidate > size {
            (pivot, size) = (index, candidate);
        }
    }
    if size > 0.0 { Ok(pivot) } else { Err(Singular(column)) }
}

/// Exchanges a row with one at or below it.
#[inline(always)]
fn swap(rows: &mut [f64], width: usize, upper: usize, lower: usize) {
    let Some((head, tail)) = rows.split_at_mut_checked(lower.saturating_mul(width)) else { return };
    let upper = head.iter_mut().skip(upper.saturating_mul(width));
    for (a, b) in upper.zip(tail).take(width) {
        core::mem::swap(a, b);
    }
}
