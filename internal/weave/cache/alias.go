package cache

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// An entry of a segment has a second name, its alias: a key in which the class file's hash
// is not SHA-256, which takes longer than weaving one method of a large class does, but
// GMAC with a secret of the cache. It takes an eighth of that. Nobody who does not know the
// secret can make two class files with one alias, and whoever can read it could write to
// the cache as well. The salt, secret too, has aliases tell nothing of what GMAC gives; so
// a segment may be shared.
type aliases struct {
	once sync.Once
	gmac cipher.AEAD // nil where there are none
	salt [sha256.Size - gmacSize]byte
}

const (
	secretFile = "secret"
	secretSize = aes.BlockSize + sha256.Size - gmacSize
	gmacSize   = 16
)

// alias is the second name of what is sought; false where there are none.
func (d *Disk) alias(s *Sought) (Key, bool) {
	a := &d.aliases
	a.once.Do(func() {
		if !d.isFixed {
			a.init(d.secret())
		}
	})
	if a.gmac == nil {
		return Key{}, false
	}
	class := &s.private
	class.Size = len(s.Class)
	a.gmac.Seal(class.Digest[:0], nonce[:], nil, s.Class)
	copy(class.Digest[gmacSize:], a.salt[:])
	return s.Recipe.key(class, s.Spec), true
}

// nonce is one for all class files: nobody is ever told what GMAC gave.
var nonce [12]byte

func (a *aliases) init(secret []byte) {
	if len(secret) != secretSize {
		return
	}
	block, err := aes.NewCipher(secret[:aes.BlockSize])
	if err != nil {
		return
	}
	copy(a.salt[:], secret[aes.BlockSize:])
	if gmac, err := cipher.NewGCM(block); err == nil { // else the program may not have it
		a.gmac = gmac
	}
}

// secret reads the secret of the cache, and makes it first; nil where that cannot be.
func (d *Disk) secret() []byte {
	if secret := d.readSecret(); secret != nil {
		return secret
	}
	var secret []byte
	_ = d.holding(context.Background(), func() error { // then it is done without
		if secret = d.readSecret(); secret != nil {
			return nil // another was faster
		}
		made := make([]byte, secretSize)
		_, _ = rand.Read(made) // it never fails
		fresh, fd, err := d.createFreshPrivate()
		if err != nil {
			return err
		}
		err = errors.Join(writeAll(fd, made), unix.Close(fd))
		if err == nil {
			err = unix.Renameat(fresh.dir, fresh.name, d.root, secretFile)
		}
		if err != nil {
			fresh.remove()
			return err
		}
		secret = made
		return nil
	})
	return secret
}

// readSecret reads the secret; nil where there is none that only this user can read.
func (d *Disk) readSecret() []byte {
	fd, err := openAt(d.root, secretFile, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }() // only read
	var stat unix.Stat_t
	secret := make([]byte, secretSize)
	if unix.Fstat(fd, &stat) != nil || stat.Uid != d.trust.self || modeOf(&stat)&0o077 != 0 || stat.Size != secretSize {
		return nil
	}
	if readAt(fd, secret, 0) != nil {
		return nil
	}
	return secret
}
