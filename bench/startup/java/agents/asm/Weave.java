import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.LocalVariablesSorter;

/**
 * Weaves entry, exit and a catch-all around the body of every method, or of those of some names, but constructors, initialisers and bridges. The
 * pool is copied, and with it methods that are not woven, as they are; only maxima are computed. When a call began is
 * kept in a variable, which has to be in the frames, so these are visited expanded: ASM computes none.
 */
final class Weave {
    private final int firstId;
    private final Set<String> names;
    private int woven;

    /** Names are null where all methods are meant. */
    Weave(int firstId, Set<String> names) {
        this.firstId = firstId;
        this.names = names;
    }

    /** How many methods were woven. */
    int methods() {
        return woven;
    }

    byte[] apply(byte[] file) {
        ClassReader reader = new ClassReader(file);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
                int leftAlone = Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE | Opcodes.ACC_BRIDGE;
                if ((access & leftAlone) != 0 || name.charAt(0) == '<' || names != null && !names.contains(name)) {
                    return next;
                }
                return new Body(next, access, descriptor, firstId + woven++);
            }
        }, ClassReader.EXPAND_FRAMES);
        return writer.toByteArray();
    }

    private static final class Body extends LocalVariablesSorter {
        private static final String HOOKS = "startup/AsmHooks";

        private final Object[] entryLocals;
        private final int id;
        private final Label start = new Label();
        private int began;

        Body(MethodVisitor next, int access, String descriptor, int id) {
            super(Opcodes.ASM9, access, descriptor, next);
            this.id = id;
            this.entryLocals = entryLocals(access, descriptor);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            began = newLocal(Type.LONG_TYPE);
            mv.visitLdcInsn(id);
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, HOOKS, "enter", "(I)J", false);
            mv.visitVarInsn(Opcodes.LSTORE, began);
            mv.visitLabel(start);
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
                callHook("exit");
            }
            super.visitInsn(opcode);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            Label handler = new Label();
            mv.visitTryCatchBlock(start, handler, handler, null);
            mv.visitLabel(handler);
            mv.visitFrame(Opcodes.F_NEW, entryLocals.length, entryLocals, 1, new Object[] {"java/lang/Throwable"});
            callHook("fail");
            mv.visitInsn(Opcodes.ATHROW);
            super.visitMaxs(stack, locals);
        }

        private void callHook(String hook) {
            mv.visitLdcInsn(id);
            mv.visitVarInsn(Opcodes.LLOAD, began);
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, HOOKS, hook, "(IJ)V", false);
        }

        /**
         * What surely is in variables wherever the body may throw: nothing of the arguments, which it may overwrite,
         * but when the call began.
         */
        private static Object[] entryLocals(int access, String descriptor) {
            int slots = (access & Opcodes.ACC_STATIC) != 0 ? 0 : 1;
            for (Type argument : Type.getArgumentTypes(descriptor)) {
                slots += argument.getSize();
            }
            Object[] locals = new Object[slots + 1];
            java.util.Arrays.fill(locals, Opcodes.TOP);
            locals[slots] = Opcodes.LONG;
            return locals;
        }
    }
}
