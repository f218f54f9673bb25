import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.Attribute;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.ModuleVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.RecordComponentVisitor;
import org.objectweb.asm.TypePath;

/**
 * Visits everything there is in a class: members, instructions, frames, line numbers, variables and
 * annotations. It counts what it sees, so that nothing may be optimised away.
 */
final class FullVisit extends ClassVisitor {
    private long seen;

    private final AnnotationVisitor annotations = new AnnotationVisitor(Opcodes.ASM9) {
        @Override
        public void visit(String name, Object value) {
            seen++;
        }

        @Override
        public AnnotationVisitor visitAnnotation(String name, String descriptor) {
            return this;
        }

        @Override
        public AnnotationVisitor visitArray(String name) {
            return this;
        }
    };

    private final MethodVisitor instructions = new Instructions();

    private final FieldVisitor fields = new FieldVisitor(Opcodes.ASM9) {
        @Override
        public AnnotationVisitor visitAnnotation(String descriptor, boolean visible) {
            return annotations;
        }

        @Override
        public AnnotationVisitor visitTypeAnnotation(int ref, TypePath path, String descriptor, boolean visible) {
            return annotations;
        }
    };

    private final RecordComponentVisitor components = new RecordComponentVisitor(Opcodes.ASM9) {
        @Override
        public AnnotationVisitor visitAnnotation(String descriptor, boolean visible) {
            return annotations;
        }
    };

    private final ModuleVisitor modules = new ModuleVisitor(Opcodes.ASM9) {
        @Override
        public void visitExport(String packaze, int access, String... modules) {
            seen++;
        }
    };

    FullVisit() {
        super(Opcodes.ASM9);
    }

    long visit(byte[] data) {
        new ClassReader(data).accept(this, 0);
        return seen;
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
        return instructions;
    }

    @Override
    public FieldVisitor visitField(int access, String name, String descriptor, String signature, Object value) {
        return fields;
    }

    @Override
    public AnnotationVisitor visitAnnotation(String descriptor, boolean visible) {
        return annotations;
    }

    @Override
    public AnnotationVisitor visitTypeAnnotation(int ref, TypePath path, String descriptor, boolean visible) {
        return annotations;
    }

    @Override
    public RecordComponentVisitor visitRecordComponent(String name, String descriptor, String signature) {
        return components;
    }

    @Override
    public ModuleVisitor visitModule(String name, int access, String version) {
        return modules;
    }

    /** Sees each instruction and each row of a table. */
    private final class Instructions extends MethodVisitor {
        Instructions() {
            super(Opcodes.ASM9);
        }

        @Override
        public AnnotationVisitor visitAnnotationDefault() {
            return annotations;
        }

        @Override
        public AnnotationVisitor visitAnnotation(String descriptor, boolean visible) {
            return annotations;
        }

        @Override
        public AnnotationVisitor visitTypeAnnotation(int ref, TypePath path, String descriptor, boolean visible) {
            return annotations;
        }

        @Override
        public AnnotationVisitor visitParameterAnnotation(int parameter, String descriptor, boolean visible) {
            return annotations;
        }

        @Override
        public AnnotationVisitor visitInsnAnnotation(int ref, TypePath path, String descriptor, boolean visible) {
            return annotations;
        }

        @Override
        public AnnotationVisitor visitTryCatchAnnotation(int ref, TypePath path, String descriptor, boolean visible) {
            return annotations;
        }

        @Override
        public AnnotationVisitor visitLocalVariableAnnotation(
                int ref, TypePath path, Label[] start, Label[] end, int[] index, String descriptor, boolean visible) {
            return annotations;
        }

        @Override
        public void visitAttribute(Attribute attribute) {
            seen++;
        }

        @Override
        public void visitFrame(int type, int locals, Object[] local, int stacked, Object[] stack) {
            seen++;
        }

        @Override
        public void visitInsn(int opcode) {
            seen++;
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            seen++;
        }

        @Override
        public void visitVarInsn(int opcode, int slot) {
            seen++;
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            seen++;
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            seen++;
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            seen++;
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            seen++;
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            seen++;
        }

        @Override
        public void visitLdcInsn(Object value) {
            seen++;
        }

        @Override
        public void visitIincInsn(int slot, int increment) {
            seen++;
        }

        @Override
        public void visitTableSwitchInsn(int min, int max, Label otherwise, Label... labels) {
            seen++;
        }

        @Override
        public void visitLookupSwitchInsn(Label otherwise, int[] keys, Label[] labels) {
            seen++;
        }

        @Override
        public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
            seen++;
        }

        @Override
        public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
            seen++;
        }

        @Override
        public void visitLocalVariable(
                String name, String descriptor, String signature, Label start, Label end, int index) {
            seen++;
        }

        @Override
        public void visitLineNumber(int line, Label start) {
            seen++;
        }
    }
}
