/** Options that callers send. Unknown keys are errors: a misspelt limit would otherwise be no limit. */
import { z } from 'zod';
import { ClientId, Config, EnvironmentName, Limits, Mount, Network, Packages, Secrets, Variables } from '../config.ts';
import { Id, Name, runShape } from '../host/options.ts';
import { describeFields, optionalFields } from './describe.ts';

export const LimitsSchema = z
  .strictObject(
    optionalFields(Limits.shape, {
      timeoutMs: 'The longest that one run may take, in milliseconds.',
      graceMs: 'The time between the interrupt and the kill when a run has to stop, in milliseconds.',
      cpuMs: 'The most processor time that one run may use, in milliseconds; null for no limit.',
      cpus: 'How many processors it may use at the same time, such as 1.5; null for all.',
      memoryMb: 'The memory that a session may use beyond shared libraries, in megabytes.',
      processes: 'How many processes and threads may exist at the same time.',
      openFiles: 'How many files one process may have open.',
      fileMb: 'The largest size of one file, in megabytes.',
      workspaceMb: 'The largest size of all files in the workspace, in megabytes.',
      outputBytes: 'How much of each stream of one run is kept, in bytes: its head and its tail.',
      spillMb: 'The largest size of the file with the full text of a long output, in megabytes; 0 for no such file.',
      rollbackMb: 'The largest workspace whose files a rollback restores too, in megabytes.',
    }),
  )
  .meta({
    id: 'Limits',
    description: 'What one session, and one run in it, may use. Defaults are those of a host that sets no limits.',
  });

export const MountSchema = z
  .strictObject({
    ...describeFields(
      { source: Mount.shape.source, target: Mount.shape.target },
      { source: 'The absolute path on the machine.', target: 'The absolute path in the session.' },
    ),
    ...optionalFields({ writable: Mount.shape.writable }, { writable: 'Whether the session may change it.' }),
  })
  .meta({ id: 'Mount', description: 'A file or directory of the machine that a session can see.' });

const { code: _code, signal: _signal, onEvent: _onEvent, ...run } = runShape;
const runFields = optionalFields(run, {
  echo: 'Which expressions are shown: `all`, only the `last`, or `none`.',
  timeoutMs: 'The longest that this run may take, in milliseconds.',
  filename: 'What tracebacks call the program.',
  resultVariable: 'A variable whose value comes back as `value`.',
  stdin: 'What the program can read as its standard input, up to 10 MiB.',
  svg: 'Whether matplotlib figures come as SVG too, besides PNG.',
  whenBusy: 'Whether to wait for a busy session or to fail with `SESSION_BUSY`.',
  executionId: 'The id of the execution; one is made up if it is left out.',
});

export const RunOptionsSchema = z
  .strictObject(runFields)
  .meta({ id: 'RunOptions', description: 'Options of one run.', examples: [{ timeoutMs: 5000 }] });

export const KeyOptionsSchema = z
  .strictObject(
    optionalFields(
      { id: Name, sessionId: Name, chatId: Name, clientId: ClientId },
      {
        id: 'The id of a session that exists.',
        sessionId: 'A name for the session, which is created if there is none.',
        chatId: 'The chat whose session is meant; it is created if there is none.',
        clientId: 'The client that owns the session.',
      },
    ),
  )
  .meta({ id: 'KeyOptions', description: 'Which session a run uses.', examples: [{ chatId: 'chat-1' }] });

export const TableOptionsSchema = z
  .strictObject({
    format: z.enum(['csv', 'parquet']).exactOptional().meta({ description: 'The format of the file.', default: 'csv' }),
  })
  .meta({ id: 'TableOptions', description: 'How a DataFrame is exported.' });

const [, list] = Network.options;

const NetworkListSchema = z
  .strictObject({
    ...describeFields(
      { allow: list.shape.allow },
      { allow: 'The hosts that may be reached, such as `*.example.org:443`.' },
    ),
    ...optionalFields(
      { deny: list.shape.deny, log: list.shape.log },
      {
        deny: 'Hosts that stay refused although `allow` has them.',
        log: 'Whether executions tell about connections that were allowed, too.',
      },
    ),
  })
  .meta({
    id: 'NetworkList',
    description: 'Hosts that a session may reach, and nothing else.',
    examples: [{ allow: ['api.example.com', '10.0.0.5:5432'] }],
  });

/** By the names of variables. */
const SecretsSchema = z.record(
  Secrets.keyType,
  z
    .strictObject(
      describeFields(Secrets.valueType.shape, {
        value: 'What is put into headers of plain HTTP requests, in the place of what the session knows.',
        hosts: 'The hosts that get it, written as in `allow`; without a port, on port 80.',
      }),
    )
    .meta({ id: 'Secret', description: 'A value that no session sees, and the hosts that it is for.' }),
);

const NetworkSchema = z.union([z.boolean(), NetworkListSchema]);

/** What a session may use and reach. */
const access = {
  limits: LimitsSchema.exactOptional().describe(
    'What the session may use. The host decides the limits that are left out.',
  ),
  mounts: z.array(MountSchema).exactOptional().describe('What of the machine the session sees.'),
  ...optionalFields(
    {
      network: NetworkSchema,
      secrets: SecretsSchema,
      environment: EnvironmentName,
      env: Variables,
      packages: Packages,
    },
    {
      network: 'What the session reaches: nothing (false), the network of the machine (true), or listed hosts.',
      secrets: 'Values that the gate sends to hosts in the place of the session, whose network must be a list.',
      environment: 'The named environment whose Python and packages the session has.',
      env: 'The environment variables of the session.',
      packages: 'What its programs may install: `none`, `any`, or packages of these names.',
    },
  ),
};

export const SessionOptionsSchema = z
  .strictObject({
    ...optionalFields(
      {
        id: Id,
        clientId: ClientId,
        initCode: z.string().nullable(),
        readOnly: z.boolean().default(false),
        echo: runShape.echo,
        idleMs: Config.shape.idleMs.unwrap(),
      },
      {
        id: 'The id of the new session; one is made up if it is left out.',
        clientId: 'The client that owns the session.',
        initCode: 'Code that runs before the first run; null for none, even if the host has some.',
        readOnly: 'Whether code can only read the files of the session; `/tmp` stays writable.',
        echo: 'Which expressions its runs show: `all`, only the `last`, or `none`.',
        idleMs: 'How long it may be idle before it is closed, in milliseconds; null for no limit.',
      },
    ),
    ...access,
  })
  .meta({
    id: 'SessionOptions',
    description: 'Options of a new session. The host decides what is left out.',
    examples: [{ limits: { memoryMb: 512 }, network: false }],
  });

export const OnceOptionsSchema = z
  .strictObject(SessionOptionsSchema.omit({ id: true, idleMs: true }).extend(runFields).shape)
  .meta({ id: 'OnceOptions', description: 'A session for a single run, and the run itself.' });

const JupyterChoiceSchema = z
  .strictObject({
    jupyter: z
      .strictObject({
        url: z.string().describe('The address of the Jupyter server, with its base path and without the token.'),
        token: z.string().exactOptional().describe('The token of the Jupyter server; left out if it asks for none.'),
        kernelName: z
          .union([z.string(), z.array(z.string()).readonly()])
          .exactOptional()
          .describe("The kernel that sessions run in, or several to choose from; the server's default if left out."),
      })
      .describe('The Jupyter server.'),
  })
  .meta({ id: 'JupyterChoice', description: 'Sessions are kernels of a Jupyter server.' });

const { limits: _limits, mounts: _mounts, env: _env, network: _network, secrets: _secrets, ...settings } = Config.shape;

/** Everything but the signal. */
export const HostOptionsSchema = z
  .strictObject({
    ...optionalFields(settings, {
      dataDir: 'The absolute path of the directory for environments, workspaces, artifacts and caches.',
      python: 'The Python interpreter to use instead of the one that `vivarium setup` made.',
      environment: 'The named environment that sessions run on unless they name another.',
      isolation: 'How strongly sessions are confined. Anything below `namespaces` is weaker.',
      cgroups: 'Whether control groups are used where the machine has them.',
      preload: 'Libraries that every session finds imported already, if they are installed.',
      poolSize: 'How many sessions are kept warm.',
      twinDelayMs: 'How long a session must be quiet after a run before its twin is made, in milliseconds.',
      maxSessions: 'How many sessions may exist at the same time.',
      maxSessionsPerClient: 'How many sessions one client may have.',
      maxQueue: 'How many runs may wait for a busy session.',
      idleMs: 'How long a session may be idle before it is closed, in milliseconds; null for no limit.',
      artifactDays: 'How long artifacts are kept, in days.',
      artifactMb: 'How much space artifacts may use, in megabytes; the oldest are removed first.',
      packages:
        'What programs may install unless their session says otherwise: `none`, `any`, or packages of these names.',
      packageIndexes:
        'The addresses of the indexes that packages come from; the first that has a name decides. Without it, the index of pip.',
    }),
    ...optionalFields(
      {
        mounts: z.array(MountSchema),
        network: NetworkSchema.default(false),
        secrets: SecretsSchema,
        env: Variables,
        limits: LimitsSchema,
        initCode: z.string(),
      },
      {
        mounts: 'What of the machine sessions see unless they say otherwise.',
        network: 'What sessions reach unless they say otherwise: nothing (false), everything (true), or listed hosts.',
        secrets: 'Values that the gate sends to hosts in the place of sessions whose network is a list.',
        env: 'The environment variables of sessions unless they give their own.',
        limits: 'What sessions may use unless they say otherwise.',
        initCode: 'Code that every session runs before its first run, and again when its state is lost.',
      },
    ),
    engine: z
      .union([z.literal('local'), JupyterChoiceSchema])
      .exactOptional()
      .meta({ description: 'Where sessions live: `local`, or a Jupyter server.', default: 'local' }),
  })
  .meta({ id: 'HostOptions', description: 'Options of a new host.' });
