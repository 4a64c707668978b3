# SPDX-License-Identifier: GPL-2.0
# Work for the stock perl for SECONDS of processor time: usage: perl work.pl SECONDS
#
# One round parses lines by a regular expression, counts in hashes of hashes, sorts by a
# Perl comparator, rewrites by s///e and walks the tree recursively.
use strict;
use warnings;
use List::Util qw(sum);

my @words = qw(quill river stone tallow umber vellum walnut yarrow);
my @lines = map { sprintf '%05d %s/%s?q=%d "%s %d"', $_, $words[$_ * 5 % 8], $words[$_ / 8 % 8],
	$_ * 7919 % 997, $words[$_ / 64 % 8], $_ % 13 } 1 .. 400;

sub walk {
	my ($tree, $depth) = @_;
	return $tree unless ref $tree;
	return sum(map { walk($tree->{$_}, $depth + 1) + $depth } sort keys %$tree);
}

sub round {
	my (%tree, @rows);
	for my $line (@lines) {
		my ($number, $dir, $page, $query, $agent) =
			$line =~ m{^(\d+) (\w+)/(\w+)\?q=(\d+) "([^"]*)"$} or die "no match: $line";
		$tree{$dir}{$page}{$agent} += $query;
		push @rows, [$number, $dir, $query];
	}
	my @sorted = sort { $a->[1] cmp $b->[1] || $b->[2] <=> $a->[2] || $a->[0] <=> $b->[0] } @rows;
	my $text = join "\n", map { join ' ', @$_ } @sorted;
	$text =~ s/(\w)(\w+) (\d+)/uc($1) . reverse($2) . ' ' . walk({ $1 => $3 }, 1)/ge;
	return $text . walk(\%tree, 0);
}

my $first = round();
while ((times)[0] < $ARGV[0]) {
	die 'rounds differ' unless round() eq $first;
}
