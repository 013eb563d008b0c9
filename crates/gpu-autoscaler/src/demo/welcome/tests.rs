//! The welcome as people see it.

use gpu_runtime::Terminal;

use super::text;
use crate::cli::DemoOptions;

fn welcome(listen: &str) -> String {
    let listen = listen.parse().unwrap();
    let options = DemoOptions {
        nodes: 12,
        seed: 1,
        speed: 10,
        listen,
    };
    text(Terminal::Plain, &options, listen)
}

#[test]
fn the_welcome_names_the_page_and_what_to_try() {
    insta::assert_snapshot!("welcome", welcome("127.0.0.1:8080"));
}

#[test]
fn an_open_address_is_pointed_out_and_a_reachable_one_is_shown() {
    let words = welcome("0.0.0.0:80");
    assert!(words.contains("http://127.0.0.1:80/metrics"), "{words}");
    assert!(
        words.contains("Everybody who reaches this machine can read the page"),
        "{words}"
    );
}

#[test]
fn a_person_at_a_terminal_gets_emphasis_and_a_pipe_does_not() {
    assert_eq!(Terminal::Styled.bold("x"), "\u{1b}[1mx\u{1b}[0m");
    assert!(!welcome("127.0.0.1:8080").contains('\u{1b}'));
}
