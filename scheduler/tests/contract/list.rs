//! The list of the suite's tests.

/// A test for each rule, of the store that this fixture makes.
macro_rules! contract {
    ($fixture:ty) => {
        contract! { $fixture =>
            writes: a_new_draft_waits_for_its_render, a_name_is_taken_once, an_update_compares_what_its_writer_saw,
                content_and_intent_are_one_write, what_clients_bring_of_our_conditions_is_dropped,
                a_result_is_one_write, a_result_of_older_content_is_refused, a_result_is_saved_once,
                our_conditions_never_conflict_with_our_result, a_failure_leaves_the_files, equal_files_ask_for_a_render,
                deletion_leaves_no_trace, a_log_without_files_can_be_kept, an_older_log_replaces_no_newer_one;
            kptfile: it_says_from_the_first_instant_that_a_render_is_scheduled, what_is_no_kptfile_is_stored_as_it_came,
                the_words_of_the_scheduler_touch_no_file;
            gate: nothing_unrendered_goes_on, the_steps_of_a_lifecycle, only_drafts_change,
                a_refusal_says_why_and_of_what;
            pages: the_oldest_change_comes_first, selections, a_change_while_paging_is_not_missed,
                the_last_versions_are_kept;
            watch: every_write_is_seen_in_order, a_watch_resumes, a_slow_watch_lists_again, a_watch_waits;
            claims: one_holds_a_key, a_claim_is_checked_again, a_lease_runs_out,
                a_claim_that_its_holder_does_not_know_of_ends, a_late_worker_does_no_harm,
                nothing_without_a_registration, a_new_registration_ends_the_old_one;
            restart: all_that_was_answered_is_there, pages_go_on_after_a_restart, claims_end_with_their_process;
            limits: every_limit_trips, bad_names_and_paths_are_refused;
            races: nothing_unrendered_is_ever_published, the_last_write_wins_and_is_rendered,
                one_of_many_writers_wins, one_of_many_claims_wins;
        }
    };
    ($fixture:ty => $($module:ident: $($test:ident),+;)+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                contract::$module::$test::<$fixture>().await;
            }
        )+)+
    };
}
