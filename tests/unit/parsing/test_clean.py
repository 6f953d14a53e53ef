import unicodedata

import pytest

from pageindex_local.parsing.clean import clean_text, clean_verbatim


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two \t words\n", "two words"),
        ("bell\x07 and \x1b[31mred", "bell and [31mred"),
        ("soft\u00adhyphen", "softhyphen"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("over\u202eride\u2066", "override"),
        ("tag\U000e0041ged", "tagged"),
        ("next\u0085line", "next line"),
        ("of\ufb01ce \ufb02oor", "office floor"),
        ("e\u0301", "\u00e9"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\ufee3\ufeae\ufea3\ufe92\ufe8e", "\u0645\u0631\u062d\u0628\u0627"),
        ("日本語\u3000の本", "日本語 の本"),
    ],
)
def test_clean_text_with_what_is_not_words_keeps_the_words(text: str, expected: str) -> None:
    assert clean_text(text) == expected


def test_clean_text_of_any_code_point_leaves_no_control_or_format_character_but_joiners() -> None:
    everything = "".join(f"a{chr(code)}b" for code in range(0x110000))
    left = {character for character in clean_text(everything) if unicodedata.category(character) in ("Cc", "Cs")}
    assert left == set()
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not any(unicodedata.bidirectional(character) in bidi for character in clean_text(everything))
    assert {"\u200c", "\u200d"} <= set(clean_text(everything))


def test_clean_verbatim_with_indentation_keeps_it() -> None:
    assert clean_verbatim("    code\tx  y  ") == "    code\tx  y"
    assert clean_verbatim("\tü\x1b[2J") == "\tü[2J"
