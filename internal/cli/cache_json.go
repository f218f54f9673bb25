package cli

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cacheListJSON is what `sonde cache ls --json` writes.
type cacheListJSON struct {
	Dir     string           `json:"dir"`
	Entries []cacheEntryJSON `json:"entries"`
	Unread  int              `json:"unreadable"`
}

type cacheEntryJSON struct {
	Key    string    `json:"key"`
	Class  string    `json:"class"`
	Woven  int       `json:"methodsWoven"`
	Left   int       `json:"methodsLeftAlone"`
	Bytes  int64     `json:"bytes"`
	OnDisk int64     `json:"bytesOnDisk"`
	Used   time.Time `json:"used"`
	Made   time.Time `json:"made"`
	Engine string    `json:"engine"`
}

func describeCacheList(dir string, items []cache.Item, unread int) cacheListJSON {
	list := cacheListJSON{Dir: dir, Entries: []cacheEntryJSON{}, Unread: unread}
	for _, item := range items {
		list.Entries = append(list.Entries, describeCacheItem(item))
	}
	return list
}

func describeCacheItem(item cache.Item) cacheEntryJSON {
	woven, left := methodCounts(item.Entry)
	return cacheEntryJSON{
		Key: item.Key.String(), Class: descriptor.ExternalName(item.Entry.Class), Woven: woven, Left: left, Bytes: item.Size, OnDisk: item.OnDisk,
		Used: item.Used.Round(time.Second), Made: item.Entry.Made, Engine: item.Entry.Engine,
	}
}

// cacheShowJSON is what `sonde cache show --json` writes.
type cacheShowJSON struct {
	cacheEntryJSON
	Original   cacheOriginalJSON `json:"original"`
	WovenBytes int               `json:"wovenBytes"`
	Methods    []cacheMethodJSON `json:"methods"`
	Calls      []cacheSlotJSON   `json:"calls"`
	Code       string            `json:"code,omitempty"`
	Diff       string            `json:"diff,omitempty"`
}

type cacheOriginalJSON struct {
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

type cacheMethodJSON struct {
	Name       string          `json:"name"`
	Descriptor string          `json:"descriptor"`
	Woven      bool            `json:"woven"`
	Reason     string          `json:"reason,omitempty"`
	ID         *int32          `json:"id,omitempty"`
	Templates  []string        `json:"templates,omitempty"`
	Sites      int             `json:"callsWrapped,omitempty"`
	Left       []cacheLeftJSON `json:"callsLeftAlone,omitempty"`
	Offsets    [][3]int        `json:"offsets,omitempty"` // old, new, length
}

type cacheLeftJSON struct {
	Offset int    `json:"offset"`
	Call   string `json:"call"`
	Reason string `json:"reason"`
}

type cacheSlotJSON struct {
	Class      string `json:"class"`
	Name       string `json:"name"`
	Descriptor string `json:"descriptor"`
	ID         int32  `json:"id"`
}

// idText is an id as it stands in woven code.
func idText(id uint32) string { return strconv.Itoa(int(int32(id))) }

func describeCacheShow(item cache.Item) (cacheShowJSON, error) {
	e := item.Entry
	j := cacheShowJSON{
		cacheEntryJSON: describeCacheItem(item), WovenBytes: len(e.Woven), Methods: []cacheMethodJSON{}, Calls: []cacheSlotJSON{},
		Original: cacheOriginalJSON{hex.EncodeToString(e.Original.Digest[:]), e.Original.Size},
	}
	for i := range e.Methods {
		m, err := describeCacheMethod(&e.Methods[i])
		if err != nil {
			return j, err
		}
		j.Methods = append(j.Methods, m)
	}
	for _, s := range e.Calls {
		j.Calls = append(j.Calls, cacheSlotJSON{descriptor.ExternalName(s.Class), s.Name, s.Descriptor, int32(s.ID)})
	}
	return j, nil
}

func describeCacheMethod(m *cache.Method) (cacheMethodJSON, error) {
	j := cacheMethodJSON{Name: m.Name, Descriptor: m.Descriptor, Woven: m.Woven, Templates: m.Templates, Sites: m.Sites}
	if !m.Woven {
		j.Reason = m.Reason.Error()
	}
	if m.HasID {
		id := int32(m.ID)
		j.ID = &id
	}
	for i := range m.Left {
		j.Left = append(j.Left, cacheLeftJSON{m.Left[i].Offset, leftCallText(&m.Left[i]), m.Left[i].Reason.Error()})
	}
	shifts, err := m.Offsets.Map()
	for _, s := range shifts {
		j.Offsets = append(j.Offsets, [3]int{int(s.Old), int(s.New), int(s.Size)})
	}
	return j, err
}

// leftCallText names what a call calls.
func leftCallText(l *cache.LeftCall) string {
	return descriptor.ExternalName(l.Owner) + "." + l.Name + l.Descriptor
}
