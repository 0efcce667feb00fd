"""Which `#tags` must the answer carry? Each becomes a filter, and the rest of the query is searched for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core.model import Plan


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tags:
    """Takes the tags out of the plan's text; all of them must hold. It comes before the steps that read the text."""

    def apply(self, plan: Plan) -> Plan:
        if "#" not in plan.text:
            return plan
        from watersmeet.core.tags import tags  # few queries hold one

        text, condition = plan.text, plan.condition
        while found := list(tags(text)):  # once more: what follows a tag may become one
            rest, end = [], 0
            for first, last, tag in found:
                condition = condition.narrowed("tag", (tag,))
                rest.append(text[end:first])
                end = last
            text = " ".join("".join((*rest, text[end:])).split())
        if text == plan.text:
            return plan
        return replace(plan, text=text if any(c.isalnum() for c in text) else "", condition=condition)
