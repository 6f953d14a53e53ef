import random
from pathlib import Path

import pytest

from pageindex_local.errors import UnsupportedSourceError
from pageindex_local.parsing.charsets import guess_charset
from pageindex_local.parsing.decode import decode_text
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import MediaType
from pageindex_local.settings import read_settings

# Written for these tests: what a memo, a list or a note of a few lines looks like.
GERMAN = "Für die Übergabe müssen alle Schlüssel gezählt werden. Größere Schäden meldet der Wärter der Behörde: 20 °C."
FRENCH = "L’été dernier, la cérémonie « officielle » a été reportée à la fin d’août. Où ? Au château, près du cœur."
SPANISH = "¿Cuándo empezó la reunión del señor Núñez? El año pasado, según él, en la estación de Cádiz."
SWEDISH = "Fem år senare låg båten kvar vid ön. Hälsningar från Åke, som är sjöman på färjan."
POLISH = "Każdy łódkarz płaci opłatę za noc. Później można wpłacić resztę kwoty, jeśli zajdzie potrzeba."
CZECH = "Každý člun platí poplatek za noc. Později může kapitán požádat o slevu, je-li přístav přeplněný."
RUSSIAN = "Каждое судно платит сбор за ночь. ВНИМАНИЕ: касса работает до семи часов вечера."
GREEK = "Κάθε σκάφος πληρώνει τέλος για κάθε νύχτα. Το ταμείο κλείνει στις επτά."
JAPANESE = "すべての船は一晩ごとに料金を払います。事務所は七時に閉まります。"
MIXED = [
    (GERMAN, "cp1252"), (GERMAN, "iso8859_15"), (GERMAN, "cp850"), (FRENCH, "cp1252"), (SPANISH, "cp1252"),
    (SPANISH, "iso8859_15"), (SWEDISH, "cp1252"), (POLISH, "cp1250"), (POLISH, "iso8859_2"), (CZECH, "cp1250"),
    (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r"), (RUSSIAN, "cp866"), (GREEK, "cp1253"), (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
]  # fmt: skip


@pytest.mark.parametrize("repeats", [1, 20])
@pytest.mark.parametrize(("text", "encoding"), MIXED)
def test_decode_of_a_short_text_in_an_old_encoding_gives_its_words(text: str, encoding: str, repeats: int) -> None:
    words = "\n".join([text] * repeats)
    decoded, warnings = decode_text(words.encode(encoding), "a.txt")
    assert decoded == words
    assert warnings[0].startswith("The text is not UTF-8")


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("Gruppenname für den", "cp1252"),
        ("Gebühr: 45 € je Nacht", "iso8859_15"),
        ("Gebühr: 45 € je Nacht", "cp1252"),
        ("L’été à Nîmes", "cp1252"),
        ("Größe in m²: 12", "cp1252"),
        ("the “mooring” fee — due", "cp1252"),
        ("È richiesto", "cp1252"),
        ("MÜLLSTRASSE ÖFFNEN", "cp1252"),
        ("Вход воспрещён", "cp1251"),
        ("Вход воспрещен", "koi8_r"),
        ("無料です", "shift_jis"),
    ],
)
def test_decode_of_twenty_bytes_gives_the_words(words: str, encoding: str) -> None:
    assert decode_text(words.encode(encoding), "a.txt")[0] == words


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["A fee, due at once.", GERMAN, RUSSIAN, GREEK, f"{JAPANESE}\r\n{JAPANESE}\r\n"])
def test_decode_of_utf16_without_a_mark_is_known_by_its_spaces(text: str, encoding: str, tmp_path: Path) -> None:
    decoded, warnings = decode_text(text.encode(encoding), "a.txt")
    assert decoded == text
    assert encoding in warnings[0]
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    assert read_source("a.txt", tmp_path / "a.txt", read_settings().parse).media_type is MediaType.TEXT


def test_decode_of_utf8_with_a_stray_zero_byte_stays_utf8() -> None:
    data = "Every vessel pays 45 crowns.\0 Größe ".encode() * 3
    assert decode_text(data, "a.txt") == (data.decode(), ())


def test_source_of_binary_data_is_no_utf16(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(bytes(random.Random(4).choices(range(256), [8] + [1] * 255, k=400)))
    with pytest.raises(UnsupportedSourceError, match="binary"):
        read_source("a.txt", tmp_path / "a.txt", read_settings().parse)


def test_guess_charset_doubts_what_no_language_explains() -> None:
    assert guess_charset(b"plain") == ("ascii", 1.0)
    assert guess_charset("复制槽只有当逻辑解码时才能使用".encode("gb18030"))[1] < 0.7


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_decode_of_unicode_encodings_needs_no_guess(encoding: str) -> None:
    words = "Überschrift ✓ 見出し"
    assert decode_text(words.encode(encoding), "a.txt") == (words, ())


def test_decode_of_an_old_encoding_gives_the_words_and_a_warning() -> None:
    words = "Die Prüfung der Geschäftsbücher erfolgt jährlich. Über Änderungen wird größtmöglich informiert. " * 20
    text, warnings = decode_text(words.encode("cp1252"), "a.txt")
    assert text == words
    assert any("not UTF-8" in warning for warning in warnings)


def test_decode_of_one_broken_byte_in_utf8_replaces_only_it() -> None:
    data = ("Größe über alles. " * 200).encode()
    text, warnings = decode_text(data + b"\xff" + data, "a.txt")
    assert text.count("\ufffd") == 1
    assert text.count("Größe") == 400
    assert any("1 character " in warning for warning in warnings)


def test_decode_text_of_french_behind_a_long_plain_beginning_is_no_damaged_utf8() -> None:
    text = "All rights reserved. " * 100 + "L'âge du château, la pâte et le gâteau : là, ça va. " * 10
    assert decode_text(text.encode("cp1252"), "x.txt")[0] == text


def test_decode_text_of_short_utf8_cut_within_a_character_stays_utf8() -> None:
    text = "Größe, Straße, Köln und über"
    decoded, warnings = decode_text(text.encode() + "ß".encode()[:1], "x.txt")
    assert decoded == text + "\ufffd"
    assert warnings == ("1 character could not be read as utf-8 and was replaced.",)
