//! The only SQL.

use thiserror::Error;

/// Why the database can't be used.
#[derive(Debug, Error)]
#[error("store")]
pub struct StoreError;
