// Command image writes the container image of one static program as an OCI archive (package oci).
//
//	go run ./image --binary ratchet --arch amd64 --out ratchet.tar
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"build/oci"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("image: ")

	binary := flag.String("binary", "", "the program, linked statically (required)")
	arch := flag.String("arch", "amd64", "its architecture: amd64 or arm64")
	out := flag.String("out", "", "the archive to write (required)")
	revision := flag.String("revision", "", "the commit, for the label org.opencontainers.image.revision")
	flag.Parse()

	if *binary == "" || *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}

	digest, err := oci.Write(*binary, *arch, *revision, *out)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s linux/%s %s\n", *out, *arch, digest)
}
