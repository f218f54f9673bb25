/* What the parts of the oracle have in common. */
#ifndef ORACLE_H
#define ORACLE_H

#include <jvmti.h>
#include <stdio.h>

/* A question: which report, where to, and about classes whose names (with dots) begin with one of
 * these. */
typedef struct {
    char *report;
    char *path;
    char *prefixes[32];
    int count;
} question;

/* The lines of an answer, which are sorted before they are written. */
typedef struct {
    char **lines;
    size_t count, room;
} answer;

void say(answer *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the sorted lines and a last line "end" by which a reader knows that they are all there. */
int write_answer(answer *a, const char *path);

int asked_about(const question *q, const char *name);

/* The class's name with dots, without the marks of a signature; the caller frees it. */
char *class_name(jvmtiEnv *jvmti, jclass type);

/* The name of the class of the object that loaded the class, or "boot"; the caller frees it. */
char *loader_name(jvmtiEnv *jvmti, JNIEnv *jni, jclass type);

jvmtiError report_methods(jvmtiEnv *jvmti, JNIEnv *jni, const question *q, answer *a);
jvmtiError report_live(jvmtiEnv *jvmti, JNIEnv *jni, const question *q, answer *a);

/* Returns from the function with a JVMTI error. */
#define TRY(call)                                   \
    do {                                            \
        jvmtiError error_ = (call);                 \
        if (error_ != JVMTI_ERROR_NONE) {           \
            fprintf(stderr, "oracle: %s: error %d\n", #call, error_); \
            return error_;                          \
        }                                           \
    } while (0)

#endif
