import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.AdviceAdapter;

/** Weaves enter, exit and a catch-all by ASM's own AdviceAdapter, which needs expanded frames. */
final class AdviceWeave {
    private AdviceWeave() {}

    static byte[] weave(byte[] data) {
        ClassReader reader = new ClassReader(data);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        String owner = reader.getClassName();
        boolean top = reader.getSuperName() == null;
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(
                    int access, String name, String descriptor, String signature, String[] exceptions) {
                MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
                if (top && name.equals("<init>")) {
                    return next; // the adapter waits for a call of super that never comes
                }
                return new Body(next, access, name, descriptor, (owner + "." + name + descriptor).hashCode());
            }
        }, ClassReader.EXPAND_FRAMES);
        return writer.toByteArray();
    }

    private static final class Body extends AdviceAdapter {
        private final int id;
        private final Label start = new Label();
        private boolean entered;

        Body(MethodVisitor next, int access, String name, String descriptor, int id) {
            super(Opcodes.ASM9, next, access, name, descriptor);
            this.id = id;
        }

        private void hook(String name) {
            mv.visitLdcInsn(id);
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, "Hooks", name, "(I)V", false);
        }

        @Override
        protected void onMethodEnter() {
            hook("enter");
            mv.visitLabel(start);
            entered = true;
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode != ATHROW) { // which the catch-all sees
                hook("exit");
            }
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            if (entered) {
                Label handler = new Label();
                mv.visitTryCatchBlock(start, handler, handler, null);
                mv.visitLabel(handler);
                mv.visitFrame(Opcodes.F_NEW, 0, new Object[0], 1, new Object[] {"java/lang/Throwable"});
                hook("exit");
                mv.visitInsn(ATHROW);
            }
            super.visitMaxs(stack, locals);
        }
    }
}
