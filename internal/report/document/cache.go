package document

import (
	"encoding/hex"
	"time"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// CacheList is written by `sonde cache ls --json`.
type CacheList struct {
	Dir     string       `json:"dir"`
	Entries []CacheEntry `json:"entries"`
	Unread  int          `json:"unreadable"`
}

// CacheEntry is an entry of the cache.
type CacheEntry struct {
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

// NewCacheList describes entries of a directory.
func NewCacheList(dir string, items []cache.Item, unread int) CacheList {
	list := CacheList{Dir: dir, Entries: []CacheEntry{}, Unread: unread}
	for _, item := range items {
		list.Entries = append(list.Entries, newCacheEntry(item))
	}
	return list
}

func newCacheEntry(item cache.Item) CacheEntry {
	woven, left := MethodCounts(item.Entry)
	return CacheEntry{
		Key: item.Key.String(), Class: descriptor.ExternalName(item.Entry.Class), Woven: woven, Left: left, Bytes: item.Size, OnDisk: item.OnDisk,
		Used: item.Used.Round(time.Second), Made: item.Entry.Made, Engine: item.Entry.Engine,
	}
}

// MethodCounts returns how many methods of an entry are woven and left alone.
func MethodCounts(e *cache.Entry) (woven, left int) {
	for i := range e.Methods {
		if e.Methods[i].Woven {
			woven++
		} else {
			left++
		}
	}
	return woven, left
}

// CacheShow is written by `sonde cache show --json`.
type CacheShow struct {
	CacheEntry
	Original   CacheOriginal `json:"original"`
	WovenBytes int           `json:"wovenBytes"`
	Methods    []CacheMethod `json:"methods"`
	Calls      []CacheSlot   `json:"calls"`
	Code       string        `json:"code,omitempty"`
	Diff       string        `json:"diff,omitempty"`
}

// CacheOriginal identifies the class file that was woven.
type CacheOriginal struct {
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// CacheMethod is a method of an entry.
type CacheMethod struct {
	Name       string          `json:"name"`
	Descriptor string          `json:"descriptor"`
	Woven      bool            `json:"woven"`
	Reason     string          `json:"reason,omitempty"`
	ID         *int32          `json:"id,omitempty"`
	Templates  []string        `json:"templates,omitempty"`
	Sites      int             `json:"callsWrapped,omitempty"`
	Left       []CacheLeftCall `json:"callsLeftAlone,omitempty"`
	Offsets    [][3]int        `json:"offsets,omitempty"` // old, new, length
}

// CacheLeftCall is a call without a hook.
type CacheLeftCall struct {
	Offset int    `json:"offset"`
	Call   string `json:"call"`
	Reason string `json:"reason"`
}

// CacheSlot is the id of a method that hooks at calls name.
type CacheSlot struct {
	Class      string `json:"class"`
	Name       string `json:"name"`
	Descriptor string `json:"descriptor"`
	ID         int32  `json:"id"`
}

// NewCacheShow describes an entry.
func NewCacheShow(item cache.Item) (CacheShow, error) {
	e := item.Entry
	j := CacheShow{
		CacheEntry: newCacheEntry(item), WovenBytes: len(e.Woven), Methods: []CacheMethod{}, Calls: []CacheSlot{},
		Original: CacheOriginal{hex.EncodeToString(e.Original.Digest[:]), e.Original.Size},
	}
	for i := range e.Methods {
		m, err := newCacheMethod(&e.Methods[i])
		if err != nil {
			return j, err
		}
		j.Methods = append(j.Methods, m)
	}
	for _, s := range e.Calls {
		j.Calls = append(j.Calls, CacheSlot{descriptor.ExternalName(s.Class), s.Name, s.Descriptor, int32(s.ID)})
	}
	return j, nil
}

func newCacheMethod(m *cache.Method) (CacheMethod, error) {
	j := CacheMethod{Name: m.Name, Descriptor: m.Descriptor, Woven: m.Woven, Templates: m.Templates, Sites: m.Sites}
	if !m.Woven {
		j.Reason = m.Reason.Error()
	}
	if m.HasID {
		id := int32(m.ID)
		j.ID = &id
	}
	for i := range m.Left {
		j.Left = append(j.Left, CacheLeftCall{m.Left[i].Offset, CallName(m.Left[i].Call), m.Left[i].Reason.Error()})
	}
	shifts, err := m.Offsets.Map()
	for _, s := range shifts {
		j.Offsets = append(j.Offsets, [3]int{int(s.Old), int(s.New), int(s.Size)})
	}
	return j, err
}

// CallName returns the method that a call names.
func CallName(c weave.Call) string {
	return descriptor.ExternalName(c.Owner) + "." + c.Name + c.Descriptor
}

// CacheStats is written by `sonde cache stats --json`.
type CacheStats struct {
	Dir        string       `json:"dir"`
	Writable   bool         `json:"writable"`
	Bound      int64        `json:"bound"`
	Entries    int          `json:"entries"`
	Bytes      int64        `json:"bytes"`
	OnDisk     int64        `json:"bytesOnDisk"`
	Classes    int          `json:"classes"`
	Woven      int          `json:"methodsWoven"`
	Left       int          `json:"methodsLeftAlone"`
	Unread     int          `json:"unreadable"`
	Unfinished int          `json:"unfinished"`
	LastUse    time.Time    `json:"lastUse"`
	FirstUse   time.Time    `json:"longestUnused"`
	Engines    []CacheShare `json:"engines"`
	Reasons    []CacheShare `json:"reasons"`
}

// CacheShare counts entries or methods that have something in common.
type CacheShare struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// CacheVerify is written by `sonde cache verify --json`.
type CacheVerify struct {
	Dir     string        `json:"dir"`
	Entries int           `json:"entries"`
	Bytes   int64         `json:"bytes"`
	Other   int           `json:"ofOtherVersions"`
	Bad     []CacheDamage `json:"damaged"`
}

// CacheDamage is a damaged entry.
type CacheDamage struct {
	Key     string `json:"key"`
	Reason  string `json:"reason"`
	Dropped bool   `json:"dropped"`
}

// CachePrune is written by `sonde cache prune --json`.
type CachePrune struct {
	Dir     string `json:"dir"`
	Entries int    `json:"entriesRemoved"`
	Bytes   int64  `json:"bytesRemoved"`
	Left    int64  `json:"bytesLeft"`
}
