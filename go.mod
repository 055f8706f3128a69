module github.com/gpuactor/gpuactor

go 1.26.0
