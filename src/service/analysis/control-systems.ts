/** What writes to and reads from the control systems that are known by name. Configuration extends or replaces it. */
const TANGO_WRITES = [
  ...['write_attribute', 'write_attributes', 'write_attribute_asynch', 'write_attributes_asynch', 'write_pipe'],
  ...['write_read_attribute', 'write_read_attributes', 'command_inout', 'command_inout_asynch', 'put_property', '*='],
].map((name) => `DeviceProxy().${name}`);
const TANGO = [
  ...TANGO_WRITES,
  ...['AttributeProxy().write', 'AttributeProxy().write_asynch', 'AttributeProxy().write_read'],
  ...['Group().write_attribute', 'Group().command_inout'],
];
const P4P_CONTEXTS = ['p4p.client.thread', 'p4p.client.asyncio', 'p4p.client.cothread', 'p4p.client.Qt'];

export const DEFAULT_WRITES: readonly string[] = [
  ...['write_channel', 'write_channels'],
  ...['epics.caput', 'epics.caput_many', 'epics.ca.put', 'epics.ca.sg_put'],
  ...['epics.PV().put', 'epics.pv.PV().put', 'epics.PV().value=', 'epics.pv.PV().value='],
  ...['epics.Device().put', 'epics.device.Device().put', 'epics.Motor().move', 'epics.motor.Motor().move'],
  ...P4P_CONTEXTS.flatMap((module) => [`${module}.Context().put`, `${module}.Context().rpc`]),
  ...['caproto.sync.client.write', 'caproto.sync.client.read_write_read'],
  ...[
    'caproto.threading.client.PV().write',
    'caproto.threading.client.Batch().write',
    'caproto.asyncio.client.PV().write',
  ],
  ...['caproto.threading.pyepics_compat.caput', 'caproto.threading.pyepics_compat.PV().put'],
  ...['put', 'putGet', 'parsePut', 'parsePutGet', 'asyncPut'].map((method) => `pvaccess.Channel().${method}`),
  ...['tango', 'PyTango'].flatMap((module) => TANGO.map((name) => `${module}.${name}`)),
  ...['aioca.caput', 'cothread.catools.caput'],
  ...['Signal', 'EpicsSignal', 'EpicsMotor'].flatMap((name) => [`ophyd.${name}().put`, `ophyd.${name}().set`]),
  'ophyd.EpicsMotor().move',
];

export const DEFAULT_READS: readonly string[] = [
  ...['read_channel', 'read_channels'],
  ...['epics.caget', 'epics.caget_many', 'epics.cainfo', 'epics.camonitor', 'epics.ca.get'],
  ...['epics.PV().get', 'epics.pv.PV().get', 'epics.PV().value', 'epics.pv.PV().value', 'epics.Device().get'],
  ...P4P_CONTEXTS.flatMap((module) => [`${module}.Context().get`, `${module}.Context().monitor`]),
  ...['caproto.sync.client.read', 'caproto.threading.client.PV().read', 'caproto.asyncio.client.PV().read'],
  ...['caproto.threading.pyepics_compat.caget', 'caproto.threading.pyepics_compat.PV().get'],
  ...['pvaccess.Channel().get', 'pvaccess.Channel().monitor'],
  ...['tango', 'PyTango'].flatMap((module) =>
    ['DeviceProxy().read_attribute', 'DeviceProxy().read_attributes', 'AttributeProxy().read'].map(
      (name) => `${module}.${name}`,
    ),
  ),
  ...['aioca.caget', 'cothread.catools.caget', 'ophyd.EpicsSignal().get', 'ophyd.EpicsSignal().read'],
];

/** Patterns as configured: added to the built-in ones, or in their place. */
export function controlPatterns(configured: {
  readonly mode: 'extend' | 'override';
  readonly write: readonly string[];
  readonly read: readonly string[];
}): { readonly write: readonly string[]; readonly read: readonly string[] } {
  if (configured.mode === 'override') return { write: configured.write, read: configured.read };
  return { write: [...DEFAULT_WRITES, ...configured.write], read: [...DEFAULT_READS, ...configured.read] };
}
