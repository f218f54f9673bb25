package page

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
)

// numHues is how many hues there are (assets/colour.js, assets/spot.css).
const numHues = 12

// huesOf are the class names of the methods' hues, by index: one for each package,
// found as assets/colour.js does, so that all reports of one program look alike. The
// JDK's own packages are grey.
func huesOf(methods []climb.Method) []string {
	packages := make([]string, len(methods))
	for i, m := range methods {
		class := strings.ReplaceAll(m.Class, "/", ".")
		packages[i] = class[:strings.LastIndexByte(class, '.')+1]
	}
	slots := map[string]uint32{}
	taken := map[uint32]bool{}
	sorted := slices.Sorted(slices.Values(packages))
	for _, one := range slices.Compact(sorted) {
		if !ascent.OfProgram(climb.Method{Class: strings.ReplaceAll(one, ".", "/")}) {
			continue
		}
		slot := hashOf(one) % numHues
		for tries := 0; taken[slot] && tries < numHues; tries++ {
			slot = (slot + 1) % numHues
		}
		taken[slot], slots[one] = true, slot
	}
	hues := make([]string, len(methods))
	for i, one := range packages {
		hues[i] = "grey"
		if slot, found := slots[one]; found {
			hues[i] = "hue" + strconv.Itoa(int(slot))
		}
	}
	return hues
}

// hashOf is as in assets/colour.js.
func hashOf(text string) uint32 {
	hash := uint32(2166136261)
	for _, unit := range utf16.Encode([]rune(text)) {
		hash = (hash ^ uint32(unit)) * 16777619
	}
	return hash ^ hash>>15
}
