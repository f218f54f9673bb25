/*
 * Report "methods": the code that runs, method by method.
 *
 *     method CLASS LOADER NAME DESCRIPTOR modifiers=M locals=L arguments=A size=S code=H meaning=H lines=H
 *     unlinked CLASS LOADER                 its methods cannot be asked for yet; or never will run,
 *                                           since its initialiser failed
 *
 * The JVM may number constants anew when a class is redefined, so code is hashed twice: "code" takes
 * the bytes as they are, "meaning" puts in the place of each constant's number what it stands for.
 */
#include "oracle.h"
#include "meaning.h"

#include <stdlib.h>

static jvmtiError report_method(jvmtiEnv *jvmti, const pool *constants, jmethodID method,
                                const char *type, const char *loader, answer *a) {
    char *name = NULL, *descriptor = NULL;
    jint modifiers = 0, locals = 0, arguments = 0, size = 0, entries = 0;
    unsigned char *code = NULL;
    jvmtiLineNumberEntry *lines = NULL;
    uint64_t line_hash = hash_start, code_hash = hash_start, meaning = hash_start;

    TRY((*jvmti)->GetMethodName(jvmti, method, &name, &descriptor, NULL));
    TRY((*jvmti)->GetMethodModifiers(jvmti, method, &modifiers));
    if ((modifiers & (0x0100 | 0x0400)) == 0) { /* neither native nor abstract */
        TRY((*jvmti)->GetMaxLocals(jvmti, method, &locals));
        TRY((*jvmti)->GetArgumentsSize(jvmti, method, &arguments));
        TRY((*jvmti)->GetBytecodes(jvmti, method, &size, &code));
        code_hash = hash_bytes(code_hash, code, (size_t)size);
        meaning = hash_meaning(constants, code, (size_t)size);
        jvmtiError error = (*jvmti)->GetLineNumberTable(jvmti, method, &entries, &lines);
        if (error != JVMTI_ERROR_NONE && error != JVMTI_ERROR_ABSENT_INFORMATION) {
            return error;
        }
        for (jint i = 0; i < entries; i++) {
            jlong pair[2] = {lines[i].start_location, lines[i].line_number};
            line_hash = hash_bytes(line_hash, (const unsigned char *)pair, sizeof pair);
        }
    }
    say(a, "method %s %s %s %s modifiers=%x locals=%d arguments=%d size=%d code=%016lx meaning=%016lx lines=%016lx",
        type, loader, name, descriptor, (unsigned)modifiers, locals, arguments, size,
        (unsigned long)code_hash, (unsigned long)meaning, (unsigned long)line_hash);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)lines);
    (*jvmti)->Deallocate(jvmti, code);
    return JVMTI_ERROR_NONE;
}

static jvmtiError report_class(jvmtiEnv *jvmti, JNIEnv *jni, jclass type, const char *name, answer *a) {
    char *loader = loader_name(jvmti, jni, type);
    jint count = 0, constants = 0, bytes = 0;
    jmethodID *methods = NULL;
    unsigned char *data = NULL;
    jvmtiError error = (*jvmti)->GetClassMethods(jvmti, type, &count, &methods);
    if (error == JVMTI_ERROR_NONE) {
        error = (*jvmti)->GetConstantPool(jvmti, type, &constants, &bytes, &data);
    }
    if (error == JVMTI_ERROR_CLASS_NOT_PREPARED || error == JVMTI_ERROR_INVALID_CLASS) {
        say(a, "unlinked %s %s", name, loader);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
        free(loader);
        return JVMTI_ERROR_NONE;
    }
    TRY(error);
    pool *parsed = parse_pool(data, (size_t)bytes, (size_t)constants);
    for (jint i = 0; i < count; i++) {
        TRY(report_method(jvmti, parsed, methods[i], name, loader, a));
    }
    free_pool(parsed);
    (*jvmti)->Deallocate(jvmti, data);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
    free(loader);
    return JVMTI_ERROR_NONE;
}

jvmtiError report_methods(jvmtiEnv *jvmti, JNIEnv *jni, const question *q, answer *a) {
    jint count = 0;
    jclass *classes = NULL;
    TRY((*jvmti)->GetLoadedClasses(jvmti, &count, &classes));
    for (jint i = 0; i < count; i++) {
        char *name = class_name(jvmti, classes[i]);
        jint status = 0;
        TRY((*jvmti)->GetClassStatus(jvmti, classes[i], &status));
        int is_class = (status & (JVMTI_CLASS_STATUS_ARRAY | JVMTI_CLASS_STATUS_PRIMITIVE)) == 0;
        if (is_class && (q->count == 0 || asked_about(q, name))) {
            jvmtiError error = report_class(jvmti, jni, classes[i], name, a);
            if (error != JVMTI_ERROR_NONE) {
                fprintf(stderr, "oracle: %s: JVMTI error %d\n", name, (int)error);
                return error;
            }
        }
        free(name);
        (*jni)->DeleteLocalRef(jni, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
    return JVMTI_ERROR_NONE;
}
