from sklearn.linear_model import LinearRegression

model = LinearRegression()
model.fit([[1], [2], [3]], [1, 2])
