import pandas as pd
import numpy as np

np.random.seed(42)
df = pd.DataFrame({
    'date': pd.date_range('2024-01-01', periods=8, freq='D'),
    'city': np.random.choice(['Berlin', 'Paris', 'Rome'], 8),
    'temp': np.round(np.random.normal(15, 5, 8), 1),
})
df.loc[3, 'temp'] = np.nan
df.info()
# %%
df.describe()
# %%
df.head(3)
# %%
df.isna().sum()
# %%
df['city'].value_counts()
# %%
df.groupby('city')['temp'].agg(['mean', 'count']).round(2)
# %%
df.dtypes, df.shape, df.columns
# %%
df['temp_f'] = df['temp'] * 9 / 5 + 32
df[df.temp > 15].sort_values('temp', ascending=False)[['city', 'temp_f']].to_dict('records')
