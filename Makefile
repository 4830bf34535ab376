# Short names for the scripts; nothing is decided here. `make demo` and `make test` install what they need.
.PHONY: demo test asan tsan bench counts exhaustive fuzz format lint layers size headers docs clean

demo:       ; scripts/demo.sh
test:       ; scripts/test.sh
asan:       ; scripts/check.sh asan
tsan:       ; scripts/check.sh tsan
exhaustive: ; scripts/check.sh exhaustive
fuzz:       ; scripts/check.sh fuzz
lint:       ; scripts/check.sh lint
layers:     ; python3 tools/layers.py
size:       ; python3 tools/size.py
headers:    ; scripts/check.sh headers
bench:      ; scripts/bench.sh
counts:     ; scripts/check.sh counts
docs:       ; scripts/check.sh docs
format:     ; clang-format -i $$(git ls-files '*.c' '*.h') && ruff check --fix . && ruff format .
clean:      ; rm -rf build
