#include <jni.h>
#include <stdint.h>

/* The hot native method of the fixture jni. */
JNIEXPORT jlong JNICALL Java_jni_Main_step(JNIEnv *env, jclass class, jint seed) {
	(void)env;
	(void)class;
	uint64_t x = (uint64_t)seed | 1;
	for (int i = 0; i < 4000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return (jlong)x;
}
