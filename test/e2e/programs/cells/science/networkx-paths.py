import networkx as nx
import matplotlib.pyplot as plt

G = nx.Graph()
G.add_weighted_edges_from([("A", "B", 4), ("A", "C", 2), ("C", "B", 1), ("B", "D", 5), ("C", "D", 8)])
print(G)
print(nx.shortest_path(G, "A", "D", weight="weight"), nx.shortest_path_length(G, "A", "D", weight="weight"))
nx.degree_centrality(G)
# %%
pos = nx.spring_layout(G, seed=1)
nx.draw(G, pos, with_labels=True, node_color="lightblue")
nx.draw_networkx_edge_labels(G, pos, edge_labels=nx.get_edge_attributes(G, "weight"))
plt.title("Roads")
plt.show()
# %%
nx.shortest_path(G, "A", "Z")
# %%
G.edges(data=True)
