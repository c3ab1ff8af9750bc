/** Names in a module or class: `inside('epics', 'caput PV().put')`. */
function inside(scope: string, names: string): string[] {
  return names.split(' ').map((name) => `${scope}.${name}`);
}

const P4P = ['p4p.client.thread', 'p4p.client.asyncio', 'p4p.client.cothread', 'p4p.client.Qt'];
const PYTANGO = ['tango', 'PyTango'];
const PYEPICS_PV = ['epics.PV()', 'epics.pv.PV()'];

/** Names that write to a control system, for pyepics, p4p, caproto, pvaPy, Tango, aioca and ophyd. */
const DEFAULT_WRITES: readonly string[] = [
  'write_channel',
  'write_channels',
  '.set_value',
  'PV().put', // for a laboratory's own class; a bare `.put` would match every queue
  ...inside(
    'epics',
    'caput caput_many ca.put ca.sg_put Device().put device.Device().put Motor().move motor.Motor().move',
  ),
  ...PYEPICS_PV.flatMap((pv) => inside(pv, 'put value=')),
  ...P4P.flatMap((client) => inside(client, 'Context().put Context().rpc')),
  ...inside('caproto.sync.client', 'write read_write_read'),
  ...inside('caproto.threading.client', 'PV().write Batch().write'),
  ...inside('caproto.threading.pyepics_compat', 'caput PV().put'),
  'caproto.asyncio.client.PV().write',
  ...inside('pvaccess.Channel()', 'put putGet parsePut parsePutGet asyncPut'),
  ...PYTANGO.flatMap((tango) => [
    ...inside(`${tango}.DeviceProxy()`, 'write_attribute write_attributes write_attribute_asynch write_pipe *='),
    ...inside(`${tango}.DeviceProxy()`, 'write_attributes_asynch write_read_attribute write_read_attributes'),
    ...inside(`${tango}.DeviceProxy()`, 'command_inout command_inout_asynch put_property'),
    ...inside(`${tango}.AttributeProxy()`, 'write write_asynch write_read'),
    ...inside(`${tango}.Group()`, 'write_attribute command_inout'),
  ]),
  'aioca.caput',
  'cothread.catools.caput',
  ...inside(
    'ophyd',
    'Signal().put Signal().set EpicsSignal().put EpicsSignal().set EpicsMotor().set EpicsMotor().move',
  ),
];

/** Names that read from a control system. */
const DEFAULT_READS: readonly string[] = [
  'read_channel',
  'read_channels',
  '.get_value',
  'PV().get',
  ...inside('epics', 'caget caget_many cainfo camonitor ca.get Device().get'),
  ...PYEPICS_PV.flatMap((pv) => inside(pv, 'get value')),
  ...P4P.flatMap((client) => inside(client, 'Context().get Context().monitor')),
  ...inside('caproto', 'sync.client.read threading.client.PV().read asyncio.client.PV().read'),
  ...inside('caproto.threading.pyepics_compat', 'caget PV().get'),
  ...inside('pvaccess.Channel()', 'get monitor'),
  ...PYTANGO.flatMap((tango) =>
    inside(tango, 'DeviceProxy().read_attribute DeviceProxy().read_attributes AttributeProxy().read'),
  ),
  'aioca.caget',
  'cothread.catools.caget',
  ...inside('ophyd.EpicsSignal()', 'get read'),
];

/** The configured patterns, added to the built-in ones or instead of them. */
export function controlPatterns(configured: {
  readonly mode: 'extend' | 'override';
  readonly write: readonly string[];
  readonly read: readonly string[];
}): { readonly write: readonly string[]; readonly read: readonly string[] } {
  if (configured.mode === 'override') return { write: configured.write, read: configured.read };
  return { write: [...DEFAULT_WRITES, ...configured.write], read: [...DEFAULT_READS, ...configured.read] };
}
