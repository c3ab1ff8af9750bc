import argparse
import sys

def build_parser():
    p = argparse.ArgumentParser(prog="tool", description="A tool.")
    p.add_argument("--count", type=int, default=1)
    p.add_argument("name")
    return p

def main(argv=None):
    args = build_parser().parse_args(argv)
    print(args)
    return args.count

if __name__ == "__main__":
    main(["--count", "3", "x"])
# %%
sys.argv = ["prog", "y", "--count", "2"]
main()
# %%
main(["--count", "many", "x"])
# %%
build_parser().parse_args(["--help"])
# %%
__name__, "__file__" in globals()
