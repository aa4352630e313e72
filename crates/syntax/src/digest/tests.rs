use super::*;

#[test]
fn scratch() {
    let Ok(cases) = std::fs::read_to_string("/tmp/catw/cases.txt") else {
        return;
    };
    let mut out = String::new();
    for case in cases.split('\u{1}') {
        let digest = statement_digest(case, &SqlMode::default(), 1024);
        let hex: String = digest.tokens.iter().map(|b| format!("{b:02x}")).collect();
        out.push_str(&format!("{hex}\u{2}{}\u{1}", digest.text));
    }
    std::fs::write("/tmp/catw/out.txt", out).unwrap();
}
