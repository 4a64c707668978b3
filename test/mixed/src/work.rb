# SPDX-License-Identifier: GPL-2.0
$stdout.sync = true

def hot(n)
  a = 1
  i = 0
  while (i += 1) < n
    a = (a * 31 + (a >> 7) + i) & 0xffffff
  end
  a
end

def deep(depth) = depth == 0 ? hot(1000) : deep(depth - 1) + 1

round = 0
loop do
  # A block, which the interpreter's own code calls
  [10].each { |depth| deep(depth) }
  puts "ready" if (round += 1) == 3000
end
