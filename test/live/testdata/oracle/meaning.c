/* A constant is hashed by its tag and all that it refers to; code by its instructions, with the
 * constant in the place of its number. */
#include "meaning.h"

#include <stdlib.h>

enum { UTF8 = 1, LONG = 5, DOUBLE = 6 };

struct pool {
    const unsigned char **entries; /* NULL for numbers that no constant has */
    size_t count;
};

uint64_t hash_bytes(uint64_t hash, const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    return hash;
}

static unsigned u2(const unsigned char *p) {
    return (unsigned)p[0] << 8 | p[1];
}

/* The bytes of a constant, with its tag; 0 for a tag that is unknown. */
static size_t width(const unsigned char *p) {
    switch (p[0]) {
    case UTF8: return 3 + u2(p + 1);
    case 3: case 4: case 9: case 10: case 11: case 12: case 17: case 18: return 5;
    case LONG: case DOUBLE: return 9;
    case 7: case 8: case 16: case 19: case 20: return 3;
    case 15: return 4;
    default: return 0;
    }
}

pool *parse_pool(const unsigned char *bytes, size_t size, size_t count) {
    pool *p = malloc(sizeof *p);
    p->count = count;
    p->entries = calloc(count + 1, sizeof *p->entries);
    const unsigned char *at = bytes, *end = bytes + size;
    for (size_t i = 1; i < count && at < end; i++) {
        size_t w = width(at);
        if (w == 0) {
            break;
        }
        p->entries[i] = at;
        if (*at == LONG || *at == DOUBLE) {
            i++;
        }
        at += w;
    }
    return p;
}

void free_pool(pool *p) {
    free(p->entries);
    free(p);
}

static uint64_t hash_constant(const pool *p, uint64_t hash, unsigned index) {
    const unsigned char *c = index < p->count ? p->entries[index] : NULL;
    if (c == NULL) {
        return hash_bytes(hash, (const unsigned char *)"missing", 7);
    }
    hash = hash_bytes(hash, c, 1);
    switch (c[0]) {
    case 7: case 8: case 16: case 19: case 20: /* one reference */
        return hash_constant(p, hash, u2(c + 1));
    case 9: case 10: case 11: case 12: /* two references */
        return hash_constant(p, hash_constant(p, hash, u2(c + 1)), u2(c + 3));
    case 15: /* a kind and a reference */
        return hash_constant(p, hash_bytes(hash, c + 1, 1), u2(c + 2));
    case 17: case 18: /* a bootstrap method, which the pool does not tell, and a reference */
        return hash_constant(p, hash, u2(c + 3));
    default:
        return hash_bytes(hash, c + 1, width(c) - 1);
    }
}

/* The length of a switch, whose cases begin at the next multiple of four. */
static size_t switch_size(const unsigned char *code, size_t at) {
    size_t p = (at + 4) & ~(size_t)3;
    size_t n = (size_t)u2(code + p + 4) << 16 | u2(code + p + 6);
    if (code[at] == 0xab) { /* lookupswitch: that was the number of pairs */
        return p + 8 + 8 * n - at;
    }
    size_t high = (size_t)u2(code + p + 8) << 16 | u2(code + p + 10);
    return p + 12 + 4 * (size_t)((uint32_t)(high - n) + 1) - at;
}

static size_t instruction_size(const unsigned char *code, size_t at) {
    unsigned op = code[at];
    if (op == 0xaa || op == 0xab) return switch_size(code, at);
    if (op == 0xc4) return code[at + 1] == 0x84 ? 6 : 4; /* wide */
    if (op == 0x10 || op == 0x12 || (op >= 0x15 && op <= 0x19) || (op >= 0x36 && op <= 0x3a) || op == 0xa9 || op == 0xbc) return 2;
    if (op == 0xc5) return 4;
    if (op == 0xb9 || op == 0xba || op == 0xc8 || op == 0xc9) return 5;
    if (op == 0x11 || op == 0x13 || op == 0x14 || op == 0x84 || (op >= 0x99 && op <= 0xa8) || (op >= 0xb2 && op <= 0xb8) ||
        op == 0xbb || op == 0xbd || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7) return 3;
    return 1;
}

uint64_t hash_meaning(const pool *p, const unsigned char *code, size_t size) {
    uint64_t hash = hash_start;
    for (size_t at = 0, step; at < size; at += step) {
        unsigned op = code[at];
        step = instruction_size(code, at);
        hash = hash_bytes(hash, code + at, 1);
        if (op == 0x12) { /* ldc */
            hash = hash_constant(p, hash, code[at + 1]);
        } else if (op == 0x13 || op == 0x14 || (op >= 0xb2 && op <= 0xbb) || op == 0xbd || op == 0xc0 || op == 0xc1 || op == 0xc5) {
            hash = hash_constant(p, hash, u2(code + at + 1));
            hash = hash_bytes(hash, code + at + 3, step - 3);
        } else {
            hash = hash_bytes(hash, code + at + 1, step - 1);
        }
    }
    return hash;
}
