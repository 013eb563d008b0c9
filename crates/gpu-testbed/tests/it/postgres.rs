//! PostgreSQL takes rows and gives them back.

use std::time::Duration;

use futures::SinkExt;
use gpu_testbed::postgres::Postgres;
use gpu_testbed::{Bed, require};
use tokio_postgres::NoTls;

const WHOLE: Duration = Duration::from_secs(180);

#[tokio::test]
async fn copied_rows_are_counted() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Postgres::start(&bed).await?;
        let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await?;
        let connection = tokio::spawn(connection);
        client
            .batch_execute("create table usage (gpu int primary key, joules bigint not null)")
            .await?;
        let sink = client.copy_in("copy usage from stdin").await?;
        tokio::pin!(sink);
        for gpu in 0_u32..1000 {
            sink.send(bytes::Bytes::from(format!("{gpu}\t{}\n", gpu * 10)))
                .await?;
        }
        assert_eq!(sink.finish().await?, 1000);
        let row = client
            .query_one("select count(*), sum(joules)::bigint from usage", &[])
            .await?;
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1000, 4_995_000));
        drop(client);
        connection.await??;
        Ok(())
    })
    .await
}
