//! A bed starts programs, notices their death at once and says which one it was.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use gpu_testbed::{Bed, BedError, End, PartSpec, UserIds};
use nix::sys::signal::Signal;

const LONG: Duration = Duration::from_secs(60);

fn shell(name: &str, script: &str) -> PartSpec {
    PartSpec::new(name, "/bin/sh").args(["-c", script])
}

#[tokio::test]
async fn a_command_answers_with_what_it_printed() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let spec = shell("hello", "echo hello $WHO from $PWD").env("WHO", "bed");
    let printed = bed.run(spec, LONG).await?;
    assert_eq!(printed, format!("hello bed from {}\n", bed.directory().display()));
    Ok(())
}

#[tokio::test]
async fn a_failed_command_is_an_error_with_its_last_words() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let error = bed
        .run(shell("grumble", "echo no way >&2; exit 3"), LONG)
        .await
        .expect_err("it exits with 3");
    let text = error.to_string();
    assert!(
        text.contains("`grumble` failed with exit code 3") && text.contains("no way"),
        "{text}"
    );
    Ok(())
}

#[tokio::test]
async fn a_missing_program_is_named() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let error = bed
        .run(PartSpec::new("ghost", "/nonexistent/ghost"), LONG)
        .await
        .expect_err("no such file");
    assert!(
        error.to_string().contains("failed to start `/nonexistent/ghost`"),
        "{error}"
    );
    Ok(())
}

#[tokio::test]
async fn a_part_runs_as_the_user_it_is_given() -> anyhow::Result<()> {
    if !nix::unistd::geteuid().is_root() {
        // Only root may change the user; what remains to see is that the bed says so.
        let bed = Bed::new()?;
        let spec = shell("who", "id -u").user(UserIds { uid: 1, gid: 1 });
        assert!(bed.run(spec, LONG).await.is_err());
        return Ok(());
    }
    let bed = Bed::new()?;
    let spec = shell("who", "id -u; id -g; id -G")
        .user(UserIds {
            uid: 65534,
            gid: 65534,
        })
        .cwd("/");
    assert_eq!(bed.run(spec, LONG).await?, "65534\n65534\n65534\n");
    Ok(())
}

#[tokio::test]
async fn a_dead_part_ends_the_guarded_work_at_once() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let part = bed.spawn(shell("victim", "echo last words; exec sleep 1000"))?;
    part.ready(LONG, || async {
        if part.log_tail().contains("last words") {
            Ok(())
        } else {
            Err("silent".to_owned())
        }
    })
    .await?;
    let began = Instant::now();
    let error = bed
        .guard(LONG, async {
            part.signal(Signal::SIGKILL)?;
            std::future::pending::<()>().await;
            Ok(())
        })
        .await
        .expect_err("the part is dead");
    let text = format!("{error:#}");
    assert!(
        text.contains("part `victim` of the test bed died by signal SIGKILL"),
        "{text}"
    );
    assert!(text.contains("last words"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    Ok(())
}

#[tokio::test]
async fn work_that_fails_over_a_dead_part_names_the_part() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let part = bed.spawn(shell("victim", "exec sleep 1000"))?;
    let error = bed
        .guard(LONG, async {
            part.signal(Signal::SIGKILL)?;
            Err::<(), _>(anyhow!("connection refused"))
        })
        .await
        .expect_err("both failed");
    let text = format!("{error:#}");
    assert!(
        text.contains("part `victim`") && text.contains("connection refused"),
        "{text}"
    );
    Ok(())
}

#[tokio::test]
async fn work_without_end_is_ended_by_the_limit() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let work = std::future::pending::<anyhow::Result<()>>();
    let error = bed
        .guard(Duration::from_millis(50), work)
        .await
        .expect_err("it never ends");
    assert!(
        matches!(error.downcast_ref(), Some(BedError::Overdue { .. })),
        "{error:#}"
    );
    Ok(())
}

#[tokio::test]
async fn a_stopped_part_is_no_accident() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let polite = bed.spawn(shell("polite", "exec sleep 1000"))?;
    // The shell sets its handlers before it prints.
    let stubborn = bed.spawn(shell(
        "stubborn",
        "trap '' TERM; echo deaf; while :; do sleep 1; done",
    ))?;
    stubborn
        .ready(LONG, || async {
            if stubborn.log_tail().contains("deaf") {
                Ok(())
            } else {
                Err("silent".to_owned())
            }
        })
        .await?;
    bed.guard(LONG, async {
        assert_eq!(polite.stop(LONG).await?, End::Signal(Signal::SIGTERM as i32));
        assert_eq!(
            stubborn.stop(Duration::from_millis(100)).await?,
            End::Signal(Signal::SIGKILL as i32)
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_part_that_never_gets_ready_is_named_with_the_reason() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let part = bed.spawn(shell("slow", "exec sleep 1000"))?;
    let probe = || async { Err("the door is closed".to_owned()) };
    let error = part
        .ready(Duration::from_millis(100), probe)
        .await
        .expect_err("the probe always refuses");
    let text = error.to_string();
    assert!(
        text.contains("`slow` was not ready") && text.contains("the door is closed"),
        "{text}"
    );
    Ok(())
}
