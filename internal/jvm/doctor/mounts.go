package doctor

import (
	"slices"
	"strconv"
	"strings"
)

// mountOptions are the options of the mount that holds a path, by the text of a
// process's mountinfo; nil where none does. Fields, as proc(5) has them:
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
func mountOptions(mountinfo, path string) []string {
	var longest string
	var options []string
	for line := range strings.Lines(mountinfo) {
		const point, perMount, least = 4, 5, 6
		fields := strings.Fields(line)
		if len(fields) < least {
			continue
		}
		at := unescapeOctal(fields[point])
		if !holds(at, path) || len(at) < len(longest) {
			continue // of two at one place the later one counts
		}
		longest, options = at, strings.Split(fields[perMount], ",")
		// The file system as a whole can be read-only under a mount that is not.
		if dash := slices.Index(fields, "-"); dash > 0 && dash+3 < len(fields) {
			options = append(options, strings.Split(fields[dash+3], ",")...)
		}
	}
	return options
}

func holds(mount, path string) bool {
	return mount == "/" || path == mount || strings.HasPrefix(path, mount+"/")
}

// unescapeOctal undoes \040 and its like.
func unescapeOctal(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
