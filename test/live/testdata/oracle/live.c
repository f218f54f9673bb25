/*
 * Report "live": what of the classes asked about is alive after a full collection, and all threads.
 *
 *     class NAME LOADER instances=N         instances of exactly this class
 *     held NAME by HOW of HOLDER            what leads to an instance, each kind once
 *     thread NAME
 *
 * Prefixes that name classes of loaders tell whether such a loader is alive: it is an instance.
 */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

static jint JNICALL count_object(jlong class_tag, jlong size, jlong *tag, jint length, void *data) {
    (void)class_tag, (void)size, (void)tag, (void)length;
    ++*(jlong *)data;
    return JVMTI_VISIT_OBJECTS;
}

/* The classes by their tags, which are their places here and one more. */
typedef struct {
    char **names;
    unsigned char *asked;
    char *said[1024]; /* so many holders tell enough */
    int count;
} holders;

static const char *how(jvmtiHeapReferenceKind kind) {
    switch (kind) {
    case JVMTI_HEAP_REFERENCE_CLASS: return "class";
    case JVMTI_HEAP_REFERENCE_FIELD: return "field";
    case JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT: return "element";
    case JVMTI_HEAP_REFERENCE_CLASS_LOADER: return "loader";
    case JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN: return "domain";
    case JVMTI_HEAP_REFERENCE_STATIC_FIELD: return "static";
    case JVMTI_HEAP_REFERENCE_CONSTANT_POOL: return "constant";
    case JVMTI_HEAP_REFERENCE_JNI_GLOBAL: return "jni-global";
    case JVMTI_HEAP_REFERENCE_SYSTEM_CLASS: return "system-class";
    case JVMTI_HEAP_REFERENCE_MONITOR: return "monitor";
    case JVMTI_HEAP_REFERENCE_STACK_LOCAL: return "local";
    case JVMTI_HEAP_REFERENCE_JNI_LOCAL: return "jni-local";
    case JVMTI_HEAP_REFERENCE_THREAD: return "thread";
    default: return "other";
    }
}

static jint JNICALL note_holder(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
                                jlong referrer_class_tag, jlong size, jlong *tag, jlong *referrer_tag, jint length,
                                void *data) {
    (void)info, (void)size, (void)tag, (void)length;
    holders *h = data;
    /* What leads to instances is asked for, not what leads from each object to its class. */
    if (class_tag == 0 || !h->asked[class_tag - 1] || kind == JVMTI_HEAP_REFERENCE_CLASS) {
        return JVMTI_VISIT_OBJECTS;
    }
    /* A class that refers, by a static field or its pool, is itself the object that is tagged. */
    jlong from = referrer_tag != NULL && *referrer_tag != 0 ? *referrer_tag : referrer_class_tag;
    char *line = NULL;
    if (h->count == (int)(sizeof h->said / sizeof *h->said) ||
        asprintf(&line, "held %s by %s of %s", h->names[class_tag - 1], how(kind), from == 0 ? "root" : h->names[from - 1]) < 0) {
        return JVMTI_VISIT_ABORT;
    }
    for (int i = 0; i < h->count; i++) {
        if (strcmp(h->said[i], line) == 0) {
            free(line);
            return JVMTI_VISIT_OBJECTS;
        }
    }
    h->said[h->count++] = line;
    return JVMTI_VISIT_OBJECTS;
}

/* Follows all references from the roots. Tags end with the environment. */
static jvmtiError report_holders(jvmtiEnv *jvmti, JNIEnv *jni, const question *q, answer *a) {
    jint count = 0;
    jclass *classes = NULL;
    jvmtiHeapCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.heap_reference_callback = note_holder;
    TRY((*jvmti)->GetLoadedClasses(jvmti, &count, &classes));
    holders *h = calloc(1, sizeof *h);
    h->names = calloc((size_t)count, sizeof *h->names);
    h->asked = calloc((size_t)count, 1);
    for (jint i = 0; i < count; i++) {
        h->names[i] = class_name(jvmti, classes[i]);
        h->asked[i] = (unsigned char)asked_about(q, h->names[i]);
        TRY((*jvmti)->SetTag(jvmti, classes[i], i + 1));
        (*jni)->DeleteLocalRef(jni, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
    TRY((*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &callbacks, h));
    for (int i = 0; i < h->count; i++) {
        say(a, "%s", h->said[i]);
        free(h->said[i]);
    }
    for (jint i = 0; i < count; i++) {
        free(h->names[i]);
    }
    free(h->names);
    free(h->asked);
    free(h);
    return JVMTI_ERROR_NONE;
}

static jvmtiError report_classes(jvmtiEnv *jvmti, JNIEnv *jni, const question *q, answer *a) {
    jint count = 0;
    jclass *classes = NULL;
    jvmtiHeapCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.heap_iteration_callback = count_object;
    TRY((*jvmti)->GetLoadedClasses(jvmti, &count, &classes));
    for (jint i = 0; i < count; i++) {
        char *name = class_name(jvmti, classes[i]);
        if (asked_about(q, name)) {
            jlong instances = 0;
            char *loader = loader_name(jvmti, jni, classes[i]);
            TRY((*jvmti)->IterateThroughHeap(jvmti, 0, classes[i], &callbacks, &instances));
            say(a, "class %s %s instances=%lld", name, loader, (long long)instances);
            free(loader);
        }
        free(name);
        (*jni)->DeleteLocalRef(jni, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
    return JVMTI_ERROR_NONE;
}

static jvmtiError report_threads(jvmtiEnv *jvmti, JNIEnv *jni, answer *a) {
    jint count = 0;
    jthread *threads = NULL;
    TRY((*jvmti)->GetAllThreads(jvmti, &count, &threads));
    for (jint i = 0; i < count; i++) {
        jvmtiThreadInfo info;
        memset(&info, 0, sizeof info);
        TRY((*jvmti)->GetThreadInfo(jvmti, threads[i], &info));
        say(a, "thread %s", info.name);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
        (*jni)->DeleteLocalRef(jni, info.thread_group);
        (*jni)->DeleteLocalRef(jni, info.context_class_loader);
        (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
    return JVMTI_ERROR_NONE;
}

jvmtiError report_live(jvmtiEnv *jvmti, JNIEnv *jni, const question *q, answer *a) {
    /* The second collection takes what the first has only made ready: loaders whose cleaners ran. */
    TRY((*jvmti)->ForceGarbageCollection(jvmti));
    TRY((*jvmti)->ForceGarbageCollection(jvmti));
    TRY(report_classes(jvmti, jni, q, a));
    TRY(report_holders(jvmti, jni, q, a));
    return report_threads(jvmti, jni, a);
}
