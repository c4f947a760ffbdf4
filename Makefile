# Every target calls a plain Python command, which sets up its environment in this checkout by itself.
PYTHON ?= python3
ARGS ?=
DEV = @command -v $(PYTHON) >/dev/null 2>&1 \
	|| { echo "Python 3.11 or newer is missing: install it, or name it with PYTHON=..." >&2; exit 1; }; \
	$(PYTHON) tools/dev.py

# make compare ARGS="--quick --only RobustPCA"
.PHONY: compare test test-all test-other-rounding test-without-numba coverage test-oldest check docs evidence wheel release-rehearsal store-models peers race away papers changelog new clean
compare test test-all test-other-rounding test-without-numba coverage test-oldest check docs evidence wheel release-rehearsal store-models peers race away papers changelog:
	$(DEV) $@ $(ARGS)

# make new METHOD=KernelCCA MODULE=cross_decomposition
new:
	$(DEV) new METHOD=$(METHOD) MODULE=$(MODULE)

clean:
	rm -rf build dist .venv .venv-*
