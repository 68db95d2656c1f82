//! The tokens: one for the person (admin), one for who only looks (read). They are files beside the database that
//! only its owner may read, made at first need.

use axum::http::{HeaderMap, header};
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The longest token that is read, in bytes.
const LIMIT: u64 = 4_096;
/// The shortest that is taken: one that somebody wrote by hand can't be guessed either.
const LEAST: usize = 20;

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Look.
    Read,
    /// Everything: with this token one is the operator.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 2] = [Role::Admin, Role::Read];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Admin => "admin",
        }
    }

    /// The file of its token.
    pub fn file(self, database: &Path) -> PathBuf {
        let mut name = database.as_os_str().to_owned();
        name.push(format!("-token-{}", self.as_str()));
        PathBuf::from(name)
    }
}

/// Why there is no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The file can't be made or read.
    #[error("can't use the token in {}: {source}; check who may write to that folder", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others may read it.
    #[error("the token in {} can be read by others; run `chmod 600` on it, or remove it to get a new one", .0.display())]
    Open(PathBuf),
    /// It holds nothing that could be a token.
    #[error("{} holds no token of 20 characters or more on one line; remove it to get a new one", .0.display())]
    Bad(PathBuf),
}

/// Both tokens.
pub struct Tokens {
    admin: String,
    read: String,
    /// Whether both were there before.
    pub were_there: bool,
}

impl Tokens {
    /// The tokens beside this database; made where there are none. Once this returns `Ok`, both are on disk.
    pub fn load(database: &Path) -> Result<Tokens, TokenError> {
        let were_there = Role::ALL.iter().all(|role| role.file(database).exists());
        Ok(Tokens { admin: load(database, Role::Admin)?, read: load(database, Role::Read)?, were_there })
    }

    /// The token of a role.
    pub fn of(&self, role: Role) -> &str {
        match role {
            Role::Admin => &self.admin,
            Role::Read => &self.read,
        }
    }

    /// The role that the `Authorization` of a request gives; `None` without a token or with a wrong one.
    pub fn role(&self, headers: &HeaderMap) -> Option<Role> {
        let given = bearer(headers)?;
        // Both are compared, whatever the first gave: how long it takes tells nothing.
        let admin = same(given, self.admin.as_bytes());
        let read = same(given, self.read.as_bytes());
        match (admin, read) {
            (true, _) => Some(Role::Admin),
            (_, true) => Some(Role::Read),
            _ => None,
        }
    }
}

/// The token that a request brings (RFC 6750, the header only: a token in a query ends up in logs).
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let given = all.next()?.as_bytes();
    if all.next().is_some() {
        return None;
    }
    let (scheme, token) = given.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// Whether two byte strings are the same, in a time that depends on their lengths only.
fn same(given: &[u8], wanted: &[u8]) -> bool {
    let mut difference = given.len() ^ wanted.len();
    for (at, byte) in wanted.iter().enumerate() {
        difference |= usize::from(given.get(at).copied().unwrap_or(0) ^ byte);
    }
    std::hint::black_box(difference) == 0
}

fn load(database: &Path, role: Role) -> Result<String, TokenError> {
    let path = role.file(database);
    if !path.exists() {
        make(&path).map_err(|source| TokenError::File { path: path.clone(), source })?;
    }
    let fault = |source| TokenError::File { path: path.clone(), source };
    let file = OpenOptions::new().read(true).open(&path).map_err(fault)?;
    if file.metadata().map_err(fault)?.mode() & 0o077 != 0 {
        return Err(TokenError::Open(path));
    }
    let mut text = String::new();
    match file.take(LIMIT).read_to_string(&mut text) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(TokenError::Bad(path)),
        Err(source) => return Err(fault(source)),
    }
    let token = text.trim();
    match token.len() >= LEAST && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(token.to_owned()),
        false => Err(TokenError::Bad(path)),
    }
}

/// Makes a token of 32 random bytes. It appears whole or not at all: another process may make it just now.
fn make(path: &Path) -> io::Result<()> {
    let (name, token) = (random_hex::<8>()?, random_hex::<32>()?);
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{name}"));
    let draft = PathBuf::from(draft);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let linked = (|| {
        writeln!(file, "{token}")?;
        file.sync_all()?;
        match std::fs::hard_link(&draft, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    })();
    // What is left of a draft is of no use to anybody; the token itself was linked.
    let _ = std::fs::remove_file(&draft);
    linked
}

fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn with(authorization: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
        headers
    }

    #[test]
    fn tokens_are_made_once_and_only_their_owner_may_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("board.db");
        let first = Tokens::load(&database).unwrap();
        let again = Tokens::load(&database).unwrap();
        assert_eq!(
            (first.of(Role::Admin), first.of(Role::Read)),
            (again.of(Role::Admin), again.of(Role::Read))
        );
        assert_ne!(first.of(Role::Admin), first.of(Role::Read));
        assert!((!first.were_there, again.were_there) == (true, true));
        let file = Role::Admin.file(&database);
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(matches!(Tokens::load(&database), Err(TokenError::Open(_))));
    }

    #[test]
    fn a_token_gives_its_role_and_nothing_else_gives_one() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::load(&folder.path().join("board.db")).unwrap();
        let admin = tokens.of(Role::Admin).to_owned();
        assert_eq!(tokens.role(&with(&format!("Bearer {admin}"))), Some(Role::Admin));
        assert_eq!(tokens.role(&with(&format!("bearer {}", tokens.of(Role::Read)))), Some(Role::Read));
        let wrong =
            [format!("Basic {admin}"), admin.clone(), format!("Bearer {admin}x"), "Bearer ".to_owned()];
        for wrong in wrong.iter().chain([&format!("Bearer {}", &admin[1..])]) {
            assert_eq!(tokens.role(&with(wrong)), None, "{wrong}");
        }
        assert_eq!(tokens.role(&HeaderMap::new()), None);
        let mut twice = with(&format!("Bearer {admin}"));
        twice.append(header::AUTHORIZATION, "Bearer other".parse().unwrap());
        assert_eq!(tokens.role(&twice), None, "of two tokens none counts");
    }
}
