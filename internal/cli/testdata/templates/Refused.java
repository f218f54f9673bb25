import sonde.template.Template;

// Templates that are refused. A line with a mistake ends with a comment that has a part of the message.

class NoTarget {
    static void t() {
        Template.count("a"); // no method of it calls Template.target(): call it once
    }
}

class TwoTargets {
    static void t() {
        Template.target();
        Template.target(); // more than once
    }
}

class Forbidden {
    static void t() {
        int n = Template.argInt(0);
        for (int i = 0; i < n; i++) // without a constant bound: count from one constant
            Template.count("a");
        while (n > 0) // without a constant bound
            n--;
        for (int i = 0; i < 1000; i++)
            for (int j = 0; j < 2; j++) // more than 1000 turns: shorten it
                Template.count("a");
        for (int i = 0; i < 10; i++)
            Template.tag("b", "x" + i); // makes a text in a loop, which allocates in each turn: move it out
        for (int i = 0; i < 1000; i++)
            Template.count("a");
        Template.tag("b", "x" + n);
        System.out.println(); // reads the static field java.lang.System.out
        Template.tag("c", Template.self().toString()); // calls java.lang.Object.toString: a template may call
        Runtime.getRuntime().gc(); // calls java.lang.Runtime.getRuntime
        Object o = new Object(); // makes a java.lang.Object: only texts
        long[] made = new long[3]; // makes an array: use variables
        ((long[]) Template.arg(1))[0] = 5; // changes an array of the program
        Runnable r = () -> { }; // has a lambda
        Object c = Forbidden.class; // names a class as a value
        synchronized (Template.self()) { // locks an object, and the program might have to wait for the lock: leave out synchronized
            Template.count("a");
        }
        Template.target();
    }
}

class Locks {
    static void t() {
        Template.target();
        synchronized (Template.self()) { // locks an object
            Template.count("a");
        }
    }
}

class VariableName {
    static void t() {
        Template.target();
        Template.count(Template.methodName()); // under a name that is not a constant text: write the name
    }
}

class TwoKinds {
    static void t() {
        Template.count("a");
        Template.target();
        Template.add("a", 5); // uses a as a counter and as a sum: use two names
    }
}

class BadName {
    static void t() {
        Template.count("a b"); // is not a name: use at most 64 letters
        Template.target();
    }
}

class PrologInBlock {
    static void t() {
        try {
            Template.count("a");
            Template.target();
        } catch (RuntimeException e) { // runs in several of these cases
            throw e;
        }
    }
}

class Swallows {
    static void t() {
        try {
            Template.target();
        } catch (RuntimeException e) {
            Template.count("a");
        }
        Template.count("b"); // runs in several of these cases
    }
}

class Lambdas {
    static void t() {
        Template.target();
        Runnable r = () -> { }; // uses lambda$t$0 of its own class
    }
}
