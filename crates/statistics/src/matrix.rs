//! Small symmetric matrices.

/// Returns the inverse of a symmetric positive definite matrix by elimination with pivots, or `None` if it is singular.
pub fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let largest = matrix.iter().flatten().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let unit = |row: usize| (0..n).map(move |column| if row == column { 1.0 } else { 0.0 });
    let mut rows: Vec<Vec<f64>> =
        matrix.iter().zip(0..).map(|(row, i)| row.iter().copied().chain(unit(i)).collect()).collect();
    for column in 0..n {
        let at = |row: &[f64]| row.get(column).copied().unwrap_or(0.0);
        let (pivot, _) = rows.iter().enumerate().skip(column).max_by(|a, b| at(a.1).abs().total_cmp(&at(b.1).abs()))?;
        rows.swap(column, pivot);
        let mut row = rows.get(column)?.clone();
        let value = at(&row);
        if value.abs() <= 1e-10 * largest {
            return None;
        }
        row.iter_mut().for_each(|x| *x /= value);
        for other in &mut rows {
            let factor = at(other);
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
        *rows.get_mut(column)? = row;
    }
    Some(rows.into_iter().map(|row| row.into_iter().skip(n).collect()).collect())
}

/// Returns the sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Multiplies a matrix by a vector.
pub fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, vector)).collect()
}
