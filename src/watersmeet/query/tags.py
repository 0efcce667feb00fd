"""`#tags` of the query become filters; the rest of the query is searched."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tags:
    """A query step that turns tags into filters, all required. Put it before the steps that read the text."""

    def apply(self, plan: Plan) -> Plan:
        if "#" not in plan.text:
            return plan
        from watersmeet.core.tags import tags  # lazy: few queries have tags

        text, condition = plan.text, plan.condition
        while found := list(tags(text)):  # repeat: removing a tag may form a new one
            rest, end = [], 0
            for first, last, tag in found:
                condition = condition.narrowed("tag", (tag,))
                rest.append(text[end:first])
                end = last
            text = " ".join("".join((*rest, text[end:])).split())
        if text == plan.text:
            return plan
        return replace(plan, text=text if any(c.isalnum() for c in text) else "", condition=condition)
