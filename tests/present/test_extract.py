from dataclasses import dataclass

from watersmeet.present.extract import extract


@dataclass
class Plain:
    text: str


def test_the_sentence_that_answers_is_quoted_verbatim():
    passages = [
        Plain("The lake is cold. It freezes in January. Boats stay on land until the ice is gone."),
        Plain("Tickets are sold at the pier. Children travel free."),
    ]
    quotes = extract("When does the lake freeze?", passages, most=1)
    assert [(quote.passage, quote.text) for quote in quotes] == [(0, "It freezes in January.")]
    assert 0 < quotes[0].score <= 1
