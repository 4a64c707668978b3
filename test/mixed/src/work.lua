-- SPDX-License-Identifier: GPL-2.0
local function hot(n)
	local a = 1
	for i = 1, n do
		a = (a * 31 + i) % 16777216
	end
	return a
end

local function deep(depth)
	return depth == 0 and hot(5000) or deep(depth - 1) + 1
end

local round = 0
while true do
	-- A callback, which the library calls
	string.gsub("x", "x", function()
		deep(10)
	end)
	round = round + 1
	if round == 5000 then
		io.stdout:write("ready\n")
		io.stdout:flush()
	end
end
