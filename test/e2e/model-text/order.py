# Prints, displays, figures and values, in the order of the program.
import sys
import matplotlib.pyplot as plt

print("loading")
plt.plot([1, 2, 3], [1, 4, 9])
plt.title("Squares")
plt.show()
print("squares are drawn")
display({"rows": 3})
print("a warning follows", flush=True)
print("low memory", file=sys.stderr)
print("now bars")
plt.bar(["a", "b"], [3, 4])
plt.title("Bars")
plt.show()
print("done")
"the last value"
