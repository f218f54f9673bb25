sealed interface Sealed permits Sealed.A, Sealed.B {
    final class A implements Sealed {}

    non-sealed class B implements Sealed {}
}
