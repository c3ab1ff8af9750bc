/**
 * Every snippet of the documentation of Pantheon's PythonInterpreterToolSet, in its order, with its calls and arguments.
 * Nothing is closed: the process ends by itself after the last line. `node examples/seeds/pantheon.ts [workspace]`
 */
import { existsSync } from 'node:fs';
import { Agent } from '../../src/agent.ts';
import { PythonInterpreterToolSet } from '../../src/tools.ts';

function show(title: string, ...values: readonly unknown[]): void {
  console.log(`── ${title}`, ...values);
}

// Basic usage

// Create Python interpreter toolset
const python_tools = new PythonInterpreterToolSet({
  name: 'python',
  workdir: process.argv[2] ?? null, // optional
});

// Create agent and add toolset at runtime
const agent = new Agent({
  name: 'data_scientist',
  instructions: 'You are a data scientist who can analyze data with Python.',
});
await agent.toolset(python_tools);

await agent.chat();

// run_python_code

let result = await python_tools.run_python_code({
  code: 'x = 1 + 2\nprint(x)',
  result_var_name: 'x', // optional: return value of this variable
});
show('run_python_code', result);

// Auto-recovery

result = await python_tools.run_python_code('import os\nos.kill(os.getpid(), 9)');
show('auto-recovery', result.interpreter_restarted, result.restart_reason);

// manage_interpreters

// Create new interpreter
let managed = await python_tools.manage_interpreters({ operation: 'create' });
show('create', managed.success, typeof managed.interpreter_id);
const interpreter_id = managed.interpreter_id ?? '';

// List all interpreters
managed = await python_tools.manage_interpreters({ operation: 'list' });
show('list', managed.success, managed.interpreters?.find(({ id }) => id === interpreter_id)?.status);

// Delete interpreter
managed = await python_tools.manage_interpreters({
  operation: 'delete',
  interpreter_id,
});
show('delete', managed.success);

// State persistence

// First execution
await python_tools.run_python_code('x = 10');

// Second execution - x is still available
result = await python_tools.run_python_code('print(x * 2)');
show('state persistence', result.stdout.trim());

// Client isolation

// Different clients have isolated sessions
await python_tools.run_python_code('x = 10', { context: { client_id: 'A' } });
await python_tools.run_python_code('x = 20', { context: { client_id: 'B' } });
result = await python_tools.run_python_code('print(x)', { context: { client_id: 'A' } });
show('client isolation', result.stdout.trim());

// Matplotlib support

result = await python_tools.run_python_code(`
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 10, 100)
y = np.sin(x)
plt.plot(x, y)
plt.title('Sine Wave')
plt.show()
`);
show('matplotlib', result.fig_storage_path, result.base64_uri?.[0]?.slice(0, 22));
if (process.argv[2] === undefined) show('the file exists', existsSync(result.fig_storage_path ?? ''));

// Data analysis

result = await python_tools.run_python_code(`
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
`);
show('data analysis', `\n${result.stdout}`);

// Machine learning

result = await python_tools.run_python_code(`
from sklearn.model_selection import train_test_split
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
import numpy as np

# Generate sample data
X = np.random.rand(100, 1) * 10
y = 2 * X + 1 + np.random.randn(100, 1) * 2

# Train model
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
model = LinearRegression()
model.fit(X_train, y_train)

# Evaluate
predictions = model.predict(X_test)
r2 = r2_score(y_test, predictions)
print(f"R² Score: {r2:.4f}")
`);
show('machine learning', result.stdout.trim());

// Returning values

result = await python_tools.run_python_code({
  code: `
    import pandas as pd
    df = pd.DataFrame({'a': [1, 2, 3], 'b': [4, 5, 6]})
    summary = df.describe().to_dict()
    `,
  result_var_name: 'summary',
});
show('returning values', JSON.stringify(result.result));
