// SPDX-License-Identifier: GPL-2.0
/*
 * Parses a file in a process without rights, for sframe cache.
 *
 * The worker has root's rights, and opens the file; its child, the reader, parses it.  The
 * worker checks all that it takes from the reader: a hostile file may have taken it over.
 *
 *	worker				reader
 *
 *	fork()			->	gives up its rights, parses the file
 *	looks for a table	<-	struct finding
 *	wants a new one		->	makes it
 *	writes the file		<-	struct reply, the table
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/complain.h"
#include "base/pool.h"
#include "base/sandbox.h"
#include "cache/reader.h"
#include "cfi/debug.h"
#include "cfi/read.h"
#include "code/add.h"
#include "table/bare.h"
#include "table/file.h"
#include "table/own.h"

/*
 * Limits how much of the disk a reader can fill, to a multiple of its file's size.  A section
 * may decompress to 16 times the file's size, and a function takes less than twice as much of a
 * table as of .eh_frame; rows are limited by the file's size.
 */
#define MAX_GROWTH	64

/**
 * struct reply - what precedes the bytes of a table
 * @size:		The size of the table in bytes; 0 if nothing is known of the code.
 * @vaddr:		As in struct image.
 * @private_rules:	As in struct image.
 * @uncovered:		The text without rows.
 * @error:		Why there is no table, or "".
 */
struct reply {
	u64	size;
	u64	vaddr;
	u32	private_rules;
	struct uncovered uncovered;
	char	error[MAX_READER_ERROR];
};

static void want_table(struct wanted *wanted, const struct object *obj)
{
	struct table own;

	file_describe(&wanted->head, obj);
	wanted->head.format = FORMAT_DEFAULT;
	if (object_has_cfi(obj))
		return;
	if (!obj->own.present) {
		wanted->bare = bare_judge(obj);
		return;
	}
	wanted->own = OWN_BAD;
	/* Without .eh_frame, the table that the object carries has to do. */
	if (own_read(obj, &own))
		return;
	wanted->own = OWN_COPIED;
	wanted->head.format = own.version;
	wanted->head.table_size = own.size;
	wanted->head.table_vaddr = own.vaddr;
	file_hash(wanted->sha256, own.start, own.size);
}

static void find(struct finding *finding, struct object *obj, int debug, pid_t worker)
{
	const char *error = sandbox_enter(worker);

	finding->state = error ? OBJECT_DAMAGED : debug_add(obj, debug, object_read(obj));
	finding->debug = obj->debug;
	if (finding->state)
		snprintf(finding->error, sizeof(finding->error), "%s", error ?: obj->error);
	/* A separate debug file has the build-id of its program, but not the code. */
	if ((!finding->state || finding->state == OBJECT_NO_CFI) && obj->detached)
		finding->state = OBJECT_NOT_LINKED;
	if (!finding->state || finding->state == OBJECT_NO_CFI)
		want_table(&finding->wanted, obj);
}

/* The kernel reads the copy as it would the original: by the table's address. */
static const char *copy_own(struct image *image, const struct object *obj)
{
	struct table own;
	const char *error = own_read(obj, &own);

	if (!error)
		*image = (struct image){
			.bytes = (u8 *)own.start, .size = own.size, .vaddr = own.vaddr,
		};
	return error;
}

static const char *make_table(struct image *image, const struct object *obj)
{
	struct cfi cfi;
	struct plan plan;

	if (!object_has_cfi(obj) && obj->own.present)
		return copy_own(image, obj);
	if (!cfi_read(obj, &cfi))
		return cfi.error;
	code_add(obj, &cfi);
	if (!cfi.num_functions && !object_has_cfi(obj))
		return NULL;
	plan_make(&plan, &cfi, FORMAT_DEFAULT, plan_vaddr(obj));
	return image_make(image, &plan) ? NULL : "the table would exceed 4 GiB";
}

static void send_table(FILE *to, const struct object *obj)
{
	struct image image = { };
	const char *error = make_table(&image, obj);
	struct reply reply = {
		.size = image.size,
		.vaddr = image.vaddr,
		.private_rules = image.private_rules,
	};
	struct table table;

	if (!error && image.size)
		error = table_open(&table, image.bytes, image.size, image.vaddr);
	if (!error && image.size)
		uncovered_count(obj, &table, &reply.uncovered);
	snprintf(reply.error, sizeof(reply.error), "%s", error ?: "");
	fwrite(&reply, sizeof(reply), 1, to);
	if (!error && image.size)
		fwrite(image.bytes, image.size, 1, to);
	fflush(to);
}

/*
 * All descriptors of a reader are the file, its separate debug file, /dev/null, and those to the
 * worker.
 */
static void read_in_child(struct object *obj, int debug, int go, int to, unsigned int seconds,
			  pid_t worker)
{
	struct finding finding = { };
	FILE *stream;
	char byte;

	alarm(seconds);
	/* In place of the worker's own pipes */
	dup2(to, POOL_RESULT);
	dup2(go, POOL_JOBS);
	close(to);
	close(go);
	stream = fdopen(POOL_RESULT, "w");
	if (!stream)
		_exit(EXIT_FAILED);
	find(&finding, obj, debug, worker);
	fwrite(&finding, sizeof(finding), 1, stream);
	if (!fflush(stream) && read(POOL_JOBS, &byte, 1) == 1)
		send_table(stream, obj);
	_exit(EXIT_OK);
}

/* Whether a finding can be used.  Clears what is not used of it: that goes to the file, too. */
static bool is_usable(struct finding *finding)
{
	struct sframe_file *head = &finding->wanted.head;
	u32 id_size;

	finding->error[sizeof(finding->error) - 1] = '\0';
	if (head->num_text > SFRAME_FILE_MAX_TEXT || head->build_id_size == 1 ||
	    head->build_id_size > SFRAME_INDEX_MAX_ID)
		return false;
	if (finding->state && finding->state != OBJECT_NO_CFI)
		return true;
	if (head->format != FORMAT_V2 && head->format != FORMAT_V3)
		return false;
	id_size = head->build_id_size ?: SFRAME_INDEX_MAX_ID;
	memset(head->build_id + id_size, 0, SFRAME_FILE_MAX_ID - id_size);
	memset(head->text + head->num_text, 0,
	       (SFRAME_FILE_MAX_TEXT - head->num_text) * sizeof(head->text[0]));
	return true;
}

/* Return whether there is a reader; if not, errno says why. */
static bool reader_fork(struct reader *reader, struct object *obj, int debug,
			unsigned int seconds)
{
	pid_t worker = getpid();
	int go[2], from[2];

	if (pipe(go))
		return false;
	reader->go = go[1];
	if (pipe(from)) {
		close(go[0]);
		return false;
	}
	reader->from = fdopen(from[0], "r");
	if (reader->from)
		reader->pid = fork();
	else
		close(from[0]);
	if (!reader->pid) {
		close(go[1]);
		close(from[0]);
		read_in_child(obj, debug, go[0], from[1], seconds, worker);
	}
	close(go[0]);
	close(from[1]);
	return reader->pid > 0;
}

/**
 * reader_start() - parse a file in a process without rights
 * @reader:	Filled in; the caller ends it in any case.
 * @obj:	The object, which is open and has not been read.
 * @debug:	Its separate debug file, as debug_open() has it.
 * @seconds:	How long the reader may live.
 * @finding:	Filled in; what it says may be false.
 *
 * Return: whether there is a finding.
 */
bool reader_start(struct reader *reader, struct object *obj, int debug, unsigned int seconds,
		  struct finding *finding)
{
	*reader = (struct reader){ .pid = -1, .go = -1 };
	/* Writing to a reader that was killed is an error, not the worker's end. */
	signal(SIGPIPE, SIG_IGN);
	if (!reader_fork(reader, obj, debug, seconds)) {
		reader->error = errno;
		return false;
	}
	return fread(finding, sizeof(*finding), 1, reader->from) == 1 && is_usable(finding);
}

/* The table file's note is the hash of these bytes, so nobody checks them later. */
static const char *check_image(const struct image *image, const struct wanted *wanted)
{
	struct table table;
	const char *error = table_open(&table, image->bytes, image->size, image->vaddr);

	if (error)
		return error;
	if (table.version != wanted->head.format)
		return "the table has another version";
	return table_check(&table);
}

/* The numbers are for the user to read, so absurd ones do no harm but to sums. */
static struct uncovered believe(const struct uncovered *said, const struct wanted *wanted)
{
	u64 most = 0;

	for (u32 i = 0; i < wanted->head.num_text; i++)
		most += wanted->head.text[i].size;
	return uncovered_is_possible(said) && said->text <= most ? *said : (struct uncovered){ };
}

/**
 * reader_make() - make the table of a reader's file
 * @reader:	The reader, which has started.
 * @obj:	The object.
 * @wanted:	The table, as reader_start() has found.
 * @image:	Filled in; the caller frees it in any case.  Its size is 0 if nothing is known of
 *		the code.
 * @uncovered:	Filled in; what it says may be false.
 * @error:	Set to why there is no table; "" if the reader has ended.
 *
 * Return: whether there is a table, or nothing to make one of.
 */
bool reader_make(struct reader *reader, const struct object *obj, const struct wanted *wanted,
		 struct image *image, struct uncovered *uncovered,
		 char error[MAX_READER_ERROR])
{
	struct reply reply;

	*image = (struct image){ };
	*error = '\0';
	if (write(reader->go, "", 1) != 1 || fread(&reply, sizeof(reply), 1, reader->from) != 1)
		return false;
	memcpy(error, reply.error, MAX_READER_ERROR);
	error[MAX_READER_ERROR - 1] = '\0';
	if (!*error && reply.size / MAX_GROWTH > obj->file_size)
		strcpy(error, "its table is larger than that of any file of this size");
	if (!*error && !reply.size && wanted->bare != BARE_FOLLOWED)
		strcpy(error, "its table is empty");
	if (*error)
		return false;
	/* Code that cannot be followed: there is no table, and nothing is wrong. */
	if (!reply.size)
		return true;
	image->vaddr = reply.vaddr;
	image->private_rules = reply.private_rules;
	*uncovered = believe(&reply.uncovered, wanted);
	image->size = reply.size;
	image->bytes = malloc(reply.size + 1);
	if (!image->bytes)
		strcpy(error, "out of memory");
	if (!image->bytes || fread(image->bytes, reply.size, 1, reader->from) != 1)
		return false;
	snprintf(error, MAX_READER_ERROR, "%s", check_image(image, wanted) ?: "");
	return !*error;
}

/**
 * reader_end() - end a reader
 * @reader:	The reader.
 *
 * Return: the signal that ended it before, -1 if it failed without a word, or 0.
 */
int reader_end(struct reader *reader)
{
	int status = 0;

	if (reader->go >= 0)
		close(reader->go);
	if (reader->from)
		fclose(reader->from);
	if (reader->pid < 0 || waitpid(reader->pid, &status, 0) < 0)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : -!!status;
}
