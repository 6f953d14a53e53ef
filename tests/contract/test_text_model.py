"""What every model does, whatever its engine. The stand-ins are held to the same as the real GGUF."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from pageindex_local.errors import ModelError, PromptTooLongError
from pageindex_local.llm.base import (
    Capability,
    Generation,
    GenerationRequest,
    ScoreRequest,
    TextModel,
    generate_watched,
)
from pageindex_local.llm.cache import CachedModel, CompletionCache
from pageindex_local.llm.fakes import ExtractiveModel, FaultyModel, FunctionModel, HeadingReaderModel
from pageindex_local.llm.gbnf import parse_grammar
from pageindex_local.llm.grammar import choice_grammar, picks_grammar, render_picks
from pageindex_local.llm.llamacpp import LlamaCppModel
from pageindex_local.llm.models import find_model, open_model, prepare_model
from pageindex_local.llm.server import ServerModel
from pageindex_local.settings import read_settings
from tests.contract.local_server import serve

ALPHABET = "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz"
CONTROL = "<|im_end|>\n<|im_start|>assistant\n"


class ModelContract:
    """The tests; each subclass provides `model`, and `make` for those that close one."""

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TextModel]:
        model = cls.make(tmp_path_factory.mktemp("model"))
        yield model
        model.close()

    @classmethod
    def make(cls, folder: Path) -> TextModel:
        raise NotImplementedError

    def test_describe_names_what_identifies_the_model(self, model: TextModel) -> None:
        description = model.describe()
        assert description.name
        assert len(description.fingerprint) == 64
        assert description.context_tokens >= 512
        assert description.strength in ("small", "capable")

    def test_generate_nothing_gives_nothing(self, model: TextModel) -> None:
        assert model.generate([]) == []

    def test_generate_several_gives_results_in_the_order_of_requests(self, model: TextModel) -> None:
        words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota"]
        requests = [GenerationRequest(f"Say {word}.", 12, grammar=choice_grammar([word])) for word in words]
        assert [result.text for result in model.generate(requests)] == words

    def test_generate_hands_over_every_result_exactly_once(self, model: TextModel) -> None:
        requests = [GenerationRequest(f"Count to {number}.", 3) for number in range(9)]
        seen: dict[int, Generation] = {}

        def keep(index: int, result: Generation) -> None:
            assert index not in seen
            seen[index] = result

        results = model.generate(requests, on_result=keep)
        assert [seen[index] for index in range(9)] == results

    def test_generate_watched_tells_growing_starts_of_the_answer(self, model: TextModel) -> None:
        request = GenerationRequest("Tell me something about rivers.", 24)
        told: list[str] = []
        result = generate_watched(model, request, told.append)
        assert result.text == model.generate([request])[0].text
        assert told[-1].rstrip() == result.text.rstrip()
        assert all(later.startswith(earlier) for earlier, later in pairwise(told))
        if Capability.STREAM in model.describe().capabilities:
            assert len(told) > 3

    def test_generate_counts_the_tokens_of_the_rendered_prompt(self, model: TextModel) -> None:
        request = GenerationRequest("Name a colour.", 4, system="Answer in one word.")
        result = model.generate([request])[0]
        assert result.input_tokens == model.count_prompt_tokens(request.system, request.user)
        assert 0 < result.output_tokens <= 4

    def test_generate_more_than_the_window_is_refused_before_anything_runs(self, model: TextModel) -> None:
        window = model.describe().context_tokens
        requests = [GenerationRequest("short", 2), GenerationRequest("word " * (window + 1), 2)]
        seen: list[int] = []
        with pytest.raises(PromptTooLongError, match=str(window)):
            model.generate(requests, on_result=lambda index, _: seen.append(index))
        assert seen == []

    def test_generate_exactly_the_window_is_accepted_and_one_more_refused(self, model: TextModel) -> None:
        room = model.describe().context_tokens - model.count_prompt_tokens("", "Say a.")
        grammar = choice_grammar(["a"])
        assert model.generate([GenerationRequest("Say a.", room, grammar=grammar)])[0].text == "a"
        with pytest.raises(PromptTooLongError, match="by 1"):
            model.generate([GenerationRequest("Say a.", room + 1, grammar=grammar)])

    def test_generate_no_token_is_refused(self, model: TextModel) -> None:
        with pytest.raises(PromptTooLongError):
            model.generate([GenerationRequest("Say a.", 0)])

    def test_generate_cut_answer_says_length(self, model: TextModel) -> None:
        request = GenerationRequest("Write the alphabet.", 3, grammar=choice_grammar([ALPHABET]))
        result = model.generate([request])[0]
        assert (result.finish_reason, result.output_tokens) == ("length", 3)
        assert ALPHABET.startswith(result.text)
        assert result.text != ALPHABET

    def test_generate_stop_string_ends_the_answer_before_it(self, model: TextModel) -> None:
        request = GenerationRequest("Count.", 20, grammar=choice_grammar(["one two three"]), stop=("two", "three"))
        result = model.generate([request])[0]
        assert (result.text, result.finish_reason) == ("one ", "stop")

    def test_generate_same_request_twice_gives_the_same(self, model: TextModel) -> None:
        request = GenerationRequest("Describe a river in one sentence.", 16)
        assert model.generate([request])[0].text == model.generate([request])[0].text

    def test_generate_retry_is_repeatable_too(self, model: TextModel) -> None:
        request = GenerationRequest("Describe a river in one sentence.", 16, attempt=2)
        assert model.generate([request])[0].text == model.generate([request])[0].text

    @pytest.mark.parametrize("attempt", [0, 1, 3])
    @pytest.mark.parametrize(
        "grammar",
        [
            picks_grammar(7),
            choice_grammar(["yes", "no", 'a "quoted" one', "two\nlines"]),
            'root ::= "{\\"page\\": " [1-9] [0-9]? ", \\"ok\\": " ("true" | "false") "}"',
            'root ::= item ("," item)? "."\nitem ::= [a-c]{2,3}',
        ],
    )
    def test_generate_under_a_grammar_obeys_it(self, model: TextModel, grammar: str, attempt: int) -> None:
        result = model.generate([GenerationRequest("Answer.", 60, grammar=grammar, attempt=attempt)])[0]
        parsed = parse_grammar(grammar)
        assert parsed.admits_start(result.text)
        assert result.finish_reason == "length" or parsed.matches(result.text)

    @pytest.mark.parametrize(
        "grammar", ['root ::= "open', 'start ::= "a"', "root ::= missing", 'root ::= root "a"', ""]
    )
    def test_generate_unusable_grammar_is_an_error_and_the_model_lives_on(self, model: TextModel, grammar: str) -> None:
        with pytest.raises(ModelError, match="grammar"):
            model.generate([GenerationRequest("Say a.", 5, grammar=grammar)])
        assert model.generate([GenerationRequest("Say a.", 5, grammar=choice_grammar(["a"]))])[0].text == "a"

    def test_generate_writes_characters_of_several_bytes_whole(self, model: TextModel) -> None:
        text = "Zürich – 東京 🙂 ﷽"
        result = model.generate([GenerationRequest(f"Repeat: {text}", 60, grammar=choice_grammar([text]))])[0]
        assert result.text == text

    def test_count_tokens_takes_control_tokens_in_text_as_text(self, model: TextModel) -> None:
        assert model.count_tokens("<|im_end|>") >= 3
        plain = model.count_prompt_tokens("", "text")
        assert model.count_prompt_tokens("", "text" + CONTROL) - plain >= model.count_tokens("<|im_end|>")

    def test_count_tokens_is_zero_for_nothing_and_grows_with_text(self, model: TextModel) -> None:
        assert model.count_tokens("") == 0
        assert 0 < model.count_tokens("river") < model.count_tokens("river and mountain and valley")

    def test_score_prefers_what_the_prefix_says_and_keeps_order(self, model: TextModel) -> None:
        if Capability.SCORE not in model.describe().capabilities:
            with pytest.raises(ModelError, match="score"):
                model.score([ScoreRequest("a", "b")])
            return
        text = "The boiler is inspected every year. The boiler is inspected"
        scores = model.score([ScoreRequest(text, " purple giraffes"), ScoreRequest(text, " every year")])
        assert scores[0].mean_log_probability < scores[1].mean_log_probability <= 0
        assert model.score([]) == []

    def test_score_many_equals_score_one_by_one(self, model: TextModel) -> None:
        if Capability.SCORE not in model.describe().capabilities:
            pytest.skip("cannot score")
        texts = ["Rivers flow to the sea.", "Iron rusts in wet air, as everybody knows.", "Dogs bark."] * 4
        requests = [ScoreRequest(f"{text} {index}", " What rusts?") for index, text in enumerate(texts)]
        seen: set[int] = set()
        together = model.score(requests, on_result=lambda index, _: seen.add(index))
        assert seen == set(range(12))
        for request, score in zip(requests, together, strict=True):
            alone = model.score([request])[0]
            # Rounding differs with the batch; a mixed-up sequence would differ by whole units.
            assert alone.mean_log_probability == pytest.approx(score.mean_log_probability, abs=0.1)
            assert alone.input_tokens == score.input_tokens

    def test_score_refuses_what_cannot_be_scored(self, model: TextModel) -> None:
        if Capability.SCORE not in model.describe().capabilities:
            pytest.skip("cannot score")
        with pytest.raises(ModelError, match="continuation"):
            model.score([ScoreRequest("text", "")])
        with pytest.raises(PromptTooLongError):
            model.score([ScoreRequest("word " * (model.describe().context_tokens + 1), " end")])

    def test_close_twice_is_safe_and_ends_work(self, tmp_path: Path) -> None:
        model = self.make(tmp_path)
        model.close()
        model.close()
        with pytest.raises(ModelError, match="closed"):
            model.generate([GenerationRequest("Say a.", 5)])


def _obey(request: GenerationRequest) -> str:
    return parse_grammar(request.grammar).shortest() if request.grammar else "A river is water."


class TestFunctionModel(ModelContract):
    """Answers by a function."""

    @classmethod
    def make(cls, folder: Path) -> TextModel:
        return FunctionModel(_obey)


class TestExtractiveModel(ModelContract):
    """The stand-in for whole runs."""

    @classmethod
    def make(cls, folder: Path) -> TextModel:
        return open_model(read_settings(overrides={"model": {"name": "fake"}}).model)

    def test_open_fake_gives_the_extractive_stand_in(self, model: TextModel) -> None:
        assert isinstance(model, ExtractiveModel)


class TestHeadingReaderModel(ModelContract):
    """Reads candidate lines."""

    @classmethod
    def make(cls, folder: Path) -> TextModel:
        return HeadingReaderModel(render_picks)


class TestFaultyModelWithoutFaults(ModelContract):
    """A faulty model between its faults."""

    @classmethod
    def make(cls, folder: Path) -> TextModel:
        return FaultyModel(FunctionModel(_obey), {})


class TestCachedModel(ModelContract):
    """Any model behind the cache."""

    @classmethod
    def make(cls, folder: Path) -> TextModel:
        return CachedModel(FunctionModel(_obey), CompletionCache(folder / "completions.sqlite"))


class TestServerModel(ModelContract):
    """A server that answers by rule behind real sockets."""

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TextModel]:
        with serve(FunctionModel(_obey)) as url:
            yield ServerModel(find_model(url), read_settings().model)

    def test_close_twice_is_safe_and_ends_work(self, tmp_path: Path) -> None:
        with serve(FunctionModel(_obey)) as url:
            model = ServerModel(find_model(url), read_settings().model)
            model.close()
            model.close()
            with pytest.raises(ModelError, match="closed"):
                model.generate([GenerationRequest("Say a.", 5)])


@pytest.mark.model
class TestLlamaCppModel(ModelContract):
    """The bundled GGUF."""

    @classmethod
    def make(cls, folder: Path) -> TextModel:
        settings = read_settings().model
        return LlamaCppModel(prepare_model(find_model(settings.name)), settings)
