import { openProductDatabase } from '../../src/services.ts';
import { generateKey } from '../../src/tenancy/key-format.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { startChildProgram } from '../child-program.ts';
import { requestsPerSecond } from '../http-load.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Finding, type Item } from '../item.ts';
import type { Stand } from '../stand.ts';

const baseline = 'bare node:http with the same bytes';
const workflow = '/api/v1/workflows/01999999-9999-7999-8999-999999999999';
const load = { connections: 32, seconds: 1 };

interface Refusal {
  name: string;
  status: number;
  path: string;
  key: string;
  /** One address would be told to wait after some refusals, which is another answer. */
  fromManyAddresses?: boolean;
}

/** P2: the cost of a refusal, which a flood causes a server. */
export const refuseRequests: Item = {
  name: 'P2',
  title: 'rejected requests, 32 keep-alive connections',
  needs: 'stand',
  async run(stand, cleanup) {
    const refusals = await prepareRefusals(stand);
    const bare = await startChildProgram({
      program: 'bare-answer.ts',
      args: [],
      logFile: stand.file('bare-answer.log'),
    });
    cleanup.add(() => bare.stop());
    stand.meter.watch('bare', bare.pid);
    const findings: Finding[] = [];
    for (const { name, path, key, ...refusal } of refusals) {
      const answer = await stand.client.look(path, key);
      // What Node adds by itself is left to it.
      const { date, connection, 'keep-alive': _, ...headers } = answer.headers;
      await bare.ask({ ...answer, headers });
      const side = (of: string, base: string): Side => {
        const target = { ...load, ...refusal, url: base + path, headers: { authorization: `Bearer ${key}` } };
        return { name: of, warmUp: () => requestsPerSecond(target), round: () => requestsPerSecond(target) };
      };
      const measured = await interleave(stand.meter, 5, [
        side(baseline, bare.ready.url as string),
        side('product', stand.api),
      ]);
      findings.push(compare('req/s', name, measured, { [baseline]: { atLeast: 0.7 } }));
    }
    await bare.stop();
    stand.meter.unwatch('bare');
    return findings;
  },
};

async function prepareRefusals(stand: Stand): Promise<Refusal[]> {
  const misread = stand.key.slice(0, -1) + (stand.key.endsWith('0') ? '1' : '0');
  const atLimit = await keyAtItsLimit(stand);
  await stand.client.look(workflow, atLimit);
  return [
    { name: '401, wrong checksum', status: 401, path: workflow, key: misread, fromManyAddresses: true },
    { name: '401, a key that is none', status: 401, path: workflow, key: generateKey('test'), fromManyAddresses: true },
    { name: '429, over the limit', status: 429, path: workflow, key: atLimit },
    { name: '404, malformed id', status: 404, path: '/api/v1/workflows/not-an-id', key: stand.key },
  ];
}

/** Creates a key of an organization that may send one request a day. */
async function keyAtItsLimit({ databaseUrl }: Stand): Promise<string> {
  const database = await openProductDatabase(databaseUrl, 2);
  try {
    const { id } = await createOrganization(database, { name: 'Limited', plan: 'free', rateDay: 1 });
    return (await createKey(database, { organizationId: id, environment: 'test' })).key;
  } finally {
    await database.close();
  }
}
