/** The server: a small run, many clients, large files. */
import type { Bench } from '../bench.ts';
import type { Row } from '../report.ts';
import { measureLatency } from '../server/latency.ts';
import { measureLoad } from '../server/load.ts';
import { measureTransfer } from '../server/transfer.ts';

export async function measureServer(bench: Bench): Promise<Row[]> {
  return [...(await measureLatency(bench)), ...(await measureLoad(bench)), ...(await measureTransfer(bench))];
}
