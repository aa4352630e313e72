"""Reads files in the language of mysqltest (MySQL's test program) into trees of commands.

Source: the manual of "MySQL Test Framework", "mysqltest Language Reference". Files are read as Latin-1, so that every byte
is one character and statements are sent as they stand in the file.
"""

import re
from dataclasses import dataclass, field

# Words that begin a command. Other lines are statements for the server.
COMMANDS = set(
    """
    append_file assert cat_file change_user character_set chmod_file connect connection copy_file copy_files_wildcard dec
    delimiter die diff_files dirty_close disable_abort_on_error disable_async_client disable_connect_log disable_info
    disable_metadata disable_parsing disable_ps_protocol disable_query_attributes disable_query_log disable_reconnect
    disable_result_log disable_rpl_parse disable_session_track_info disable_testcase disable_warnings disconnect echo
    enable_abort_on_error enable_async_client enable_connect_log enable_info enable_metadata enable_parsing
    enable_ps_protocol enable_query_log enable_reconnect enable_result_log enable_rpl_parse enable_session_track_info
    enable_testcase enable_warnings end_timer error eval exec exec_in_background exit expr file_exists force-cpdir
    force-rmdir horizontal_results if inc let list_files list_files_write_file lowercase_result mkdir move_file output
    partially_sorted_result perl ping query query_attributes query_get_value query_horizontal query_vertical real_sleep
    reap remove_file remove_files_wildcard replace_column replace_numeric_round replace_regex replace_result
    reset_connection result_format rmdir save_master_pos send send_eval send_quit send_shutdown shutdown_server skip sleep
    sorted_result source start_timer sync_slave_with_master sync_with_master timer vertical_results
    wait_for_slave_to_stop while write_file
    """.split()
)

# Commands with lines of their own behind them, up to a word.
WITH_LINES = {"perl": 0, "write_file": 1, "append_file": 1}


@dataclass
class Statement:
    text: str


@dataclass
class Command:
    name: str
    arguments: str


@dataclass
class Block:
    """`if` or `while`."""

    kind: str
    condition: str
    body: list = field(default_factory=list)


def read(path):
    with open(path, encoding="latin-1") as file:
        return parse(file.read().split("\n"))


def parse(lines):
    lines = list(lines)
    top = []
    stack = [top]
    pending = ""
    delimiter = ";"
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        text = line.strip()
        if not pending:
            if not text or text.startswith("#"):
                continue
            if text.startswith("--"):
                text = text[2:].strip()
                word = re.match(r"[A-Za-z_-]+", text)
                name = word.group(0).lower() if word else ""
                if name not in COMMANDS:
                    continue
                arguments = text[word.end() :].strip()
                if name == "delimiter":
                    delimiter = arguments or ";"
                    continue
                if name not in ("if", "while"):
                    if not name.startswith("replace_"):
                        arguments = arguments.rstrip(";")
                    command = Command(name, arguments)
                    if name in WITH_LINES:
                        at = behind_lines(command, lines, at)
                    stack[-1].append(command)
                    continue
                line = text
            if text.startswith("}"):
                if len(stack) > 1:
                    stack.pop()
                line = text = text[1:].strip()
                if not text:
                    continue
            if re.match(r"(if|while)\s*\(", text):
                block, rest, at = block_head(text, lines, at)
                stack[-1].append(block)
                stack.append(block.body)
                if rest:
                    lines.insert(at, rest)
                continue
        pending = f"{pending}\n{line}" if pending else line
        while delimiter in line:
            end = end_of_statement(pending, delimiter)
            if end < 0:
                break
            found, pending = pending[:end].strip(), pending[end + len(delimiter) :]
            if not pending.strip() or pending.strip().startswith("#"):
                pending = ""
            delimiter = add(stack[-1], found) or delimiter
            if re.match(r"\s*(--|\}|if|while)", pending):
                lines.insert(at, pending.strip())
                pending = ""
    add(stack[-1], pending.strip())
    return top


def behind_lines(command, lines, at):
    """Skips the lines of a command that has some. Returns where the next command is."""
    words = command.arguments.split()
    position = WITH_LINES[command.name]
    end = words[position] if len(words) > position else "EOF"
    while at < len(lines) and lines[at].strip() != end:
        at += 1
    return at + 1


def block_head(text, lines, at):
    """The block, what stands behind its brace, and where the next line is."""
    while (end := end_of_condition(text)) < 0 and at < len(lines):
        text += "\n" + lines[at]
        at += 1
    kind = re.match(r"\w+", text).group(0)
    start = text.index("(") + 1
    block = Block(kind, text[start:end].strip())
    rest = text[end + 1 :].strip()
    while not rest and at < len(lines):
        rest = lines[at].strip()
        at += 1
    return block, rest.removeprefix("{").strip(), at


def end_of_condition(text):
    depth = 0
    quote = None
    for at in range(text.index("("), len(text)):
        c = text[at]
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"`":
            quote = c
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0:
                return at
    return -1


def end_of_statement(text, delimiter):
    """Where the delimiter is, outside of quotes and comments; -1 if it is not there."""
    quote = None
    at = 0
    while at < len(text):
        c = text[at]
        comment = None
        if quote:
            if c == "\\" and quote != "`":
                at += 1
            elif c == quote:
                quote = None
        elif text.startswith(delimiter, at):
            return at
        elif c in "'\"`":
            quote = c
        elif (c == "#" and (at == 0 or text[at - 1] == "\n")) or text.startswith("-- ", at):
            comment = text.find("\n", at)
        elif text.startswith("/*", at):
            comment = text.find("*/", at + 2)
        if comment is not None:
            if comment < 0:
                return -1
            at = comment
        at += 1
    return -1


def add(to, text):
    """Adds a statement or a command that ends with the delimiter. Returns a new delimiter."""
    text = re.sub(r"^(\s*#[^\n]*\n)+", "", text).strip()
    word = re.match(r"[A-Za-z_]+", text)
    name = word.group(0).lower() if word else ""
    if name == "delimiter":
        return text[len(name) :].strip() or ";"
    if name in COMMANDS:
        to.append(Command(name, text[len(name) :].strip()))
    elif text:
        to.append(Statement(text))
    return None
