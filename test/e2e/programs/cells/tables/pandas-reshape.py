import pandas as pd

wide = pd.DataFrame({'country': ['A', 'B'], '2019': [1.0, 2.0], '2020': [1.5, 2.5], '2021': [None, 3.0]})
long = wide.melt(id_vars='country', var_name='year', value_name='gdp').dropna()
long['year'] = long['year'].astype(int)
long['growth'] = long.groupby('country')['gdp'].pct_change()
long.pivot(index='year', columns='country', values='gdp')
# %%
left = pd.DataFrame({'k': [1, 2, 3], 'a': list('xyz')})
right = pd.DataFrame({'k': [2, 3, 4], 'b': [True, False, True]})
pd.merge(left, right, on='k', how='outer', indicator=True)
# %%
for name, group in long.groupby('country'):
    print(name)
    print(group)
# %%
left.set_index('k').loc[9]
# %%
left['missing']
