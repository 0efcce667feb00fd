"""Programming languages: file endings, grammars, and the node names of definitions in each grammar.

A *function* is a definition without members, a *container* one with members. A *wrapper* stands around a definition
and belongs to it (a decorator, an `export`). What is in *lead* belongs to the definition below it (a comment, an
attribute). A *tail* belongs to the definition before it. `patterns` are tree-sitter queries for all that needs more
than a node name; their captures are named after these five.
"""

from __future__ import annotations

from functools import cache

from watersmeet.core.lazy_dataclass import dataclass

_JAVASCRIPT = """
(variable_declarator value: [(arrow_function) (function_expression) (class)
  (call_expression arguments: (arguments [(arrow_function) (function_expression)]))]) @function
(assignment_expression right: [(arrow_function) (function_expression) (class)]) @function
(pair value: [(arrow_function) (function_expression)]) @function
(expression_statement (call_expression arguments: (arguments [(arrow_function) (function_expression)]))) @function
(export_statement value: [(arrow_function) (object) (call_expression)]) @function
(export_statement source: (string)) @import
((call_expression function: (identifier) @_word) @import (#eq? @_word "require"))
(call_expression function: (import)) @import
"""
_C = """
[(struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))] @function
"""
_CPP = """
[(struct_specifier body: (_)) (class_specifier body: (_)) (union_specifier body: (_))] @container
(enum_specifier body: (_)) @function
"""
_RUBY = """
(program (call block: (do_block)) @container)
(do_block (body_statement (call block: (do_block)) @container))
"""
_LUA = "(assignment_statement (expression_list value: (function_definition))) @function"
_ELIXIR = """
((call target: (identifier) @_word) @container (#any-of? @_word "defmodule" "defprotocol" "defimpl" "describe"))
((call target: (identifier) @_word) @function
  (#any-of? @_word "def" "defp" "defmacro" "defmacrop" "defguard" "defstruct" "defdelegate" "test"))
((unary_operator operator: "@" operand: (call target: (identifier) @_word)) @lead
  (#any-of? @_word "doc" "spec" "impl" "typedoc" "deprecated"))
"""
_ZIG = """
(variable_declaration [(struct_declaration) (union_declaration) (enum_declaration) (opaque_declaration)]) @container
"""
_JULIA = """
(assignment . (call_expression)) @function
((string_literal) @lead . [(function_definition) (struct_definition) (macro_definition) (assignment)])
"""
_SQL = """
[(create_table) (create_view) (create_materialized_view) (create_function) (create_trigger) (create_type)
 (create_index)] @function
"""


@dataclass(frozen=True, slots=True)
class Language:
    """A language. `grammar` is its package and the function in it; a language without one is read by its layout."""

    name: str
    files: str  # endings and whole names, in lower case
    grammar: tuple[str, str] | None = None
    functions: str = ""
    containers: str = ""
    wrappers: str = ""
    lead: str = "comment"
    tails: str = ""
    patterns: str = ""
    imports: str = ""

    def query(self) -> str:
        """The tree-sitter query for all of the above."""
        groups = (
            *(("function", self.functions), ("container", self.containers), ("wrapper", self.wrappers)),
            *(("lead", self.lead), ("tail", self.tails), ("import", self.imports)),
        )
        lists = [f"[{' '.join(f'({node})' for node in names.split())}] @{group}" for group, names in groups if names]
        return "\n".join((*lists, self.patterns))


def _grammar(name: str, function: str = "language") -> tuple[str, str]:
    return f"tree_sitter_{name}", function


_JAVA_CLASSES = (
    "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
)
_TYPESCRIPT_CONTAINERS = "class_declaration abstract_class_declaration interface_declaration internal_module module"
_TYPESCRIPT_FUNCTIONS = (
    "function_declaration generator_function_declaration method_definition function_signature type_alias_declaration"
    " enum_declaration"
)
_SCRIPT_WRAPPERS = "export_statement lexical_declaration variable_declaration expression_statement"

LANGUAGES = (
    Language(
        "python",
        ".py .pyi .pyw",
        _grammar("python"),
        functions="function_definition",
        containers="class_definition",
        wrappers="decorated_definition",
        imports="import_statement import_from_statement",
    ),
    Language(
        "javascript",
        ".js .jsx .mjs .cjs",
        _grammar("javascript"),
        functions="function_declaration generator_function_declaration method_definition",
        containers="class_declaration",
        wrappers=_SCRIPT_WRAPPERS,
        patterns=_JAVASCRIPT + "(field_definition value: (arrow_function)) @function",
        imports="import_statement",
    ),
    Language(
        "typescript",
        ".ts .mts .cts",
        _grammar("typescript", "language_typescript"),
        functions=_TYPESCRIPT_FUNCTIONS,
        containers=_TYPESCRIPT_CONTAINERS,
        wrappers=_SCRIPT_WRAPPERS + " ambient_declaration",
        patterns=_JAVASCRIPT + "(public_field_definition value: (arrow_function)) @function",
        imports="import_statement",
    ),
    Language(
        "tsx",
        ".tsx",
        _grammar("typescript", "language_tsx"),
        functions=_TYPESCRIPT_FUNCTIONS,
        containers=_TYPESCRIPT_CONTAINERS,
        wrappers=_SCRIPT_WRAPPERS + " ambient_declaration",
        patterns=_JAVASCRIPT + "(public_field_definition value: (arrow_function)) @function",
        imports="import_statement",
    ),
    Language(
        "go",
        ".go",
        _grammar("go"),
        functions="function_declaration method_declaration type_declaration",
        imports="import_spec",
    ),
    Language(
        "rust",
        ".rs",
        _grammar("rust"),
        functions="function_item function_signature_item macro_definition struct_item enum_item union_item type_item",
        containers="impl_item trait_item mod_item foreign_mod_item",
        lead="line_comment block_comment attribute_item",
    ),
    Language(
        "java",
        ".java",
        _grammar("java"),
        functions="method_declaration constructor_declaration compact_constructor_declaration",
        containers=_JAVA_CLASSES,
        lead="line_comment block_comment",
    ),
    Language(
        "kotlin",
        ".kt .kts",
        _grammar("kotlin"),
        functions="function_declaration secondary_constructor type_alias",
        containers="class_declaration object_declaration companion_object",
        lead="line_comment block_comment",
    ),
    Language(
        "c",
        ".c .h",
        _grammar("c"),
        functions="function_definition preproc_function_def",
        wrappers="declaration type_definition",
        patterns=_C,
    ),
    Language(
        "c++",
        ".cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .cu .cuh .ino",
        _grammar("cpp"),
        functions="function_definition preproc_function_def concept_definition",
        containers="namespace_definition linkage_specification",
        wrappers="declaration type_definition template_declaration",
        patterns=_CPP,
    ),
    Language(
        "c#",
        ".cs .csx",
        _grammar("c_sharp"),
        functions="method_declaration constructor_declaration destructor_declaration operator_declaration"
        " conversion_operator_declaration indexer_declaration property_declaration delegate_declaration"
        " local_function_statement enum_declaration",
        containers="class_declaration interface_declaration struct_declaration record_declaration"
        " namespace_declaration",
    ),
    Language(
        "ruby",
        ".rb .rake .gemspec rakefile gemfile vagrantfile",
        _grammar("ruby"),
        functions="method singleton_method",
        containers="class module singleton_class",
        patterns=_RUBY,
    ),
    Language(
        "php",
        ".php .phtml",
        _grammar("php", "language_php"),
        functions="function_definition method_declaration",
        containers="class_declaration interface_declaration trait_declaration enum_declaration",
        patterns="(namespace_definition body: (_)) @container",
    ),
    Language(
        "swift",
        ".swift",
        _grammar("swift"),
        functions="function_declaration init_declaration deinit_declaration subscript_declaration"
        " protocol_function_declaration",
        containers="class_declaration protocol_declaration",
        lead="comment multiline_comment",
    ),
    Language(
        "scala",
        ".scala .sc .sbt",
        _grammar("scala"),
        functions="function_definition function_declaration",
        containers="class_definition object_definition trait_definition enum_definition package_object"
        " extension_definition given_definition",
        lead="comment block_comment",
    ),
    Language("bash", ".sh .bash .zsh .ksh .bats", _grammar("bash"), functions="function_definition"),
    Language(
        "lua",
        ".lua",
        _grammar("lua"),
        functions="function_declaration",
        wrappers="variable_declaration",
        patterns=_LUA,
    ),
    Language("elixir", ".ex .exs", _grammar("elixir"), patterns=_ELIXIR),
    Language(
        "haskell",
        ".hs",
        _grammar("haskell"),
        functions="bind data_type newtype type_synonym",
        containers="class instance",
        lead="comment haddock signature",
        patterns="(function name: (_)) @function",  # the type of a function has the same node name
    ),
    Language("sql", ".sql", _grammar("sql"), wrappers="statement", patterns=_SQL, lead="comment marginalia"),
    Language(
        "zig",
        ".zig",
        _grammar("zig"),
        functions="function_declaration test_declaration",
        patterns=_ZIG,
    ),
    Language(
        "dart",
        ".dart",
        _grammar("dart"),
        functions="function_signature getter_signature setter_signature method_signature",
        containers="class_definition mixin_declaration extension_declaration enum_declaration",
        lead="comment documentation_comment annotation",
        tails="function_body",
    ),
    Language(
        "julia",
        ".jl",
        _grammar("julia"),
        functions="function_definition macro_definition struct_definition abstract_definition",
        containers="module_definition",
        lead="line_comment block_comment",
        patterns=_JULIA,
    ),
    Language(
        "powershell",
        ".ps1 .psm1",
        _grammar("powershell"),
        functions="function_statement class_method_definition enum_statement",
        containers="class_statement",
    ),
    Language(
        "solidity",
        ".sol",
        _grammar("solidity"),
        functions="function_definition constructor_definition modifier_definition fallback_receive_definition"
        " struct_declaration event_definition error_declaration",
        containers="contract_declaration interface_declaration library_declaration",
    ),
    Language(
        "groovy",
        ".groovy .gradle jenkinsfile",
        _grammar("groovy"),
        functions="function_definition method_declaration constructor_declaration",
        containers=_JAVA_CLASSES,
        lead="line_comment block_comment",
    ),
    # without a grammar: by their layout
    Language("r", ".r"),
    Language("objective-c", ".m .mm"),
    Language("perl", ".pl .pm"),
    Language("clojure", ".clj .cljs .cljc .edn"),
    Language("erlang", ".erl .hrl"),
    Language("ocaml", ".ml .mli"),
    Language("f#", ".fs .fsx .fsi"),
    Language("lisp", ".lisp .el .scm .rkt"),
    Language("nim", ".nim"),
    Language("crystal", ".cr"),
    Language("d", ".d"),
    Language("fortran", ".f90 .f95 .f03"),
    Language("visual basic", ".vb .bas"),
    Language("pascal", ".pas"),
    Language("vue", ".vue"),
    Language("svelte", ".svelte"),
    Language("css", ".css .scss .sass .less"),
    Language("protobuf", ".proto"),
    Language("thrift", ".thrift"),
    Language("graphql", ".graphql .gql"),
    Language("terraform", ".tf .hcl"),
    Language("nix", ".nix"),
    Language("cmake", ".cmake cmakelists.txt"),
    Language("make", ".mk makefile gnumakefile justfile"),
    Language("dockerfile", ".dockerfile dockerfile containerfile"),
    Language("bazel", ".bzl .bazel"),
    Language("batch", ".bat .cmd"),
    Language("fish", ".fish"),
    Language("awk", ".awk"),
)

FILES = tuple(name for language in LANGUAGES for name in language.files.split())
"""Endings and whole names of source code."""


@cache
def _by_file() -> dict[str, Language]:
    return {name: language for language in LANGUAGES for name in language.files.split()}


_CPP_WORDS = ("class ", "namespace ", "template <", "template<", "std::", "public:", "private:")


def language_of(name: str, text: str) -> Language | None:
    """The language of a file: by its whole name, else by its ending. A header may be C or C++."""
    base = name.rsplit("/", 1)[-1].casefold()
    found = _by_file().get(base) or _by_file().get("." + base.rsplit(".", 1)[-1])
    if base.endswith(".h") and any(word in text for word in _CPP_WORDS):
        return _by_file()[".hpp"]
    return found
