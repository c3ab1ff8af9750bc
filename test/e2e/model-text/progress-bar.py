# As tqdm does it: on stderr, with a carriage return before each state.
import sys

for step in range(0, 101, 5):
    sys.stderr.write(f"\r{step:3d}%|{'#' * (step // 10):10s}| {step}/100")
    sys.stderr.flush()
    if step == 50:
        print("half of it")
sys.stderr.write("\n")
for step in range(3):
    print(f"epoch {step}", end="\r")
print("trained")
