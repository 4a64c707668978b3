// SPDX-License-Identifier: GPL-2.0
/* Memory without which the program cannot go on; arrays that grow. */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

/**
 * require_memory() - end the program if there is no memory
 * @memory:	What an allocation has returned.
 *
 * Return: @memory, which is not NULL.
 */
void *require_memory(void *memory)
{
	if (memory)
		return memory;
	perror("sframe");
	exit(1);
}

/**
 * grow() - make room for one more element
 * @array:	The array, or NULL.
 * @room:	How many elements it has room for; 0 for NULL.
 * @count:	How many are in use.
 * @size:	The size of an element in bytes.
 *
 * Ends the program if there is no memory.
 *
 * Return: the array, which may have moved.
 */
void *grow(void *array, size_t *room, size_t count, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? *room * 2 : 256;
	array = reallocarray(array, *room, size);
	if (!array) {
		fputs("sframe: out of memory\n", stderr);
		exit(1);
	}
	return array;
}
