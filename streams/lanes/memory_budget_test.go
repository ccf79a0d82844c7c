package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/streams"
)

// shardWith returns the window of a shard with one pending record of the size.
func shardWith(memory *Memory, size int64) (*Window, *pendingRecord) {
	window := NewWindow(100, 100, memory)
	record := &pendingRecord{Record: streams.Record{SequenceNumber: "1", SizeBytes: size}, unfinished: 1}
	window.add([]*pendingRecord{record})

	return window, record
}

func TestReadersPauseAtMaxPendingBytes(t *testing.T) {
	virtually(t, func(t *testing.T) {
		memory := &Memory{Limit: 1000}
		first, _ := shardWith(memory, 600)
		second, record := shardWith(memory, 600)

		room := make(chan error, 1)
		go func() { room <- first.WaitForRoom(t.Context()) }()
		synctest.Wait()

		select {
		case err := <-room:
			t.Fatalf("a page may be read although 1200 of 1000 bytes are pending: %v", err)
		default:
		}

		second.finish(record)

		if err := <-room; err != nil {
			t.Error(err)
		}
	})
}

func TestAShardWithoutPendingRecordsMayAlwaysRead(t *testing.T) {
	virtually(t, func(t *testing.T) {
		memory := &Memory{Limit: 1000}
		_, _ = shardWith(memory, 5000)
		own, record := shardWith(memory, 1)

		room := make(chan error, 1)
		go func() { room <- own.WaitForRoom(t.Context()) }()
		synctest.Wait()
		own.finish(record)

		if err := <-room; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitingForRoomEndsWithTheContext(t *testing.T) {
	virtually(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		window, _ := shardWith(&Memory{Limit: 1}, 5000)
		if err := window.WaitForRoom(ctx); err != context.DeadlineExceeded { //nolint:errorlint // exactly ctx's error
			t.Errorf("waitForRoom: %v", err)
		}
	})
}

func TestAClosedWindowReleasesItsMemory(t *testing.T) {
	memory := &Memory{Limit: 1000}
	window, _ := shardWith(memory, 600)
	window.Close()

	if memory.used != 0 {
		t.Errorf("%d bytes are still reserved", memory.used)
	}
}
