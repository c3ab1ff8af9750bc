from IPython.display import clear_output

for epoch in range(50):
    clear_output(wait=True)
    print(f"epoch {epoch}, loss {1 / (epoch + 1):.3f}")
print("trained")
