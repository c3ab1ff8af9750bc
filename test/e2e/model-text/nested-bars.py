# As tqdm does it: the inner bar is one line below the outer one.
import sys

for outer in range(1, 4):
    sys.stderr.write(f"\router {outer}/3")
    for inner in range(1, 6):
        sys.stderr.write(f"\n\rinner {inner}/5\x1b[A")
    sys.stderr.flush()
sys.stderr.write("\n\n")
print("done")
