"""What a result was measured with, in words, and what the knobs say instead."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.charts.caption import Caption, varied_by
from gpuexplorer.charts.words import config_words
from tests.support.results import made_config, made_result


def test_the_caption_of_one_run_is_its_configuration_in_words() -> None:
    config = made_config()
    assert Caption([config]).words == config_words(config)


def test_what_differs_between_runs_is_not_in_their_caption() -> None:
    runs = [made_config(size={"M": 64, "N": n}, precision="fp32") for n in (128, 256)]
    words = Caption(runs).words
    assert "M = 64" in words and "N =" not in words


def test_what_a_result_chose_itself_is_not_in_its_caption_even_of_one_run() -> None:
    config = made_config(tunables={"TILE": 16})
    words = Caption([config], ("block", "tunables")).words
    assert "block" not in words and "TILE" not in words
    assert "TILE = 16" in Caption([config], varied_by(["block.x"])).words
    assert "TILE" not in Caption([config], varied_by(["tunable.TILE"])).words


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        ({}, ""),
        (
            {"size": {"N": 1024}},
            "Measured with matmul, naive, N = 512; the knobs now say N = 1024",
        ),
        (
            {"variant": "tiled", "size": {"N": 1024}, "precision": "fp16"},
            "Measured with matmul, naive, N = 512; the knobs now say tiled, N = 1024",
        ),
        ({"cache": "cold"}, "Measured with matmul, naive; the knobs now say cold cache"),
        ({"block": None}, "Measured with matmul, naive, block 16×16; the knobs now say no block"),
    ],
)
def test_what_the_knobs_have_moved_on_from_is_said_with_what_they_say_now(
    now: dict[str, object], sentence: str
) -> None:
    assert Caption([made_config()]).moved(made_config(**now)) == sentence


def test_knobs_that_make_no_run_have_moved_on_from_everything() -> None:
    moved = Caption([made_config()]).moved(None)
    assert moved.startswith("Measured with matmul, naive") and moved.endswith("make no run")


def test_knobs_within_what_a_result_varied_have_not_moved_on() -> None:
    caption = Caption([made_config(size={"N": n}) for n in (256, 512)])
    assert caption.moved(made_config(size={"N": 4096})) == ""
    assert "fp16" in caption.moved(made_config(size={"N": 256}, precision="fp16"))
    assert Caption([made_config()], ("block",)).moved(made_config(block=(8, 8, 1))) == ""


def test_the_knobs_go_back_to_the_run_nearest_to_where_they_stand() -> None:
    small, big = (made_config(size={"N": n}) for n in (256, 512))
    assert Caption([small, big]).nearest(made_config(size={"N": 512}, precision="fp16")) == big
    assert Caption([small, big]).nearest(None) == small


def test_another_source_of_the_present_workload_is_said() -> None:
    def of(*sources: str | None) -> Caption:
        run = made_result()
        environment = run.environment
        return Caption.of(
            msgspec.structs.replace(
                run, environment=msgspec.structs.replace(environment, source_sha256=one)
            )
            for one in sources
        )

    now = made_config()
    said = "Measured with another source of matmul than the present one"
    assert of("a", "a").outdated(now, "b") == said
    assert of("a", "b").outdated(now, "b") == "", "one of its versions is the present one"
    assert of("a", None).outdated(now, "b") == "", "one of its sources is not known"
    assert of("a").outdated(now, "") == "" and of("a").outdated(None, "b") == ""
    assert of("a").outdated(made_config(workload="copy"), "b") == "", "it is of another workload"
