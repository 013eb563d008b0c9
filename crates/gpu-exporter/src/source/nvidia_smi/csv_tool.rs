//! Asking for the table. A single name that the tool does not know makes the whole call fail, so the names are compared with its
//! help first; where the help is of no use, the name that the complaint quotes is dropped and the rest is asked again.

use super::super::DriverFault;
use super::super::tool::{Answer, Runner};
use super::csv::{csv_answer, known_fields, needed, wanted};
use super::refuse;

/// Each drops a name. More names that are not known mean that the complaint was misread.
const MOST_TRIES: usize = 24;

/// The names that this tool knows, once they are found out.
#[derive(Debug, Default)]
pub(super) struct CsvTool {
    names: Option<Vec<String>>,
}

impl CsvTool {
    pub(super) fn ask(&mut self, runner: &Runner) -> Result<Answer, DriverFault> {
        let mut names = match self.names.take() {
            Some(names) => names,
            None => names_known(runner)?,
        };
        for _ in 0..MOST_TRIES {
            let query = format!("--query-gpu={}", names.join(","));
            let gpus = runner.run(&[&query, "--format=csv"])?;
            let processes = || runner.run(&["--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv"]);
            if csv_answer(&gpus.text, None).is_some() {
                let processes = processes().ok().map(|output| output.text);
                let answer = csv_answer(&gpus.text, processes.as_deref());
                self.names = Some(names);
                return answer.ok_or(DriverFault::Failed { class: "unreadable" });
            }
            refuse(&gpus)?;
            let said = format!("{}\n{}", gpus.text, gpus.words);
            let Some(unknown) = quoted(&said).find_map(|quoted| names.iter().position(|name| name == quoted))
            else {
                break;
            };
            names.remove(unknown);
        }
        Err(DriverFault::Failed { class: "unreadable" })
    }
}

/// What stands in quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

fn names_known(runner: &Runner) -> Result<Vec<String>, DriverFault> {
    let help = runner.run(&["--help-query-gpu"])?;
    let known = known_fields(&help.text);
    let mut names = wanted();
    // Help of another form would leave nothing to ask for.
    if known.contains(&"uuid") {
        let mut at = 0;
        names.retain(|name| {
            at += 1;
            at <= needed() || known.contains(&name.as_str())
        });
    }
    Ok(names)
}
