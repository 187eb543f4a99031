import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { LocalSettings } from '../src/platform/env.ts';
import { choosePorts, findFreePort } from './ports.ts';

const server = createServer();
afterEach(() => void server.close());

const settings = (changes: Partial<LocalSettings>): LocalSettings => ({
  dataFolder: '/nowhere',
  cacheFolder: '/nowhere',
  startedByNpm: false,
  parentEnvironment: {},
  port: 0,
  temporalPort: 0,
  temporalUiPort: 0,
  postgresPort: 0,
  ...changes,
});

async function takenPort(): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('ports', () => {
  test('that are taken are named with their variables, all at once', async () => {
    const port = await takenPort();
    await expect(choosePorts(settings({ port, postgresPort: port }))).rejects.toThrow(
      `PORT ${port} is taken: set PORT to another one.\nPOSTGRES_PORT ${port} is taken: set POSTGRES_PORT to another one.`,
    );
  });

  test('that two variables name are refused', async () => {
    const port = await findFreePort();
    await expect(choosePorts(settings({ port, temporalUiPort: port }))).rejects.toThrow(
      `TEMPORAL_UI_PORT ${port} is that of PORT too: set TEMPORAL_UI_PORT to another one.`,
    );
  });

  test('of servers that are not ours do not matter', async () => {
    const port = await takenPort();
    const chosen = await choosePorts(settings({ postgresPort: port, databaseUrl: 'postgresql://elsewhere/atelier' }));
    expect(chosen.POSTGRES_PORT).toBe(port);
  });

  test('0 means any free one', async () => {
    expect(Object.values(await choosePorts(settings({}))).every((port) => port > 0)).toBe(true);
  });
});
