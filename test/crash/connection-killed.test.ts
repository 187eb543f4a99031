import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { AuthExpired } from '../../src/connections/failures.ts';
import { sceneOfTests } from '../connections/scene.ts';

const scene = sceneOfTests();

/** Lets another process do it, which kills itself at the fail point. */
async function killedAt(where: string, task: object): Promise<void> {
  const program = fileURLToPath(new URL('./connection-user.ts', import.meta.url));
  const child = fork(program, [JSON.stringify({ ...scene.forProcesses, where, ...task })]);
  await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
}

test('killed between the exchange of a code and its commit: nothing is kept, and the account is connected again', async () => {
  const question = { purpose: 'calendar', provider: 'plain', subject: {} };
  const { authUrl } = await scene.one.connections.begin(scene.scope, question);
  const back = await scene.plain.consent(authUrl);
  await killedAt('connection.exchanged', { query: back.search });
  expect(scene.plain.journal.filter(({ endpoint, worked }) => endpoint === 'token' && worked)).toHaveLength(1);
  const { organizationId } = scene.scope.tenant;
  for (const table of ['oauth_state', 'oauth_connection']) {
    const { rows } = await scene.database.pool.query(`select from ${table} where organization_id = $1`, [
      organizationId,
    ]);
    expect(rows).toEqual([]);
  }
  await expect(scene.one.connections.finish(back.searchParams, 'calendar')).rejects.toMatchObject({
    code: 'validation_error',
  });
  expect(await scene.use(await scene.keep('plain'), scene.plain)).toBe('ada@example.com');
});

describe('killed after a refresh was answered and before it was stored: another process refreshes with the same token', () => {
  const refreshKilled = async (id: string) => {
    await scene.endsIn(id, 0);
    await killedAt('connection.refreshed', { tenant: scene.scope.tenant, connectionId: id });
    expect(await scene.rowOf(id)).toMatchObject({ version: 1, lease_until: expect.any(String) });
  };

  test('if it still holds, no caller notices', async () => {
    const id = await scene.keep('plain');
    await refreshKilled(id);
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
    const sent = scene.refreshes(scene.plain).map(({ form }) => form.refresh_token);
    expect(sent).toHaveLength(2);
    expect(new Set(sent).size).toBe(1);
  });

  test('if it was replaced for good, access has ended, and that is reported once', async () => {
    const id = await scene.keep('strict');
    await refreshKilled(id);
    const calls = Array.from({ length: 5 }, () => scene.use(id, scene.strict));
    for (const result of await Promise.allSettled(calls))
      expect(result).toMatchObject({ reason: expect.any(AuthExpired) });
    expect(scene.expired).toEqual([id]);
  });
});
