/* Lines of an answer, and names of classes. */
#include "oracle.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void say(answer *a, const char *format, ...) {
    va_list arguments;
    if (a->count == a->room) {
        a->room = a->room == 0 ? 1024 : a->room * 2;
        a->lines = realloc(a->lines, a->room * sizeof *a->lines);
    }
    va_start(arguments, format);
    if (a->lines == NULL || vasprintf(&a->lines[a->count], format, arguments) < 0) {
        abort(); /* out of memory, in a test */
    }
    va_end(arguments);
    a->count++;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int write_answer(answer *a, const char *path) {
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        perror(path);
        return 0;
    }
    if (a->count > 0) {
        qsort(a->lines, a->count, sizeof *a->lines, compare);
    }
    for (size_t i = 0; i < a->count; i++) {
        fprintf(out, "%s\n", a->lines[i]);
        free(a->lines[i]);
    }
    free(a->lines);
    fprintf(out, "end\n");
    return fclose(out) == 0;
}

int asked_about(const question *q, const char *name) {
    for (int i = 0; i < q->count; i++) {
        if (strncmp(name, q->prefixes[i], strlen(q->prefixes[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Turns Lpackage/Name; into package.Name, in memory of its own. */
static char *readable(const char *signature) {
    size_t length = strlen(signature);
    char *name = strdup(signature);
    if (name == NULL) {
        abort();
    }
    if (length > 2 && signature[0] == 'L') {
        memmove(name, signature + 1, length - 2);
        name[length - 2] = 0;
    }
    for (char *c = name; *c != 0; c++) {
        if (*c == '/') {
            *c = '.';
        }
    }
    return name;
}

char *class_name(jvmtiEnv *jvmti, jclass type) {
    char *signature = NULL;
    if ((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL) != JVMTI_ERROR_NONE) {
        return strdup("?");
    }
    char *name = readable(signature);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    return name;
}

char *loader_name(jvmtiEnv *jvmti, JNIEnv *jni, jclass type) {
    jobject loader = NULL;
    if ((*jvmti)->GetClassLoader(jvmti, type, &loader) != JVMTI_ERROR_NONE || loader == NULL) {
        return strdup("boot");
    }
    jclass of = (*jni)->GetObjectClass(jni, loader);
    char *name = class_name(jvmti, of);
    (*jni)->DeleteLocalRef(jni, of);
    (*jni)->DeleteLocalRef(jni, loader);
    return name;
}
