"""What a person does on the page, for its tests, and what a machine that looks for barriers finds there."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect


def write(page: Page, query: str) -> None:
    """From wherever one is: to the box, and type."""
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type(query)


def ask(page: Page, query: str) -> None:
    write(page, query)
    settled(page, query)
    expect(page.locator("#summary")).to_contain_text("result")


def settled(page: Page, wanted: str | None, parameter: str = "q") -> None:
    """Waits for the answer to the last change: a search writes its parameters into the address when it is sent, and is
    busy until its results are shown. Polled from outside: the page's policy forbids evaluation."""
    state = "(name) => [new URLSearchParams(location.search).get(name), document.querySelector('[aria-busy]') === null]"
    for _ in range(200):
        if page.evaluate(state, parameter) == [wanted, True]:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"no answer to {parameter}={wanted!r}: {page.evaluate(state, parameter)}")


def focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.id || document.activeElement.textContent"))


def choose(page: Page, facet: str, value: str) -> None:
    """A filter, by its menu."""
    menu = page.locator(f"[data-facet={facet}]")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    menu.locator(f"[data-value='{value}']").click()


def problems(page: Page, axe: str) -> list[str]:
    """What axe-core calls serious or critical. It is evaluated, not loaded: the page's policy forbids scripts."""
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['impact']} {one['id']}: {one['nodes'][0]['html']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
