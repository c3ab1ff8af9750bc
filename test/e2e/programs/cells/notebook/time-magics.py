%timeit -n 10 -r 2 sum(range(100))
# %%
%%time
total = sum(i * i for i in range(1000))
print(total)
# %%
%time len("abc")
# %%
%%timeit -n 5 -r 2
x = [i for i in range(10)]
# %%
%time result = 2 ** 10
result
