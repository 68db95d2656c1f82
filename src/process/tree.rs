//! Who belongs to a run: the process that was started, its descendants, its group, whoever carries its tag in
//! the environment, and orphans that wiped theirs.

use super::identity::Identity;

/// Which processes are meant.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// The process that was started; `None` where its identity was never recorded.
    pub leader: Option<Identity>,
    /// `NAME=value` in the environment of everyone that belongs to it.
    pub tag: Option<String>,
    /// Whether the leader is a child of this very process, which has not ended or only just was reaped. Then its
    /// group number can't mean another group.
    pub held: bool,
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Members that run; dead ones that were not reaped don't count.
    pub members: Vec<Identity>,
    /// The group, where it has members and certainly is the one that is meant.
    pub group: Option<i32>,
    /// Processes that may belong to it; they get no signal.
    pub doubtful: Vec<i32>,
}

impl Found {
    /// Nobody is left that could be ended.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.group.is_none()
    }
}

impl Scope {
    /// Whether it is certain at a glance that nobody is left of a run whose leader has been reaped; false means
    /// that a closer look is needed.
    pub fn is_quiet(&self) -> bool {
        let Some(leader) = &self.leader else { return false };
        if super::identity::group_exists(leader.pgid) {
            return false;
        }
        #[cfg(target_os = "linux")]
        return super::subreaper::nothing_escaped(leader.pid);
        #[cfg(not(target_os = "linux"))]
        return true;
    }
}

#[cfg(not(target_os = "linux"))]
impl Scope {
    /// Without `/proc` the leader and its group are all that can be known.
    pub fn look(&self) -> Found {
        let Some(leader) = &self.leader else { return Found::default() };
        let members = leader.still_runs().then(|| leader.clone()).into_iter().collect();
        let group = super::identity::group_exists(leader.pgid).then_some(leader.pgid);
        match self.held {
            true => Found { members, group, doubtful: Vec::new() },
            false => Found { doubtful: group.into_iter().collect(), ..Found::default() },
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::Processes;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};

    use super::super::identity::{Identity, Stat};
    use super::super::subreaper::Children;
    use super::{Found, Scope};

    /// All processes at one moment.
    pub(in super::super) struct Processes(HashMap<i32, Stat>);

    impl Processes {
        /// Reads `/proc` once; some 10 µs for each process.
        pub(in super::super) fn look() -> Processes {
            let Ok(folder) = std::fs::read_dir("/proc") else { return Processes(HashMap::new()) };
            let pids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            Processes(pids.filter_map(Stat::of).map(|stat| (stat.pid, stat)).collect())
        }

        pub(in super::super) fn iter(&self) -> impl Iterator<Item = &Stat> {
            self.0.values()
        }

        /// Whether one of these is above a process, with us not in between.
        fn has_ancestor(&self, mut pid: i32, among: &HashSet<i32>) -> bool {
            let me = std::process::id().cast_signed();
            // As long as a chain can be; numbers that were given out again while we read could make a loop.
            for _ in 0..self.0.len() {
                match self.0.get(&pid) {
                    Some(stat) if stat.parent == me => return false,
                    Some(stat) if among.contains(&stat.parent) => return true,
                    Some(stat) => pid = stat.parent,
                    None => return false,
                }
            }
            false
        }

        /// This process and everyone above it.
        fn ourselves(&self) -> HashSet<i32> {
            let mut chain = HashSet::new();
            let mut pid = std::process::id().cast_signed();
            while chain.insert(pid) {
                match self.0.get(&pid) {
                    Some(stat) => pid = stat.parent,
                    None => break,
                }
            }
            chain
        }
    }

    impl Scope {
        /// Finds everyone who belongs to it. Reaps dead orphans on the way.
        pub(in super::super) fn look(&self) -> Found {
            let (children, processes) = Children::look();
            let ourselves = processes.ourselves();
            let mut found = Found::default();

            let mut seeds = HashSet::new();
            for stat in processes.iter() {
                if ourselves.contains(&stat.pid) {
                    continue;
                }
                match self.relation(stat, &processes, &children) {
                    Relation::Member => _ = seeds.insert(stat.pid),
                    Relation::Doubtful if !stat.is_dead() => found.doubtful.push(stat.pid),
                    Relation::Doubtful | Relation::Stranger => {}
                }
            }
            for stat in processes.iter().filter(|stat| !stat.is_dead()) {
                let is_member = seeds.contains(&stat.pid) || processes.has_ancestor(stat.pid, &seeds);
                if is_member && !ourselves.contains(&stat.pid) {
                    found.members.push(Identity::from_stat(*stat));
                }
            }
            // Whether the program itself runs inside the run that it ends: never a signal to our own group.
            let our_groups: HashSet<i32> =
                ourselves.iter().filter_map(|pid| processes.0.get(pid)).map(|stat| stat.group).collect();
            found.group = self.leader.as_ref().map(|leader| leader.pgid).filter(|group| {
                !our_groups.contains(group)
                    && self.owns_group(&processes)
                    && found.members.iter().any(|member| member.pgid == *group)
            });
            if self.is_tagged(std::process::id().cast_signed()) {
                found.doubtful.push(std::process::id().cast_signed());
            }
            found.doubtful.retain(|pid| found.members.iter().all(|member| member.pid != *pid));
            found
        }

        fn relation(&self, stat: &Stat, processes: &Processes, children: &Children) -> Relation {
            if let Some(leader) = &self.leader {
                if stat.pid == leader.pid {
                    let same = stat.start_ticks == leader.start_ticks;
                    return if same { Relation::Member } else { Relation::Stranger };
                }
                if children.started(stat.pid) || stat.start_ticks < leader.start_ticks {
                    return Relation::Stranger;
                }
            }
            if self.is_tagged(stat.pid) {
                return Relation::Member;
            }
            let Some(leader) = &self.leader else { return Relation::Stranger };
            if stat.group == leader.pgid {
                match self.owns_group(processes) {
                    true => return Relation::Member,
                    // Somebody else leads the group now, so its number was given out again.
                    false if processes.0.contains_key(&leader.pid) => {}
                    false => return Relation::Doubtful,
                }
            }
            let orphan = self.held && children.adopted(stat) && is_wiped(stat.pid);
            if orphan && !children.may_belong_to_another(stat, leader.pid) {
                return Relation::Member;
            }
            Relation::Stranger
        }

        /// Whether the number of the leader's group still means that group. While we hold the leader it does,
        /// unless somebody else has its number already; after a holder's death only the leader vouches for it.
        fn owns_group(&self, processes: &Processes) -> bool {
            let Some(leader) = &self.leader else { return false };
            match processes.0.get(&leader.pid) {
                Some(stat) => stat.start_ticks == leader.start_ticks,
                None => self.held,
            }
        }

        fn is_tagged(&self, pid: i32) -> bool {
            let Some(tag) = &self.tag else { return false };
            let Ok(environ) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
            environ.split(|byte| *byte == 0).any(|entry| entry == tag.as_bytes())
        }
    }

    enum Relation {
        Member,
        Doubtful,
        Stranger,
    }

    /// Whether a process carries none of what everybody inherits from us. What a person starts from the board
    /// (a browser, an editor's server) keeps these; an orphan of ours without them comes from a run that wiped
    /// its environment.
    fn is_wiped(pid: i32) -> bool {
        let Ok(environ) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
        let inherited: Vec<Vec<u8>> = ["HOME", "USER", "SHELL", "TERM"]
            .iter()
            .filter_map(|name| {
                Some([name.as_bytes(), b"=", std::env::var_os(name)?.as_encoded_bytes()].concat())
            })
            .collect();
        !environ.split(|byte| *byte == 0).any(|entry| inherited.iter().any(|ours| ours == entry))
    }
}
