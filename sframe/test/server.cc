// SPDX-License-Identifier: GPL-2.0
/*
 * A threaded server under load: C++ code for -O3, with virtual calls, sorting, strings, and an
 * exception in one of seven requests.
 *
 * usage: server SECONDS [THREADS]
 *
 * Each worker answers one client at the other end of a socket pair.  Output:
 * "checksum HEX rounds N".  Exit status 1 if an answer is wrong.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_SIZE 96

namespace {

struct Malformed : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* A tree of terms; each node asks its children. */
struct Term {
	virtual ~Term() = default;
	virtual unsigned long value(unsigned int turn) const = 0;
};

struct Number : Term {
	explicit Number(unsigned long number) : number(number) {}
	unsigned long value(unsigned int turn) const override
	{
		unsigned long x = number + turn;

		for (int i = 0; i < 40; i++)
			x = (x ^ (x << 13)) * 0x9e3779b97f4a7c15ull;
		return x;
	}
	unsigned long number;
};

struct Sum : Term {
	Sum(std::unique_ptr<Term> left, std::unique_ptr<Term> right)
		: left(std::move(left)), right(std::move(right)) {}
	unsigned long value(unsigned int turn) const override
	{
		return left->value(turn) + 3 * right->value(turn + 1);
	}
	std::unique_ptr<Term> left, right;
};

std::unique_ptr<Term> parse(const std::string &text, size_t &at, unsigned int depth)
{
	if (at >= text.size())
		throw Malformed("ends early");
	char next = text[at++];

	if (next == '?')
		throw Malformed("'?' at depth " + std::to_string(depth));
	if (next != '+')
		return std::make_unique<Number>(next);
	auto left = parse(text, at, depth + 1);
	auto right = parse(text, at, depth + 1);

	return std::make_unique<Sum>(std::move(left), std::move(right));
}

unsigned long words(const std::string &text)
{
	std::map<std::string, unsigned int> counts;
	std::vector<std::string> all;

	for (size_t i = 0; i + 3 < text.size(); i++)
		all.push_back(text.substr(i, 3));
	std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return b < a; });
	for (const auto &word : all)
		counts[word]++;
	unsigned long sum = 0;

	for (const auto &[word, count] : counts)
		sum = sum * 31 + count * std::hash<std::string>()(word);
	return sum;
}

unsigned long answer(const std::string &text)
{
	size_t at = 0;

	return parse(text, at, 0)->value(1) ^ words(text);
}

/* The request decides how deep the exception comes from. */
unsigned long answer_or_complaint(const std::string &text)
{
	try {
		return answer(text);
	} catch (const Malformed &malformed) {
		return std::string(malformed.what()).size();
	}
}

bool transfer(ssize_t (*how)(int, void *, size_t), int fd, void *data, size_t size)
{
	return how(fd, data, size) == static_cast<ssize_t>(size);
}

void serve(int fd)
{
	char request[REQUEST_SIZE];

	while (transfer(read, fd, request, sizeof(request))) {
		unsigned long result = answer_or_complaint(std::string(request, sizeof(request)));

		if (write(fd, &result, sizeof(result)) != sizeof(result))
			break;
	}
	close(fd);
}

/* Make a term whose depth depends on @number; every seventh has a '?' in it. */
std::string make_request(unsigned long number)
{
	std::string text;
	unsigned int open = 1;

	for (unsigned int i = 0; open && text.size() < REQUEST_SIZE - 1; i++) {
		bool more = i < 12 + number % 20 && open + text.size() < REQUEST_SIZE - 2;

		text += more ? '+' : static_cast<char>('a' + (number + i) % 26);
		open += more ? 1 : -1;
	}
	if (number % 7 == 0)
		text[text.size() * 2 / 3] = '?';
	text.resize(REQUEST_SIZE, '.');
	return text;
}

struct Client {
	unsigned long rounds = 0, sum = 0, wrong = 0;
};

void ask(int fd, const std::atomic<bool> &stop, Client &client)
{
	for (unsigned long number = 0; !stop; number = (number + 1) % 100) {
		std::string request = make_request(number);
		unsigned long result;

		if (write(fd, request.data(), request.size()) !=
		    static_cast<ssize_t>(request.size()) ||
		    !transfer(read, fd, &result, sizeof(result)))
			break;
		client.wrong += result != answer_or_complaint(request);
		if (client.rounds++ < 100)
			client.sum = client.sum * 7 + result;
	}
	close(fd);
}

} // namespace

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	unsigned int nr = argc > 2 ? atoi(argv[2]) : 2;
	std::vector<std::thread> threads;
	std::vector<Client> clients(nr);
	std::atomic<bool> stop = false;
	unsigned long rounds = 0, wrong = 0;

	for (unsigned int i = 0; i < nr; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
			perror("server: socketpair");
			return 1;
		}
		threads.emplace_back(serve, ends[0]);
		threads.emplace_back(ask, ends[1], std::cref(stop), std::ref(clients[i]));
	}
	std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
	stop = true;
	for (auto &thread : threads)
		thread.join();
	for (const auto &client : clients) {
		rounds += client.rounds;
		wrong += client.wrong;
	}
	printf("checksum %lx rounds %lu\n", clients[0].sum, rounds);
	return wrong || !rounds;
}
