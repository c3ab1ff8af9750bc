import pandas as pd
import numpy as np

# Create sample data
df = pd.DataFrame({
    'date': pd.date_range('2024-01-01', periods=30),
    'sales': np.random.randint(100, 1000, 30),
    'region': np.random.choice(['North', 'South', 'East'], 30)
})

# Analyze
summary = df.groupby('region')['sales'].agg(['mean', 'sum'])
print(summary)
