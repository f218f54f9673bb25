@Deprecated
open module zoo.seventeen {
    requires transitive java.logging;
    requires static java.xml;
    exports p;
    exports p.q to java.logging, java.xml;
    uses Runnable;
    provides Runnable with p.Service;
}
