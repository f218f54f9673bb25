/*
 * The oracle asks the JVM itself, past every transformer, what it runs and what is alive. It is
 * loaded into a running JVM with the options
 *
 *     REPORT,PATH[,PREFIX...]     REPORT: methods | live
 *
 * writes its answer to PATH, and gives everything back: no capability, event or environment stays.
 */
#include "oracle.h"

#include <string.h>
#include <stdlib.h>

static int parse(char *options, question *q) {
    char *rest = NULL;
    q->report = strtok_r(options, ",", &rest);
    q->path = strtok_r(NULL, ",", &rest);
    q->count = 0;
    for (char *p = strtok_r(NULL, ",", &rest); p != NULL; p = strtok_r(NULL, ",", &rest)) {
        if (q->count == (int)(sizeof q->prefixes / sizeof *q->prefixes)) {
            return 0;
        }
        q->prefixes[q->count++] = p;
    }
    return q->path != NULL && (strcmp(q->report, "methods") == 0 || strcmp(q->report, "live") == 0);
}

/* Asks with just the capabilities that the report needs, all of which a JVM grants at any time
 * without becoming slower, and hands them back. */
static jvmtiError ask(jvmtiEnv *jvmti, JNIEnv *jni, const question *q, answer *a) {
    int methods = strcmp(q->report, "methods") == 0;
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_get_bytecodes = methods;
    wanted.can_get_constant_pool = methods;
    wanted.can_get_line_numbers = methods;
    wanted.can_tag_objects = !methods;
    TRY((*jvmti)->AddCapabilities(jvmti, &wanted));
    jvmtiError error = methods ? report_methods(jvmti, jni, q, a) : report_live(jvmti, jni, q, a);
    TRY((*jvmti)->RelinquishCapabilities(jvmti, &wanted));
    return error;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    jvmtiEnv *jvmti = NULL;
    JNIEnv *jni = NULL;
    question q;
    answer a = {NULL, 0, 0};
    char *copy = strdup(options == NULL ? "" : options);
    if (copy == NULL || !parse(copy, &q)) {
        fprintf(stderr, "oracle: options must be REPORT,PATH[,PREFIX...]\n");
        free(copy);
        return JNI_ERR;
    }
    jint result = JNI_ERR;
    if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_8) == JNI_OK &&
        (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) == JNI_OK) {
        if ((*jni)->PushLocalFrame(jni, 64) == 0) {
            result = ask(jvmti, jni, &q, &a) == JVMTI_ERROR_NONE ? JNI_OK : JNI_ERR;
            (*jni)->PopLocalFrame(jni, NULL);
        }
        if ((*jvmti)->DisposeEnvironment(jvmti) != JVMTI_ERROR_NONE) {
            result = JNI_ERR;
        }
    }
    if (result == JNI_OK && !write_answer(&a, q.path)) {
        result = JNI_ERR;
    }
    free(copy);
    return result;
}
