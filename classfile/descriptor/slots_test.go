package descriptor

import "testing"

func TestArgSlots(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		slots int
		ret   byte
		ok    bool
	}{
		{"()V", 0, 'V', true},
		{"(I)I", 1, 'I', true},
		{"(JD)J", 4, 'J', true},
		{"([J[[D)[I", 2, '[', true},
		{"(Ljava/lang/String;ZLa;)La/b;", 3, 'L', true},
		{"(BCSZF)D", 5, 'D', true},
		{"", 0, 0, false},
		{"()", 0, 0, false},
		{"(V)V", 0, 0, false},
		{"()VV", 0, 0, false},
		{"(L;)V", 0, 0, false},
		{"(La)V", 0, 0, false},
		{"([)V", 0, 0, false},
		{"(I", 0, 0, false},
		{"I", 0, 0, false},
		{"()[V", 0, 0, false},
	} {
		slots, ret, ok := ArgSlots([]byte(tt.desc))
		if ok != tt.ok || ok && (slots != tt.slots || ret != tt.ret) {
			t.Errorf("ArgSlots(%q) = %d, %q, %t; want %d, %q, %t", tt.desc, slots, ret, ok, tt.slots, tt.ret, tt.ok)
		}
	}
}

func TestArgSlotsDoesNotAllocate(t *testing.T) {
	desc := []byte("(Ljava/lang/String;[[IJD)Ljava/lang/Object;")
	if n := testing.AllocsPerRun(100, func() { ArgSlots(desc) }); n != 0 {
		t.Errorf("ArgSlots allocates %v times a call", n)
	}
}
