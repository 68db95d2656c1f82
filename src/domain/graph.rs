//! Dependencies: "A needs B", acyclic over the whole graph (invariant 4).

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A cycle in the graph, as its path: first and last element are the same. `needs` gives what each node needs.
/// Every separate cycle is found once.
pub fn cycles<N: Copy + Eq + Hash>(nodes: &[N], needs: impl Fn(N) -> Vec<N>) -> Vec<Vec<N>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        OnPath,
        Done,
    }
    let mut marks: HashMap<N, Mark> = HashMap::new();
    let mut found = Vec::new();
    for start in nodes {
        if marks.contains_key(start) {
            continue;
        }
        // An explicit stack: ten thousand steps in a row must not overflow the real one.
        let mut path: Vec<(N, Vec<N>)> = vec![(*start, needs(*start))];
        marks.insert(*start, Mark::OnPath);
        while let Some((_, open)) = path.last_mut() {
            match open.pop() {
                None => {
                    if let Some((node, _)) = path.pop() {
                        marks.insert(node, Mark::Done);
                    }
                }
                Some(next) => match marks.get(&next) {
                    Some(Mark::Done) => {}
                    Some(Mark::OnPath) => {
                        let from = path.iter().position(|(node, _)| *node == next).unwrap_or(0);
                        let mut cycle: Vec<N> = path[from..].iter().map(|(node, _)| *node).collect();
                        cycle.push(next);
                        found.push(cycle);
                    }
                    None => {
                        marks.insert(next, Mark::OnPath);
                        let needed = needs(next);
                        path.push((next, needed));
                    }
                },
            }
        }
    }
    found
}

/// Whether `task` needing `on` would close a cycle: the path from `on` back to `task`, if there is one. `needs`
/// gives the predecessors of a node; only what `on` leads to is looked at.
pub fn path_to<N: Copy + Eq + Hash, E>(
    on: N,
    task: N,
    mut needs: impl FnMut(N) -> Result<Vec<N>, E>,
) -> Result<Option<Vec<N>>, E> {
    let mut came_from: HashMap<N, N> = HashMap::new();
    let mut seen: HashSet<N> = HashSet::from([on]);
    let mut open = vec![on];
    while let Some(node) = open.pop() {
        if node == task {
            let mut path = vec![node];
            while let Some(before) = came_from.get(path.last().unwrap_or(&node)) {
                path.push(*before);
            }
            path.reverse();
            return Ok(Some(path));
        }
        for next in needs(node)? {
            if seen.insert(next) {
                came_from.insert(next, node);
                open.push(next);
            }
        }
    }
    Ok(None)
}

/// Named nodes in layers, as their places: a node stands one layer below the lowest that it needs, each layer is in
/// the order given. What needs a node that is not there, or is on a cycle, stands nowhere.
pub fn layers<'n>(nodes: impl Iterator<Item = (&'n str, &'n [String])>) -> Vec<Vec<usize>> {
    let nodes: Vec<(&str, &[String])> = nodes.collect();
    let places: HashMap<&str, usize> = nodes.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    let mut open: Vec<usize> = nodes.iter().map(|(_, needs)| needs.len()).collect();
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, (_, needs)) in nodes.iter().enumerate() {
        for needed in needs.iter().filter_map(|id| places.get(id.as_str())) {
            successors[*needed].push(at);
        }
    }
    let mut layer: Vec<usize> = (0..nodes.len()).filter(|at| open[*at] == 0).collect();
    let mut layers = Vec::new();
    while !layer.is_empty() {
        let mut next = Vec::new();
        for successor in layer.iter().flat_map(|at| &successors[*at]) {
            open[*successor] -= 1;
            if open[*successor] == 0 {
                next.push(*successor);
            }
        }
        next.sort_unstable();
        layers.push(std::mem::replace(&mut layer, next));
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_node_stands_below_all_that_it_needs() {
        let needs: Vec<(&str, Vec<String>)> =
            [("d", &["b", "c"][..]), ("a", &[]), ("b", &["a"]), ("c", &["b"]), ("e", &[])]
                .map(|(id, needs)| (id, needs.iter().map(|on| (*on).to_owned()).collect()))
                .to_vec();
        let found = layers(needs.iter().map(|(id, needs)| (*id, needs.as_slice())));
        assert_eq!(found, [vec![1, 4], vec![2], vec![3], vec![0]]);
    }

    fn edges(list: &[(u32, u32)]) -> impl Fn(u32) -> Vec<u32> + use<> {
        let list = list.to_vec();
        move |n| list.iter().filter(|(a, _)| *a == n).map(|(_, b)| *b).collect()
    }

    #[test]
    fn a_cycle_is_its_path() {
        let found = cycles(&[1, 2, 3, 4], edges(&[(1, 2), (2, 3), (3, 1), (4, 1)]));
        assert_eq!(found, [vec![1, 2, 3, 1]]);
        assert_eq!(cycles(&[1], edges(&[(1, 1)])), [vec![1, 1]]);
        assert!(cycles(&[1, 2, 3, 4], edges(&[(1, 2), (1, 3), (2, 4), (3, 4)])).is_empty());
    }

    #[test]
    fn separate_cycles_are_all_found() {
        assert_eq!(cycles(&[1, 2, 3, 4], edges(&[(1, 2), (2, 1), (3, 4), (4, 3)])).len(), 2);
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_is_no_trouble() {
        let nodes: Vec<u32> = (0..100_000).collect();
        assert!(cycles(&nodes, |n| if n + 1 < 100_000 { vec![n + 1] } else { vec![] }).is_empty());
    }

    proptest! {
        #[test]
        fn adding_only_edges_that_close_no_path_keeps_the_graph_acyclic(list in prop::collection::vec((0u32..8, 0u32..8), 0..40)) {
            let mut kept: Vec<(u32, u32)> = Vec::new();
            for (task, on) in list {
                let needs = edges(&kept);
                let closes = path_to(on, task, |n| Ok::<_, ()>(needs(n))).unwrap();
                if let Some(path) = &closes {
                    prop_assert_eq!((path[0], path[path.len() - 1]), (on, task));
                }
                let mut with = kept.clone();
                with.push((task, on));
                let nodes: Vec<u32> = (0..8).collect();
                prop_assert_eq!(closes.is_some(), !cycles(&nodes, edges(&with)).is_empty());
                if closes.is_none() {
                    kept = with;
                }
            }
        }
    }
}
