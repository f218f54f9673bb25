/* Code hashed by what it means, whatever numbers its constants have. */
#ifndef MEANING_H
#define MEANING_H

#include <stddef.h>
#include <stdint.h>

typedef struct pool pool;

static const uint64_t hash_start = 14695981039346656037u; /* FNV-1a */

uint64_t hash_bytes(uint64_t hash, const unsigned char *bytes, size_t size);

/* Reads a constant pool as the JVM hands it out: entries 1 to count-1, without the count. */
pool *parse_pool(const unsigned char *bytes, size_t size, size_t count);
void free_pool(pool *p);

uint64_t hash_meaning(const pool *p, const unsigned char *code, size_t size);

#endif
