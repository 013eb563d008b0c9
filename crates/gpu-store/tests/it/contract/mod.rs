//! What every store promises. A case gets the address of an empty store and opens it itself, as often as it likes.

mod answers;
mod ledger;
mod moving;
mod records;
mod retention;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use gpu_store::{Store, StoreAddress, open};

type Case = fn(StoreAddress) -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! cases {
    ($($module:ident::$name:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), |address| Box::pin($module::$name(address)))),*]
    };
}

/// Every case with its name, which is printed before it runs: the last one named is the one that failed.
const CASES: &[(&str, Case)] = cases![
    ledger::a_row_written_twice_is_there_once,
    ledger::the_same_key_with_another_content_is_refused_by_name,
    ledger::a_batch_is_written_whole_or_not_at_all,
    ledger::a_reversal_undoes_one_row_once,
    ledger::rows_come_back_as_they_were_written,
    ledger::rows_that_cannot_be_kept_are_refused_by_name,
    ledger::random_order_repeats_and_restarts_end_in_the_same_ledger,
    answers::costs_by_every_dimension_agree_with_the_rows,
    answers::any_window_is_exact_before_and_after_folding,
    answers::the_coarsest_exact_roll_up_is_used,
    answers::a_series_sums_to_the_whole,
    answers::filters_and_several_dimensions_agree_with_the_rows,
    answers::roll_ups_made_anew_are_the_same,
    answers::clusters_are_kept_apart,
    records::records_are_written_once_and_found_by_subject_and_time,
    records::pages_of_the_decision_log_follow_each_other,
    records::usage_history_of_a_template_is_found,
    records::open_intervals_are_found_after_a_restart,
    records::intents_and_refusals_go_on,
    records::memories_of_two_terms_stand_beside_each_other_until_they_may_go,
    retention::old_rows_go_and_their_sums_stay,
    retention::edges_that_are_no_longer_kept_are_refused_with_advice,
    retention::the_books_of_dropped_days_are_closed,
    moving::a_dump_is_the_store_and_a_full_target_is_refused,
    moving::a_cut_dump_is_refused_and_the_target_says_so,
    moving::an_export_has_every_row,
    moving::an_export_to_focus_keeps_its_rules_and_its_sums,
    moving::exports_reach_behind_the_rows_and_say_so,
];

/// Runs every case against a new store each.
pub(crate) async fn hold<F, A>(mut new_store: F)
where
    F: FnMut() -> A,
    A: Future<Output = StoreAddress>,
{
    for (name, case) in CASES {
        println!("{name}");
        case(new_store().await).await;
    }
}

pub(crate) use ledger::all_rows;
#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub(crate) use moving::filled as fill;

pub(crate) async fn opened(address: &StoreAddress) -> Arc<dyn Store> {
    open(address).await.unwrap()
}

/// Folds until nothing is left.
pub(crate) async fn fold(store: &dyn Store) {
    for _ in 0..1_000 {
        if store.roll_up().await.unwrap().is_done {
            return;
        }
    }
    panic!("folding does not end");
}
