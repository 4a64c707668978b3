-- SPDX-License-Identifier: GPL-2.0
--
-- The program that the demo profiles: ordinary Lua work whose C frames nest.
--
-- usage: lua work.lua --rounds N | --seconds S
--
-- One round turns invoices into JSON and back, sorts, matches, fills templates
-- and walks trees. It crosses from C to Lua and back all the time: comparators
-- below table.sort, callbacks below string.gsub, metamethods, pcall and
-- coroutines. Each crossing adds three to seven C frames, so a typical sample
-- has about twenty of them.
--
-- Output: "checksum HEX rounds N". Every round starts from the same seed and
-- must give the same checksum, so that the line shows whether a run was right,
-- however long it ran.

local seed

-- A generator of our own: math.random depends on the Lua version.
local function random(n)
	seed = (seed * 1103515245 + 12345) & 0x7fffffff
	return seed % n + 1
end

local function mix(sum, text)
	for i = 1, #text, 7 do
		sum = ((sum ~ text:byte(i)) * 16777619) & 0xffffffff
	end
	return sum
end

-- JSON ---------------------------------------------------------------------

local escapes = { ['"'] = '\\"', ['\\'] = '\\\\', ['\n'] = '\\n', ['\t'] = '\\t' }
local unescapes = { ['"'] = '"', ['\\'] = '\\', n = '\n', t = '\t' }

local function quote(text)
	return '"' .. text:gsub('[%c"\\]', function(c) return escapes[c] end) .. '"'
end

local encode

local function encode_array(value)
	local out = {}
	for i, item in ipairs(value) do
		out[i] = encode(item)
	end
	return '[' .. table.concat(out, ',') .. ']'
end

local function encode_object(value)
	local keys, out = {}, {}
	for key in pairs(value) do
		keys[#keys + 1] = key
	end
	table.sort(keys, function(a, b) return a < b end)
	for i, key in ipairs(keys) do
		out[i] = quote(key) .. ':' .. encode(value[key])
	end
	return '{' .. table.concat(out, ',') .. '}'
end

-- Objects that know how to write themselves do so from __tostring.
function encode(value)
	local kind = type(value)
	if kind == 'string' then
		return quote(value)
	elseif kind ~= 'table' then
		return tostring(value)
	elseif getmetatable(value) then
		return tostring(value)
	elseif #value > 0 then
		return encode_array(value)
	end
	return encode_object(value)
end

local decode

local function decode_string(text, at)
	local stop = at
	repeat
		stop = text:find('["\\]', stop + 1)
		if not stop then
			error('unterminated string at ' .. at)
		end
		local escaped = text:byte(stop) == 92
		if escaped then
			stop = stop + 1
		end
	until not escaped
	local body = text:sub(at + 1, stop - 1)
	return body:gsub('\\(.)', function(c) return unescapes[c] end), stop + 1
end

local function decode_list(text, at, close, item)
	if text:sub(at, at) == close then
		return at + 1
	end
	while true do
		at = item(at)
		local mark = text:sub(at, at)
		if mark == close then
			return at + 1
		elseif mark ~= ',' then
			error('expected , or ' .. close .. ' at ' .. at)
		end
		at = at + 1
	end
end

function decode(text, at)
	local first = text:sub(at, at)
	if first == '{' then
		local object = {}
		return object, decode_list(text, at + 1, '}', function(pos)
			local key, colon = decode_string(text, pos)
			object[key], pos = decode(text, colon + 1)
			return pos
		end)
	elseif first == '[' then
		local array = {}
		return array, decode_list(text, at + 1, ']', function(pos)
			array[#array + 1], pos = decode(text, pos)
			return pos
		end)
	elseif first == '"' then
		return decode_string(text, at)
	end
	local word = text:match('^[%w.+-]+', at)
	if not word then
		error('unexpected ' .. first .. ' at ' .. at)
	end
	return tonumber(word) or word == 'true', at + #word
end

-- Money: arithmetic, comparison, text and lookup through metamethods. --------

local Money = {}

local function money(cents)
	return setmetatable({ cents = cents }, Money)
end

local methods = {
	half = function(self) return money(self.cents // 2) end,
}

Money.__index = function(self, name)
	return methods[name] or rawget(self, 'cents') % 97
end
Money.__add = function(a, b) return money(a.cents + b.cents) end
Money.__mul = function(a, n) return money(a.cents * n % 1000003) end
Money.__lt = function(a, b) return a.cents < b.cents end
Money.__eq = function(a, b) return a.cents == b.cents end
Money.__concat = function(a, b) return tostring(a) .. tostring(b) end
Money.__tostring = function(self)
	return string.format('%d.%02d', self.cents // 100, self.cents % 100)
end

-- The work -------------------------------------------------------------------

local words = { 'quill', 'river', 'stone', 'tallow', 'umber', 'vellum', 'walnut', 'yarrow' }

local function invoices(count)
	local list = {}
	for i = 1, count do
		local lines = {}
		for j = 1, 2 + random(4) do
			lines[j] = {
				item = words[random(#words)] .. ' "' .. random(99) .. '"',
				price = money(random(20000)),
				count = random(9),
			}
		end
		list[i] = { id = i, lines = lines, paid = random(2) == 1 }
	end
	return list
end

local function total(invoice)
	local sum = money(0)
	for _, line in ipairs(invoice.lines) do
		sum = sum + line.price * line.count
	end
	return sum
end

local function by_total(a, b)
	local x, y = total(a), total(b)
	if x == y then
		return a.id < b.id
	end
	return x < y
end

-- pcall inside pcall: each level is a protected call on the C stack.
local function guarded(depth, action, ...)
	if depth == 0 then
		return action(...)
	end
	local ok, value = pcall(guarded, depth - 1, action, ...)
	if not ok then
		error(value, 0)
	end
	return value
end

-- A generator that walks a list from within a coroutine.
local function each(list)
	return coroutine.wrap(function()
		for _, item in ipairs(list) do
			coroutine.yield(item)
		end
	end)
end

local template = 'No. $id: $lines; in all $total (half is $half), $state\n'

local function render(invoice)
	local sum = total(invoice)
	local fields = {
		id = function() return tostring(invoice.id) end,
		lines = function()
			local copy = { table.unpack(invoice.lines) }
			table.sort(copy, function(a, b)
				if a.price == b.price then
					return a.item < b.item
				end
				return b.price < a.price
			end)
			local out = {}
			for i, line in ipairs(copy) do
				out[i] = line.item:gsub('%a+', string.upper) .. ' ' .. line.price
			end
			return table.concat(out, ', ')
		end,
		total = function() return tostring(sum) end,
		half = function() return tostring(sum:half()) end,
		state = function() return invoice.paid and 'paid' or 'open' end,
	}
	return (template:gsub('%$(%l+)', function(name) return fields[name]() end))
end

local function report(list)
	local out = {}
	for invoice in each(list) do
		out[#out + 1] = guarded(2, render, invoice)
	end
	return table.concat(out)
end

local function round_trip(list)
	local text = encode(list)
	local copy, stop = decode(text, 1)
	assert(stop == #text + 1 and #copy == #list)
	-- Prices come back as plain numbers; all else must be as it was.
	assert(copy[#copy].lines[1].item == list[#list].lines[1].item)
	return text
end

local function broken(text)
	local ok, why = pcall(decode, text:sub(1, #text // 2), 1)
	assert(not ok)
	return tostring(why):gsub('^.-:%d+: ', '')
end

local function round()
	seed = 20240229
	local sum = 2166136261
	local list = invoices(24)
	guarded(3, table.sort, list, by_total)
	local text = guarded(2, round_trip, list)
	sum = mix(sum, text)
	sum = mix(sum, broken(text))
	sum = mix(sum, guarded(1, report, list))
	return sum
end

local function main(option, value)
	local limit = tonumber(value)
	if (option ~= '--rounds' and option ~= '--seconds') or not limit or limit <= 0 then
		io.stderr:write('usage: lua work.lua --rounds N | --seconds S\n')
		os.exit(2)
	end

	local start, rounds, sum = os.clock(), 0, nil
	repeat
		local now = round()
		assert(sum == nil or now == sum, 'rounds differ')
		sum, rounds = now, rounds + 1
		local done = option == '--rounds' and rounds or os.clock() - start
	until done >= limit
	print(string.format('checksum %08x rounds %d', sum, rounds))
end

main(...)
