import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

rng = np.random.default_rng(5)
data = pd.DataFrame({"x": rng.uniform(0, 10, 60), "g": rng.choice(["a", "b"], 60)})
data["y"] = 3 + 0.5 * data.x + (data.g == "b") * 2 + rng.normal(0, 1, 60)
fit = smf.ols("y ~ x + C(g)", data=data).fit()
fit.params.round(4)
# %%
print(fit.summary().tables[1])
# %%
fit.summary().tables[1]
# %%
sm.stats.anova_lm(fit).round(3)
