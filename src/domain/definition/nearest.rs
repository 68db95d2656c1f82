//! The word that was probably meant.

/// The known word that is nearest to `word`, if one is near enough to be what was meant.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.chars().count() > 40 || known.len() > 500 {
        return None;
    }
    let word = word.to_lowercase();
    known
        .iter()
        .map(|k| (distance(&word, &k.to_lowercase()), *k))
        .filter(|(d, k)| *d <= 1 + k.chars().count() / 4)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
