"""Opening a result where it stands: in an editor, in Obsidian, or with the program that the system has for it.

Programs are started without a shell. Paths and addresses come from documents: a path is absolute, so that none is taken
for an option, and of addresses only http and https are opened.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.place import Place
from watersmeet.engine.settings.settings import Settings, editor

AUTO, EDITOR, OBSIDIAN = "auto", "editor", "obsidian"
VAULT = ".obsidian"
"""Folder that marks an Obsidian vault."""
_PLUS = "vi vim nvim gvim mvim view emacs emacsclient nano pico micro kak joe jed mg ne gedit gnome-text-editor"
_GOTO = "code code-insiders codium vscodium cursor windsurf"
_COLON = "hx helix zed zeditor subl sublime_text lapce geany"
_FLAG = "idea idea64 pycharm webstorm goland clion rustrover phpstorm rubymine rider kate kwrite"
LINE_FORMS = {
    **dict.fromkeys(_PLUS.split(), ("+{line}", "{file}")),
    **dict.fromkeys(_GOTO.split(), ("-g", "{file}:{line}")),
    **dict.fromkeys(_COLON.split(), ("{file}:{line}",)),
    **dict.fromkeys(_FLAG.split(), ("--line", "{line}", "{file}")),
    "mate": ("-l", "{line}", "{file}"),
    "notepad++": ("-n{line}", "{file}"),
}
"""How editors take a line, by program."""
VIEWED = frozenset(".pdf .html .htm .xhtml .epub .docx .pptx .xlsx .odt .odp .ods .doc .ppt .xls .rtf".split())
"""Files that no editor shows: the program that the system has for them is started."""
_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%~"


@dataclass(frozen=True, slots=True)
class Target:
    """What to open: the path or address of a document, and a place in it."""

    path: str
    place: Place
    kind: str = ""
    headings: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        return self.place.lines[0] if self.place.lines else 1


def open_target(target: Target, settings: Settings) -> None:
    """Open a document at its place; an editor in the terminal is waited for."""
    from watersmeet.core.entities import is_entity  # lazy: slow to import

    program: str = settings.section("open").program
    if target.path.startswith(("http://", "https://")):
        launch(web_address(target))
        return
    if not os.path.isabs(target.path) or is_entity(target.kind):
        raise ConfigError(f"{target.path} is not a file that can be opened", "`watersmeet get ID` shows it")
    if not os.path.isfile(target.path):
        raise NotFound(f"{target.path} no longer exists", "`watersmeet sync` brings the index up to date")
    chosen = program in (AUTO, EDITOR, OBSIDIAN)
    if chosen and Path(target.path).suffix.casefold() in VIEWED:
        launch(file_address(target))
    elif (program == OBSIDIAN or (program == AUTO and not editor())) and (vault := vault_of(target.path)):
        launch(obsidian_address(target, vault))
    else:
        run(command((editor() or _usual_editor()) if chosen else program, target))


def _usual_editor() -> str:
    """An editor that the system has. Never what it has for a type of file: that may run a script."""
    if sys.platform == "win32":
        return "notepad"
    return "open -t" if sys.platform == "darwin" else next(filter(shutil.which, ("nano", "vim", "vi")), "")


# ---------------------------------------------------------------- addresses


def web_address(target: Target) -> str:
    """The address of a page, with its anchor."""
    page, _, fragment = target.path.partition("#")
    anchor = target.place.anchor or fragment
    return quote(page, safe=_URL_CHARACTERS) + (f"#{quote(anchor, safe=_URL_CHARACTERS)}" if anchor else "")


def file_address(target: Target) -> str:
    """The address of a file; of a PDF with its page, of an HTML file with its anchor."""
    place = target.place
    spot = f"page={place.pages[0]}" if place.pages else quote(place.anchor, safe="")
    return Path(target.path).as_uri() + (f"#{spot}" if spot else "")


def vault_of(path: str) -> str:
    """The Obsidian vault that a note is in; empty: none."""
    if not path.endswith(".md"):
        return ""
    return next((str(folder) for folder in Path(path).parents if (folder / VAULT).is_dir()), "")


def obsidian_address(target: Target, vault: str) -> str:
    """The address of a note for Obsidian, with its heading."""
    file = Path(target.path).relative_to(vault).as_posix().removesuffix(".md")
    heading = f"#{target.headings[-1]}" if target.headings else ""
    return f"obsidian://open?vault={quote(Path(vault).name, safe='')}&file={quote(file + heading, safe='')}"


# ---------------------------------------------------------------- programs


def command(written: str, target: Target) -> list[str]:
    """The arguments of an editor. `{file}` and `{line}` are filled in; without them, as the editor takes a line."""
    if not written:
        raise ConfigError("no editor is set", "set EDITOR or VISUAL, or the setting open.program")
    try:
        words = shlex.split(written, posix=os.name != "nt")
    except ValueError as error:
        raise ConfigError(f"the editor {written!r} cannot be read: {error}", "check its quotes") from None
    if not words:
        raise ConfigError("no editor is set", "set EDITOR or VISUAL, or the setting open.program")
    own = any("{file}" in word for word in words[1:])
    name = Path(words[0]).name.casefold().removesuffix(".exe").removesuffix(".cmd")
    form = () if own else LINE_FORMS.get(name, ("{file}",))
    filled = {"{line}": str(target.line), "{file}": target.path}
    return [words[0], *(_filled(word, filled) for word in (*words[1:], *form))]


def _filled(word: str, values: dict[str, str]) -> str:
    """A word with its places filled in once: a path may hold `{line}` itself."""
    before, sign, after = word.partition("{file}")
    parts = [part.replace("{line}", values["{line}"]) for part in (before, after)]
    return parts[0] + (values["{file}"] if sign else "") + parts[1]


def launch(address: str) -> None:
    """Open an address with the program that the system has for it."""
    if sys.platform == "win32":
        os.startfile(address)  # noqa: S606 - an address that was made here
    else:
        run(["open" if sys.platform == "darwin" else "xdg-open", address])


def run(arguments: Sequence[str]) -> None:
    """Start a program with the terminal as it is, and wait for it; one with windows returns at once."""
    program = shutil.which(arguments[0])
    if program is None:
        raise ConfigError(f"there is no program {arguments[0]!r}", "set EDITOR, or the setting open.program")
    sys.stdout.flush()
    sys.stderr.flush()
    code = subprocess.run([program, *arguments[1:]], check=False).returncode  # noqa: S603 - the user's program
    if code:
        raise ConfigError(f"{arguments[0]} ended with {code}", "the setting open.program names another program")
