//! Small pieces of HTML. Whatever comes from data goes through [`text`].

use crate::plot::escape;

pub fn text(content: &str) -> String {
    escape(content)
}

/// Prose made safe, without line breaks inside `7 %` and `n = 20`.
pub fn prose(content: &str) -> String {
    text(&content.replace(" %", "\u{a0}%").replace(" = ", "\u{a0}=\u{a0}"))
}

/// A table with a heading row; cells are HTML already. On a narrow screen a table of words becomes a list, in which
/// every cell is preceded by its heading, and a table of numbers scrolls sideways.
pub fn table(class: &str, headings: &[String], rows: &[Vec<String>]) -> String {
    let head: String = headings.iter().map(|h| format!("<th scope=\"col\">{}</th>", text(h))).collect();
    let cell =
        |(heading, cell): (&String, &String)| format!("<td data-label=\"{}\">{cell}</td>", text(heading));
    let row = |cells: &Vec<String>| -> String {
        format!("<tr>{}</tr>\n", headings.iter().zip(cells).map(cell).collect::<String>())
    };
    let body: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table class=\"{class}\"><thead><tr>{head}</tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n"
    )
}

/// A chart in two layouts, of which the style sheet shows the one that fits the screen.
pub fn chart(draw: impl Fn(f64) -> String, wide: f64, narrow: f64) -> String {
    let (wide, narrow) = (draw(wide), draw(narrow));
    format!(
        "<div class=\"chart\"><div class=\"wide\">{wide}</div><div class=\"narrow\">{narrow}</div></div>\n"
    )
}

pub fn document(title: &str, content: &str) -> String {
    live_document(title, content, None)
}

/// The page around the content; it loads itself again after so many seconds.
pub fn live_document(title: &str, content: &str, reload: Option<u32>) -> String {
    let reload = reload.map(|after| format!("<meta http-equiv=\"refresh\" content=\"{after}\">\n"));
    let reload = reload.unwrap_or_default();
    let (title, inks, style) = (text(title), crate::plot::theme::css(), include_str!("page.css"));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n{reload}\
         <style>\n{inks}{style}</style>\n</head>\n<body>\n{content}</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_escaped_and_repeated_for_narrow_screens() {
        let html = table("t", &["a<b".into()], &[vec!["<b>1</b>".into()]]);
        assert!(html.contains("data-label=\"a&lt;b\"") && html.contains("<b>1</b>") && !html.contains("a<b"));
    }
}
