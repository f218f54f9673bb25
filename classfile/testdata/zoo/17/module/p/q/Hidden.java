package p.q;

class Hidden {}
