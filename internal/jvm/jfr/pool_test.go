package jfr

import "testing"

func TestTableHoldsKeysOfAllSizes(t *testing.T) {
	var ints table[int]
	want := map[uint64]int{}
	for i := range 5000 {
		for _, key := range []uint64{uint64(i), uint64(i) << 20, ^uint64(i), uint64(20_000 - i)} {
			ints.put(key, i+1)
			want[key] = i + 1
		}
	}
	for key, v := range want {
		if got, ok := ints.get(key); !ok || got != v {
			t.Fatalf("under %d is %d, %v; want %d", key, got, ok, v)
		}
	}
	if _, ok := ints.get(1 << 40); ok {
		t.Error("there is something under a key that was not used")
	}
	if limit := tableSlack*4*5000 + tableStart; len(ints.dense) > 2*limit {
		t.Errorf("the slice has %d places for %d keys", len(ints.dense), len(want))
	}
}
