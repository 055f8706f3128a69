package device

import (
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// Upload issues a copy of pinned memory into w's memory at dst.
func (s *Stream) Upload(dst cudart.DevicePtr, src unsafe.Pointer, bytes uint64, w Written, gen uint32) error {
	if err := s.fit(func() bool { return s.list.CopyHtoD(dst, src, bytes) }); err != nil {
		return err
	}
	return s.issue(cudart.OpCopyHtoD, "upload", w, gen)
}

// Download issues a copy into w's pinned memory at dst.
func (s *Stream) Download(dst unsafe.Pointer, src cudart.DevicePtr, bytes uint64, w Written, gen uint32) error {
	if err := s.fit(func() bool { return s.list.CopyDtoH(dst, src, bytes) }); err != nil {
		return err
	}
	return s.issue(cudart.OpCopyDtoH, "download", w, gen)
}

// Copy issues a copy inside the device into w's memory at dst.
func (s *Stream) Copy(dst, src cudart.DevicePtr, bytes uint64, w Written, gen uint32) error {
	if err := s.fit(func() bool { return s.list.CopyDtoD(dst, src, bytes) }); err != nil {
		return err
	}
	return s.issue(cudart.OpCopyDtoD, "copy", w, gen)
}

// Fill issues a fill of w's memory at dst with count elements of width bytes.
func (s *Stream) Fill(dst cudart.DevicePtr, pattern uint32, width int, count uint64, w Written, gen uint32) error {
	if err := s.fit(func() bool { return s.list.Fill(dst, pattern, width, count) }); err != nil {
		return err
	}
	return s.issue(cudart.OpFill, "fill", w, gen)
}
