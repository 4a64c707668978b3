# SPDX-License-Identifier: GPL-2.0
# Make the man page of a command from its --help.
#
#   awk -v sframe=./sframe -v command=cache -f command.awk
#
# --help has the form: "usage:" lines, then blocks that empty lines separate.  A block is a
# paragraph, a table of options or other words, each followed by two blanks and its text, or
# "examples:" and indented lines.

function escape(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	sub(/^[.']/, "\\\\\\&&", text)
	return text
}

function section(name)
{
	if (current != name)
		print ".SH " name
	current = name
}

# Return the command's line of "sframe --help", which may continue in the next line.
function summary(    of_tool, line, text)
{
	of_tool = sframe " --help"
	while ((of_tool | getline line) > 0) {
		if (text != "" && line ~ /^     /) {
			sub(/^ +/, "", line)
			text = text " " line
		} else if (text != "") {
			break
		} else if (line ~ "^  " command "  ") {
			text = line
			sub(/^ +[^ ]+ +/, "", text)
		}
	}
	close(of_tool)
	return text
}

function version(    of_tool, line, words)
{
	of_tool = sframe " --version"
	of_tool | getline line
	close(of_tool)
	split(line, words, " ")
	return words[1] " " words[2]
}

function usage(line)
{
	if (current == "SYNOPSIS")
		print ".br"
	section("SYNOPSIS")
	sub(/^(usage:)? +/, "", line)
	print ".B " escape(line)
}

# Print an entry of a table: its word and its text.
function entry(line,    at, words)
{
	if (line ~ /^ +-/)
		section("OPTIONS")
	sub(/^ +/, "", line)
	at = match(line, /  +/)
	words = at ? substr(line, 1, at - 1) : line
	print ".TP"
	print ".B " escape(words)
	if (at)
		print escape(substr(line, at + RLENGTH))
	in_table = 1
}

function paragraph(line)
{
	if (in_table && current == "OPTIONS")
		section("NOTES")
	else if (current == "SYNOPSIS" || current == "")
		section("DESCRIPTION")
	else if (in_table || after_empty)
		print ".PP"
	in_table = 0
	print escape(line)
}

function example(line)
{
	sub(/^  /, "", line)
	print escape(line)
}

function convert(line)
{
	if (line ~ /^examples:/) {
		section("EXAMPLES")
		print ".nf"
	} else if (current == "EXAMPLES") {
		example(line)
	} else if (line ~ /^usage:/ || (current == "SYNOPSIS" && line ~ /^ /)) {
		usage(line)
	} else if (line ~ /^ +-/ || line ~ /^  [^ ]/) {
		entry(line)
	} else if (line ~ /^ / && in_table) {
		sub(/^ +/, "", line)
		print escape(line)
	} else if (line != "") {
		paragraph(line)
	}
	after_empty = line == ""
}

BEGIN {
	of_command = sframe " help " command
	print ".TH SFRAME\\-" toupper(command) " 1 \"\" \"" version() "\" \"User Commands\""
	print ".SH NAME"
	print "sframe\\-" command " \\- " escape(summary())
	while ((of_command | getline line) > 0)
		convert(line)
	if (current == "EXAMPLES")
		print ".fi"
	print ".SH SEE ALSO"
	print ".BR sframe (1)"
	exit close(of_command) != 0
}
