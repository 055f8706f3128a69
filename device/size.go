package device

import "fmt"

// size is a number of bytes as a person reads it: "1536 bytes", "1.5 GiB".
type size uint64

func (n size) String() string {
	units := [...]string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, i := float64(n), 0
	for n >= 10<<10 && v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%.4g %s", v, units[i])
}
