import plotly.express as px

figure = px.bar(x=["north", "south"], y=[19.9, 5.5], title="Prices")
figure.show()
print("shown")
