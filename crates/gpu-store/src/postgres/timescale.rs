//! What TimescaleDB offers on this server. The extension comes in two editions: the Apache one makes and drops chunks, the other also
//! compresses them. We use what is there and require none of it.

use tokio_postgres::Client;

use super::pool::{Failing, SCHEMA};
use crate::error::StoreError;

/// What the extension can do for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Offer {
    /// Not there, or too old to be worth it.
    Nothing,
    /// Chunks by time, dropped as a whole.
    Chunks { version: String },
    /// Chunks that are also compressed once they are closed.
    CompressedChunks { version: String },
}

/// Chunks over an integer time with `drop_chunks` in today's form.
const OLDEST_MAJOR: u32 = 2;

impl Offer {
    /// From the version of the extension in this database and the edition that it says it has.
    pub(super) fn of(version: Option<&str>, license: Option<&str>) -> Self {
        let Some(version) = version else {
            return Self::Nothing;
        };
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < OLDEST_MAJOR) {
            return Self::Nothing;
        }
        let version = version.to_owned();
        match license {
            Some("timescale") => Self::CompressedChunks { version },
            _ => Self::Chunks { version },
        }
    }

    /// Asks the database.
    pub(super) async fn ask(client: &Client) -> Result<Self, StoreError> {
        const ACT: &str = "ask for TimescaleDB";
        let row = client
            .query_opt(
                "select extversion from pg_extension where extname = 'timescaledb'",
                &[],
            )
            .await
            .or_fail(ACT)?;
        let version: Option<String> = row.map(|row| row.get(0));
        // True: no error where the setting does not exist.
        let row = client
            .query_one("select current_setting('timescaledb.license', true)", &[])
            .await
            .or_fail(ACT)?;
        let license: Option<String> = row.get(0);
        Ok(Self::of(version.as_deref(), license.as_deref()))
    }

    pub(super) fn version(&self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Chunks { version } => Some(format!("TimescaleDB {version}, without compression")),
            Self::CompressedChunks { version } => Some(format!("TimescaleDB {version}")),
        }
    }
}

/// Makes chunks of a day out of the table of rows.
pub(super) fn make_hypertable(day_ms: i64) -> String {
    format!(
        "select public.create_hypertable('{SCHEMA}.ledger_row', 'start_ms', chunk_time_interval => {day_ms}::bigint)"
    )
}

/// Lets closed chunks be compressed: rows of one set lie together, newest last.
pub(super) fn allow_compression() -> String {
    format!(
        "alter table {SCHEMA}.ledger_row set (timescaledb.compress, timescaledb.compress_segmentby = 'set_id', \
         timescaledb.compress_orderby = 'start_ms, row_key')"
    )
}

/// Compresses chunks that end before an instant and are not compressed yet.
pub(super) fn compress_before(ms: i64) -> String {
    format!(
        "select public.compress_chunk(chunk, if_not_compressed => true) \
         from public.show_chunks('{SCHEMA}.ledger_row', older_than => {ms}::bigint) as chunk"
    )
}

/// Drops chunks that end before an instant.
pub(super) fn drop_before(ms: i64) -> String {
    format!("select public.drop_chunks('{SCHEMA}.ledger_row', older_than => {ms}::bigint)")
}
