"""A directive that writes the reference of the command line from the commands themselves."""

import inspect
import re
from itertools import groupby

from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from unsculpt.cli import app


def reference():
    """Return the commands, their options by group, as lines of Markdown."""
    lines = []
    for name, command in get_command(app).commands.items():
        text = inspect.cleandoc(command.help or "").replace("\b\n", "")
        words, _, examples = text.partition("Example")
        words = _options_as_code(words)
        _, _, examples = examples.partition("\n")
        lines += [f"## unsculpt {name}", "", words.strip(), "", "```", *_dedented(examples), "```"]
        shown = [param for param in command.params if not getattr(param, "hidden", False)]
        for group, params in groupby(sorted(shown, key=_group), key=_group):
            lines += ["", f"| {group[1]} | |", "|---|---|"]
            lines += [_row(command, param) for param in params]
        lines += [""]
    return lines


def _group(param):
    """Return arguments first, then groups in the order of the help."""
    order = ["Arguments", "Options", "Events", "Method", "What the page shows", "Output", "Cluster"]
    argument = param.param_type_name == "argument"
    group = "Arguments" if argument else getattr(param, "rich_help_panel", None) or "Options"
    return order.index(group), group


def _row(command, param):
    if param.param_type_name == "argument":
        name = f"`{(param.metavar or param.name).upper()}`"
    else:
        value = "" if getattr(param, "is_flag", False) else f" {param.metavar or 'VALUE'}"
        name = ", ".join(f"`{option}{value}`" for option in param.opts)
    said = getattr(param, "help", None) or ""
    default = getattr(param, "default", None)
    if param.required:
        said += " Required."
    elif default not in (None, False, True, ()) and not callable(default):
        said += f" Default: `{getattr(default, 'value', default)}`."
    cells = [cell.replace("|", r"\|") for cell in (name, _options_as_code(said))]
    return f"| {' | '.join(cells)} |"


def _options_as_code(text):
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", text)


def _dedented(examples):
    return inspect.cleandoc("\n" + examples).split("\n")


class Commands(SphinxDirective):
    """All commands with their options."""

    def run(self):
        """Return the nodes of the reference; the commands may change where this page does not."""
        self.env.note_reread()
        return self.parse_text_to_nodes("\n".join(reference()), allow_section_headings=True)


def setup(app):
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
