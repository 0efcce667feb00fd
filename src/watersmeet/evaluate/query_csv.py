"""CSV of an evaluation: a row for every query, for spreadsheets and notebooks."""

from __future__ import annotations

import csv

from watersmeet.evaluate.evaluation import Evaluation
from watersmeet.evaluate.metrics import NAMES
from watersmeet.evaluate.run import WHOLE

COLUMNS = ("id", "query", "classes", "relevant", "rank", "first", "confidence", "no_good_match", *NAMES)
"""`relevant`: number of relevant documents. `rank`: of the first of them. `first`: the first document found."""


def write_csv(file: str, evaluation: Evaluation) -> None:
    """Write the rows. A value that does not exist is empty: metrics of a query without a relevant document, the rank
    of a document that was not found, the confidence of a query without words."""
    made = evaluation.run
    rankings = made.rankings[WHOLE]
    with open(file, "w", encoding="utf8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for number, (question, metrics) in enumerate(zip(evaluation.questions, evaluation.per_query(), strict=True)):
            found = rankings[number]
            rank = next((rank for rank, document in enumerate(found, 1) if document in question.relevant), "")
            sure = made.confidence[number] if made.confidence else None
            writer.writerow(
                (
                    question.id,
                    question.text,
                    " ".join(question.classes),
                    len(question.relevant),
                    rank,
                    found[0] if found else "",
                    "" if sure is None else sure,
                    str(made.flagged[number]).lower() if made.flagged else "",
                    *(metrics.get(name, "") for name in NAMES),
                )
            )
